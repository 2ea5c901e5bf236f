/* Stretches that need not be examined: see quiet.h. */
#include "sim/memory/quiet.h"
#include "sim/libc/hooks.h"
#include "sim/memory/pending.h"
#include "sim/worlds/rank.h"

#include <mpi.h>
#include <stdint.h>

/* The rank whose program asks, NULL where nothing can be promised: another of its threads could
 * start an operation meanwhile if it may call MPI; a thread that the rank has started does not know
 * what the rank starts, unless both are within the same code that starts nothing. Where this launcher
 * is examined itself, everything is reported. */
static struct sim_rank *asking(int team)
{
#ifdef __SANITIZE_THREAD__
    return (void)team, NULL;
#else
    struct sim_rank *rank = sim_current_rank;
    if (sim_thread_parent)
        rank = team && sim_libc_in_team() ? sim_thread_parent : NULL;
    return rank && rank->thread_level < MPI_THREAD_SERIALIZED ? rank : NULL;
#endif
}

int __simrun_quiet(int team)
{
    const struct sim_rank *rank = asking(team);
    return rank && !rank->history && (!rank->pending || !rank->pending->count);
}

int __simrun_safe(const void *first, ptrdiff_t moves, ptrdiff_t bytes, int team)
{
    struct sim_rank *rank = asking(team);
    uintptr_t size = (uintptr_t)(bytes < 0 ? -bytes : bytes), low = (uintptr_t)first;
    uintptr_t high = low + size;
    if (moves < 0)
        low += (uintptr_t)moves;
    else
        high += (uintptr_t)moves;
    if (!rank || high <= low)
        return 0;
    if (rank == sim_current_rank && low - rank->safe_low < rank->safe_size &&
        high - rank->safe_low <= rank->safe_size)
        return 1;
    return !rank->pending || sim_pending_allows(rank, low, high, bytes < 0);
}
