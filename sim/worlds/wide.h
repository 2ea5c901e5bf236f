/* Fibers carried by several OS threads: all cores, and the answer of one.
 *
 * Calls of MPI happen in the very order in which one thread would have run the ranks: a rank has the
 * turn from the moment at which it would have been resumed until it blocks, gives way (rank.h), yields
 * or ends, and only who has the turn may begin a call. What is done at once by others is what nobody
 * sees: a rank whose blocking call is fulfilled, or that has given way, comes back from the call, and
 * computes, ahead of its turn; where it calls MPI next it waits for that. So nothing of the answer
 * depends on how many threads there are, on when the world became wide, or on who is faster, and that
 * may be decided by the clock.
 *
 * A world becomes wide when a look at it now and then finds a rank in the program's own code, with
 * hardly any calls in between, and narrow again where calls are many. It stays narrow once a rank has
 * something that belongs to a thread or to the process: regions of OpenMP, threads, handlers of
 * signals, a folder or an environment of its own; and windows, whose memory others touch.
 *
 * Wide, the world is a monitor like that of threads (`threaded` is set): who is within the machine
 * holds its mutex. A suspended fiber is resumed with the mutex held if the world is wide then. */
#ifndef SIM_WORLDS_WIDE_H
#define SIM_WORLDS_WIDE_H

#include "sim/worlds/rank.h"

/* Whether this world may ever become wide. */
bool sim_wide_possible(const struct sim_world *world);
/* Looks at the world now and then, until sim_wide_unwatch; nothing if it cannot. */
void sim_wide_watch(struct sim_world *world);
void sim_wide_unwatch(struct sim_world *world);

/* What a look says: ranks compute, as far as so few calls tell, and who runs them is asked; they call; or
 * they have called too much, wide, in too many looks in a row. */
enum sim_wide_answer { SIM_WIDE_COMPUTES, SIM_WIDE_CALLS, SIM_WIDE_BUSY };
struct sim_wide_looks {
    int busy;       /* in a row */
    unsigned pause; /* until the next one, in the shortest there are; 1 before the first */
};
/* `calls` in as long as the shortest pause. */
enum sim_wide_answer sim_wide_look(struct sim_wide_looks *looks, bool wide, bool never,
                                   uint64_t calls);

/* The world is wide from now on. The calling thread is its host: it carries nobody, or a rank that
 * has the turn and is in the program's own code. False: no memory. */
bool sim_wide_begin(struct sim_world *world);
/* Of the host, which carries nobody: comes back when the world is over (NULL), or narrow again: with
 * the rank that has the turn. */
struct sim_rank *sim_wide_host(struct sim_world *world);

/* The world becomes narrow as soon as nobody computes. Not in the monitor. */
void sim_wide_narrow(struct sim_world *world);

/* The world stays narrow, or becomes so, before this comes back. The caller is a rank, not in the
 * monitor, or nobody. */
void sim_wide_never(struct sim_world *world);

extern const struct sim_executor sim_wide_fibers;

#endif
