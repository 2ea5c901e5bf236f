/* Plots of a gradient check: see gradient_plots.h. */
#include "viz/charts/gradient_plots.h"

#include "viz/charts/plots.h"
#include "viz/paper/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEAT_SIDE = 64, POINTS = 128 };

static const char *name_of(const struct trace *trace, const struct trace_metric *metric)
{
    return trace_string(trace, metric->name);
}

static const struct trace_metric *metric_find(const struct trace *trace, const char *name)
{
    for (size_t i = 0; i < trace->metric_count; i++)
        if (strcmp(name_of(trace, &trace->metrics[i]), name) == 0)
            return &trace->metrics[i];
    return NULL;
}

/* ---- points of a curve ---- */

struct points {
    double x[POINTS], y[POINTS];
    size_t count;
    bool any; /* of them is not zero */
};

static bool is_point(const struct trace *trace, const struct trace_metric *metric, const char *name)
{
    return !isnan(metric->step) && strcmp(name_of(trace, metric), name) == 0;
}

/* An error of zero has no place on a logarithmic axis: it stands at what rounding can hide. */
static void points_collect(const struct trace *trace, const char *name, struct points *points)
{
    points->count = 0;
    points->any = false;
    for (size_t i = 0; i < trace->metric_count && points->count < POINTS; i++) {
        if (!is_point(trace, &trace->metrics[i], name))
            continue;
        double value = trace->metrics[i].value;
        points->any |= value != 0;
        points->x[points->count] = trace->metrics[i].step;
        points->y[points->count++] = value == 0 ? 1e-17 : value;
    }
}

static bool has_points(const struct trace *trace, const char *name)
{
    for (size_t i = 0; i < trace->metric_count; i++)
        if (is_point(trace, &trace->metrics[i], name))
            return true;
    return false;
}

/* ---- the plots ---- */

static bool block_of(const struct trace *trace, const struct trace_metric *metric, unsigned *row,
                     unsigned *column)
{
    return sscanf(name_of(trace, metric), "jacobian_error %u %u", row, column) == 2;
}

static void jacobian_write(FILE *file, const struct trace *trace, const char *prefix)
{
    size_t side = trace->ranks < HEAT_SIDE ? trace->ranks : HEAT_SIDE;
    double *values = malloc((side * side + 1) * sizeof *values);
    bool in_tolerances = false;
    for (size_t i = 0; values && i < side * side; i++)
        values[i] = NAN;
    for (size_t i = 0; values && i < trace->metric_count; i++) {
        unsigned row, column;
        if (!block_of(trace, &trace->metrics[i], &row, &column) || row >= side || column >= side)
            continue;
        values[row * side + column] = trace->metrics[i].value;
        in_tolerances |= strcmp(trace_string(trace, trace->metrics[i].unit), "tolerances") == 0;
    }
    struct viz_heat heat = {.title = in_tolerances ? "Jacobian blocks: error by tolerance"
                                                   : "Jacobian blocks: error",
                            .row_label = "loss of",
                            .column_label = "inputs of rank",
                            .description = "Errors of the blocks of the Jacobian, rank by rank.",
                            .values = values,
                            .rows = side,
                            .columns = side,
                            .limit = in_tolerances ? 1 : 1e-6,
                            .prefix = prefix};
    if (values)
        viz_plot_heat(file, &heat);
    free(values);
}

static void steps_write(FILE *file, const struct trace *trace, const char *prefix)
{
    struct points points;
    points_collect(trace, "gradient_error", &points);
    const struct trace_metric *chosen = metric_find(trace, "gradient_step");
    double x = NAN, y = NAN, best = INFINITY;
    for (size_t i = 0; chosen && i < points.count; i++) { /* the nearest point stands for it */
        double distance = fabs(log(points.x[i] / chosen->value));
        if (distance < best) {
            best = distance;
            x = points.x[i];
            y = points.y[i];
        }
    }
    char title[160];
    snprintf(title, sizeof title, "Error over step: %.100s",
             chosen ? trace_string(trace, chosen->unit) : "the worst element");
    struct viz_curves curves = {.title = title,
                                .x_label = "step h of the central difference",
                                .y_label = points.any ? "absolute error"
                                                      : "absolute error (none: drawn at 1e-17)",
                                .log_x = true,
                                .log_y = true,
                                .series = {{"error", points.x, points.y, points.count, false}},
                                .series_count = 1,
                                .chosen_x = x,
                                .chosen_y = y,
                                .chosen = "chosen",
                                .slopes = {points.any ? 2 : 0, 0},
                                .prefix = prefix};
    viz_plot_curves(file, &curves);
}

