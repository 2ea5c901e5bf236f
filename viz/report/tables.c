/* The tables of a run's report: gradients, ranks, matches, metrics, command and environment. */
#include "traces/trace/names.h"
#include "viz/report/page.h"

#include "viz/charts/gradient_plots.h"
#include "viz/charts/plots.h"
#include "viz/charts/timeline.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRADIENT_ROWS = 60, RANK_ROWS = 64, MATCH_ROWS = 60, METRIC_ROWS = 80, HEAT_SIDE = 64 };

static void open_table(FILE *file, const char *caption)
{
    page_put(file,
             "<div class=\"wide\" role=\"region\" tabindex=\"0\" "
             "aria-label=\"%s\">\n<table><caption>%s</caption>\n",
             caption, caption);
}

/* " 17" for a run that is kept, "" for one that is not. */
static const char *run_number(const struct page *page)
{
    const char *run = page->run->info->run;
    return run && !strncmp(run, "run ", 4) ? run + 3 : "";
}

static void put_more(const struct page *page, size_t more, const char *part)
{
    page_put(page->file, "<p class=\"dim\">%zu more: <code>simrun show%s %s --limit 0</code></p>\n",
             more, run_number(page), part);
}

/* `part` is what 'simrun show' calls the table, with all its rows. */
static void close_table(const struct page *page, size_t shown, size_t all, const char *part)
{
    fputs("</tbody></table></div>\n", page->file);
    if (shown < all)
        put_more(page, all - shown, part);
}

