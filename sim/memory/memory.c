/* What the recorder tells: see recorder/memory.h. */
#include "recorder/memory.h"

#include "sim/memory/pending.h"
#include "sim/worlds/rank.h"

void sim_memory_blocking(const char *name, const struct sim_memory_side *sides, size_t count)
{
    struct sim_rank *rank = sim_current_rank;
    struct sim_region regions[2];
    size_t used = 0;
    if (!rank || !rank->pending)
        return;
    for (size_t i = 0; i < count && used < 2; i++) {
        const struct sim_datatype *type = sim_datatype_get(sides[i].type);
        if (sides[i].buffer && type && sides[i].count > 0)
            regions[used++] =
                (struct sim_region){(uintptr_t)sides[i].buffer, type, (size_t)sides[i].count,
                                    sides[i].written, sides[i].name};
    }
    sim_pending_add(rank, regions, used, name, NULL);
}

void sim_memory_heard(void)
{
    if (sim_current_rank)
        sim_pending_heard(sim_current_rank);
}

bool sim_memory_instrumented(void)
{
    return sim_current_rank && sim_current_rank->pending && sim_current_rank->pending->instrumented;
}
