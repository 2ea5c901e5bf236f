/* Loops of OpenMP with ordered sections, as gcc's runtime runs them: a thread's turn comes when the
 * chunks of iterations before its own are done. Whoever waits for its turn waits in the machine, so
 * that a rank all of whose threads wait is known to be blocked, and can be ended. When its turn has
 * come the runtime lets it pass. */
#include "sim/libc/common.h"

#include <stdbool.h>

static _Thread_local struct sim_team_turn mine; /* of the loop it is in, or was in last */
static _Thread_local bool has_chunk;

void libc_ordered_begin(void)
{
    mine = (struct sim_team_turn){0};
    has_chunk = false;
}

static void tell(struct libc_region *region, enum sim_team_event event)
{
    if (region && has_chunk)
        libc_team_tell(region, event, (uintptr_t)&mine);
}

/* A thread is in its next loop, and may have a chunk of it. */
static bool loop_start(struct libc_region *region, long start, bool found, const long *first,
                       const long *end)
{
    mine.loop++;
    mine.first = start;
    has_chunk = true;
    tell(region, SIM_TEAM_TURNS);
    has_chunk = found;
    if (found) {
        mine.first = *first;
        mine.end = *end;
    }
    return found;
}

static void chunk_end(struct libc_region *region)
{
    tell(region, SIM_TEAM_TURN);
    tell(region, SIM_TEAM_TURN_DONE);
}

static bool chunk_next(bool found, const long *first, const long *end)
{
    has_chunk = found;
    if (found) {
        mine.first = *first;
        mine.end = *end;
    }
    return found;
}

#define START(name)                                                                                \
    bool name(long start, long end, long step, long chunk, long *first, long *last);               \
    bool name(long start, long end, long step, long chunk, long *first, long *last)                \
    {                                                                                              \
        LIBC_REAL(name);                                                                           \
        struct libc_region *region = libc_team_direct(LIBC_CALLER);                                \
        return loop_start(region, start, real(start, end, step, chunk, first, last), first, last); \
    }

#define NEXT(name)                                                                                 \
    bool name(long *first, long *last);                                                            \
    bool name(long *first, long *last)                                                             \
    {                                                                                              \
        LIBC_REAL(name);                                                                           \
        chunk_end(libc_team_direct(LIBC_CALLER));                                                  \
        return chunk_next(real(first, last), first, last);                                         \
    }

START(GOMP_loop_ordered_static_start)
START(GOMP_loop_ordered_dynamic_start)
START(GOMP_loop_ordered_guided_start)
NEXT(GOMP_loop_ordered_static_next)
NEXT(GOMP_loop_ordered_dynamic_next)
NEXT(GOMP_loop_ordered_guided_next)
NEXT(GOMP_loop_ordered_runtime_next)

bool GOMP_loop_ordered_runtime_start(long start, long end, long step, long *first, long *last);
bool GOMP_loop_ordered_runtime_start(long start, long end, long step, long *first, long *last)
{
    LIBC_REAL(GOMP_loop_ordered_runtime_start);
    struct libc_region *region = libc_team_direct(LIBC_CALLER);
    return loop_start(region, start, real(start, end, step, first, last), first, last);
}

void GOMP_ordered_start(void);
void GOMP_ordered_start(void)
{
    LIBC_REAL(GOMP_ordered_start);
    struct sim_libc_state *rank = libc_rank(LIBC_CALLER);
    tell(libc_team_direct(LIBC_CALLER), SIM_TEAM_TURN);
    real();
    if (rank)
        libc_hooks->team(rank, SIM_TEAM_ORDERED, 0);
}

void GOMP_ordered_end(void);
void GOMP_ordered_end(void)
{
    LIBC_REAL(GOMP_ordered_end);
    struct sim_libc_state *rank = libc_rank(LIBC_CALLER);
    if (rank)
        libc_hooks->team(rank, SIM_TEAM_UNORDERED, 0);
    real();
}
