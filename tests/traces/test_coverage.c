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
    tap_is_str(line, "not covered: 2 float inputs undecided; what memory did not suffice to list",
               "a gap lost to want of memory is told behind the others");
    free(line);
    coverage_close(&coverage, NULL, "2 float");
    line = coverage_line(&coverage, 4);
    tap_is_str(line, "not covered: what memory did not suffice to list", "and alone");
    free(line);
    coverage_release(&coverage);
}

/* Whose check and beginning are named; the others stay, in their order. */
static void closes(void)
{
    static const char *const names[] = {"race", "order", "rac"}, *const texts[] = {"", "wild",
                                                                                   "wildcards",
                                                                                   "windows"};
    for (size_t i = 0; i < 3 * 4 + 4; i++) {
        const char *check = i < 12 ? names[i / 4] : NULL, *beginning = texts[i % 4], *left = "";
        char expected[200] = "";
        struct coverage coverage;
        coverage_init(&coverage);
        for (size_t k = 0; k < 12; k++) {
            const char *mine = names[k / 4], *text = k % 4 ? texts[k % 4] : "x";
            coverage_add(&coverage, mine, 1, text);
            bool closed = (!check || !strcmp(check, mine)) && strstr(text, beginning) == text;
            size_t used = strlen(expected);
            if (!closed)
                snprintf(expected + used, sizeof expected - used, "%s%s", left, text);
            left = closed ? left : "; ";
        }
        coverage_close(&coverage, check, beginning);
        char *line = coverage_line(&coverage, 12);
        tap_is_str(*line ? line + strlen("not covered: ") : line, expected,
                   "%s that begin with '%s' are closed", check ? check : "gaps", beginning);
        free(line);
        coverage_release(&coverage);
    }
}

/* More than there is room for at first; each is there once. */
static void grows(void)
{
    struct coverage coverage;
    coverage_init(&coverage);
    int wrong = 0;
    for (int i = 0; i < 200; i++) {
        char text[20];
        snprintf(text, sizeof text, "gap %d", i % 100);
        coverage_add(&coverage, "race", (uint64_t)(i % 100) + 1, text);
    }
    for (size_t i = 0; i < coverage.count; i++)
        wrong += coverage.gaps[i].count != 2 * (i + 1);
    tap_ok(coverage.count == 100 && !wrong && coverage.room >= 100, "many gaps have room");
    coverage_release(&coverage);
}

/* What went before is put in front as far as both find room; where the front alone does not, what
 * was said stays. */
static void prefixes(void)
{
    struct failure failure;
    enum { ROOM = sizeof failure.text };
    int wrong = 0;
    for (int front = 0; front < ROOM + 3; front++)
        for (int length = 0; length < ROOM; length += length < 4 ? 1 : 61) {
            char before[ROOM + 4], said[ROOM + 1], both[2 * ROOM + 8];
            memset(before, 'f', sizeof before), memset(said, 's', sizeof said);
            before[front] = said[length] = 0;
            failure_set(&failure, FAILURE_INPUT, "%s", said);
            wrong += failure_prefix(&failure, "%s", before) != FAILURE_INPUT;
            snprintf(both, sizeof both, "%s: %s", before, said);
            size_t same = strlen(failure.text);
            if (front >= ROOM)
                wrong += strcmp(failure.text, said) != 0;
            else
                wrong += same >= ROOM || strncmp(failure.text, both, same) != 0 ||
                         (same < strlen(both) && same + 4 < ROOM);
        }
    tap_is_int(wrong, 0, "a failure is told behind where it was, however long either is");
    tap_is_int(failure_prefix(NULL, "x"), FAILURE_INTERNAL, "nowhere to say it is a failure, too");
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
    closes();
    grows();
    prefixes();
    demands();
    return tap_done();
}
