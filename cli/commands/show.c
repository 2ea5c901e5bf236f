/* simrun show: a stored run and its parts. */
#include "cli/command.h"
#include "cli/options/show_options.h"
#include "cli/options/suggest.h"
#include "cli/telling/present.h"
#include "cli/telling/run_store_load.h"
#include "viz/charts/gradient_plots.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct show {
    struct stored stored;
    struct show_options options;
    struct present present;
};

static const struct trace *trace_of(const struct show *show)
{
    return show->stored.result.verdict.result.trace;
}

/* Whether row number `shown` is still within the limit. */
static bool within(const struct show *show, size_t shown)
{
    return !show->options.limit || shown < (size_t)show->options.limit;
}

static void left_out(const struct show *show, size_t count)
{
    if (!within(show, count) && count > (size_t)show->options.limit)
        printf("%zu more; --limit 0 shows all\n", count - (size_t)show->options.limit);
}

static bool wanted(const struct show *show, uint32_t rank)
{
    return show->options.rank < 0 || rank == (uint32_t)show->options.rank;
}

static void show_findings(const struct show *show)
{
    const struct result *result = &show->stored.result;
    const struct findings *findings = &result->verdict.findings;
    struct present present = show->present;
    if (!findings->count)
        puts("no findings");
    for (size_t i = 0; i < findings->count; i++) {
        char replay[RESULT_COMMAND + 700], draw[RESULT_COMMAND + 700];
        present.replay = result->file && !findings->items[i].witness
                             ? NULL
                             : result_replay(result, (int)i, replay, sizeof replay);
        present.draw = result_draw(result, (int)i, draw, sizeof draw);
        printf("finding %zu of %zu\n", i + 1, findings->count);
        present_finding(&present, trace_of(show), &findings->items[i]);
    }
}

static void show_gradients(const struct show *show)
{
    const struct trace *trace = trace_of(show);
    size_t count = 0;
    if (!trace->gradient_count)
        puts("no gradients were checked");
    else
        printf("%-5s %4s %-12s %6s %14s %14s %8s %9s\n", "", "rank", "variable", "index",
               "computed", "measured", "error", "tolerance");
    for (size_t i = 0; i < trace->gradient_count; i++) {
        const struct trace_gradient *row = &trace->gradients[i];
        if (!wanted(show, row->rank) || !within(show, count++))
            continue;
        char index[24] = "-";
        if (row->index >= 0)
            snprintf(index, sizeof index, "%" PRId64, row->index);
        if (row->elements > 1)
            snprintf(index, sizeof index, "%" PRId64 "+%u", row->index, row->elements - 1);
        printf("%-5s %4u %-12s %6s %14.7g %14.7g %8.1e %9.1e\n",
               row->ok          ? "ok"
               : row->undecided ? "?"
                                : "WRONG",
               row->rank, trace_string(trace, row->variable), index, row->analytic, row->numeric,
               row->error, row->tolerance);
    }
    left_out(show, count);
    present_methods(&show->present, trace);
}

static const char *const op_states[] = {"never",    "posted", "BLOCKED",
                                        "complete", "failed", "cancelled"};

static void show_ops(const struct show *show)
{
    const struct trace *trace = trace_of(show);
    size_t count = 0;
    if (!trace->op_count)
        puts("no operations were kept (--record ops keeps them)");
    else
        printf("%4s %5s %-9s %-8s %s\n", "rank", "seq", "state", "phase", "operation, place");
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        char text[160], where[TRACE_SITE_TEXT] = "";
        if (!wanted(show, op->rank) || !within(show, count++))
            continue;
        if (trace_site_known(trace, op->form->site))
            trace_site_text(trace, op->form->site, where, sizeof where);
        char *place = present_short(where);
        char line[500];
        printf("%4u %5u %-9s %-8s ", op->rank, trace_op_seq(trace, op), op_states[op->state],
               op->form->pass ? "backward" : "forward");
        snprintf(line, sizeof line, "%s%s%s", trace_op_text(trace, (uint32_t)i, text, sizeof text),
                 *place ? "  " : "", place);
        present_hanging(&show->present, 30, 32, line);
        free(place);
    }
    left_out(show, count);
}

