/* Judging in a process of its own says what judging here says; where time runs out it says what was not judged. */
#include "tests/checker/check_program.h"

#include "cli/running/judge.h"

#include <math.h>

/* Long enough to be judged elsewhere: every kind of thing that a finding has is among what is found. */
static struct program long_program(void)
{
    struct program program = program_new(2);
    for (int i = 0; i < 12000; i++)
        program_p2p(&program, 0, OP_SEND, 1, 5, 10);
    program_p2p(&program, 0, OP_SEND, 1, 7, 11); /* nobody receives it */
    program_p2p(&program, 0, OP_RECV, 1, 9, 12); /* both send first */
    for (int i = 0; i < 12000; i++)
        program_p2p(&program, 1, OP_RECV, 0, 5, 20);
    struct trace_plain_op start = program_op(&program, 1, OP_ISEND, 21); /* nobody waits for it */
    start.flags = OP_NONBLOCKING;
    start.peer = 0;
    start.tag = 9;
    trace_add_op(program.trace, &start);
    trace_gap(program.trace, "run", 3, "things that were left out before");
    program_finish(&program);
    return program;
}

static void same_findings(const struct findings *here, const struct findings *there)
{
    size_t count = here->count + here->folded;
    tap_ok(count > 1 && there->count == here->count && there->folded == here->folded,
           "the same number of findings: %zu and %zu", count, there->count + there->folded);
    for (size_t i = 0; i < count && i < there->count + there->folded; i++) {
        const struct finding *a = &here->items[i], *b = &there->items[i];
        bool same = !strcmp(a->code, b->code) && !strcmp(a->title, b->title) &&
                    !strcmp(a->detail, b->detail) && !strcmp(a->fingerprint, b->fingerprint) &&
                    !strcmp(a->models, b->models) && !strcmp(a->root, b->root) &&
                    a->site == b->site && a->severity == b->severity &&
                    a->confirmation == b->confirmation && a->op_count == b->op_count &&
                    a->repair_count == b->repair_count && !a->witness == !b->witness &&
                    (!a->witness || !strcmp(a->witness, b->witness)) &&
                    !memcmp(a->ops, b->ops, a->op_count * sizeof *a->ops);
        tap_ok(same, "%s %s", a->code, a->title);
    }
}

static void as_here(void)
{
    struct program here = long_program(), there = long_program();
    struct check_options options;
    struct findings expected, found;
    struct time_limit limit = {0};
    check_options_init(&options);
    findings_init(&expected);
    findings_init(&found);
    check_trace(here.trace, &options, &expected);
    tap_ok(judge_trace(there.trace, &options, &limit, &found), "all is judged");
    same_findings(&expected, &found);
    char *line = coverage_line(trace_coverage(here.trace), 99),
         *other = coverage_line(trace_coverage(there.trace), 99);
    tap_is_str(other, line, "and the same was not looked at");
    free(line);
    free(other);
    findings_release(&expected);
    findings_release(&found);
    trace_free(here.trace);
    trace_free(there.trace);
}

static void out_of_time(void)
{
    struct program program = long_program();
    struct check_options options;
    struct findings found;
    struct time_limit limit = {.until = 1};
    check_options_init(&options);
    findings_init(&found);
    tap_ok(!judge_trace(program.trace, &options, &limit, &found), "without time not all is judged");
    char *line = coverage_line(trace_coverage(program.trace), 99);
    tap_ok(strstr(line, "checks that did not come to an end, since time ran out: notes crash"),
           "what was not is named: %s", line);
    tap_ok(limit.passed, "and it is known that time ran out");
    free(line);
    findings_release(&found);
    trace_free(program.trace);
}

static void limits(void)
{
    struct time_limit none, limit;
    time_limit_begin(&none, 0, 1);
    tap_ok(!time_limit_passed(&none) && isinf(time_limit_left(&none)), "without a limit for ever");
    time_limit_begin(&limit, 1e-3, 1); /* began long ago */
    tap_ok(!time_limit_passed(&limit) && time_limit_left(&limit) > 0,
           "a run whose time is over has a short while to say what it has");
    limit.until = 1;
    tap_ok(time_limit_passed(&limit) && time_limit_left(&limit) == 0, "which ends");
    time_limit_step(&limit);
    tap_ok(time_limit_left(&limit) > 0 && !time_limit_passed(&limit) && limit.passed,
           "the next step has it again; that one has missed it is remembered");
}

int main(void)
{
    as_here();
    out_of_time();
    limits();
    return tap_done();
}
