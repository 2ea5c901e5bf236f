/* How ranks end, and the findings about it: every signal, every pair of ends that are alike or not,
 * and the borders of what is said once. Gradients that are wrong name their worst row. */
#include "checker/places.h"
#include "checker/properties.h"
#include "tests/change_op.h"
#include "tests/checker/check_program.h"

#include <signal.h>
#include <string.h>

/* Every rank sends nothing and calls one barrier, at line 1. */
static struct program unsaid_ranks(uint32_t ranks)
{
    struct program p = program_new(ranks);
    for (uint32_t rank = 0; rank < ranks; rank++)
        program_collective(&p, rank, OP_BARRIER, p.world, 0, 1);
    program_finish(&p);
    return p;
}

static struct program ranks_that_meet(uint32_t ranks)
{
    struct program p = unsaid_ranks(ranks);
    said_whole(p.trace);
    return p;
}

/* What the one property says, before findings of one fingerprint are put together. */
static void ask(struct program *p,
                void (*property)(const struct check_context *, struct findings *),
                struct findings *findings)
{
    struct check_options options;
    struct check_context context;
    check_options_init(&options);
    findings_init(findings);
    check_context_init(&context, p->trace, &options);
    property(&context, findings);
    check_context_release(&context);
}

static size_t count_of(const struct findings *findings, const char *code)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        count += strcmp(findings->items[i].code, code) == 0;
    return count;
}

static void set_end(struct program *p, uint32_t rank, enum rank_state state, int code,
                    uint32_t site)
{
    p->trace->rank_info[rank].state = state;
    p->trace->rank_info[rank].exit_code = code;
    p->trace->rank_info[rank].site = site;
}

static void every_signal(void)
{
    int wrong = 0;
    for (int number = 1; number < 32; number++) {
        bool limit = number == SIGXCPU || number == SIGXFSZ;
        bool outside = number == SIGKILL || number == SIGSTOP;
        struct program p = ranks_that_meet(1);
        struct findings findings;
        set_end(&p, 0, RANK_CRASHED, number, TRACE_NO);
        p.trace->outcome = OUTCOME_CRASHED;
        ask(&p, check_crash, &findings);
        const char *wanted = limit || outside ? "X007" : "X001";
        bool right = findings.count == 1 && !strcmp(findings.items[0].code, wanted) &&
                     findings.items[0].confirmation == CONFIRM_HAPPENED &&
                     findings.items[0].op_count == 1;
        if (!right && !wrong++)
            tap_note("signal %d is not %s", number, wanted);
        findings_release(&findings);
        trace_free(p.trace);
    }
    tap_is_int(wrong, 0, "limits and the system's signals are X007, the program's own are X001");
}

