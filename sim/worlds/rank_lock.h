/* rank_lock.h: one thread of a rank at a time in what threads of that rank share and no other rank
 * sees: the objects it made, keyvals, attributes, error codes, info.
 *
 * `WITH_RANK_LOCK;` in a block holds the calling rank's lock until the block is left. It may be
 * taken again by who holds it (functions of the program that delete attributes call MPI), but not
 * in the monitor; the monitor may be taken while it is held. Ranks that are fibers have nothing to
 * lock. A rank whose world is over does not come back from waiting. */
#ifndef SIM_WORLDS_RANK_LOCK_H
#define SIM_WORLDS_RANK_LOCK_H

struct sim_rank;

struct sim_rank *sim_local_enter(void);
void sim_local_leave(struct sim_rank **rank);

#define WITH_RANK_LOCK                                                                             \
    struct sim_rank *sim_local_held __attribute__((cleanup(sim_local_leave), unused)) =            \
        sim_local_enter()

#endif
