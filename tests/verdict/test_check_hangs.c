/* Hangs by how many stand in a cycle, wait for it, are absent or poll, and what a verdict says of a bad end of which nothing is
 * known: who is named in which role, up to the borders of what is told. */
#include "checker/places.h"
#include "checker/properties.h"
#include "tests/change_op.h"
#include "tests/checker/check_program.h"
#include "verdict/ends.h"

#include <string.h>

static void ask(struct program *p, struct findings *findings)
{
    struct check_options options;
    struct check_context context;
    check_options_init(&options);
    findings_init(findings);
    check_context_init(&context, p->trace, &options);
    check_deadlock(&context, findings);
    check_context_release(&context);
}

static void stand(struct program *p, uint32_t rank, uint32_t op)
{
    p->trace->outcome = OUTCOME_DEADLOCK;
    p->trace->rank_info[rank].state = RANK_BLOCKED;
    p->trace->ops[op].state = STATE_BLOCKED;
}

static size_t roles(const struct finding *finding, const char *role)
{
    size_t count = 0;
    for (size_t i = 0; finding && i < finding->op_count; i++)
        count += !strcmp(finding->ops[i].role, role);
    return count;
}

static size_t times(const struct finding *finding, const char *phrase)
{
    size_t count = 0;
    for (const char *at = finding ? finding->detail : ""; (at = strstr(at, phrase)); at++)
        count++;
    return count;
}

static size_t most(size_t count)
{
    return count < PLACES_LISTED_MAX ? count : PLACES_LISTED_MAX;
}

static int line_of(const struct finding *finding, const struct trace *trace)
{
    return finding && finding->site < trace->site_count ? trace->sites[finding->site].line : 0;
}