/* Wrong rows first, the worst of them on top; NaN is the worst. */
static int compare_gradients(const void *a, const void *b)
{
    const struct trace_gradient *x = *(const struct trace_gradient *const *)a;
    const struct trace_gradient *y = *(const struct trace_gradient *const *)b;
    int xa = x->ok ? 2 : x->undecided ? 1 : 0, ya = y->ok ? 2 : y->undecided ? 1 : 0;
    if (xa != ya)
        return xa - ya;
    bool xn = isnan(x->relative), yn = isnan(y->relative);
    if (xn != yn)
        return xn ? -1 : 1;
    if (!xn && (x->relative > y->relative || x->relative < y->relative))
        return x->relative > y->relative ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void put_gradient(FILE *file, const struct trace *trace, const struct trace_gradient *row)
{
    char element[32] = "direction";
    if (row->index >= 0)
        snprintf(element, sizeof element, "%" PRId64, row->index);
    page_put(file,
             "<tr><td class=\"%s\">%s</td><td class=\"n\">%u</td><td>%s</td><td "
             "class=\"n\">%s</td><td>%s</td>"
             "<td class=\"n\">%.9g</td><td class=\"n\">%.9g</td><td class=\"n\">%.2e</td><td "
             "class=\"n\">%.2e</td>"
             "<td class=\"n\">%.1e</td></tr>\n",
             row->ok          ? "good"
             : row->undecided ? "dim"
                              : "bad",
             row->ok          ? "ok"
             : row->undecided ? "undecided"
                              : "wrong",
             row->rank, trace_string(trace, row->variable), element, row->method ? row->method : "",
             row->analytic, row->numeric, row->error, row->relative, row->tolerance);
}

/* Worst relative error by rank and variable. */
static void put_gradient_heat(struct page *page)
{
    const struct trace *trace = page->run->trace;
    uint32_t names[HEAT_SIDE];
    const char *words[HEAT_SIDE];
    size_t columns = 0, rows = trace->ranks < HEAT_SIDE ? trace->ranks : HEAT_SIDE;
    for (size_t i = 0; i < trace->gradient_count; i++) {
        size_t k = 0;
        while (k < columns && names[k] != trace->gradients[i].variable)
            k++;
        if (k == columns && columns < HEAT_SIDE) {
            names[columns] = trace->gradients[i].variable;
            words[columns++] = trace_string(trace, trace->gradients[i].variable);
        }
    }
    double *values = malloc((rows * columns + 1) * sizeof *values);
    if (!values || rows * columns < 2) {
        free(values);
        return;
    }
    for (size_t i = 0; i < rows * columns; i++)
        values[i] = NAN;
    double limit = 0;
    for (size_t i = 0; i < trace->gradient_count; i++) {
        const struct trace_gradient *row = &trace->gradients[i];
        size_t k = 0;
        while (k < columns && names[k] != row->variable)
            k++;
        if (k == columns || row->rank >= rows)
            continue;
        double *cell = &values[row->rank * columns + k],
               worst = row->ok || row->undecided || row->relative > 0 ? row->relative : INFINITY;
        *cell = isnan(*cell) || worst > *cell ? worst : *cell;
        if (row->ok && row->relative > limit)
            limit = row->relative;
    }
    char id[40];
    struct viz_heat heat = {.title = "Largest relative error, rank by variable",
                            .row_label = "rank",
                            .column_label = "variable",
                            .description = "Relative errors of the gradients.",
                            .values = values,
                            .rows = rows,
                            .columns = columns,
                            .column_names = words,
                            .limit = limit > 0 ? limit : 1e-6,
                            .prefix = page_figure(page, id)};
    viz_plot_heat(page->file, &heat);
    free(values);
}

void page_gradients(struct page *page)
{
    const struct trace *trace = page->run->trace;
    FILE *file = page->file;
    page_heading(page, "Gradients");
    if (!trace || trace->gradient_count == 0) {
        fputs("<p class=\"dim\">No gradient was checked.</p>\n", file);
        return;
    }
    char id[40];
    fputs("<div class=\"plots\">\n", file);
    for (int plot = 0; plot < GRADIENT_PLOTS; plot++)
        if (gradient_plot_exists(trace, (enum gradient_plot)plot))
            gradient_plot_write(file, trace, (enum gradient_plot)plot, page_figure(page, id));
    put_gradient_heat(page);
    fputs("</div>\n", file);
    const struct trace_gradient **rows = malloc(trace->gradient_count * sizeof *rows);
    if (!rows)
        return;
    for (size_t i = 0; i < trace->gradient_count; i++)
        rows[i] = &trace->gradients[i];
    qsort(rows, trace->gradient_count, sizeof *rows, compare_gradients);
    open_table(file, "Gradients, the largest error first");
    fputs("<thead><tr><th scope=\"col\">verdict</th><th scope=\"col\" class=\"n\">rank</th><th "
          "scope=\"col\">variable</th>"
          "<th scope=\"col\" class=\"n\">element</th><th scope=\"col\">method</th><th "
          "scope=\"col\" class=\"n\">adjoint</th>"
          "<th scope=\"col\" class=\"n\">reference</th><th scope=\"col\" class=\"n\">error</th>"
          "<th scope=\"col\" class=\"n\">relative</th><th scope=\"col\" "
          "class=\"n\">tolerance</th></tr></thead><tbody>\n",
          file);
    size_t shown = trace->gradient_count < GRADIENT_ROWS ? trace->gradient_count : GRADIENT_ROWS;
    for (size_t i = 0; i < shown; i++)
        put_gradient(file, trace, rows[i]);
    close_table(page, shown, trace->gradient_count, "gradients");
    free(rows);
}

void page_ranks(struct page *page)
{
    const struct trace *trace = page->run->trace;
    FILE *file = page->file;
    bool wall = viz_timeline_has_wall(trace);
    double *idle = calloc(trace->ranks, sizeof *idle);
    if (!idle)
        return;
    viz_timeline_idle(trace, wall, idle);
    page_heading(page, "Ranks");
    open_table(file, "Ranks");
    fputs("<thead><tr><th scope=\"col\" class=\"n\">rank</th><th scope=\"col\">state</th><th "
          "scope=\"col\">place</th>"
          "<th scope=\"col\" class=\"n\">operations</th><th scope=\"col\" class=\"n\">messages "
          "sent</th>"
          "<th scope=\"col\" class=\"n\">bytes sent</th><th scope=\"col\" "
          "class=\"n\">waiting</th></tr></thead><tbody>\n",
          file);
    size_t shown = trace->ranks < RANK_ROWS ? trace->ranks : RANK_ROWS;
    for (uint32_t rank = 0; rank < shown; rank++) {
        const struct trace_rank *info = &trace->rank_info[rank];
        size_t first = trace->rank_begin[rank], end = trace->rank_begin[rank + 1];
        char site[TRACE_SITE_TEXT] = "";
        uint32_t place = info->site;
        for (size_t i = end; i > first && info->state == RANK_BLOCKED; i--)
            if (trace->ops[i - 1].state == STATE_BLOCKED) {
                place = trace->ops[i - 1].form->site;
                break;
            }
        if (trace_site_known(trace, place) && info->state != RANK_FINISHED)
            trace_site_text(trace, place, site, sizeof site);
        page_put(file,
                 "<tr><td class=\"n\">%u</td><td class=\"%s\">%s</td><td><code>%s</code></td><td "
                 "class=\"n\">%zu</td>"
                 "<td class=\"n\">%lu</td><td class=\"n\">%lu</td><td "
                 "class=\"n\">%.0f&nbsp;%%</td></tr>\n",
                 rank, info->state == RANK_FINISHED ? "good" : "bad",
                 trace_name(trace_rank_state_names, info->state), site, end - first,
                 (unsigned long)info->messages_sent, (unsigned long)info->bytes_sent,
                 100 * idle[rank]);
    }
    close_table(page, shown, trace->ranks, "ranks");
    free(idle);
}

/* Sends to this receive's rank whose envelope fits it, beside the one it got, up to a bound. */
static size_t put_alternatives(const struct trace *trace, uint32_t receive, char *out, size_t size)
{
    enum { NAMED = 6 };
    const struct trace_op *op = &trace->ops[receive];
    size_t count = 0, length = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *send = &trace->ops[i];
        bool fits = op_kind_class(send->kind) == CLASS_SEND && send->peer == (int32_t)op->rank &&
                    send->form->comm == op->form->comm &&
                    (op->tag == TRACE_ANY || op->tag == send->tag) && send->state != STATE_NEVER &&
                    (op->peer == TRACE_ANY || op->peer == (int32_t)send->rank) && op->match != i;
        if (!fits)
            continue;
        if (count++ < NAMED)
            length += (size_t)snprintf(out + length, size - length, "%s%" PRIu32 " #%" PRIu32,
                                       length ? ", " : "", send->rank, trace_op_seq(trace, send));
    }
    if (count > NAMED)
        snprintf(out + length, size - length, ", ...");
    return count;
}