static void show_ranks(const struct show *show)
{
    static const char *const states[] = {"finished", "BLOCKED", "aborted",
                                         "CRASHED",  "polling", "running"};
    const struct trace *trace = trace_of(show);
    size_t count = 0;
    printf("%6s %-9s %5s %10s %10s %12s  %s\n", "rank", "state", "exit", "operations", "messages",
           "bytes sent", "trace hash");
    for (uint32_t r = 0; r < trace->ranks; r++) {
        const struct trace_rank *rank = &trace->rank_info[r];
        if (!wanted(show, r) || !within(show, count++))
            continue;
        printf("%6u %-9s %5d %10zu %10" PRIu64 " %12" PRIu64 "  %016" PRIx64 "\n", r,
               states[rank->state], rank->exit_code,
               trace->rank_begin[r + 1] - trace->rank_begin[r], rank->messages_sent,
               rank->bytes_sent, trace_rank_hash(trace, r));
    }
    left_out(show, count);
}

static void print_metric(const struct trace *trace, const struct trace_metric *metric)
{
    char name[512], unit[64];
    printf("%-32s %12.6g %-10s",
           present_clean(name, sizeof name, trace_string(trace, metric->name)), metric->value,
           present_clean(unit, sizeof unit, trace_string(trace, metric->unit)));
    if (metric->rank >= 0)
        printf(" rank %d", metric->rank);
    if (!isnan(metric->step))
        printf(" step %g", metric->step);
    putchar('\n');
}

static int compare_metrics(const void *a, const void *b)
{
    const struct trace_metric *p = *(const struct trace_metric *const *)a;
    const struct trace_metric *q = *(const struct trace_metric *const *)b;
    if (p->name != q->name)
        return p->name < q->name ? -1 : 1;
    if (p->rank != q->rank)
        return p->rank < q->rank ? -1 : 1;
    return p < q ? -1 : p > q;
}

/* One line for the points of a curve: its first and its last. */
static void print_curve(const struct show *show, const struct trace_metric *const *points,
                        size_t count)
{
    const struct trace_metric *first = points[0], *last = points[count - 1];
    char line[200];
    int column = printf("%-22s ", trace_string(trace_of(show), first->name));
    int used = snprintf(line, sizeof line, "%.3g at %.3g", first->value, first->step);
    if (count > 1)
        used += snprintf(line + used, sizeof line - (size_t)used, " .. %.3g at %.3g, %zu points",
                         last->value, last->step, count);
    if (first->rank >= 0)
        snprintf(line + used, sizeof line - (size_t)used, ", rank %d", first->rank);
    present_hanging(&show->present, column, 23, line);
}

/* Metrics with a step, by name and rank; returns how many lines they are. */
static size_t show_curves(const struct show *show, const struct trace_metric **points, size_t count,
                          size_t shown)
{
    if (count)
        qsort(points, count, sizeof *points, compare_metrics);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && points[end]->name == points[i]->name &&
                          points[end]->rank == points[i]->rank;
             end++)
            ;
        if (within(show, shown++))
            print_curve(show, points + i, end - i);
    }
    return shown;
}

static void show_metrics(const struct show *show)
{
    const struct trace *trace = trace_of(show);
    const struct trace_metric **points = malloc((trace->metric_count + 1) * sizeof *points);
    size_t count = 0, point_count = 0;
    if (!trace->metric_count)
        puts("no metrics");
    for (size_t i = 0; points && i < trace->metric_count; i++) {
        const struct trace_metric *metric = &trace->metrics[i];
        if (show->options.rank >= 0 && metric->rank != show->options.rank)
            continue;
        if (!isnan(metric->step) && !show->options.verbose)
            points[point_count++] = metric;
        else if (within(show, count++))
            print_metric(trace, metric);
    }
    left_out(show, points ? show_curves(show, points, point_count, count) : count);
    size_t of_check = 0;
    for (size_t i = 0; i < point_count; i++)
        of_check += gradient_plot_draws(trace, points[i]);
    if (of_check)
        puts("curves: simrun graph --view gradients -o gradients.svg; -v shows every point");
    if (point_count > of_check)
        puts("curves: simrun graph --view metrics -o metrics.svg; -v shows every point");
    free(points);
}

