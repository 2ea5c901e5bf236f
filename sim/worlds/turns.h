/* The monitor of a world of OS threads, entered in turns: see turns.c. All but sim_turns_near,
 * sim_turns_pin and sim_turns_unpin are called with the monitor's mutex held. */
#ifndef SIM_WORLDS_TURNS_H
#define SIM_WORLDS_TURNS_H

#include "sim/worlds/rank.h"

#include <sched.h>

/* How long one of so many threads waits awake, in looks; 0: not all of them have a core. */
int sim_awake_looks(int threads);
/* A moment between two looks. */
static inline void sim_awake_pause(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#endif
}
/* Takes the monitor's mutex, awake for a moment. */
void sim_awake_lock(struct sim_world *world);

/* Every rank has had no turn yet. False: no memory. */
bool sim_turns_begin(struct sim_world *world);
void sim_turns_end(struct sim_world *world);
bool sim_turns_has(const struct sim_rank *rank);
/* Waits for the rank's turn: awake for a moment, where every rank has a core; then asleep, until it
 * has come or the world is over. */
void sim_turns_near(struct sim_rank *rank);
void sim_turns_wait(struct sim_rank *rank);
/* The rank has had this turn, and the next is told. Nothing if it is not this rank's. */
void sim_turns_pass(struct sim_rank *rank);
/* The rank blocks, or has ended: it has no turns; sim_turns_next then tells the next. */
void sim_turns_drop(struct sim_rank *rank);
/* The current rank wakes it: it has turns again, and is not behind that rank. */
void sim_turns_join(struct sim_rank *rank);
void sim_turns_next(struct sim_world *world);
/* The calling thread keeps to the first of its cores, as many as the world may use; and back. */
void sim_turns_pin(const struct sim_world *world, cpu_set_t *before);
void sim_turns_unpin(const struct sim_world *world, const cpu_set_t *before);

#endif
