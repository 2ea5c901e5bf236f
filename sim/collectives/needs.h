/* Who stands in a collective although all have come whose data it needs: MPI need not have it wait. An exploration in
 * which somebody does when a wildcard is decided leaves out what it would have sent. Makers of communicators need all
 * their members, as in every MPI. */
#ifndef SIM_COLLECTIVES_NEEDS_H
#define SIM_COLLECTIVES_NEEDS_H

#include "sim/collectives/call.h"

/* Whether anybody does. In the monitor. */
bool sim_collectives_wait_needlessly(const struct sim_world *world);

#endif
