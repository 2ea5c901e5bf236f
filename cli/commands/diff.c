/* simrun diff: what two runs have in common and what not. Findings are told apart by fingerprint,
 * gradients by variable, metrics by name. Ends with 1 when the second run has findings of its own.
 */
#include "cli/command.h"
#include "cli/options/show_options.h"
#include "cli/telling/present.h"
#include "cli/telling/run_store_load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool has(const struct findings *findings, const char *fingerprint)
{
    for (size_t i = 0; i < findings->count; i++)
        if (!strcmp(findings->items[i].fingerprint, fingerprint))
            return true;
    return false;
}

/* Prints those findings of `these` that are (or are not) among `others`; how many. */
static size_t print_findings(const struct present *present, const char *word,
                             const struct result *these, const struct result *others, bool common)
{
    size_t count = 0;
    for (size_t i = 0; i < these->verdict.findings.count; i++) {
        const struct finding *finding = &these->verdict.findings.items[i];
        char line[900];
        if (has(&others->verdict.findings, finding->fingerprint) != common)
            continue;
        snprintf(line, sizeof line, "%s %s", finding->code, finding->title);
        char *shown = present_short(line);
        printf("%-5s ", word);
        present_hanging(present, 6, 6, shown);
        free(shown);
        count++;
    }
    return count;
}

struct worst {
    double ratio, error;
    size_t wrong, count;
};

static struct worst worst_of(const struct trace *trace, const char *variable)
{
    struct worst worst = {0};
    for (size_t i = 0; i < trace->gradient_count; i++) {
        const struct trace_gradient *row = &trace->gradients[i];
        if (strcmp(trace_string(trace, row->variable), variable))
            continue;
        double ratio = row->tolerance > 0 ? row->error / row->tolerance : row->error;
        worst.count++;
        worst.wrong += trace_gradient_wrong(row);
        if (worst.count == 1 || isnan(ratio) || ratio > worst.ratio) {
            worst.ratio = ratio;
            worst.error = row->error;
        }
    }
    return worst;
}

static bool told_before(const struct trace *trace, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (trace->gradients[i].variable == trace->gradients[at].variable)
            return true;
    return false;
}

static void diff_gradients(const struct trace *one, const struct trace *two)
{
    for (size_t i = 0; i < one->gradient_count; i++) {
        if (told_before(one, i))
            continue;
        const char *name = trace_string(one, one->gradients[i].variable);
        struct worst before = worst_of(one, name), after = worst_of(two, name);
        if (!after.count)
            printf("gradient %s: no longer checked\n", name);
        else if (before.wrong != after.wrong || before.count != after.count ||
                 before.error != after.error)
            printf("gradient %s: %zu of %zu right, worst error %.1e -> %zu of %zu, %.1e\n", name,
                   before.count - before.wrong, before.count, before.error,
                   after.count - after.wrong, after.count, after.error);
    }
    for (size_t i = 0; i < two->gradient_count; i++) {
        const char *name = trace_string(two, two->gradients[i].variable);
        if (!told_before(two, i) && !worst_of(one, name).count)
            printf("gradient %s: newly checked\n", name);
    }
}

static bool same_step(const struct trace_metric *a, const struct trace_metric *b)
{
    return a->step == b->step || (isnan(a->step) && isnan(b->step));
}

/* The same number of the other run: name, rank and, for a point of a curve, step. */
static const struct trace_metric *find_metric(const struct trace *trace, const char *name,
                                              const struct trace_metric *like)
{
    for (size_t i = 0; i < trace->metric_count; i++)
        if (trace->metrics[i].rank == like->rank && same_step(&trace->metrics[i], like) &&
            !strcmp(trace_string(trace, trace->metrics[i].name), name))
            return &trace->metrics[i];
    return NULL;
}