static void put_match(FILE *file, const struct trace *trace, uint32_t receive)
{
    const struct trace_op *op = &trace->ops[receive];
    char others[200], source[24] = "any", tag[24] = "any", got[64] = "nothing",
                      site[TRACE_SITE_TEXT] = "";
    size_t count = put_alternatives(trace, receive, others, sizeof others);
    if (trace_site_known(trace, op->form->site))
        trace_site_text(trace, op->form->site, site, sizeof site);
    if (op->peer >= 0)
        snprintf(source, sizeof source, "%" PRId32, op->peer);
    if (op->tag >= 0)
        snprintf(tag, sizeof tag, "%" PRId32, op->tag);
    if (op->match != TRACE_NO)
        snprintf(got, sizeof got, "rank %" PRIu32 " #%" PRIu32 ", tag %" PRId32,
                 trace->ops[op->match].rank, trace_op_seq(trace, &trace->ops[op->match]),
                 trace->ops[op->match].tag);
    page_put(file,
             "<tr><td class=\"n\">%u</td><td>%s #%u</td><td><code>%s</code></td><td "
             "class=\"n\">%s</td><td class=\"n\">%s</td>"
             "<td>%s</td><td class=\"n\">%zu</td><td>%s</td></tr>\n",
             op->rank, op_kind_name(op->kind), trace_op_seq(trace, op), site, source, tag, got,
             count, others);
}