/* No order was fitted: the remainders are what rounding leaves. */
static bool is_rounding(const struct trace_metric *order)
{
    return !order || !(order->value > 0);
}

static void taylor_write(FILE *file, const struct trace *trace, const char *prefix)
{
    struct points first, second;
    points_collect(trace, "taylor_first", &first);
    points_collect(trace, "taylor_second", &second);
    const struct trace_metric *orders[2] = {metric_find(trace, "taylor_order first"),
                                            metric_find(trace, "taylor_order second")};
    char names[2][80];
    for (int i = 0; i < 2; i++) {
        const char *what = i ? "second" : "first";
        if (!is_rounding(orders[i]))
            snprintf(names[i], sizeof *names, "%s: falls as h^%.2f", what, orders[i]->value);
        else
            snprintf(names[i], sizeof *names, "%s: rounding only", what);
    }
    struct viz_curves curves = {
        .title = "Taylor remainders along a random direction",
        .x_label = "step h",
        .y_label = "remainder of J",
        .log_x = true,
        .log_y = true,
        .series = {{names[0], first.x, first.y, first.count, false},
                   {names[1], second.x, second.y, second.count, false}},
        .series_count = 2,
        .chosen_x = NAN,
        .chosen_y = NAN,
        .slopes = {is_rounding(orders[0]) ? 0 : 2, is_rounding(orders[1]) ? 0 : 3},
        .prefix = prefix};
    viz_plot_curves(file, &curves);
}

static const struct {
    const char *points; /* whose presence makes the plot */
    void (*write)(FILE *file, const struct trace *trace, const char *prefix);
} plots[GRADIENT_PLOTS] = {
    [GRADIENT_PLOT_JACOBIAN] = {NULL, jacobian_write},
    [GRADIENT_PLOT_STEPS] = {"gradient_error", steps_write},
    [GRADIENT_PLOT_TAYLOR] = {"taylor_first", taylor_write},
};

bool gradient_plot_exists(const struct trace *trace, enum gradient_plot plot)
{
    unsigned row, column;
    if (plots[plot].points)
        return has_points(trace, plots[plot].points);
    for (size_t i = 0; i < trace->metric_count; i++)
        if (block_of(trace, &trace->metrics[i], &row, &column))
            return true;
    return false;
}

void gradient_plot_write(FILE *file, const struct trace *trace, enum gradient_plot plot,
                         const char *prefix)
{
    plots[plot].write(file, trace, prefix);
}

bool gradient_plot_draws(const struct trace *trace, const struct trace_metric *metric)
{
    unsigned row, column;
    return block_of(trace, metric, &row, &column) || is_point(trace, metric, "gradient_error") ||
           is_point(trace, metric, "taylor_first") || is_point(trace, metric, "taylor_second");
}

bool gradient_plots_write(FILE *file, const struct trace *trace, struct failure *failure)
{
    size_t side = trace->ranks < HEAT_SIDE ? trace->ranks : HEAT_SIDE;
    bool has_heat = gradient_plot_exists(trace, GRADIENT_PLOT_JACOBIAN);
    double heat = has_heat ? fmax(330, 98 + fmin(38 * (double)side, 420)) + 20 : 0;
    const double places[GRADIENT_PLOTS][2] = {{10, 10}, {10 + heat, 10}, {10 + heat, 300}};
    static const char *const prefixes[GRADIENT_PLOTS] = {"jacobian", "steps", "taylor"};
    bool any = false;
    for (int plot = 0; plot < GRADIENT_PLOTS; plot++)
        any |= gradient_plot_exists(trace, (enum gradient_plot)plot);
    if (!any) {
        failure_set(failure, FAILURE_NOTHING,
                    "the run checked no gradient, so there is nothing to plot");
        return false;
    }
    struct svg svg = {file, "gradients", true};
    svg_open(&svg, heat + VIZ_PLOT_WIDTH + 20, 600, "Gradient check",
             "Jacobian blocks, error over step, Taylor remainders");
    for (int plot = 0; plot < GRADIENT_PLOTS; plot++) {
        if (!gradient_plot_exists(trace, (enum gradient_plot)plot))
            continue;
        fprintf(file, "<g transform=\"translate(%g,%g)\">\n", places[plot][0], places[plot][1]);
        gradient_plot_write(file, trace, (enum gradient_plot)plot, prefixes[plot]);
        fputs("</g>\n", file);
    }
    svg_close(&svg);
    return !ferror(file);
}
