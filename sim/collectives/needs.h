/* Who stands in a collective although all have come whose data it needs: MPI need not have it wait. An exploration in
 * which somebody does when a wildcard is decided leaves out what it would have sent. Makers of communicators need all
 * their members, as in every MPI. */
#ifndef SIM_COLLECTIVES_NEEDS_H
#define SIM_COLLECTIVES_NEEDS_H

#include "sim/collectives/call.h"

/* Joins what led to the arrivals without which that member could not go on: of those it needs, and of all where
 * collectives are strict or the members do not agree. In the monitor, before its call is forgotten. */
void sim_collective_led_to(const struct sim_collective *collective, int rank,
                           struct sim_dependences *causes);

/* Whether anybody does. In the monitor. */
bool sim_collectives_wait_needlessly(const struct sim_world *world);

#endif
