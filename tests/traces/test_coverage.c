/* Coverage: gaps add up, are kept in the order in which they came, and answer --require. */
#include "tests/tap.h"

#include "traces/trace/trace.h"

#include <stdlib.h>

static void adds_up(void)
{
    struct trace *trace = trace_new(2);
    tap_is_int((long)trace_coverage(trace)->count, 0, "a new trace has no gap");
    tap_is_int((long)trace_coverage(NULL)->count, 0, "and what is no trace has none either");
    trace_gap(trace, "race", 3, "wildcards beyond %d", 10);
    trace_gap(trace, "order", 1, "orders");
    trace_gap(trace, "race", 2, "wildcards beyond 10");
    trace_gap(trace, "race", 2, "wildcards beyond 11");
    trace_gap(trace, "models", 1, "wildcards beyond 10");
    trace_gap(trace, "order", 0, "nothing");
    const struct coverage *coverage = trace_coverage(trace);
    tap_is_int((long)coverage->count, 4, "same check and sentence are one gap, none of nothing");
    tap_ok(coverage->gaps[0].count == 5 && coverage->gaps[1].count == 1,
           "whose counts add up, in the order in which they came");
    trace_gap(trace, "race", UINT64_MAX, "wildcards beyond 10");
    tap_ok(coverage->gaps[0].count == UINT64_MAX, "up to the largest number");
    trace_free(trace);
}

static void lines(void)
{
    struct coverage coverage;
    coverage_init(&coverage);
    char *line = coverage_line(&coverage, 4);
    tap_is_str(line, "", "nothing left out is nothing to say");
    free(line);
    coverage_add(&coverage, "race", 3, "wildcards");
    coverage_add(&coverage, "gradients", 1, "2 float inputs undecided");
    line = coverage_line(&coverage, 4);
    tap_is_str(line, "not covered: wildcards (3 times); 2 float inputs undecided",
               "each gap is told, how often behind it");
    free(line);
    line = coverage_line(&coverage, 1);
    tap_is_str(line, "not covered: wildcards (3 times); and 1 more", "up to a limit");
    free(line);
    coverage_close(&coverage, "race", "wild");
    tap_ok(coverage.count == 1 && !strcmp(coverage.gaps[0].check, "gradients"),
           "a gap that something else closes is gone");
    coverage.failed = true;
    line = coverage_line(&coverage, 4);
    tap_ok(strstr(line, "memory"), "a gap lost to want of memory is told: %s", line);
    free(line);
    coverage_release(&coverage);
}

static void demands(void)
{
    static const struct {
        const char *check, *text, *missed;
    } rows[] = {
        {NULL, NULL, ""},
        {"race", "wildcards", "complete"},
        {"gradients", "elements not looked at", "complete,gradients"},
        {"gradients", "2 float inputs undecided", "complete,decided"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct coverage coverage;
        char words[80];
        coverage_init(&coverage);
        if (rows[i].check)
            coverage_add(&coverage, rows[i].check, 1, rows[i].text);
        unsigned missed =
            coverage_missed(&coverage, COVERAGE_COMPLETE | COVERAGE_GRADIENTS | COVERAGE_DECIDED);
        tap_is_str(coverage_demands_text(missed, words, sizeof words), rows[i].missed,
                   "what %s leaves open", rows[i].text ? rows[i].text : "no gap");
        tap_is_int(coverage_missed(&coverage, 0), 0, "nothing asked for is nothing missed");
        coverage_release(&coverage);
    }
    tap_is_int(coverage_demands("decided,complete"), COVERAGE_COMPLETE | COVERAGE_DECIDED,
               "a list of demands");
    tap_is_int(coverage_demands("complete,all"), 0, "with a word that is none: refused");
    tap_is_int(coverage_demands("complet"), 0, "also one cut short");
}

int main(void)
{
    adds_up();
    lines();
    demands();
    return tap_done();
}