/* Receives with a wildcard: the only matches that could have been others. */
void page_matches(struct page *page)
{
    const struct trace *trace = page->run->trace;
    FILE *file = page->file;
    size_t wild = 0, exact = 0, shown = 0;
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op_kind_class(op->kind) != CLASS_RECEIVE)
            continue;
        bool free_choice = op->peer == TRACE_ANY || op->tag == TRACE_ANY;
        wild += free_choice;
        exact += !free_choice && op->match != TRACE_NO;
    }
    page_heading(page, "Matches");
    page_put(
        file,
        "<p>%zu receives named their sender and tag and were matched; %zu had a wildcard.</p>\n",
        exact, wild);
    if (wild == 0)
        return;
    open_table(file, "Wildcard receives and the sends that fit their envelope");
    fputs("<thead><tr><th scope=\"col\" class=\"n\">rank</th><th scope=\"col\">receive</th><th "
          "scope=\"col\">place</th>"
          "<th scope=\"col\" class=\"n\">source</th><th scope=\"col\" class=\"n\">tag</th><th "
          "scope=\"col\">got</th>"
          "<th scope=\"col\" class=\"n\">others that fit</th><th "
          "scope=\"col\">which</th></tr></thead><tbody>\n",
          file);
    for (uint32_t i = 0; i < trace->op_count && shown < MATCH_ROWS; i++) {
        const struct trace_op *op = &trace->ops[i];
        bool free_choice = op->peer == TRACE_ANY || op->tag == TRACE_ANY;
        if (op_kind_class(op->kind) == CLASS_RECEIVE && free_choice) {
            put_match(file, trace, i);
            shown++;
        }
    }
    fputs("</tbody></table></div>\n", file);
    if (shown < wild)
        page_put(file,
                 "<p class=\"dim\">%zu more: <code>simrun query 'select * from v_matches where "
                 "wildcard'</code></p>\n",
                 wild - shown);
}

/* Only in the table what is not in a plot. */
static bool is_single(const struct trace *trace, const struct trace_metric *metric)
{
    return isnan(metric->step) && !gradient_plot_draws(trace, metric);
}

static void put_metric_table(struct page *page)
{
    const struct trace *trace = page->run->trace;
    FILE *file = page->file;
    size_t shown = 0, all = 0;
    for (size_t i = 0; i < trace->metric_count; i++)
        all += is_single(trace, &trace->metrics[i]);
    if (all == 0)
        return;
    open_table(file, "Metrics");
    fputs("<thead><tr><th scope=\"col\">name</th><th scope=\"col\" class=\"n\">rank</th><th "
          "scope=\"col\" class=\"n\">value"
          "</th><th scope=\"col\">unit</th></tr></thead><tbody>\n",
          file);
    for (size_t i = 0; i < trace->metric_count && shown < METRIC_ROWS; i++) {
        const struct trace_metric *metric = &trace->metrics[i];
        if (!is_single(trace, metric))
            continue;
        shown++;
        char rank[16] = "all";
        if (metric->rank >= 0)
            snprintf(rank, sizeof rank, "%" PRId32, metric->rank);
        page_put(
            file,
            "<tr><td>%s</td><td class=\"n\">%s</td><td class=\"n\">%.6g</td><td>%s</td></tr>\n",
            trace_string(trace, metric->name), rank, metric->value,
            trace_string(trace, metric->unit));
    }
    close_table(page, shown, all, "metrics");
}

void page_metrics(struct page *page)
{
    if (page->run->trace->metric_count == 0)
        return;
    page_heading(page, "Metrics");
    page_curves(page);
    put_metric_table(page);
}

static void put_row(FILE *file, const char *name, const char *value, bool code)
{
    if (value && *value)
        page_put(file, code ? "<dt>%s</dt><dd><code>%s</code></dd>\n" : "<dt>%s</dt><dd>%s</dd>\n",
                 name, value);
}

void page_command(struct page *page)
{
    const struct viz_run_info *info = page->run->info;
    FILE *file = page->file;
    page_heading(page, "Command and environment");
    fputs("<dl>\n", file);
    put_row(file, "command", info->command, true);
    put_row(file, "replay", info->replay, true);
    put_row(file, "draw", info->draw, true);
    put_row(file, "version", info->version, false);
    put_row(file, "started", info->started, false);
    put_row(file, "progress model", info->model, false);
    page_put(file, "<dt>seed</dt><dd>%lu</dd>\n", (unsigned long)info->seed);
    for (size_t i = 0; info->environment && info->environment[i] && info->environment[i + 1];
         i += 2)
        put_row(file, info->environment[i], info->environment[i + 1], false);
    fputs("</dl>\n", file);
}
