/* When every rank did what: bars by time, messages, collectives, the critical path of the backward
 * pass, idle shares.
 *
 * In logical time (scheduler steps, the same on every machine) or wall time (where the run recorded
 * it). */
#ifndef VIZ_CHARTS_TIMELINE_H
#define VIZ_CHARTS_TIMELINE_H

#include "traces/base/failure.h"
#include "traces/trace/trace.h"

#include <stdbool.h>
#include <stdio.h>

struct viz_timeline {
    bool wall;
    const char *prefix; /* of ids; NULL: "time" */
    bool alone;         /* a file of its own */
};

/* One SVG element. Up to 32 ranks and 600 messages are drawn, and says so where there are more;
 * operations too short to see are drawn together. False when out of memory. */
bool viz_timeline_write(FILE *file, const struct trace *trace, const struct viz_timeline *options,
                        struct failure *failure);

/* The share of the run's time that each rank spent in calls that wait for others, 0..1, into
 * shares[0..ranks). */
void viz_timeline_idle(const struct trace *trace, bool wall, double *shares);

/* Whether the trace has wall times. */
bool viz_timeline_has_wall(const struct trace *trace);

/* The chain of operations that decides when the last backward operation is done, last first: fills
 * up to `limit` indices and returns how many there are; 0 without a backward pass. */
size_t viz_critical_path(const struct trace *trace, bool wall, uint32_t *ops, size_t limit);

#endif
