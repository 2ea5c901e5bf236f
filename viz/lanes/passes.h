/* The passes of distributed autograd as DOT: who contacted whom.
 *
 * One cluster per pass, one node per worker that took part, one edge per gradient message with the
 * id of the message it belongs to. First contacts are drawn solid and are a tree with the root on
 * top; later contacts, answered at once, are dashed. A send that was counted and got no gradient is
 * an edge in red to where it would have come from. */
#ifndef VIZ_LANES_PASSES_H
#define VIZ_LANES_PASSES_H

#include "traces/base/failure.h"
#include "traces/trace/trace.h"

#include <stdio.h>

/* False, with FAILURE_NOTHING, when the run has no such passes. */
bool viz_passes_write(FILE *file, const struct trace *trace, struct failure *failure);

#endif