static bool same_value(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* A metric that came twice under one name is reported by its first value. */
static bool is_first(const struct trace *trace, size_t index)
{
    const struct trace_metric *metric = &trace->metrics[index];
    return find_metric(trace, trace_string(trace, metric->name), metric) == metric;
}

static void diff_metrics(const struct trace *one, const struct trace *two)
{
    for (size_t i = 0; i < two->metric_count; i++) {
        const struct trace_metric *after = &two->metrics[i];
        const char *name = trace_string(two, after->name);
        const struct trace_metric *before = find_metric(one, name, after);
        char rank[24] = "";
        if (!isnan(after->step) || !before || same_value(before->value, after->value) ||
            !is_first(two, i))
            continue;
        if (after->rank >= 0)
            snprintf(rank, sizeof rank, " of rank %d", after->rank);
        const char *unit = trace_string(two, after->unit);
        printf("metric %s%s: %g -> %g%s%s\n", name, rank, before->value, after->value,
               *unit ? " " : "", unit);
    }
}

static bool is_curve(const struct trace_metric *metric, const struct trace_metric *like)
{
    return metric->name == like->name && metric->rank == like->rank && !isnan(metric->step);
}

/* Curves in one line each: how many of their points differ. */
static void diff_curves(const struct trace *one, const struct trace *two)
{
    for (size_t i = 0; i < two->metric_count; i++) {
        const struct trace_metric *first = &two->metrics[i];
        const char *name = trace_string(two, first->name);
        size_t points = 0, different = 0, before = 0;
        while (before < i && !is_curve(&two->metrics[before], first))
            before++;
        for (size_t k = i; k < two->metric_count && before == i && !isnan(first->step); k++) {
            if (!is_curve(&two->metrics[k], first) || !is_first(two, k))
                continue;
            const struct trace_metric *other = find_metric(one, name, &two->metrics[k]);
            points++;
            different += other && !same_value(other->value, two->metrics[k].value);
        }
        if (different && first->rank >= 0)
            printf("curve %s of rank %d: %zu of %zu points differ\n", name, first->rank, different,
                   points);
        else if (different)
            printf("curve %s: %zu of %zu points differ\n", name, different, points);
    }
}

static int diff(const struct stored *one, const struct stored *two)
{
    struct present present;
    present_init(&present, stdout, NULL);
    const struct stored *both[] = {one, two};
    for (size_t i = 0; i < 2; i++)
        printf("run %lld: %s, %d ranks, %s: %s\n", (long long)both[i]->result.run,
               both[i]->result.job.name, both[i]->result.job.world.ranks,
               result_model(&both[i]->result), both[i]->outcome);
    printf("traces: %s\n", !*one->hash || strcmp(one->hash, two->hash) ? "different" : "the same");
    size_t new = print_findings(&present, "new", &two->result, &one->result, false);
    size_t fixed = print_findings(&present, "fixed", &one->result, &two->result, false);
    size_t same = print_findings(&present, "same", &two->result, &one->result, true);
    printf("findings: %zu new, %zu fixed, %zu the same\n", new, fixed, same);
    diff_gradients(one->result.verdict.result.trace, two->result.verdict.result.trace);
    diff_metrics(one->result.verdict.result.trace, two->result.verdict.result.trace);
    diff_curves(one->result.verdict.result.trace, two->result.verdict.result.trace);
    return new ? EXIT_FINDINGS : EXIT_PASSED;
}

int command_diff(int argc, char **argv)
{
    struct show_options options;
    struct stored one, two = {0};
    struct command_words words = {.least = 2, .most = 2};
    struct failure failure = {0};
    show_options_init(&options);
    int status = command_parse("diff", &options, argc, argv, &words);
    if (status >= 0)
        return status;
    findings_init(&two.result.verdict.findings);
    if (stored_open(&one, options.database, words.words[0], &failure) &&
        stored_open(&two, options.database, words.words[1], &failure))
        status = diff(&one, &two);
    else
        status = command_fail("diff", &failure);
    stored_release(&one);
    stored_release(&two);
    return status;
}
