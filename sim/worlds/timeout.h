/* Waits with a limit, in a time that passes only when nothing else can happen.
 *
 * Rules:
 *  1. The world's clock stands still while anybody can move. When nobody can, and no delayed taker
 *     can be granted anything, it jumps to the earliest limit, and that one has passed.
 *  2. So a limit never passes while what is waited for is on its way: a run depends on what was
 *     sent, not on how long it took.
 *  3. Of equal limits the lower rank's passes first.
 *  4. Everything done before a limit passes led to it, and nothing else goes on before the rank
 *     does: to an explorer it depends on all choices before it (base/dependence_sets.h). */
#ifndef SIM_WORLDS_TIMEOUT_H
#define SIM_WORLDS_TIMEOUT_H

#include "sim/worlds/rank.h"

struct sim_timeout {
    struct sim_timeout *next;
    struct sim_rank *rank;
    uint64_t limit;
    bool passed;
};

/* The calling rank will wait no longer than `ticks` from now. In the monitor; `patience` lives
 * until sim_timeout_end. */
void sim_timeout_begin(struct sim_timeout *patience, struct sim_rank *rank, uint64_t ticks);
void sim_timeout_end(struct sim_timeout *patience);
/* At quiescence: the earliest limit passes. False when there is none. */
bool sim_timeout_go(struct sim_world *world);

#endif
