/* A rank's own lock: see rank_lock.h. */
#include "sim/worlds/rank_lock.h"

#include "sim/worlds/rank.h"

/* Its address tells threads apart. */
static _Thread_local char here;

static void wait_a_little(struct sim_rank *rank)
{
    pthread_mutex_lock(&rank->world->monitor);
    rank->world->executor->yield(rank);
    sim_world_leave(rank->world);
}

struct sim_rank *sim_local_enter(void)
{
    struct sim_rank *rank = sim_current_rank;
    if (!rank || !rank->world->threaded)
        return NULL;
    struct sim_local *local = &rank->local;
    uintptr_t nobody = 0, me = (uintptr_t)&here;
    if (atomic_load_explicit(&local->owner, memory_order_relaxed) != me)
        while (!atomic_compare_exchange_weak(&local->owner, &nobody, me)) {
            nobody = 0;
            wait_a_little(rank);
        }
    local->depth++;
    return rank;
}

void sim_local_leave(struct sim_rank **rank)
{
    if (*rank && !--(*rank)->local.depth)
        atomic_store(&(*rank)->local.owner, 0);
}
