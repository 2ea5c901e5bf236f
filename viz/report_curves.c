/* Curves and histograms from a run's metrics, for its report.
 *
 * A metric that a run recorded many times under one name is a series, over its steps or, without
 * them, in the order in which it was recorded. Names that share their first word ("gradient_norm
 * M=4", "gradient_norm M=8") share a plot; the rest of the name tells the series. A first word with
 * "staleness" in it makes a histogram. */
#include "viz/report_page.h"

#include "viz/gradient_plots.h"
#include "viz/plots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_LEAST = 5, PLOTS_MOST = 8 };

struct series {
    uint32_t name;
    int32_t rank;
    const char *text, *rest; /* the name, and what follows its first word */
    size_t word;             /* length of the first word */
    size_t first, count;     /* in the array of values */
    size_t metric;           /* its first point's place in the trace */
    bool taken;
};

struct collection {
    struct series *series;
    size_t count;
    double *steps, *values;
};

struct entry { /* a metric, for grouping by name and rank in order of recording */
    uint32_t name;
    int32_t rank;
    size_t index;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void add_series(struct collection *collection, const struct trace *trace,
                       const struct entry *entries, size_t first, size_t end)
{
    if (end - first < POINTS_LEAST)
        return;
    struct series *series = &collection->series[collection->count++];
    *series = (struct series){.name = entries[first].name,
                              .rank = entries[first].rank,
                              .first = first,
                              .metric = entries[first].index,
                              .count = end - first};
    series->text = trace_string(trace, series->name);
    series->word = strcspn(series->text, " ");
    series->rest = series->text[series->word] ? series->text + series->word + 1 : "";
}

static bool collect(struct collection *collection, const struct trace *trace)
{
    size_t count = trace->metric_count;
    struct entry *entries = malloc((count + 1) * sizeof *entries);
    collection->count = 0;
    collection->series = malloc((count / POINTS_LEAST + 1) * sizeof *collection->series);
    collection->steps = malloc((count + 1) * sizeof *collection->steps);
    collection->values = malloc((count + 1) * sizeof *collection->values);
    bool room = entries && collection->series && collection->steps && collection->values;
    for (size_t i = 0; room && i < count; i++)
        entries[i] = (struct entry){trace->metrics[i].name, trace->metrics[i].rank, i};
    if (room && count)
        qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t i = 0, first = 0; room && i < count; i++) {
        bool starts = i == 0 || entries[i].name != entries[i - 1].name ||
                      entries[i].rank != entries[i - 1].rank;
        first = starts ? i : first;
        const struct trace_metric *metric = &trace->metrics[entries[i].index];
        collection->steps[i] = isnan(metric->step) ? (double)(i - first + 1) : metric->step;
        collection->values[i] = metric->value;
        bool ends = i + 1 == count || entries[i + 1].name != entries[i].name ||
                    entries[i + 1].rank != entries[i].rank;
        if (ends)
            add_series(collection, trace, entries, first, i + 1);
    }
    free(entries);
    return room;
}

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

static void plot_histogram(struct page *page, const struct collection *collection,
                           const struct series *series)
{
    char id[40], title[120];
    snprintf(title, sizeof title, "%.100s", series->text);
    struct viz_histogram histogram = {.title = title,
                                      .x_label = "value",
                                      .description = "How often each value was recorded.",
                                      .values = collection->values + series->first,
                                      .count = series->count,
                                      .prefix = page_figure(page, id)};
    viz_plot_histogram(page->file, &histogram);
}

/* The series and all later ones that share its first word, as far as a plot takes them. */
static void plot_curves(struct page *page, struct collection *collection, size_t at)
{
    char id[40], title[120], names[VIZ_SERIES_MAX][80];
    struct series *first = &collection->series[at];
    struct viz_curves curves = {.x_label = "recorded value, in order",
                                .y_label = "value",
                                .log_x = true,
                                .log_y = true,
                                .chosen_x = NAN,
                                .chosen_y = NAN};
    snprintf(title, sizeof title, "%.*s", (int)(first->word < 100 ? first->word : 100),
             first->text);
    for (size_t i = at; i < collection->count && curves.series_count < VIZ_SERIES_MAX; i++) {
        struct series *series = &collection->series[i];
        if (series->taken || series->word != first->word ||
            strncmp(series->text, first->text, first->word) != 0)
            continue;
        series->taken = true;
        if (series->rank >= 0)
            snprintf(names[curves.series_count], sizeof *names, "%.50s%srank %d", series->rest,
                     *series->rest ? ", " : "", series->rank);
        else
            snprintf(names[curves.series_count], sizeof *names, "%.70s",
                     *series->rest ? series->rest : series->text);
        bool wide = is_wide(collection->values + series->first, series->count);
        curves.log_x = curves.log_x && wide && series->count > 30;
        curves.log_y = curves.log_y && wide;
        curves.series[curves.series_count] =
            (struct viz_series){names[curves.series_count], collection->steps + series->first,
                                collection->values + series->first, series->count, false};
        curves.series_count++;
    }
    curves.title = title;
    curves.prefix = page_figure(page, id);
    viz_plot_curves(page->file, &curves);
}

void page_curves(struct page *page)
{
    struct collection collection;
    size_t plots = 0;
    bool room = collect(&collection, page->run->trace);
    if (room && collection.count)
        fputs("<div class=\"plots\">\n", page->file);
    for (size_t i = 0; room && i < collection.count && plots < PLOTS_MOST; i++) {
        struct series *series = &collection.series[i];
        if (series->taken ||
            gradient_plot_draws(page->run->trace, &page->run->trace->metrics[series->metric]))
            continue;
        plots++;
        if (memmem(series->text, series->word, "staleness", strlen("staleness")))
            plot_histogram(page, &collection, series);
        else
            plot_curves(page, &collection, i);
        series->taken = true;
    }
    if (room && collection.count)
        fputs("</div>\n", page->file);
    free(collection.series);
    free(collection.steps);
    free(collection.values);
}
