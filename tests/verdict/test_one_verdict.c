/* How findings of several runs become one verdict, what --allow names, and what an injected fault came to: tables of what
 * is right, written down by hand. */
#include "tests/checker/check_program.h"
#include "verdict/allow.h"
#include "verdict/injected.h"
#include "verdict/merge.h"

#include <string.h>
#include <unistd.h>

/* Two ranks: a send at line 1 and a receive at line 2; a receive at line 3 and a send at line 4. The other run of the program
 * has `more` barriers of rank 1 at line 5 behind these. */
static struct program two_ranks(uint32_t more)
{
    struct program p = program_new(2);
    program_p2p(&p, 0, OP_SEND, 1, 0, 1);
    program_p2p(&p, 0, OP_RECV, 1, 0, 2);
    program_p2p(&p, 1, OP_RECV, 0, 0, 3);
    program_p2p(&p, 1, OP_SEND, 0, 0, 4);
    for (uint32_t i = 0; i < more; i++)
        program_collective(&p, 1, OP_BARRIER, p.world, i, 5);
    program_finish_said(&p);
    return p;
}

/* Sites of two traces have other numbers for the same line. */
static uint32_t site_of(struct trace *trace, const char *file, int line)
{
    return line ? trace_add_site(trace, file, line, "main") : TRACE_NO;
}

static struct merge_origin origin_of(const char *model, const char *base, bool explored)
{
    return (struct merge_origin){
        .model = model, .base = base, .how = "of another kind", .explored = explored};
}

/* ---- merge ---- */

