/* What a rank has made and not freed: see open_handles.h. */
#include "sim/worlds/open_handles.h"
#include "sim/worlds/rank.h"
#include "sim/worlds/rank_lock.h"

#include <stdlib.h>

const char sim_open_handles_nowhere;

static struct sim_open_handles *live_of(struct sim_rank *rank)
{
    if (!rank->live)
        rank->live = calloc(1, sizeof *rank->live);
    return rank->live;
}

void sim_open_handles_add(enum sim_handle_kind kind, uint64_t handle)
{
    WITH_RANK_LOCK;
    struct sim_rank *rank = sim_current_rank;
    struct sim_open_handles *live = rank ? live_of(rank) : NULL;
    if (!live)
        return;
    /* Whoever asks what a type is made of gets another handle of it for a moment. */
    const void *site = handle_map_find(&live->handles[kind], handle);
    if (!site)
        site = sim_libc_call_site();
    handle_map_add(&live->handles[kind], handle,
                   (void *)(uintptr_t)(site ? site : (const void *)&sim_open_handles_nowhere));
}

void sim_open_handles_remove(enum sim_handle_kind kind, uint64_t handle)
{
    WITH_RANK_LOCK;
    if (sim_current_rank && sim_current_rank->live)
        handle_map_remove(&sim_current_rank->live->handles[kind], handle);
}

bool sim_open_handles_has(enum sim_handle_kind kind, uint64_t handle)
{
    WITH_RANK_LOCK;
    return !sim_current_rank || (sim_current_rank->live &&
                                 handle_map_find(&sim_current_rank->live->handles[kind], handle));
}

void sim_open_handles_release(struct sim_open_handles *live)
{
    for (int kind = 0; live && kind < SIM_LIVE_KINDS; kind++)
        handle_map_release(&live->handles[kind]);
    free(live);
}