static void show_run(const struct show *show)
{
    const struct result *result = &show->stored.result;
    const struct trace *trace = trace_of(show);
    /* What is kept is the time of all of it; the verdict's own line tells that of the run alone. */
    struct result untimed = *result;
    untimed.verdict.watch = (struct stopwatch){0};
    present_verdict(&show->present, &untimed, true);
    char when[200];
    snprintf(when, sizeof when, "%lld, started %s UTC, took %.1f ms with checks and storing",
             (long long)result->run, result->started, result_seconds(result) * 1e3);
    fputs("  run     ", stdout);
    present_hanging(&show->present, 10, 10, when);
    printf("  command %s\n", result->command);
    printf("  trace   %zu operations, hash %s\n", trace->op_count, show->stored.hash);
    if (trace->objective == trace->objective)
        printf("  sum of the ranks' objectives %.15g\n", trace->objective);
    present_gradients(&show->present, trace, show->options.verbose);
    for (size_t i = 0; i < result->verdict.findings.count; i++) {
        const struct finding *finding = &result->verdict.findings.items[i];
        char line[600];
        snprintf(line, sizeof line, "%zu. %s %s%s", i + 1, finding->code, finding->title,
                 finding->allowed ? " (allowed)" : "");
        char *shown = present_short(line);
        present_wrapped(&show->present, 2, shown);
        free(shown);
    }
    puts("more: simrun show findings | gradients | ops | ranks | metrics");
}

static const struct {
    const char *name;
    void (*show)(const struct show *show);
} parts[] = {
    {"run", show_run}, {"findings", show_findings}, {"gradients", show_gradients},
    {"ops", show_ops}, {"ranks", show_ranks},       {"metrics", show_metrics},
};
enum { PARTS = sizeof parts / sizeof *parts };

/* Words in any order: a run's number, and names of parts. -1 after a complaint, else how many. */
static int sort_words(const struct command_words *words, const char **run, size_t *chosen)
{
    int count = 0;
    for (int i = 0; i < words->count; i++) {
        const char *names[PARTS + 1] = {NULL}, *word = words->words[i];
        size_t part = 0;
        while (part < PARTS && strcmp(word, parts[part].name))
            part++;
        if (part < PARTS) {
            chosen[count++] = part;
        } else if (stored_is_number(word)) {
            *run = word;
        } else {
            for (size_t k = 0; k < PARTS; k++)
                names[k] = parts[k].name;
            const char *near = suggest_name(word, names);
            fprintf(stderr,
                    "simrun show: '%s' is neither a run nor one of findings, gradients, "
                    "ops, ranks, metrics%s%s%s\n",
                    word, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
            return -1;
        }
    }
    return count;
}

int command_show(int argc, char **argv)
{
    struct show show;
    struct command_words words = {.most = PARTS};
    struct failure failure = {0};
    const char *run = NULL;
    size_t chosen[PARTS] = {0};
    show_options_init(&show.options);
    int status = command_parse("show", &show.options, argc, argv, &words);
    if (status >= 0)
        return status;
    int count = sort_words(&words, &run, chosen);
    if (count < 0)
        return EXIT_USAGE;
    present_init(&show.present, stdout, NULL);
    if (!stored_open(&show.stored, show.options.database, run, &failure))
        status = command_fail("show", &failure);
    else if (show.options.json)
        result_json(stdout, &show.stored.result);
    else
        for (int i = 0; i < (count ? count : 1); i++)
            parts[chosen[i]].show(&show);
    stored_release(&show.stored);
    return status < 0 ? EXIT_PASSED : status;
}
