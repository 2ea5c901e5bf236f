/* attributes.c: where the attributes of datatypes are kept.
 *
 * A derived type belongs to one rank and holds its own. A predefined type is a constant for all
 * ranks, so each rank keeps a row of lists for them, which exists once it is asked for.
 */
#include "sim/datatypes/attributes.h"

#include <stdlib.h>

#include "sim/datatypes/call.h"
#include "sim/worlds/rank.h"
#include "sim/worlds/rank_lock.h"

enum { PREDEFINED = SIM_DATATYPE_LAST - SIM_DATATYPE_FIRST + 1 };

static struct sim_attributes *predefined_attributes(const struct sim_datatype *type, bool create)
{
    if (!sim_current_rank)
        return NULL;
    if (!sim_current_rank->type_attributes && create)
        sim_current_rank->type_attributes =
            calloc(PREDEFINED, sizeof *sim_current_rank->type_attributes);
    if (!sim_current_rank->type_attributes)
        return NULL;
    return &sim_current_rank->type_attributes[type - sim_datatype_predefined];
}

struct sim_attributes *sim_type_attributes(MPI_Datatype handle)
{
    const struct sim_datatype *type = sim_datatype_get(handle);
    if (!type || type->predefined)
        return type ? predefined_attributes(type, true) : NULL;
    return &((struct sim_datatype *)(uintptr_t)type)->attributes;
}

char **sim_type_own_name(const struct sim_datatype *type, bool create)
{
    if (!type->predefined)
        return &((struct sim_datatype *)(uintptr_t)type)->name;
    if (sim_current_rank && !sim_current_rank->type_names && create)
        sim_current_rank->type_names = calloc(PREDEFINED, sizeof *sim_current_rank->type_names);
    return sim_current_rank && sim_current_rank->type_names
               ? &sim_current_rank->type_names[type - sim_datatype_predefined]
               : NULL;
}

void sim_type_attributes_release(struct sim_rank *rank)
{
    for (size_t i = 0; rank->type_attributes && i < PREDEFINED; i++)
        sim_attributes_release(&rank->type_attributes[i]);
    for (size_t i = 0; rank->type_names && i < PREDEFINED; i++)
        free(rank->type_names[i]);
    free(rank->type_attributes);
    free(rank->type_names);
    rank->type_attributes = NULL;
    rank->type_names = NULL;
}

int sim_type_copy_attributes(const struct sim_type_call *call, MPI_Datatype oldtype)
{
    WITH_RANK_LOCK;
    const struct sim_datatype *old = sim_datatype_get(oldtype);
    const struct sim_attributes *from =
        old->predefined ? predefined_attributes(old, false) : &old->attributes;
    int error = MPI_SUCCESS;
    if (from && from->count)
        error = sim_attributes_copy(from, oldtype, sim_type_attributes(*call->newtype));
    if (!error)
        return MPI_SUCCESS;
    PMPI_Type_free(call->newtype);
    return sim_error_raise_callback(MPI_COMM_NULL, error, call->function,
                                    "an attribute's copy function failed");
}
