/* Memory that a program gives to a window must be there as a whole. */
#include "sim/memory/objects.h"
#include "sim/memory/pending.h"
#include "sim/memory/typed.h"
#include "sim/worlds/rank.h"

void sim_pending_exposed(struct sim_rank *rank, const char *function, const void *memory,
                         size_t size, const void *site)
{
    const struct sim_region region = {(uintptr_t)memory, sim_datatype_get(MPI_BYTE), size, true,
                                      "memory"};
    struct sim_scope scope;
    if (!rank->pending || !size || !memory)
        return;
    rank->pending->site = site;
    if (sim_typed_check(rank, &region, function, "exposes", &scope) != SIM_TYPED_WRONG)
        sim_objects_bound(rank, &region, sim_region_hull(&region), function, "exposes");
    rank->pending->site = NULL;
}
