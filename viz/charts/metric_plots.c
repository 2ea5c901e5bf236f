/* Plots of a run's metrics: see metric_plots.h. */
#include "viz/charts/metric_plots.h"

#include "viz/charts/gradient_plots.h"
#include "viz/charts/plots.h"
#include "viz/charts/schedule.h"
#include "viz/paper/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_LEAST = 5, STEPS_LEAST = 2, GAP = 12 };

struct point { /* a metric, for sorting by first word, name, rank and order */
    const char *text;
    size_t word;
    uint32_t name;
    int32_t rank;
    size_t metric;
};

struct line {
    const char *rest; /* what follows the first word of its name */
    int32_t rank;     /* LINE_MEAN: of all ranks */
    size_t first, count;
};

enum { LINE_MEAN = -2 };

struct plot {
    const char *text; /* its first line's name */
    size_t word;      /* length of the first word */
    bool histogram, stepped;
    size_t first_line, line_count;
};

struct metric_plots {
    struct plot *plots;
    struct line *lines;
    size_t count, line_count, value_count;
    double *x, *y;
};

static size_t word_length(const char *text)
{
    return strcspn(text, " ");
}

static int compare_points(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    size_t shorter = p->word < q->word ? p->word : q->word;
    int words = strncmp(p->text, q->text, shorter);
    if (words || p->word != q->word)
        return words ? words : p->word < q->word ? -1 : 1;
    if (p->name != q->name)
        return p->name < q->name ? -1 : 1;
    if (p->rank != q->rank)
        return p->rank < q->rank ? -1 : 1;
    return p->metric < q->metric ? -1 : p->metric > q->metric;
}

/* Hashes are compared, not measured. */
static bool is_hash(const struct trace *trace, const struct trace_metric *metric)
{
    return strcmp(trace_string(trace, metric->unit), "hash") == 0;
}

/* What can be drawn, sorted. */
static struct point *points_of(const struct trace *trace, size_t *count)
{
    struct point *points = malloc((trace->metric_count + 1) * sizeof *points);
    *count = 0;
    for (size_t i = 0; points && i < trace->metric_count; i++) {
        const struct trace_metric *metric = &trace->metrics[i];
        const char *text = trace_string(trace, metric->name);
        if (!gradient_plot_draws(trace, metric) && !is_hash(trace, metric) &&
            !viz_schedule_draws(trace, metric, NULL))
            points[(*count)++] =
                (struct point){text, word_length(text), metric->name, metric->rank, i};
    }
    if (points && *count)
        qsort(points, *count, sizeof *points, compare_points);
    return points;
}

static bool is_histogram(const char *text)
{
    return memmem(text, word_length(text), "staleness", strlen("staleness")) != NULL;
}

/* The values of one name and rank as a line at the end; a curve too short to be one is left out. */
static void add_line(struct metric_plots *plots, const struct trace *trace,
                     const struct point *points, size_t count)
{
    const char *text = trace_string(trace, points->name);
    bool stepped = !isnan(trace->metrics[points->metric].step);
    if (!is_histogram(text) && count < (stepped ? STEPS_LEAST : POINTS_LEAST))
        return;
    size_t word = word_length(text);
    plots->lines[plots->line_count++] = (struct line){.rest = text[word] ? text + word + 1 : "",
                                                      .rank = points->rank,
                                                      .first = plots->value_count,
                                                      .count = count};
    for (size_t i = 0; i < count; i++) {
        const struct trace_metric *metric = &trace->metrics[points[i].metric];
        plots->x[plots->value_count] = isnan(metric->step) ? (double)(i + 1) : metric->step;
        plots->y[plots->value_count++] = metric->value;
    }
}

/* ---- the ranks of a name together ---- */

struct value {
    double x, y;
};

static int compare_values(const void *a, const void *b)
{
    const struct value *p = a, *q = b;
    return p->x < q->x ? -1 : p->x > q->x;
}