/* So many ranks each receive of the one before; others wait for the first; the first sent itself some messages that nobody wants. */
static void rings(void)
{
    static const struct {
        uint32_t ring, waiting, sent;
    } rows[] = {{2, 0, 0},  {2, 1, 0},   {2, 0, 1},   {3, 11, 1},  {3, 12, 0}, {3, 13, 0},
                {3, 14, 1}, {12, 0, 11}, {13, 1, 12}, {20, 0, 13}, {5, 20, 20}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint32_t ring = rows[i].ring, waiting = rows[i].waiting, sent = rows[i].sent;
        struct program p = program_new(ring + waiting);
        struct findings findings;
        char more[60];
        for (uint32_t k = 0; k < sent; k++)
            program_p2p(&p, 0, OP_ISEND, 0, 99, 3);
        for (uint32_t rank = 0; rank < ring + waiting; rank++)
            stand(&p, rank,
                  program_p2p(&p, rank, OP_RECV, rank < ring ? (int)((rank + ring - 1) % ring) : 0,
                              0, rank < ring ? 1 : 2));
        program_finish_said(&p);
        ask(&p, &findings);
        const struct finding *is = findings.count == 1 ? &findings.items[0] : NULL;
        tap_is_str(is ? is->code : "", "D001", "a ring of %u is one hang", ring);
        tap_is_int(line_of(is, p.trace), 1, "it stands where the ring stands");
        tap_is_int(roles(is, "core"), ring, "all %u of the ring are its core", ring);
        tap_is_int(times(is, "In the cycle: "), most(ring), "the first are put into words");
        tap_is_int(roles(is, "waits"), most(waiting), "of %u who wait the first are named",
                   waiting);
        tap_is_int(times(is, "Only waits: "), most(waiting), "and told");
        snprintf(more, sizeof more, "Only wait: %u more ranks.", waiting - (uint32_t)most(waiting));
        tap_is_int(times(is, "Only wait: "), waiting > PLACES_LISTED_MAX, "others are counted");
        tap_is_int(times(is, more), waiting > PLACES_LISTED_MAX, "others are counted right");
        const size_t unmatched = sent + waiting - most(waiting);
        tap_is_int(roles(is, "unmatched"), most(unmatched), "of %zu unmatched the first are named",
                   unmatched);
        snprintf(more, sizeof more, "Unmatched: %zu more operations.", unmatched - most(unmatched));
        tap_is_int(times(is, more), unmatched > PLACES_LISTED_MAX, "others are counted");
        bool right = true;
        for (size_t k = 0; is && k < is->op_count; k++) {
            const struct trace_op *op = &p.trace->ops[is->ops[k].op];
            const char *role = is->ops[k].role;
            right = right && (!strcmp(role, "core")    ? op->rank < ring && op->kind == OP_RECV
                              : !strcmp(role, "waits") ? op->rank >= ring
                                                       : op->kind == OP_ISEND || op->rank >= ring);
        }
        tap_ok(right, "each in its role");
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* Ranks from `first` on have ended after `calls` barriers; the others stand in one more, or have called Finalize. */
static void absent_ranks(void)
{
    static const struct {
        uint32_t size, ended, first, calls;
        bool finalize;
    } rows[] = {{2, 1, 0, 0, false},   {2, 1, 1, 1, false},   {3, 1, 1, 2, false},
                {3, 2, 0, 0, false},   {4, 2, 1, 1, false},   {5, 3, 1, 2, false},
                {14, 11, 2, 1, false}, {14, 12, 1, 1, false}, {15, 1, 14, 1, false},
                {14, 1, 0, 0, false},  {14, 2, 3, 0, false},  {2, 1, 0, 0, true},
                {4, 2, 1, 1, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint32_t end = rows[i].first + rows[i].ended, standing = rows[i].size - rows[i].ended;
        struct program p = program_new(rows[i].size);
        struct findings findings;
        for (uint32_t rank = 0; rank < rows[i].size; rank++) {
            for (uint32_t call = 0; call < rows[i].calls; call++)
                program_collective(&p, rank, OP_BARRIER, p.world, call, 1);
            p.trace->rank_info[rank].state = RANK_FINISHED;
            if (rank < rows[i].first || rank >= end)
                stand(&p, rank,
                      program_collective(&p, rank, rows[i].finalize ? OP_FINALIZE : OP_BARRIER,
                                         p.world, rows[i].calls, 2));
        }
        program_finish_said(&p);
        ask(&p, &findings);
        const struct finding *is = findings.count == 1 ? &findings.items[0] : NULL;
        char text[300] = "", number[60];
        tap_is_str(is ? is->code : "", "D001", "%u of %u are absent: one hang", rows[i].ended,
                   rows[i].size);
        tap_is_int(line_of(is, p.trace), 2, "it stands where those stand who came");
        tap_is_int(roles(is, "core"), most(standing), "the first %u who came are its core",
                   standing);
        tap_is_int(times(is, "Stands: "), most(standing), "and told");
        const bool more = standing > PLACES_LISTED_MAX;
        snprintf(number, sizeof number, "Stand: %u more ranks.\n", standing - PLACES_LISTED_MAX);
        tap_is_int(times(is, "Stand: "), more, "others are counted");
        tap_is_int(times(is, number), more, "others are counted right");
        tap_is_int(is ? is->op_count : 0, most(standing), "nobody else is named");
        if (rows[i].finalize) {
            bool each = true;
            for (uint32_t rank = 0; rank < rows[i].size; rank++) {
                snprintf(text, sizeof text, "Rank %u has finished without calling it.\n", rank);
                each = each && (times(is, text) > 0) == (rank >= rows[i].first && rank < end);
            }
            tap_ok(each, "those who never called Finalize are told");
        } else {
            for (uint32_t rank = rows[i].first; rank < end; rank++)
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u",
                         rank == rows[i].first ? (rows[i].ended > 1 ? "Ranks " : "Rank ")
                         : rank + 1 == end     ? " and "
                                               : ", ",
                         rank);
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     "%s %s made %u collective call%s on ",
                     rows[i].ended == 1 ? " has finished and is absent:"
                     : rows[i].ended == PLACES_LISTED_MAX
                         ? " (and perhaps more) have ended and are absent:"
                         : " have ended and are absent:",
                     rows[i].ended == 1 ? "it" : "each", rows[i].calls,
                     rows[i].calls == 1 ? "" : "s");
            snprintf(number, sizeof number, "this is number %u.\n", rows[i].calls + 1);
            tap_ok(times(is, text) == 1 && times(is, number) == 1, "told: %s", text);
        }
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* Rank 3 gave a broadcast that not all took, and stands in a barrier; the others have ended. */
static void absent_in_other_ways(void)
{
    static const uint32_t calls[][3] = {{0, 0, 0}, {1, 1, 1}, {0, 1, 0}, {1, 0, 0},
                                        {0, 0, 1}, {1, 1, 0}, {0, 1, 1}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct program p = program_new(4);
        struct findings findings;
        const bool alike = calls[i][0] == calls[i][1] && calls[i][1] == calls[i][2];
        bool each = true;
        for (uint32_t rank = 0; rank < 4; rank++) {
            if (rank == 3 || calls[i][rank]) {
                uint32_t op = program_collective(&p, rank, OP_BCAST, p.world, 0, 1);
                p.trace->ops[op].peer = 3;
            }
            p.trace->rank_info[rank].state = RANK_FINISHED;
        }
        stand(&p, 3, program_collective(&p, 3, OP_BARRIER, p.world, 1, 2));
        program_finish_said(&p);
        ask(&p, &findings);
        const struct finding *is = findings.count == 1 ? &findings.items[0] : NULL;
        for (uint32_t rank = 0; rank < 3; rank++) {
            char text[100];
            snprintf(text, sizeof text,
                     "Rank %u has finished and is absent: it made %u collective call%s on ", rank,
                     calls[i][rank], calls[i][rank] == 1 ? "" : "s");
            each = each && times(is, text) == !alike;
        }
        tap_ok(is && each && times(is, "Ranks 0, 1 and 2 have ended") == alike,
               "after %u, %u and %u calls: each is told, or all at once", calls[i][0], calls[i][1],
               calls[i][2]);
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* Rank 1 has finished; rank 0 stands in one call for it. */
static void partners_that_ended(void)
{
    static const struct {
        enum op_kind kind;
        const char *without;
    } rows[] = {{OP_SEND, "an operation that receives it"},
                {OP_SSEND, "an operation that receives it"},
                {OP_RECV, "an operation that sends it"},
                {OP_PROBE, "an operation that sends it"},
                {OP_MPROBE, "an operation that sends it"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = program_new(2);
        struct findings findings;
        char text[100];
        stand(&p, 0, program_p2p(&p, 0, rows[i].kind, 1, 0, 4));
        p.trace->rank_info[1].state = RANK_FINISHED;
        program_finish_said(&p);
        ask(&p, &findings);
        const struct finding *is = findings.count == 1 ? &findings.items[0] : NULL;
        snprintf(text, sizeof text, "Rank 1 has finished without %s.\n", rows[i].without);
        tap_ok(is && times(is, text) == 1 && roles(is, "core") == 1 && is->ops[0].op == 0 &&
                   line_of(is, p.trace) == 4,
               "%s for a rank that has finished", op_kind_name((int)rows[i].kind));
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* Rank 0 stands for a message of rank 1, which sent another one and has finished: what differs is said. */
static void near_misses(void)
{
    static const struct {
        int tag, other_comm, peer;
        const char *why; /* NULL: it is no near miss */
    } rows[] = {{6, 0, 0, "with another tag"},
                {5, 1, 0, "on another communicator"},
                {6, 1, 0, "on another communicator"},
                {6, 0, 1, NULL},
                {TRACE_ANY, 1, 0, "on another communicator"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = program_new(2);
        struct findings findings;
        char text[100];
        const uint32_t comm = program_comm(&p, 2, (const int32_t[]){0, 1});
        uint32_t sent = program_p2p(&p, 1, OP_SEND, rows[i].peer, rows[i].tag, 3);
        if (rows[i].other_comm)
            CHANGE_OP(p.trace, sent, comm, comm);
        stand(&p, 0, program_p2p(&p, 0, OP_RECV, 1, 5, 4));
        p.trace->rank_info[1].state = RANK_FINISHED;
        program_finish_said(&p);
        ask(&p, &findings);
        const struct finding *is = findings.count == 1 ? &findings.items[0] : NULL;
        snprintf(text, sizeof text, ", %s.\n", rows[i].why ? rows[i].why : "");
        tap_ok(is && roles(is, "core") == 1 && roles(is, "culprit") == (rows[i].why != NULL) &&
                   times(is, "Nearest partner: ") == (rows[i].why != NULL) &&
                   (!rows[i].why || times(is, text) == 1),
               "a message that nearly fits, %zu: %s", i, rows[i].why ? rows[i].why : "to another");
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* Ranks poll; the first few have finished, or called nothing. */
static void livelocks(void)
{
    static const struct {
        uint32_t size, finished, silent;
    } rows[] = {{1, 0, 0}, {2, 0, 0}, {3, 1, 1}, {12, 0, 0}, {13, 0, 0}, {14, 1, 1}, {20, 3, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = program_new(rows[i].size);
        struct findings findings;
        const uint32_t first = rows[i].finished + rows[i].silent, live = rows[i].size - first;
        for (uint32_t rank = 0; rank < rows[i].size; rank++) {
            p.trace->rank_info[rank].state = rank < rows[i].finished ? RANK_FINISHED : RANK_RUNNING;
            if (rank >= rows[i].finished && rank < first)
                continue;
            program_collective(&p, rank, OP_BARRIER, p.world, 0, 1);
            program_p2p(&p, rank, OP_IPROBE, 0, 0, 10 + (int)rank);
        }
        p.trace->outcome = OUTCOME_LIVELOCK;
        program_finish_said(&p);
        ask(&p, &findings);
        const struct finding *is = findings.count == 1 ? &findings.items[0] : NULL;
        bool right = is != NULL;
        for (size_t k = 0; is && k < is->op_count; k++)
            right = right && p.trace->ops[is->ops[k].op].kind == OP_IPROBE &&
                    p.trace->ops[is->ops[k].op].rank == first + k;
        tap_is_str(is ? is->code : "", "D005", "%u ranks poll", live);
        tap_is_int(roles(is, "core"), most(live), "the first of %u are its core", live);
        tap_ok(right && times(is, "Last: ") == most(live), "by what they called last");
        tap_is_int(line_of(is, p.trace), 10 + (int)first, "it stands where the first stands");
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* ---- bad ends of which nothing is known ---- */

static void ends(void)
{
    static const struct {
        enum trace_outcome outcome;
        int known; /* severity of a finding there is; -1: none */
        const char *crash, *code, *title;
    } rows[] = {
        {OUTCOME_FINISHED, -1, "", "", ""},
        {OUTCOME_TIMEOUT, -1, "", "", ""},
        {OUTCOME_DEADLOCK, -1, "", "D001", "ranks stand"},
        {OUTCOME_DEADLOCK, SEVERITY_NOTE, "", "D001", "ranks stand"},
        {OUTCOME_DEADLOCK, SEVERITY_WARNING, "", "D001", "ranks stand"},
        {OUTCOME_DEADLOCK, SEVERITY_ERROR, "", "", ""},
        {OUTCOME_LIVELOCK, -1, "", "D005", "polls"},
        {OUTCOME_LIVELOCK, SEVERITY_ERROR, "", "", ""},
        {OUTCOME_ABORTED, -1, "", "X002", "aborted"},
        {OUTCOME_CRASHED, -1, "", "X001", "died"},
        {OUTCOME_CRASHED, -1, "killed by signal 9", "X001", "killed by signal 9"},
        {OUTCOME_CRASHED, SEVERITY_ERROR, "killed", "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int traced = 0; traced < 2; traced++) {
            struct program p = program_new(12);
            struct findings findings;
            findings_init(&findings);
            for (uint32_t rank = 0; rank < 12; rank++) { /* 0 has finished, 1 called nothing */
                p.trace->rank_info[rank].state = rank == 0 ? RANK_FINISHED : RANK_BLOCKED;
                if (rank == 1)
                    continue;
                uint32_t op = program_p2p(&p, rank, OP_RECV, 0, 0, (int)rank);
                p.trace->ops[op].state = rank == 2 ? STATE_COMPLETE : STATE_BLOCKED;
            }
            program_finish_said(&p);
            if (rows[i].known >= 0) {
                findings_add(&findings, "L001", "a note before");
                findings_add(&findings, "L002", "known")->severity = (enum severity)rows[i].known;
            }
            const size_t before = findings.count;
            verdict_end(&findings, traced ? p.trace : NULL, rows[i].outcome, rows[i].crash);
            const struct finding *is =
                findings.count == before + 1 ? &findings.items[before] : NULL;
            tap_is_str(is ? is->code : "", rows[i].code, "row %zu: a bad end is a finding", i);
            tap_ok(!is ||
                       (strstr(is->title, rows[i].title) && is->confirmation == CONFIRM_HAPPENED),
                   "row %zu: and says how it ended", i);
            if (is && traced) {
                tap_is_int(is->op_count, 8, "eight of those that stand are named");
                tap_ok(roles(is, "before") == 1 && is->ops[0].op == 1 && is->ops[1].op == 2 &&
                           is->ops[7].op == 8,
                       "by their last operation, in order");
                tap_ok(times(is, "Rank 0 ") == 0 &&
                           times(is, "Rank 1 stands in a call before its first operation.\n") ==
                               1 &&
                           times(is, "Rank 2 stands in a call that is not recorded, after Recv") ==
                               1 &&
                           times(is, "Rank 3 stands in Recv") == 1 && times(is, "Rank 10 ") == 0,
                       "and where they stand is told");
                tap_is_int(strlen(is->fingerprint), 16, "it has a fingerprint");
            }
            findings_release(&findings);
            trace_free(p.trace);
        }
}

/* Ring of two; before it rank 0 waited for so many persistent requests that nobody had started, and made calls that only look like it. */
static void never_started(void)
{
    static const uint32_t rows[] = {0, 1, 2, PLACES_LISTED_MAX, PLACES_LISTED_MAX + 1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = program_new(2);
        struct findings findings;
        for (uint32_t k = 0; k < rows[i] + 3; k++) {
            struct trace_plain_op wait = program_op(&p, 0, k == 2 ? OP_SEND : OP_WAIT, 3);
            wait.comm = k == 2 ? p.world : TRACE_NO;
            wait.peer = k == 0 ? TRACE_NONE : 1;
            wait.count = k == 1;
            trace_add_op(p.trace, &wait);
        }
        program_p2p(&p, 1, OP_RECV, 0, 0, 4);
        stand(&p, 0, program_p2p(&p, 0, OP_RECV, 1, 7, 1));
        stand(&p, 1, program_p2p(&p, 1, OP_RECV, 0, 7, 1));
        program_finish_said(&p);
        ask(&p, &findings);
        const struct finding *is = findings.count == 1 ? &findings.items[0] : NULL;
        tap_is_int(times(is, "MPI_Start is missing: "), most(rows[i]),
                   "%u requests were never started: the first are told", rows[i]);
        tap_is_int(roles(is, "unstarted"), most(rows[i]), "and named");
        bool right = true;
        for (size_t k = 0; is && k < is->op_count; k++)
            right = right && (strcmp(is->ops[k].role, "unstarted") != 0 ||
                              (p.trace->ops[is->ops[k].op].kind == OP_WAIT &&
                               !p.trace->ops[is->ops[k].op].count));
        tap_ok(is && right, "and no other calls");
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* Several rings beside each other, each with ranks that wait for it. A rank of the second sent the first something that nobody wants. */
static void rings_apart(void)
{
    enum { RINGS = 4, EACH = 5 }; /* of each the first two are the ring */
    struct program p = program_new(RINGS * EACH);
    struct findings findings;
    int others = 0, roles_wrong = 0;
    uint32_t sent = program_p2p(&p, EACH, OP_ISEND, 0, 99, 3);
    for (uint32_t rank = 0; rank < RINGS * EACH; rank++) {
        uint32_t place = rank % EACH, first = rank - place;
        uint32_t from = first + (place < 2 ? 1 - place : place - 1);
        stand(&p, rank, program_p2p(&p, rank, OP_RECV, (int)from, 0, 10 + (int)rank));
    }
    program_finish(&p);
    ask(&p, &findings);
    tap_is_int((int)findings.count, RINGS, "each of several rings is a finding");
    for (size_t i = 0; i < findings.count; i++) {
        const struct finding *finding = &findings.items[i];
        uint32_t ring = p.trace->ops[finding->ops[0].op].rank / EACH;
        for (size_t k = 0; k < finding->op_count; k++)
            others += p.trace->ops[finding->ops[k].op].rank / EACH != ring &&
                      (ring != 0 || strcmp(finding->ops[k].role, "unmatched") != 0);
        roles_wrong += roles(finding, "core") != 2 || roles(finding, "waits") != EACH - 2 ||
                       roles(finding, "unmatched") != (ring < 2);
    }
    tap_is_int(others, 0, "of its own ranks, and of who sent it something");
    tap_is_int(roles_wrong, 0,
               "with who waits for it, and the message (op %u) of those it is between", sent);
    findings_release(&findings);
    trace_free(p.trace);
}

/* Ranks 0 and 2 make an intercommunicator with 1 and 3. One rank never comes: what is missing, in words. */
static void meetings(void)
{
    static const struct {
        uint32_t missing, calls;
        const char *text, *core;
    } rows[] = {
        {1, 0, "Rank 1, the other group's leader, has finished without calling it.\n",
         "with rank 1 tag 7 on communicator 2 at p.c:2"},
        {2, 0,
         "Rank 2 has finished and is absent: it made 0 collective calls on communicator 2, this is "
         "number 2.\n",
         "Stands: rank 0, Intercomm_create on communicator 2 at p.c:2.\n"},
        {2, 1,
         "Rank 2 has finished and is absent: it made 1 collective call on communicator 2, this is "
         "number 2.\n",
         "Stands: rank 0, Intercomm_create on communicator 2 at p.c:2.\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = program_new(4);
        struct findings findings;
        uint32_t sides[2] = {program_comm(&p, 2, (int32_t[]){0, 2}),
                             program_comm(&p, 2, (int32_t[]){1, 3})};
        for (uint32_t rank = 0; rank < 4; rank++) {
            if (rank != rows[i].missing || rows[i].calls)
                program_collective(&p, rank, OP_INTERCOMM_CREATE, sides[rank % 2], 0, 1);
            p.trace->rank_info[rank].state = RANK_FINISHED;
            if (rank == rows[i].missing)
                continue;
            uint32_t op = program_collective(&p, rank, OP_INTERCOMM_CREATE, sides[rank % 2], 1, 2);
            if (rank < 2 && rows[i].missing % 2 != rank)
                p.trace->ops[op].peer = (int32_t)(1 - rank);
            if (rank < 2)
                p.trace->ops[op].tag = 7;
            stand(&p, rank, op);
        }
        program_finish_said(&p);
        ask(&p, &findings);
        const struct finding *is = findings.count == 1 ? &findings.items[0] : NULL;
        tap_is_str(is ? is->code : "", "D001", "rank %u never comes: one hang", rows[i].missing);
        tap_is_int(times(is, rows[i].text), 1, "told: %s", rows[i].text);
        tap_is_int(times(is, rows[i].core), 1, "told: %s", rows[i].core);
        findings_release(&findings);
        trace_free(p.trace);
    }
}

int main(void)
{
    said_open("check_hangs", 200);
    rings();
    absent_ranks();
    absent_in_other_ways();
    partners_that_ended();
    near_misses();
    livelocks();
    ends();
    never_started();
    rings_apart();
    said_close();
    meetings();
    return tap_done();
}
