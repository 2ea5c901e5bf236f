/* Plots of what a gradient check measured, from the metrics it recorded: the map of Jacobian blocks
 * by pairs of ranks, the error over the step, Taylor's remainders.
 *
 * Names: "jacobian_error R C" (d loss of rank R / d inputs of rank C; unit "tolerances": right up
 * to 1, else absolute); over their step "gradient_error", "taylor_first" and "taylor_second";
 * "gradient_step" (the chosen one; unit: the element), "taylor_order first" and "second". */
#ifndef VIZ_CHARTS_GRADIENT_PLOTS_H
#define VIZ_CHARTS_GRADIENT_PLOTS_H

#include "traces/base/failure.h"
#include "traces/trace/trace.h"

#include <stdbool.h>
#include <stdio.h>

enum gradient_plot {
    GRADIENT_PLOT_JACOBIAN,
    GRADIENT_PLOT_STEPS,
    GRADIENT_PLOT_TAYLOR,
    GRADIENT_PLOTS
};

bool gradient_plot_exists(const struct trace *trace, enum gradient_plot plot);
/* One figure; `prefix` of its ids. */
void gradient_plot_write(FILE *file, const struct trace *trace, enum gradient_plot plot,
                         const char *prefix);
/* Whether the metric is a point of one of these plots. */
bool gradient_plot_draws(const struct trace *trace, const struct trace_metric *metric);
/* All of them in one SVG file. False with a sentence when the trace has none. */
bool gradient_plots_write(FILE *file, const struct trace *trace, struct failure *failure);

#endif
