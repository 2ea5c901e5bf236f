/* packed.h: the two sides of a call that packs or unpacks, as the memory checks see them. */
#ifndef SIM_DATATYPES_PACKED_H
#define SIM_DATATYPES_PACKED_H

#include "sim/datatypes/datatype.h"
#include "sim/worlds/rank.h"

struct sim_packed {
    const char *function; /* "Pack" */
    const void *elements;
    MPI_Datatype datatype;
    MPI_Count count;
    const char *packed; /* where its bytes begin */
    size_t bytes;
    bool unpacks;
};

/* The calling rank uses both within the call that returns to `site`. Nobody knows as what the bytes
 * that are unpacked were packed: they are counted for the coverage. */
static inline void sim_packed_uses(const struct sim_packed *call, const void *site)
{
    bool unpacks = call->unpacks;
    const struct sim_used sides[] = {{call->elements, sim_datatype_get(call->datatype),
                                      (size_t)call->count, unpacks, unpacks ? "outbuf" : "inbuf"},
                                     {call->packed, sim_datatype_get(MPI_BYTE), call->bytes,
                                      !unpacks, unpacks ? "inbuf" : "outbuf"}};
    sim_rank_uses(call->function, sides, 2, site);
    if (unpacks && call->bytes && sim_current_rank)
        sim_current_rank->unpacked++;
}

#endif