/* Lines `first` to the end become one: the mean of the values at each step. */
static bool average(struct metric_plots *plots, size_t first)
{
    struct line *line = &plots->lines[first];
    size_t start = line->first, count = plots->value_count - start, kept = start;
    struct value *values = malloc((count + 1) * sizeof *values);
    if (!values)
        return false;
    for (size_t i = 0; i < count; i++)
        values[i] = (struct value){plots->x[start + i], plots->y[start + i]};
    qsort(values, count, sizeof *values, compare_values);
    for (size_t i = 0, end; i < count; i = end) {
        double sum = 0;
        for (end = i; end < count && values[end].x == values[i].x; end++)
            sum += values[end].y;
        end += end == i; /* a step that is not a number */
        plots->x[kept] = values[i].x;
        plots->y[kept++] = sum / (double)(end - i);
    }
    free(values);
    line->rank = LINE_MEAN;
    line->count = kept - start;
    plots->line_count = first + 1;
    plots->value_count = kept;
    return true;
}

/* ---- building ---- */

/* Lines from `first` on are those of one name: joined to a plot with the same first word, if that
 * was the last one begun. */
static void join_plot(struct metric_plots *plots, const struct trace *trace,
                      const struct point *points, size_t first)
{
    const char *text = trace_string(trace, points->name);
    size_t word = word_length(text), added = plots->line_count - first;
    struct plot *last = plots->count ? &plots->plots[plots->count - 1] : NULL;
    if (last && !last->histogram && last->word == word && !strncmp(last->text, text, word)) {
        last->line_count += added;
        return;
    }
    plots->plots[plots->count++] =
        (struct plot){.text = text,
                      .word = word,
                      .histogram = is_histogram(text),
                      .stepped = !isnan(trace->metrics[points->metric].step),
                      .first_line = first,
                      .line_count = added};
}

static bool take_name(struct metric_plots *plots, const struct trace *trace,
                      const struct point *points, size_t count, bool apart)
{
    size_t first = plots->line_count;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && points[end].rank == points[i].rank; end++)
            ;
        add_line(plots, trace, points + i, end - i);
    }
    if (plots->line_count == first)
        return true;
    bool several = plots->line_count > first + 1;
    if (several && is_histogram(trace_string(trace, points->name))) { /* all values, one line */
        plots->lines[first].count = plots->value_count - plots->lines[first].first;
        plots->lines[first].rank = LINE_MEAN;
        plots->line_count = first + 1;
    } else if (several && !apart && !average(plots, first)) {
        return false;
    }
    join_plot(plots, trace, points, first);
    return true;
}

static size_t name_end(const struct point *points, size_t count, size_t first)
{
    size_t end = first + 1;
    while (end < count && points[end].name == points[first].name)
        end++;
    return end;
}

/* Names that share a first word from `first` on: where they end, and how many lines they would
 * have. */
static size_t group_end(const struct trace *trace, const struct point *points, size_t count,
                        size_t first, size_t *lines)
{
    const char *text = trace_string(trace, points[first].name);
    size_t word = word_length(text), end = first;
    *lines = 0;
    for (; end < count; end++) {
        const char *other = trace_string(trace, points[end].name);
        if (word_length(other) != word || strncmp(other, text, word) != 0)
            break;
        *lines += end == first || points[end].name != points[end - 1].name ||
                  points[end].rank != points[end - 1].rank;
    }
    return end;
}

static bool build(struct metric_plots *plots, const struct trace *trace, const struct point *points,
                  size_t count)
{
    for (size_t i = 0, end; i < count; i = end) {
        size_t lines;
        end = group_end(trace, points, count, i, &lines);
        for (size_t name = i, next; name < end; name = next) {
            next = name_end(points, end, name);
            if (!take_name(plots, trace, points + name, next - name, lines <= VIZ_SERIES_MAX))
                return false;
        }
    }
    return true;
}

