/* collective_guard.h: what a member's call gives and takes, whatever its types and layout. */
#ifndef SIM_COLLECTIVE_GUARD_H
#define SIM_COLLECTIVE_GUARD_H

#include "sim/collectives/call.h"

uint64_t sim_collective_checksum(const struct sim_collective_call *call);

/* Whether a byte that the call gives is one that it takes. Contiguous types only: strided ones may
 * lie between each other. */
bool sim_call_overlaps(const struct sim_collective_call *call);

#endif
