/* Who the thread is while a signal's handler runs: see interrupt.h. */
#include "sim/worlds/interrupt.h"

#include "sim/worlds/rank.h"

#include <signal.h>
#include <stddef.h>

/* Of the outermost handler; those of other signals may come in between. */
static _Thread_local struct sim_libc_interrupted outermost;

bool sim_interrupt_begin(struct sim_libc_state *owner, int number,
                         struct sim_libc_interrupted *interrupted)
{
    struct sim_rank *rank =
        (struct sim_rank *)(void *)((char *)owner - offsetof(struct sim_rank, libc));
    bool threaded = rank->world->threaded;
    bool own = rank == sim_current_rank || rank == sim_thread_parent;
    if (threaded && !own && rank->state <= SIM_BLOCKED && rank->unwind &&
        !pthread_kill(rank->thread, number))
        return false;
    *interrupted = (struct sim_libc_interrupted){.rank = sim_current_rank,
                                                 .parent = sim_thread_parent,
                                                 .outer = outermost.within,
                                                 .within = true};
    if (!outermost.within)
        outermost = *interrupted;
    sim_current_rank = NULL;
    sim_thread_parent = rank;
    return true;
}

void sim_interrupt_end(const struct sim_libc_interrupted *interrupted)
{
    if (!outermost.within) /* left by a jump in the meantime */
        return;
    sim_current_rank = interrupted->rank;
    sim_thread_parent = interrupted->parent;
    outermost.within = interrupted->outer;
}

void sim_interrupt_over(void)
{
    sim_interrupt_end(
        &(struct sim_libc_interrupted){.rank = outermost.rank, .parent = outermost.parent});
}

bool sim_interrupt_running(void)
{
    return outermost.within;
}
