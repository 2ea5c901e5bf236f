/* The picture of a run: its DAG in lanes, one per rank, with what the findings say about it.
 *
 * The front of viz: everything else in this folder that draws operations is behind it. The text is
 * a function of its arguments alone: equal traces give equal bytes. */
#ifndef VIZ_LANES_GRAPH_H
#define VIZ_LANES_GRAPH_H

#include "traces/base/failure.h"
#include "traces/trace/finding.h"
#include "traces/trace/trace.h"
#include "viz/lanes/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Everything automatic, all findings. */
struct viz_options viz_options_default(void);

/* Writes DOT for `neato -n2`. `findings` may be NULL. False on a write error, out of memory or a
 * finding index out of range. */
bool viz_graph_write(FILE *file, const struct trace *trace, const struct findings *findings,
                     const struct viz_options *options, struct failure *failure);

/* The same picture as an SVG element to be put into HTML: drawn here, not by Graphviz, coloured
 * through the page's CSS variables so that it follows light and dark. */
bool viz_graph_write_svg(FILE *file, const struct trace *trace, const struct findings *findings,
                         const struct viz_options *options, struct failure *failure);

#endif
