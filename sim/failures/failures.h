/* The end of a rank, and of a communicator, as the others see it. See communicators/failures.h.
 *
 * Room: sees sim/collectives, sim/communicator_calls, sim/communicators, sim/messages,
 * sim/worlds; recorder. Seen by sim. */
#ifndef SIM_FAILURES_FAILURES_H
#define SIM_FAILURES_FAILURES_H

#include "sim/worlds/rank.h"

/* Tells everybody who waits for the rank that it has failed. In the monitor. */
void sim_failures_rank_failed(struct sim_rank *rank);

#endif