struct metric_plots *metric_plots_new(const struct trace *trace)
{
    size_t count;
    struct point *points = points_of(trace, &count);
    struct metric_plots *plots = calloc(1, sizeof *plots);
    bool room = points && plots;
    if (room) {
        plots->plots = malloc((count + 1) * sizeof *plots->plots);
        plots->lines = malloc((count + 1) * sizeof *plots->lines);
        plots->x = malloc((count + 1) * sizeof *plots->x);
        plots->y = malloc((count + 1) * sizeof *plots->y);
        room = plots->plots && plots->lines && plots->x && plots->y &&
               build(plots, trace, points, count);
    }
    free(points);
    if (room)
        return plots;
    metric_plots_free(plots);
    return NULL;
}

void metric_plots_free(struct metric_plots *plots)
{
    if (!plots)
        return;
    free(plots->plots);
    free(plots->lines);
    free(plots->x);
    free(plots->y);
    free(plots);
}

size_t metric_plots_count(const struct metric_plots *plots)
{
    return plots->count;
}

/* ---- drawing ---- */

/* Whether logarithms show more: all positive, and more than a factor of 30 apart. */
static bool is_wide(const double *values, size_t count)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(values[i] > 0))
            return false;
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    return high > 30 * low;
}

/* Steps that grow by factors: half of them lie in the first third. */
static bool is_geometric(const double *steps, size_t count)
{
    return count > 2 && steps[0] > 0 && steps[count - 1] >= 8 * steps[0] &&
           steps[count / 2] * 3 <= steps[count - 1];
}

static void choose_axes(const struct metric_plots *plots, const struct plot *plot,
                        enum metric_axes axes, struct viz_curves *curves)
{
    curves->log_x = axes == AXES_LOG_X || axes == AXES_LOG_LOG;
    curves->log_y = axes == AXES_LOG_Y || axes == AXES_LOG_LOG;
    if (axes != AXES_AUTO)
        return;
    bool positive = true, wide_y = false, wide_x = true, geometric = true;
    for (size_t i = 0; i < plot->line_count; i++) {
        const struct line *line = &plots->lines[plot->first_line + i];
        const double *x = plots->x + line->first, *y = plots->y + line->first;
        for (size_t k = 0; k < line->count; k++)
            positive = positive && y[k] > 0;
        wide_y = wide_y || is_wide(y, line->count);
        wide_x = wide_x && is_wide(x, line->count);
        geometric = geometric && is_geometric(x, line->count);
    }
    curves->log_y = positive && (wide_y || geometric);
    curves->log_x = geometric || (wide_x && curves->log_y && plot->stepped);
}

static bool has_ranks(const struct metric_plots *plots, const struct plot *plot)
{
    for (size_t i = 1; i < plot->line_count; i++)
        if (plots->lines[plot->first_line + i].rank != plots->lines[plot->first_line].rank)
            return true;
    return false;
}

/* The rank is named only where curves differ by it. */
static void line_name(const struct line *line, const char *text, bool ranks, char *name,
                      size_t size)
{
    const char *word = *line->rest ? line->rest : text;
    if (!ranks && line->rank != LINE_MEAN)
        snprintf(name, size, "%.60s", word);
    else if (line->rank == LINE_MEAN)
        snprintf(name, size, "%.48s%smean of ranks", line->rest, *line->rest ? ", " : "");
    else if (line->rank >= 0)
        snprintf(name, size, "%.48s%srank %d", line->rest, *line->rest ? ", " : "", line->rank);
    else
        snprintf(name, size, "%.60s", word);
}