static void codes_of_the_first_run(void)
{
    static const struct {
        const char *code, *model, *base;
        bool explored;
        const char *wanted;
    } rows[] = {
        {"D001", "eager", "eager", false, "D002"},
        {"D001", "rendezvous", "eager", false, "D003"},
        {"D001", "batch", "eager", false, "D004"},
        {"D001", "eager", "rendezvous", false, "D003"},
        {"D001", "rendezvous", "eager", true, "D002"},
        {"D001", "batch", "eager", true, "D002"},
        {"D001", "batch", "batch", false, "D002"},
        {"D005", "batch", "eager", false, "D005"},
        {"D005", "eager", "eager", true, "D005"},
        {"M001", "batch", "eager", true, "M001"},
        {"D004", "rendezvous", "eager", false, "D004"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program here = two_ranks(0), there = two_ranks(0);
        struct findings into, from;
        const struct merge_origin origin = origin_of(rows[i].model, rows[i].base, rows[i].explored);
        findings_init(&into);
        findings_init(&from);
        finding_op_add(findings_add(&from, rows[i].code, "found"), 1, "core");
        finding_seal(&from.items[0], there.trace);
        merge_findings(&into, here.trace, &from, there.trace, &origin);
        tap_is_str(into.count == 1 ? into.items[0].code : "", rows[i].wanted,
                   "%s of a run with %s%s, the first with %s", rows[i].code, rows[i].model,
                   rows[i].explored ? ", explored," : "", rows[i].base);
        tap_is_str(into.count == 1 ? into.items[0].models : "", rows[i].model,
                   "and it shows in that model alone");
        findings_release(&into);
        findings_release(&from);
        trace_free(here.trace);
        trace_free(there.trace);
    }
}

/* What is known has a code, a line of its own and an operation, or none; so has what the other run found. */
struct place {
    const char *code, *file;
    int line, op; /* 0 and -1: none */
};

static void place_at(struct findings *findings, struct trace *trace, const struct place *place)
{
    struct finding *finding = findings_add(findings, place->code, "at %d", place->line);
    finding->site = site_of(trace, place->file, place->line);
    if (place->op >= 0)
        finding_op_add(finding, (uint32_t)place->op, "core");
    snprintf(finding->fingerprint, sizeof finding->fingerprint, "%s-%d-%d-%s", place->code,
             place->line, place->op, place->file);
}

static void one_defect_or_two(void)
{
    static const struct {
        const char *name;
        struct place known, found;
        bool same;
    } rows[] = {
        {"the same line", {"M007", "p.c", 7, -1}, {"M007", "p.c", 7, 0}, true},
        {"another line", {"M007", "p.c", 7, -1}, {"M007", "p.c", 8, -1}, false},
        {"the line of another file", {"M007", "p.c", 7, -1}, {"M007", "q.c", 7, -1}, false},
        {"another code at the line", {"M007", "p.c", 7, -1}, {"M008", "p.c", 7, -1}, false},
        {"the same operation", {"M007", "p.c", 7, 1}, {"M007", "p.c", 8, 1}, true},
        {"another operation", {"M007", "p.c", 7, 1}, {"M007", "p.c", 8, 2}, false},
        {"only one has a place", {"M007", "p.c", 0, -1}, {"M007", "p.c", 7, -1}, false},
        {"only the other has a place", {"M007", "p.c", 7, -1}, {"M007", "p.c", 0, -1}, false},
        {"only one has an operation", {"M007", "p.c", 0, -1}, {"M007", "p.c", 0, 2}, false},
        {"neither has a place", {"M007", "p.c", 0, -1}, {"M007", "q.c", 0, -1}, true},
        {"neither has a place, two codes", {"M007", "p.c", 0, -1}, {"M008", "p.c", 0, -1}, false},
        {"one fingerprint, no line known", {"M007", "p.c", 0, 9}, {"M007", "p.c", 0, 9}, true},
        {"two fingerprints, no line known", {"M007", "p.c", 0, 9}, {"M007", "p.c", 0, 8}, false},
        {"two dangers at one line", {"D003", "p.c", 7, -1}, {"D004", "p.c", 7, 0}, true},
        {"a hang where a danger is known", {"D002", "p.c", 7, -1}, {"D001", "p.c", 7, 0}, true},
        {"a danger and a hang that happened", {"D001", "p.c", 7, -1}, {"D002", "p.c", 7, 0}, false},
        {"a danger and a livelock", {"D004", "p.c", 7, -1}, {"D005", "p.c", 7, -1}, false},
        {"a livelock and a danger", {"D005", "p.c", 7, -1}, {"D004", "p.c", 7, -1}, false},
        {"two dangers without places", {"D002", "p.c", 0, -1}, {"D003", "p.c", 0, -1}, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int others = 0; others < 2; others++) {
            struct program here = two_ranks(0), there = two_ranks(0);
            struct findings into, from;
            const struct merge_origin origin = origin_of("rendezvous", "eager", false);
            findings_init(&into);
            findings_init(&from);
            if (others)
                place_at(&into, here.trace, &(struct place){"X001", "x.c", 90, -1});
            site_of(there.trace, "before.c", 3);
            place_at(&into, here.trace, &rows[i].known);
            place_at(&from, there.trace, &rows[i].found);
            merge_findings(&into, here.trace, &from, there.trace, &origin);
            tap_is_int(into.count, (rows[i].same ? 1 : 2) + others, "%s%s", rows[i].name,
                       others ? ", behind another finding" : "");
            findings_release(&into);
            findings_release(&from);
            trace_free(here.trace);
            trace_free(there.trace);
        }
}

/* Each finding of both has three places, of which one pair is of one line. */
static void one_place_of_many(void)
{
    for (uint32_t one = 0; one < 3; one++)
        for (uint32_t other = 0; other < 4; other++) {
            struct program here = two_ranks(2), there = two_ranks(2);
            struct findings into, from;
            const struct merge_origin origin = origin_of("rendezvous", "eager", false);
            findings_init(&into);
            findings_init(&from);
            struct finding *known = findings_add(&into, "M007", "known");
            struct finding *found = findings_add(&from, "M007", "found");
            for (uint32_t i = 0; i < 3; i++) {
                finding_op_add(known, i == one ? 2 : 0, "core");
                finding_op_add(found, i == other ? 2 : 3, "core");
            }
            snprintf(known->fingerprint, sizeof known->fingerprint, "1");
            snprintf(found->fingerprint, sizeof found->fingerprint, "2");
            merge_findings(&into, here.trace, &from, there.trace, &origin);
            tap_is_int(into.count, other < 3 ? 1 : 2,
                       "place %u of three is place %u of the other's: %s", one + 1, other + 1,
                       other < 3 ? "one defect" : "none, two defects");
            findings_release(&into);
            findings_release(&from);
            trace_free(here.trace);
            trace_free(there.trace);
        }
}

/* Two that begin at one line, and a third of another kind that would be the same defect. */
static void likes_at_one_line(void)
{
    struct program here = two_ranks(0), there = two_ranks(0);
    struct findings into, from;
    const struct merge_origin origin = origin_of("rendezvous", "eager", false);
    findings_init(&into);
    findings_init(&from);
    place_at(&into, here.trace, &(struct place){"D003", "p.c", 7, 0});
    place_at(&into, here.trace, &(struct place){"D003", "p.c", 7, 1});
    place_at(&into, here.trace, &(struct place){"D004", "p.c", 7, 1});
    place_at(&from, there.trace, &(struct place){"D003", "p.c", 7, 2});
    merge_findings(&into, here.trace, &from, there.trace, &origin);
    tap_is_int(into.count, 3, "what is found at their line is theirs");
    for (int i = 0; i < 3; i++)
        tap_is_str(into.items[i].models, i < 2 ? "rendezvous" : "",
                   "finding %d of three at one line %s the model", i + 1,
                   i < 2 ? "has" : "has not");
    findings_release(&into);
    findings_release(&from);
    trace_free(here.trace);
    trace_free(there.trace);
}

static void models_and_certainty(void)
{
    static const struct {
        const char *code, *models;
        enum confirmation confirmation;
        const char *model, *base, *wanted;
        enum confirmation then;
    } rows[] = {
        {"M007", "", CONFIRM_HAPPENED, "batch", "eager", "eager batch", CONFIRM_HAPPENED},
        {"M007", "", CONFIRM_ABSTRACT, "batch", "eager", "batch", CONFIRM_ABSTRACT},
        {"M007", "rendezvous", CONFIRM_HAPPENED, "batch", "eager", "rendezvous batch",
         CONFIRM_HAPPENED},
        {"M007", "eager batch", CONFIRM_HAPPENED, "rendezvous", "eager", "eager rendezvous batch",
         CONFIRM_HAPPENED},
        {"M007", "batch", CONFIRM_NONE, "batch", "eager", "batch", CONFIRM_NONE},
        {"D002", "", CONFIRM_ABSTRACT, "eager", "eager", "eager", CONFIRM_REAL},
        {"D003", "rendezvous", CONFIRM_ABSTRACT, "rendezvous", "eager", "rendezvous", CONFIRM_REAL},
        {"D004", "batch", CONFIRM_ABSTRACT, "batch", "eager", "batch", CONFIRM_REAL},
        {"M007", "streams", CONFIRM_NONE, "device", "eager", "streams device", CONFIRM_NONE},
        {"M007", "streams", CONFIRM_NONE, "eager", "eager", "eager streams", CONFIRM_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int folded = 0; folded < 2; folded++) {
            struct program here = two_ranks(0), there = two_ranks(0);
            struct findings into, from;
            const struct place place = {rows[i].code, "p.c", 7, -1};
            const struct merge_origin origin = origin_of(rows[i].model, rows[i].base, false);
            findings_init(&into);
            findings_init(&from);
            place_at(&into, here.trace, &place);
            place_at(&from, there.trace, &place);
            snprintf(into.items[0].models, sizeof into.items[0].models, "%s", rows[i].models);
            into.items[0].confirmation = rows[i].confirmation;
            if (folded) {
                place_at(&into, here.trace, &(struct place){"X001", "x.c", 90, -1});
                findings_fold(&into, 0, &into.items[1]);
            }
            merge_findings(&into, here.trace, &from, there.trace, &origin);
            const struct finding *is = &into.items[folded];
            tap_ok(into.count == 1 && into.folded == (size_t)folded,
                   "what is known%s is no second finding", folded ? " as a consequence" : "");
            tap_is_str(is->models, rows[i].wanted, "%s of '%s' also in %s", rows[i].code,
                       rows[i].models, rows[i].model);
            tap_is_int(is->confirmation, rows[i].then, "and how certain it is");
            findings_release(&into);
            findings_release(&from);
            trace_free(here.trace);
            trace_free(there.trace);
        }
}

/* A run that only shows once more that another may hang has not hung: neither it nor its model is named. */
static void hangs_and_dangers(void)
{
    static const struct {
        const char *code;
        enum confirmation confirmation;
        const char *models, *model, *alone, *beside; /* beside a D003 of "rendezvous" */
        bool real;
    } rows[] = {
        {"D001", CONFIRM_HAPPENED, "", "batch", "batch", "rendezvous batch", true},
        {"D003", CONFIRM_REAL, "rendezvous", "batch", "batch", "rendezvous batch", true},
        {"D003", CONFIRM_ABSTRACT, "rendezvous", "eager", "rendezvous", "rendezvous", false},
        {"D003", CONFIRM_ABSTRACT, "rendezvous batch", "eager", "rendezvous batch",
         "rendezvous batch", false},
        {"D002", CONFIRM_ABSTRACT, "eager rendezvous batch", "rendezvous", "eager rendezvous batch",
         "eager rendezvous batch", false},
        {"D004", CONFIRM_ABSTRACT, "batch", "rendezvous", "batch", "rendezvous batch", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int known = 0; known < 2; known++) {
            struct program here = two_ranks(0), there = two_ranks(0);
            struct findings into, from;
            const struct merge_origin origin = origin_of(rows[i].model, "eager", false);
            findings_init(&into);
            findings_init(&from);
            place_at(&from, there.trace, &(struct place){rows[i].code, "p.c", 7, -1});
            from.items[0].confirmation = rows[i].confirmation;
            snprintf(from.items[0].models, sizeof from.items[0].models, "%s", rows[i].models);
            if (known) {
                place_at(&into, here.trace, &(struct place){"D003", "p.c", 7, -1});
                into.items[0].confirmation = CONFIRM_ABSTRACT;
                snprintf(into.items[0].models, sizeof into.items[0].models, "rendezvous");
            }
            merge_findings(&into, here.trace, &from, there.trace, &origin);
            tap_is_int(into.count, 1, "%s of a run with %s is one%s", rows[i].code, rows[i].model,
                       known ? " that is known" : "");
            tap_is_str(into.items[0].models, known ? rows[i].beside : rows[i].alone,
                       "with the models in which it hangs");
            tap_is_int(into.items[0].confirmation, rows[i].real ? CONFIRM_REAL : CONFIRM_ABSTRACT,
                       "real where a run hung");
            findings_release(&into);
            findings_release(&from);
            trace_free(here.trace);
            trace_free(there.trace);
        }
}

static void not_taken_over(void)
{
    static const struct {
        enum severity severity;
        const char *models;
        size_t taken;
    } rows[] = {
        {SEVERITY_NOTE, "", 0},          {SEVERITY_WARNING, "", 1},
        {SEVERITY_ERROR, "", 1},         {SEVERITY_ERROR, "streams", 0},
        {SEVERITY_WARNING, "device", 0}, {SEVERITY_ERROR, "eager", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program here = two_ranks(0), there = two_ranks(0);
        struct findings into, from;
        const struct merge_origin origin = origin_of("batch", "eager", false);
        findings_init(&into);
        findings_init(&from);
        place_at(&from, there.trace, &(struct place){"M007", "p.c", 7, -1});
        place_at(&from, there.trace, &(struct place){"M008", "p.c", 8, -1});
        from.items[0].severity = rows[i].severity;
        snprintf(from.items[0].models, sizeof from.items[0].models, "%s", rows[i].models);
        merge_findings(&into, here.trace, &from, there.trace, &origin);
        tap_is_int(into.count, rows[i].taken + 1,
                   "severity %d, '%s': taken over or not, and the next is", (int)rows[i].severity,
                   rows[i].models);
        if (rows[i].taken && into.count)
            tap_is_int(into.items[0].severity, rows[i].severity, "its severity stays");
        findings_release(&into);
        findings_release(&from);
        trace_free(here.trace);
        trace_free(there.trace);
    }
}

/* The operation of the first run is the same call of the same rank, or none. */
static void operations_that_correspond(void)
{
    struct program there = two_ranks(2);
    static const struct {
        const char *name;
        int32_t send_line; /* of rank 1 in the first run; 0: it never came there */
        enum op_kind kind;
        uint32_t ranks, asked, wanted;
    } rows[] = {
        {"the first of rank 0", 4, OP_SEND, 2, 0, 0},
        {"the second of rank 0", 4, OP_SEND, 2, 1, 1},
        {"the first of rank 1", 4, OP_SEND, 2, 2, 2},
        {"the last of rank 1", 4, OP_SEND, 2, 3, 3},
        {"the call at another line", 6, OP_SEND, 2, 3, TRACE_NO},
        {"another call at the line", 4, OP_SSEND, 2, 3, TRACE_NO},
        {"a call that the first run never came to", 4, OP_SEND, 2, 4, TRACE_NO},
        {"a call further behind", 4, OP_SEND, 2, 5, TRACE_NO},
        {"an operation that there is not", 4, OP_SEND, 2, 6, TRACE_NO},
        {"no operation", 4, OP_SEND, 2, TRACE_NO, TRACE_NO},
        {"a rank that the first run has not", 4, OP_SEND, 1, 2, TRACE_NO},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program here = program_new(rows[i].ranks);
        struct findings into, from;
        struct merge_origin origin = origin_of("rendezvous", "eager", false);
        origin.replay = i % 2 ? "simrun replay w" : NULL;
        program_p2p(&here, 0, OP_SEND, 1 % (int)rows[i].ranks, 0, 1);
        program_p2p(&here, 0, OP_RECV, 1 % (int)rows[i].ranks, 0, 2);
        if (rows[i].ranks > 1) {
            program_p2p(&here, 1, OP_RECV, 0, 0, 3);
            program_p2p(&here, 1, rows[i].kind, 0, 0, rows[i].send_line);
        }
        program_finish_said(&here);
        findings_init(&into);
        findings_init(&from);
        struct finding *found = findings_add(&from, "M007", "found %zu", i);
        finding_detail(found, i % 3 == 0 ? "" : i % 3 == 1 ? "Cause." : "Cause.\n");
        finding_op_add(found, rows[i].asked, "culprit");
        found->site = site_of(there.trace, "p.c", i % 2 ? 4 : 0);
        merge_findings(&into, here.trace, &from, there.trace, &origin);
        const struct finding *is = into.count == 1 ? &into.items[0] : NULL;
        char detail[200];
        snprintf(detail, sizeof detail, "%sIn a run of another kind.\n%s", i % 3 ? "Cause.\n" : "",
                 i % 2 ? "It is repeated by: simrun replay w\n" : "");
        tap_is_str(is ? is->detail : "", detail,
                   "the sentence says which run, and how to repeat it");
        tap_is_str(is ? is->title : "", found->title, "the title stays");
        tap_ok(is && is->op_count == (rows[i].wanted != TRACE_NO) &&
                   (!is->op_count ||
                    (is->ops[0].op == rows[i].wanted && !strcmp(is->ops[0].role, "culprit"))),
               "%s: the operation of the first run, or none", rows[i].name);
        tap_ok(is && is->confirmation == CONFIRM_REAL, "what another run met is real");
        const int line = i % 2 ? 4 : rows[i].wanted != TRACE_NO ? (int)rows[i].wanted + 1 : 0;
        tap_is_int(is && trace_site_known(here.trace, is->site) ? here.trace->sites[is->site].line
                                                                : 0,
                   line, "it stands at the line where it stood, or at its operation's");
        tap_is_int(is ? strlen(is->fingerprint) : 0, 16, "and has a fingerprint");
        findings_release(&into);
        findings_release(&from);
        trace_free(here.trace);
    }
    trace_free(there.trace);
}

/* ---- allow ---- */

static struct finding *known_finding(struct findings *findings, struct trace *trace,
                                     const char *code, int line, const char *fingerprint)
{
    struct finding *finding = findings_add(findings, code, "known");
    finding->site = site_of(trace, "src/ring.c", line);
    snprintf(finding->fingerprint, sizeof finding->fingerprint, "%s", fingerprint);
    return finding;
}

/* Of D001 at src/ring.c:41, fingerprint 0123456789abcdef. */
static const struct {
    const char *rule;
    bool valid, matches;
} rules[] = {
    {"D001", true, true},
    {"D002", true, false},
    {"D00", false, false},
    {"D0011", false, false},
    {"", false, false},
    {"D001:ring.c:41", true, true},
    {"D001:src/ring.c:41", true, true},
    {"D001:a/src/ring.c:41", true, false},
    {"D001:ing.c:41", true, false},
    {"D001:rc/ring.c:41", true, false},
    {"D001:/ring.c:41", true, false},
    {"D001:ring.c:4", true, false},
    {"D001:ring.c:42", true, false},
    {"D001:41", true, false},
    {"D001:", true, false},
    {"D002:ring.c:41", true, false},
    {"D001:0123456789abcdef", true, true},
    {"D001:0123456789abcdee", true, false},
    {"D002:0123456789abcdef", true, false},
    {"0123456789abcdef", true, true},
    {"0123456789abcdee", true, false},
    {"0123456789abcde", false, false},
    {"0123456789abcdef0", false, false},
    {"0123456789ABCDEF", false, false},
    {"D001ring.c:41", false, false},
};

static void rules_of_allow(void)
{
    struct program p = two_ranks(0);
    struct findings findings;
    findings_init(&findings);
    struct finding *finding = known_finding(&findings, p.trace, "D001", 41, "0123456789abcdef");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct failure failure = {0};
        tap_is_int(allow_rule_valid(rules[i].rule, &failure), rules[i].valid,
                   "'%s' can be read, or not", rules[i].rule);
        tap_ok(rules[i].valid || (failure.code == FAILURE_USAGE && failure.text[0]),
               "'%s': what cannot be read is told", rules[i].rule);
        if (rules[i].valid)
            tap_is_int(allow_matches(rules[i].rule, finding, p.trace), rules[i].matches,
                       "'%s' names the finding, or not", rules[i].rule);
    }
    tap_ok(!allow_matches("D001:ring.c:41", finding, NULL), "without a trace no place is known");
    tap_ok(allow_matches("D001:0123456789abcdef", finding, NULL) &&
               allow_matches("D001", finding, NULL),
           "but a code and a fingerprint are");
    findings_release(&findings);
    trace_free(p.trace);
}

static void baselines(void)
{
    static const struct {
        const char *text;
        bool valid, matches;
    } rows[] = {
        {"", true, false},
        {"\n \n\t\n# nothing\n", true, false},
        {"D001\n", true, true},
        {"D001", true, true},
        {"  \tD001\t \r\n", true, true},
        {"D001 # known since May\n", true, true},
        {"D001 known since May\n", true, true},
        {"D001:ring.c:41\tknown\n", true, true},
        {"# D001\n", true, false},
        {"D002\n0123456789abcdef\n", true, true},
        {"D001\nD002\n", true, true},
        {"D002\nD003\n", true, false},
        {"D002\nring.c\n", false, false},
        {"ring.c\nD002\n", false, false},
        {"@other\n", false, false},
        {"D002\n@other\nD003\n", false, false},
    };
    struct program p = two_ranks(0);
    struct findings findings;
    char rule[] = "@/tmp/simrun-allow-XXXXXX";
    int made = mkstemp(rule + 1);
    findings_init(&findings);
    struct finding *finding = known_finding(&findings, p.trace, "D001", 41, "0123456789abcdef");
    for (size_t i = 0; made >= 0 && i < sizeof rows / sizeof *rows; i++) {
        struct failure failure = {0};
        FILE *file = fopen(rule + 1, "w");
        if (!file || fputs(rows[i].text, file) < 0 || fclose(file))
            tap_ok(false, "a baseline is written");
        tap_is_int(allow_rule_valid(rule, &failure), rows[i].valid,
                   "baseline %zu can be read, or not", i);
        if (rows[i].valid)
            tap_is_int(allow_matches(rule, finding, p.trace), rows[i].matches,
                       "baseline %zu names the finding, or not", i);
    }
    struct failure failure = {0};
    unlink(rule + 1);
    close(made);
    tap_ok(!allow_rule_valid(rule, &failure) && failure.code == FAILURE_INPUT,
           "a baseline that is not there is told");
    tap_ok(!allow_matches(rule, finding, p.trace), "and names nothing");
    findings_release(&findings);
    trace_free(p.trace);
}

/* D001 at line 41 with two consequences of it, M007 and L001; R003 stands beside. */
static void what_is_allowed(void)
{
    static const struct {
        const char *rules[2];
        int count;
        const char *allowed; /* codes of roots that are, in order of codes */
        size_t roots, folded;
    } rows[] = {
        {{NULL, NULL}, 0, "", 2, 2},
        {{"D001", NULL}, 1, "D001", 4, 0},
        {{"R003", NULL}, 1, "R003", 2, 2},
        {{"M007", NULL}, 1, "", 2, 2},
        {{"R003", "D001:ring.c:41"}, 2, "D001 R003", 4, 0},
        {{"M007", "D001"}, 2, "D001 M007", 4, 0},
        {{"D001", "L001"}, 2, "D001 L001", 4, 0},
        {{"D002", "R004"}, 2, "", 2, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int traced = i == 4; traced < 2; traced++) { /* a place needs a trace */
            struct program p = two_ranks(0);
            struct findings findings;
            char codes[80] = "";
            findings_init(&findings);
            known_finding(&findings, p.trace, "D001", 41, "0000000000000001");
            known_finding(&findings, p.trace, "R003", 1, "0000000000000002");
            known_finding(&findings, p.trace, "M007", 2, "0000000000000003");
            known_finding(&findings, p.trace, "L001", 3, "0000000000000004");
            findings_fold(&findings, 3, &findings.items[0]);
            findings_fold(&findings, 2, &findings.items[0]);
            allow_mark(&findings, traced ? p.trace : NULL, rows[i].rules, rows[i].count);
            tap_ok(findings.count == rows[i].roots && findings.folded == rows[i].folded,
                   "row %zu: consequences of what is allowed are judged alone, others not", i);
            for (const char *code = "D001\0L001\0M007\0R003\0"; *code; code += 5)
                for (size_t k = 0; k < findings.count; k++)
                    if (findings.items[k].allowed && !strcmp(findings.items[k].code, code))
                        snprintf(codes + strlen(codes), sizeof codes - strlen(codes), "%s%s",
                                 *codes ? " " : "", code);
            tap_is_str(codes, rows[i].allowed, "row %zu: what is allowed", i);
            findings_release(&findings);
            trace_free(p.trace);
        }
}

/* ---- injected faults ---- */

static void faults_that_were_injected(void)
{
    static const struct {
        const char *name, *code;
        enum confirmation confirmation;
        enum trace_outcome outcome;
        enum severity before, consequence, after; /* consequence: of a finding folded under it */
        const char *because;
        enum rank_state state;
        enum op_state last;
        size_t told;
    } rows[] = {
        {"the run came through", "X010", CONFIRM_HAPPENED, OUTCOME_FINISHED, SEVERITY_ERROR,
         SEVERITY_NOTE, SEVERITY_NOTE, "X010", RANK_FINISHED, STATE_COMPLETE, 0},
        {"a warning followed", "X010", CONFIRM_HAPPENED, OUTCOME_FINISHED, SEVERITY_ERROR,
         SEVERITY_WARNING, SEVERITY_NOTE, "X010", RANK_FINISHED, STATE_COMPLETE, 0},
        {"an error followed", "X010", CONFIRM_HAPPENED, OUTCOME_FINISHED, SEVERITY_ERROR,
         SEVERITY_ERROR, SEVERITY_ERROR, "X010", RANK_FINISHED, STATE_COMPLETE, 0},
        {"an error of another cause", "X010", CONFIRM_HAPPENED, OUTCOME_FINISHED, SEVERITY_ERROR,
         SEVERITY_ERROR, SEVERITY_NOTE, "D001", RANK_FINISHED, STATE_COMPLETE, 0},
        {"a fault of another run", "X010", CONFIRM_REAL, OUTCOME_FINISHED, SEVERITY_ERROR,
         SEVERITY_NOTE, SEVERITY_ERROR, "X010", RANK_FINISHED, STATE_COMPLETE, 0},
        {"no injected fault", "X002", CONFIRM_HAPPENED, OUTCOME_FINISHED, SEVERITY_ERROR,
         SEVERITY_NOTE, SEVERITY_ERROR, "X010", RANK_FINISHED, STATE_COMPLETE, 0},
        {"the others wait", "X010", CONFIRM_HAPPENED, OUTCOME_DEADLOCK, SEVERITY_ERROR,
         SEVERITY_NOTE, SEVERITY_ERROR, "X010", RANK_BLOCKED, STATE_BLOCKED, 3},
        {"the others have ended", "X010", CONFIRM_HAPPENED, OUTCOME_DEADLOCK, SEVERITY_ERROR,
         SEVERITY_NOTE, SEVERITY_ERROR, "X010", RANK_FINISHED, STATE_BLOCKED, 0},
        {"the others' last calls are complete", "X010", CONFIRM_HAPPENED, OUTCOME_DEADLOCK,
         SEVERITY_ERROR, SEVERITY_NOTE, SEVERITY_ERROR, "X010", RANK_BLOCKED, STATE_COMPLETE, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int before = 0; before < 2; before++) {
            struct program p = program_new(5);
            struct findings findings;
            for (uint32_t rank = 0; rank < 4; rank++) /* the last rank never calls */
                for (int line = 1; line <= 2; line++) {
                    struct trace_plain_op op = program_op(&p, rank, OP_RECV, line);
                    op.peer = 0;
                    op.state = (uint8_t)(line == 2 ? rows[i].last : STATE_COMPLETE);
                    trace_add_op(p.trace, &op);
                }
            program_finish_said(&p);
            for (uint32_t rank = 0; rank < 5; rank++)
                p.trace->rank_info[rank].state = rank != 2 ? rows[i].state : RANK_CRASHED;
            p.trace->outcome = rows[i].outcome;
            findings_init(&findings);
            if (before)
                findings_add(&findings, "L001", "another finding");
            struct finding *fault = findings_add(&findings, rows[i].code, "the fault");
            fault->confirmation = rows[i].confirmation;
            fault->severity = rows[i].before;
            finding_op_add(fault, 5, "culprit"); /* rank 2, at line 2: where it struck */
            finding_op_add(fault, TRACE_NO, "culprit");
            snprintf(fault->fingerprint, sizeof fault->fingerprint, "1");
            findings_add(&findings, "M007", "consequence")->severity = rows[i].consequence;
            findings_fold(&findings, findings.count - 1, &findings.items[before]);
            snprintf(findings.items[findings.count].because, 8, "%s", rows[i].because);
            verdict_injected(&findings, p.trace);
            fault = &findings.items[before];
            tap_is_int(fault->severity, rows[i].after, "%s: how bad it is", rows[i].name);
            tap_is_int(fault->op_count, 2 + rows[i].told,
                       "%s: who waits is named, but not who was struck", rows[i].name);
            if (rows[i].told)
                tap_ok(fault->ops[2].op == 1 && fault->ops[3].op == 3 && fault->ops[4].op == 7 &&
                           !strcmp(fault->ops[2].role, "waits") &&
                           strstr(fault->detail, "Not handled: ") != NULL,
                       "%s: at the last call of each", rows[i].name);
            findings_release(&findings);
            trace_free(p.trace);
        }
}

int main(void)
{
    said_open("one_verdict", 150);
    codes_of_the_first_run();
    one_defect_or_two();
    one_place_of_many();
    likes_at_one_line();
    models_and_certainty();
    not_taken_over();
    operations_that_correspond();
    rules_of_allow();
    baselines();
    what_is_allowed();
    faults_that_were_injected();
    said_close();
    hangs_and_dangers();
    return tap_done();
}
