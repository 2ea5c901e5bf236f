/* The memory that a member's call of a collective reads and writes. */
#ifndef SIM_COLLECTIVES_REGIONS_H
#define SIM_COLLECTIVES_REGIONS_H

#include "sim/collectives/call.h"
#include "sim/memory/pending.h"

/* Every region of the caller's part in a collective; neighbouring blocks are joined. */
void sim_regions_of_call(const struct sim_collective_call *call, sim_region_visit *visit,
                         void *context);
/* Those that are written; free `regions`. NULL: none, or no memory. */
size_t sim_regions_written(const struct sim_collective_call *call, struct sim_region **regions);
/* Compares them with what is pending, and with each other. `owner` is the call's request, until
 * whose end they are pending; NULL for a blocking call, whose regions are not kept. */
void sim_regions_pending(struct sim_rank *rank, const struct sim_collective_call *call,
                         const void *owner);

#endif
