/* The picture of a run: its DAG in lanes, one per rank, with what the findings say about it.
 *
 * The front of viz: everything else in this folder that draws operations is behind it. The text is
 * a function of its arguments alone: equal traces give equal bytes. */
#ifndef VIZ_LANES_GRAPH_H
#define VIZ_LANES_GRAPH_H

#include "traces/base/failure.h"
#include "traces/trace/finding.h"
#include "traces/trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum viz_view {
    VIZ_AUTO, /* what the findings are about; else backward if there is one, else forward */
    VIZ_FORWARD,
    VIZ_BACKWARD,
    VIZ_BOTH
};

struct viz_options {
    enum viz_view view;
    int finding;  /* index of the one finding to draw, -1: all */
    size_t limit; /* marks drawn whole, 0: 400; of more, a third of as many, around the findings */
    bool all;     /* up to 20,000 marks instead of the neighbourhood of the findings */
    const char *name;   /* for the title; NULL: the trace's program */
    const char *run;    /* "run 17", for the title; NULL: none */
    const char *prefix; /* of every id, so that several pictures live in one page; NULL: "g" */
};

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