static void write_curves(const struct metric_plots *plots, const struct plot *plot, FILE *file,
                         enum metric_axes axes, const char *prefix)
{
    char title[120], names[VIZ_SERIES_MAX][80];
    struct viz_curves curves = {.x_label = plot->stepped ? "step" : "recorded value, in order",
                                .y_label = "value",
                                .fit = true,
                                .chosen_x = NAN,
                                .chosen_y = NAN,
                                .prefix = prefix};
    choose_axes(plots, plot, axes, &curves);
    for (size_t i = 0; i < plot->line_count && i < VIZ_SERIES_MAX; i++) {
        const struct line *line = &plots->lines[plot->first_line + i];
        line_name(line, plot->text, has_ranks(plots, plot), names[i], sizeof names[i]);
        curves.series[curves.series_count++] = (struct viz_series){
            names[i], plots->x + line->first, plots->y + line->first, line->count, false};
    }
    int used =
        snprintf(title, sizeof title, "%.*s", (int)(plot->word < 80 ? plot->word : 80), plot->text);
    if (plot->line_count > VIZ_SERIES_MAX)
        snprintf(title + used, sizeof title - (size_t)used, " (%d of %zu curves)", VIZ_SERIES_MAX,
                 plot->line_count);
    curves.title = title;
    viz_plot_curves(file, &curves);
}

void metric_plots_write(const struct metric_plots *plots, size_t index, FILE *file,
                        enum metric_axes axes, const char *prefix)
{
    const struct plot *plot = &plots->plots[index];
    if (!plot->histogram) {
        write_curves(plots, plot, file, axes, prefix);
        return;
    }
    char title[120];
    const struct line *line = &plots->lines[plot->first_line];
    snprintf(title, sizeof title, "%.100s", plot->text);
    struct viz_histogram histogram = {.title = title,
                                      .x_label = "value",
                                      .description = "How often each value was recorded.",
                                      .values = plots->y + line->first,
                                      .count = line->count,
                                      .prefix = prefix};
    viz_plot_histogram(file, &histogram);
}

/* ---- a file of them ---- */

static bool is_asked(const struct plot *plot, const char *name)
{
    return !name || !strcmp(plot->text, name) ||
           (strlen(name) == plot->word && !strncmp(plot->text, name, plot->word));
}

static void name_all(const struct metric_plots *plots, const char *name, struct failure *failure)
{
    char list[400] = "";
    size_t used = 0;
    for (size_t i = 0; i < plots->count && used + 90 < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.*s", i ? ", " : "",
                                 (int)(plots->plots[i].word < 80 ? plots->plots[i].word : 80),
                                 plots->plots[i].text);
    if (!plots->count)
        failure_set(failure, FAILURE_NOTHING,
                    "the run measured nothing to plot: no metric with several values (SIM_Metric)");
    else
        failure_set(failure, FAILURE_NOTHING, "no plot '%s'; there is: %s", name, list);
}

bool metric_plots_write_file(FILE *file, const struct trace *trace, const char *name,
                             enum metric_axes axes, struct failure *failure)
{
    struct metric_plots *plots = metric_plots_new(trace);
    size_t asked = 0;
    if (!plots) {
        failure_set(failure, FAILURE_INTERNAL, "out of memory");
        return false;
    }
    for (size_t i = 0; i < plots->count; i++)
        asked += is_asked(&plots->plots[i], name);
    if (asked) {
        struct svg svg = {file, "metrics", true};
        size_t columns = asked > 1 ? 2 : 1, rows = (asked + columns - 1) / columns, at = 0;
        svg_open(&svg, (double)columns * (VIZ_PLOT_WIDTH + GAP) + GAP,
                 (double)rows * (VIZ_PLOT_HEIGHT_MAX + GAP) + GAP, "Metrics",
                 "What the run measured.");
        for (size_t i = 0; i < plots->count; i++) {
            if (!is_asked(&plots->plots[i], name))
                continue;
            char prefix[32];
            snprintf(prefix, sizeof prefix, "metric%zu", i);
            fprintf(file, "<g transform=\"translate(%zu,%zu)\">\n",
                    GAP + at % columns * (VIZ_PLOT_WIDTH + GAP),
                    GAP + at / columns * (VIZ_PLOT_HEIGHT_MAX + GAP));
            metric_plots_write(plots, i, file, axes, prefix);
            fputs("</g>\n", file);
            at++;
        }
        svg_close(&svg);
    } else {
        name_all(plots, name, failure);
    }
    metric_plots_free(plots);
    return asked && !ferror(file);
}
