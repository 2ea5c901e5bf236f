/* Plots of what a run measured: its metrics as curves over their steps, and histograms.
 *
 * Rules:
 *  1. What was recorded several times under one name is a curve over its steps or, without steps,
 *     in the order in which it was recorded. Names that share their first word ("gradient_norm
 *     M=4", "gradient_norm M=8") share a plot; the rest of the name tells the curve.
 *  2. A rank has a curve of its own; where a plot would hold more curves than it can, a name's
 *     ranks are averaged step by step.
 *  3. A first word with "staleness" in it makes a histogram per name, of all ranks together.
 *  4. On logarithmic axes each curve's fitted slope is printed.
 *  5. What gradient_plots.h and schedule.h draw is left to them. */
#ifndef VIZ_CHARTS_METRIC_PLOTS_H
#define VIZ_CHARTS_METRIC_PLOTS_H

#include "traces/base/failure.h"
#include "traces/trace/trace.h"

#include <stdbool.h>
#include <stdio.h>

enum metric_axes { AXES_AUTO, AXES_LINEAR, AXES_LOG_X, AXES_LOG_Y, AXES_LOG_LOG };

struct metric_plots;

/* Reads the trace's metrics, which must outlive the result; NULL: no memory. */
struct metric_plots *metric_plots_new(const struct trace *trace);
void metric_plots_free(struct metric_plots *plots);
size_t metric_plots_count(const struct metric_plots *plots);
/* One figure; `prefix` of its ids. */
void metric_plots_write(const struct metric_plots *plots, size_t index, FILE *file,
                        enum metric_axes axes, const char *prefix);

/* All of them, or those whose first word (or whole name) is `name`, in one SVG file. False with a
 * sentence when there are none, which names those there are. */
bool metric_plots_write_file(FILE *file, const struct trace *trace, const char *name,
                             enum metric_axes axes, struct failure *failure);

#endif
