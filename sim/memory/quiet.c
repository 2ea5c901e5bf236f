/* Stretches that need not be told: see quiet.h. */
#include "sim/memory/quiet.h"
#include "sim/memory/pending.h"
#include "sim/worlds/rank.h"

#include <mpi.h>
#include <stdint.h>

/* The rank whose program asks, NULL where nothing can be promised: another of its threads could
 * start an operation meanwhile if it may call MPI, and a thread that it has started cannot know what
 * the rank starts. Where this launcher is examined itself, everything is told. */
static struct sim_rank *asking(void)
{
#ifdef __SANITIZE_THREAD__
    return NULL;
#else
    struct sim_rank *rank = sim_current_rank;
    return rank && rank->thread_level < MPI_THREAD_SERIALIZED ? rank : NULL;
#endif
}

int __simrun_quiet(void)
{
    const struct sim_rank *rank = asking();
    return rank && !rank->history && (!rank->pending || !rank->pending->count);
}

int __simrun_safe(const void *first, ptrdiff_t moves, ptrdiff_t bytes)
{
    struct sim_rank *rank = asking();
    uintptr_t size = (uintptr_t)(bytes < 0 ? -bytes : bytes), low = (uintptr_t)first;
    uintptr_t high = low + size;
    if (moves < 0)
        low += (uintptr_t)moves;
    else
        high += (uintptr_t)moves;
    if (!rank || high <= low)
        return 0;
    if (low - rank->safe_low < rank->safe_size && high - rank->safe_low <= rank->safe_size)
        return 1;
    return !rank->pending || sim_pending_allows(rank, low, high, bytes < 0);
}
