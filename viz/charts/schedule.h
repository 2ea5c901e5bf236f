/* A pipeline schedule as the familiar chart: a row per rank, a block per forward or backward of a
 * microbatch, bubbles.
 *
 * Blocks are what the program named as it began them (a metric "block 0F", its value the
 * microbatch, its step the logical time: SIM_Metric("block 0F", MPIX_Steps(), 3)), or the DAG nodes
 * named "F3", "B3", "W3", "I3" or with the stage in front, "0F3", and the computations of an
 * imported schedule, whose place names their cell. When they ran says only in which order; how long
 * they take in the chart is by kind (forward 1, backward 2, or 1 each where the weight gradient has
 * a block of its own), and each waits for the messages its rank received before it. */
#ifndef VIZ_CHARTS_SCHEDULE_H
#define VIZ_CHARTS_SCHEDULE_H

#include "traces/base/failure.h"
#include "traces/trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct viz_block {
    uint32_t rank;
    char action; /* 'F', 'B', 'W', 'I' */
    int stage;   /* -1 where the name has none */
    int microbatch;
    unsigned start, length; /* in units */
};

/* Reads a name; false when it is not one of a block. Fills action, stage and microbatch. */
bool viz_block_parse(const char *name, struct viz_block *block);

/* Whether the metric names a block; fills it unless NULL. */
bool viz_schedule_draws(const struct trace *trace, const struct trace_metric *metric,
                        struct viz_block *block);

/* All blocks with their places, to be freed with free(); *count 0 and NULL when there are none.
 * False: out of memory. */
bool viz_schedule_blocks(const struct trace *trace, struct viz_block **blocks, size_t *count,
                         struct failure *failure);

/* The share of rank x time that is bubble, 0..1. */
double viz_schedule_bubble(const struct viz_block *blocks, size_t count, uint32_t ranks);

/* One SVG element. False when out of memory; a trace without blocks gives a sentence in the
 * picture. */
bool viz_schedule_write(FILE *file, const struct trace *trace, const char *prefix, bool alone,
                        struct failure *failure);

#endif