/* The rank in the middle ends well or is one of them; the last differs in one thing or in none. */
static void ends_alike(void)
{
    static const struct {
        enum rank_state state, other_state;
        int code, other_code, site, other_site;
        const char *wanted;
        size_t findings;
    } rows[] = {
        {RANK_CRASHED, RANK_CRASHED, 11, 11, 1, 1, "X001", 1},
        {RANK_CRASHED, RANK_CRASHED, 11, 6, 1, 1, "X001", 2},
        {RANK_CRASHED, RANK_CRASHED, 11, 11, 1, 2, "X001", 2},
        {RANK_ABORTED, RANK_ABORTED, 3, 3, 1, 1, "X002", 1},
        {RANK_ABORTED, RANK_ABORTED, 3, 4, 1, 1, "X002", 2},
        {RANK_ABORTED, RANK_ABORTED, 3, 3, 1, 2, "X002", 2},
        {RANK_ABORTED, RANK_FINISHED, 3, 3, 1, 1, "X002", 2},
        {RANK_FINISHED, RANK_FINISHED, 3, 3, 1, 1, "X002", 1},
        {RANK_FINISHED, RANK_FINISHED, 3, 1, 1, 1, "X002", 2},
        {RANK_FINISHED, RANK_FINISHED, 3, 0, 1, 1, "X002", 1},
        {RANK_FINISHED, RANK_FINISHED, 0, 0, 1, 1, "X002", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int twins = 0; twins < 2; twins++) {
            struct program p = ranks_that_meet(3);
            struct findings findings;
            uint32_t sites[3];
            for (int line = 1; line <= 2; line++)
                sites[line] = trace_add_site(p.trace, "e.c", line, "main");
            set_end(&p, 0, rows[i].state, rows[i].code, sites[rows[i].site]);
            set_end(&p, 1, twins ? rows[i].state : RANK_FINISHED, twins ? rows[i].code : 0,
                    sites[rows[i].site]);
            set_end(&p, 2, rows[i].other_state, rows[i].other_code, sites[rows[i].other_site]);
            p.trace->outcome = OUTCOME_CRASHED;
            ask(&p, check_crash, &findings);
            bool alike = rows[i].findings == 1 && rows[i].other_code == rows[i].code;
            const char *more = alike && twins   ? "So did 2 other ranks."
                               : alike || twins ? "So did 1 other rank."
                                                : NULL;
            tap_is_int(count_of(&findings, rows[i].wanted), rows[i].findings,
                       "row %zu, %d alike: as many findings as ends", i, twins + 1);
            if (rows[i].findings)
                tap_ok(more ? strstr(findings.items[0].detail, more) != NULL
                            : !strstr(findings.items[0].detail, "So did"),
                       "row %zu, %d alike: the others are counted", i, twins + 1);
            findings_release(&findings);
            trace_free(p.trace);
        }
}

static void add_note(struct program *p, const char *code, uint32_t rank)
{
    char text[] = "said by the launcher";
    struct trace_note note = {
        .rank = rank, .op = TRACE_NO, .node = TRACE_NO, .site = TRACE_NO, .text = text};
    snprintf(note.code, sizeof note.code, "%s", code);
    trace_add_note(p->trace, &note);
}

/* A note that says more is heard wherever it stands; one of another code or rank is not. */
static void notes_are_heard(void)
{
    static const struct {
        const char *code;
        uint32_t rank;
        bool heard;
    } rows[] = {{"X001", 1, true},
                {"X001", 0, true},
                {"X010", 1, true},
                {"X010", 0, false},
                {"X003", 1, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int at = 0; at < 3; at++) {
            struct program p = ranks_that_meet(2);
            struct findings findings;
            set_end(&p, 1, RANK_CRASHED, 11, TRACE_NO);
            p.trace->outcome = OUTCOME_CRASHED;
            for (int n = 0; n < 3; n++)
                add_note(&p, n == at ? rows[i].code : "L010", rows[i].rank);
            ask(&p, check_crash, &findings);
            tap_is_int(count_of(&findings, "X001"), !rows[i].heard,
                       "note %d of 3 is %s of rank %u: the crash is told %s", at + 1, rows[i].code,
                       rows[i].rank, rows[i].heard ? "there" : "besides");
            findings_release(&findings);
            trace_free(p.trace);
        }
}

/* Of ranks that end alike some were made to, or told it at a call: the others are told, and counted without those. */
static void others_are_told(void)
{
    unsigned wrong = 0;
    for (int aborted = 0; aborted < 2; aborted++)
        for (unsigned told = 0; told < 16; told++) {
            struct program p = ranks_that_meet(4);
            struct findings findings;
            char more[40];
            unsigned untold = 4 - (unsigned)__builtin_popcount(told);
            p.trace->outcome = aborted ? OUTCOME_ABORTED : OUTCOME_CRASHED;
            for (uint32_t rank = 0; rank < 4; rank++) {
                set_end(&p, rank, aborted ? RANK_ABORTED : RANK_CRASHED, 9, TRACE_NO);
                if (told >> rank & 1)
                    add_note(&p, aborted ? "X002" : "X010", rank);
            }
            ask(&p, check_crash, &findings);
            snprintf(more, sizeof more, "So did %u other", untold - 1);
            wrong += findings.count != (untold > 0);
            for (uint32_t rank = 0; rank < 4 && findings.count; rank++) {
                char this[40];
                snprintf(this, sizeof this, "Rank %u ended this way", rank);
                bool first = !(told >> rank & 1) && (told & ((1u << rank) - 1)) == (1u << rank) - 1;
                wrong += (strstr(findings.items[0].detail, this) != NULL) != first;
            }
            wrong += untold > 1 && !strstr(findings.items[0].detail, more);
            findings_release(&findings);
            trace_free(p.trace);
        }
    tap_is_int(wrong, 0, "who ends as one who was made to is told");
}

/* Up to twelve ranks are named; who is through is not. */
static void time_limits(void)
{
    static const struct {
        uint32_t ranks, through;
        bool noted;
        size_t named;
    } rows[] = {{1, 0, false, 1},   {11, 0, false, 11}, {12, 0, false, 12},
                {13, 0, false, 12}, {12, 5, false, 7},  {3, 0, true, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = ranks_that_meet(rows[i].ranks);
        struct findings findings;
        for (uint32_t rank = 0; rank < rows[i].ranks; rank++)
            set_end(&p, rank, rank < rows[i].through ? RANK_FINISHED : RANK_RUNNING, 0, TRACE_NO);
        p.trace->outcome = OUTCOME_TIMEOUT;
        if (rows[i].noted)
            add_note(&p, "X003", 0);
        ask(&p, check_crash, &findings);
        tap_is_int(findings.count, !rows[i].noted, "%u ranks at the time limit: told once",
                   rows[i].ranks);
        if (findings.count)
            tap_is_int(findings.items[0].op_count, rows[i].named,
                       "%u ranks at the time limit, %u through: so many are named", rows[i].ranks,
                       rows[i].through);
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* At the time limit any ranks are through, many or few, first or last: the first twelve of the others are named, in order. */
static void time_limits_of_many(void)
{
    unsigned wrong = 0;
    for (uint32_t ranks = 1; ranks <= 40; ranks += 3)
        for (uint32_t every = 1; every <= ranks + 1; every += 4) {
            struct program p = unsaid_ranks(ranks);
            struct findings findings;
            uint32_t named = 0;
            for (uint32_t rank = 0; rank < ranks; rank++)
                set_end(&p, rank, rank % every || rank < ranks / 2 ? RANK_FINISHED : RANK_RUNNING,
                        0, TRACE_NO);
            p.trace->outcome = OUTCOME_TIMEOUT;
            ask(&p, check_crash, &findings);
            const struct finding *is = findings.count == 1 ? findings.items : NULL;
            for (uint32_t rank = 0; is && rank < ranks && named < PLACES_LISTED_MAX; rank++)
                if (p.trace->rank_info[rank].state == RANK_RUNNING) {
                    wrong += named >= is->op_count || p.trace->ops[is->ops[named].op].rank != rank;
                    named++;
                }
            wrong += !is || is->op_count != named;
            findings_release(&findings);
            trace_free(p.trace);
        }
    tap_is_int(wrong, 0, "the first twelve that are not through are named");
}

/* Ranks that called nothing: their ends are told, and no operation is named. */
static void nothing_called(void)
{
    static const struct {
        enum trace_outcome outcome;
        enum rank_state state;
        int exit_code;
        const char *code, *detail;
    } rows[] = {{OUTCOME_TIMEOUT, RANK_RUNNING, 0, "X003", ""},
                {OUTCOME_CRASHED, RANK_CRASHED, SIGSEGV, "X001",
                 "Rank 0 ended this way.\nSo did 2 other ranks.\n"},
                {OUTCOME_ABORTED, RANK_ABORTED, 4, "X002",
                 "Rank 0 ended this way.\nSo did 2 other ranks.\n"},
                {OUTCOME_FINISHED, RANK_FINISHED, 0, "", ""},
                {OUTCOME_IMPORTED, RANK_RUNNING, 0, "", ""},
                {OUTCOME_DEADLOCK, RANK_BLOCKED, 0, "", ""},
                {OUTCOME_LIVELOCK, RANK_POLLING, 0, "", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = program_new(3);
        struct findings findings;
        program_finish_said(&p);
        p.trace->outcome = rows[i].outcome;
        for (uint32_t rank = 0; rank < 3; rank++)
            set_end(&p, rank, rows[i].state, rows[i].exit_code, TRACE_NO);
        ask(&p, check_crash, &findings);
        const struct finding *only = findings.count == 1 ? findings.items : NULL;
        tap_is_str(only ? only->code : "", rows[i].code, "ranks that called nothing, end %zu", i);
        tap_is_str(only ? only->detail : "", rows[i].detail, "and what is told of it");
        tap_ok(!only || !only->op_count, "no operation is named");
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* One finding for a code, a place and a kind; findings before `first` are not looked at. */
static void one_place(void)
{
    struct program p = program_new(1);
    uint32_t ops[4] = {program_p2p(&p, 0, OP_ISEND, 0, 0, 1), program_p2p(&p, 0, OP_ISEND, 0, 0, 1),
                       program_p2p(&p, 0, OP_ISEND, 0, 0, 2),
                       program_p2p(&p, 0, OP_IRECV, 0, 0, 1)};
    static const struct {
        int named, asked; /* -1: the finding names none, -2: it has no operation */
        const char *code;
        size_t first;
        bool same;
    } rows[] = {{0, 0, "X006", 0, true},   {0, 1, "X006", 0, true},  {0, 2, "X006", 0, false},
                {0, 3, "X006", 0, false},  {0, 1, "L001", 0, false}, {0, 1, "X006", 1, false},
                {-1, 1, "X006", 0, false}, {-2, 1, "X006", 0, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct findings findings;
        findings_init(&findings);
        struct finding *finding = findings_add(&findings, "X006", "title");
        finding->site = p.trace->ops[ops[0]].form->site;
        if (rows[i].named != -2)
            finding_op_add(finding, rows[i].named < 0 ? TRACE_NO : ops[rows[i].named], "culprit");
        struct finding *found =
            check_at_place(&findings, rows[i].first, rows[i].code, p.trace, ops[rows[i].asked]);
        tap_ok(found == (rows[i].same ? &findings.items[0] : NULL), "place, row %zu", i);
        findings_release(&findings);
    }
    trace_free(p.trace);
}

/* A place joins a list where it fits with its comma and the end, and once. */
static void lists_of_places(void)
{
    struct program p = program_new(1);
    uint32_t one = program_p2p(&p, 0, OP_ISEND, 0, 0, 1);
    uint32_t two = program_p2p(&p, 0, OP_IRECV, 0, 0, 2);
    char a[PLACE_TEXT], b[PLACE_TEXT], both[2 * PLACE_TEXT + 2];
    check_short_place(p.trace, one, a, sizeof a);
    check_short_place(p.trace, two, b, sizeof b);
    snprintf(both, sizeof both, "%s, %s", a, b);
    for (int room = -1; room <= 1; room++) {
        char list[2 * PLACE_TEXT + 2] = "";
        check_add_place(p.trace, one, list, sizeof list);
        check_add_place(p.trace, two, list, (size_t)((int)strlen(both) + 1 + room));
        check_add_place(p.trace, one, list, sizeof list);
        tap_is_str(list, room < 0 ? a : both, "a list of places with room for %d more", room);
    }
    trace_free(p.trace);
}

/* The first wildcard; without one, the first test or wait that may end in several ways. */
static void first_choices(void)
{
    static const enum op_kind open[] = {OP_TEST,    OP_IPROBE,  OP_TESTANY,  OP_TESTSOME,
                                        OP_TESTALL, OP_WAITANY, OP_WAITSOME, OP_IMPROBE};
    static const enum op_kind closed[] = {OP_RECV, OP_IRECV, OP_PROBE,
                                          OP_SEND, OP_WAIT,  OP_WAITALL};
    int wrong = 0;
    for (size_t k = 0; k < sizeof open / sizeof *open; k++)
        for (size_t c = 0; c < sizeof closed / sizeof *closed; c++) {
            struct program p = program_new(1);
            program_p2p(&p, 0, closed[c], 0, 0, 1);
            wrong += check_first_choice(p.trace) != TRACE_NO;
            uint32_t asks = program_p2p(&p, 0, open[k], 0, 0, 2);
            program_p2p(&p, 0, open[k], 0, 0, 3);
            wrong += check_first_choice(p.trace) != asks;
            uint32_t wildcard = program_p2p(&p, 0, closed[c], TRACE_ANY, 0, 4);
            wrong += check_first_choice(p.trace) != (c < 3 ? wildcard : asks);
            trace_free(p.trace);
        }
    tap_is_int(wrong, 0,
               "the first choice is a wildcard, else a test or a wait for one of several");
    for (uint32_t differs = 0; differs < 4; differs++) { /* nothing, thread, tag with it, peer */
        struct program p = program_new(1);
        uint32_t test = program_p2p(&p, 0, OP_TEST, 0, 0, 1);
        uint32_t one = program_p2p(&p, 0, OP_RECV, 0, 0, 2);
        uint32_t two = program_p2p(&p, 0, OP_RECV, differs == 3 ? 1 : 0, differs == 2 ? 1 : 0, 3);
        CHANGE_OP(p.trace, two, thread, differs > 0);
        wrong += check_first_choice(p.trace) != (differs == 1 ? one : test);
        trace_free(p.trace);
    }
    for (enum op_kind kind = OP_WIN_LOCK; kind <= OP_WIN_UNLOCK_ALL; kind++) {
        struct program p = program_new(1);
        program_p2p(&p, 0, OP_RECV, 0, 0, 1);
        uint32_t lock = program_p2p(&p, 0, kind, 0, 0, 2);
        bool gives = kind == OP_WIN_UNLOCK || kind == OP_WIN_UNLOCK_ALL;
        wrong += check_first_choice(p.trace) != (gives ? TRACE_NO : lock);
        uint32_t test = program_p2p(&p, 0, OP_TEST, 0, 0, 3);
        wrong += check_first_choice(p.trace) != test;
        trace_free(p.trace);
    }
    tap_is_int(wrong, 0, "so is a channel that two threads take from, and last a lock");
}

static void places_of_ends(void)
{
    struct program p = ranks_that_meet(1);
    uint32_t own = trace_add_site(p.trace, "e.c", 9, "main"), last = p.trace->ops[0].form->site;
    const struct {
        enum rank_state state;
        uint32_t site, wanted;
    } rows[] = {{RANK_ABORTED, TRACE_NO, last},
                {RANK_ABORTED, own, own},
                {RANK_CRASHED, TRACE_NO, last},
                {RANK_CRASHED, own, own}};
    p.trace->outcome = OUTCOME_CRASHED;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct findings findings;
        set_end(&p, 0, rows[i].state, 7, rows[i].site);
        ask(&p, check_crash, &findings);
        tap_ok(findings.count == 1 && findings.items[0].site == rows[i].wanted,
               "an end's place is its own, else that of its last call: row %zu", i);
        findings_release(&findings);
    }
    trace_free(p.trace);
}

static void add_row(struct program *p, const char *variable, int64_t index, double error)
{
    struct trace_gradient row = {.variable = trace_add_string(p->trace, variable),
                                 .index = index,
                                 .method = index < 0 ? "dot" : "central",
                                 .step = 1e-6,
                                 .analytic = 1 + error,
                                 .numeric = 1,
                                 .error = error,
                                 .tolerance = 1e-6,
                                 .relative = error,
                                 .ok = error <= 1e-6,
                                 .elements = 1};
    trace_add_gradient(p->trace, &row);
}

static void worst_rows(void)
{
    static const struct {
        const char *variable, *title, *detail;
        int64_t index;
    } rows[] = {
        {"x", "the gradient of x is wrong", "Worst: rank 0, x[0]:", 0},
        {"x", "the gradient of x is wrong", "Worst: rank 0, x[1]:", 1},
        {"direction 1", "the gradient of direction 1 is wrong",
         "Worst: rank 0, direction 1[0]:", 0},
        {"direction 1", "the gradient along direction 1 is wrong", "Worst: rank 0, along direction",
         -1},
        {"identity", "the gradient contradicts identity", "Worst: rank 0, identity:", -1},
    };
    char seen[sizeof rows / sizeof *rows][24];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = ranks_that_meet(1);
        struct findings findings;
        add_row(&p, rows[i].variable, rows[i].index < 0 ? -1 : rows[i].index + 1, 0);
        add_row(&p, rows[i].variable, rows[i].index, 0.5);
        ask(&p, check_gradient, &findings);
        if (tap_is_int(findings.count, 1, "one variable is one finding")) {
            tap_is_str(findings.items[0].title, rows[i].title, "its title, row %zu", i);
            tap_ok(strstr(findings.items[0].detail, rows[i].detail), "its worst row, row %zu", i);
            tap_ok(strstr(findings.items[0].detail, "1 of 2 checks"), "how many fail, row %zu", i);
        }
        snprintf(seen[i], sizeof seen[i], "%s",
                 findings.count ? findings.items[0].fingerprint : "");
        findings_release(&findings);
        trace_free(p.trace);
    }
    tap_is_str(seen[0], seen[1], "the element is no part of the fingerprint");
    tap_ok(strcmp(seen[0], seen[2]) && strcmp(seen[2], seen[4]) && strcmp(seen[0], seen[4]),
           "the variable is");
}

int main(void)
{
    said_open("check_ends", 400);
    every_signal();
    ends_alike();
    notes_are_heard();
    time_limits();
    nothing_called();
    one_place();
    lists_of_places();
    first_choices();
    places_of_ends();
    worst_rows();
    others_are_told();
    time_limits_of_many();
    said_close();
    return tap_done();
}
