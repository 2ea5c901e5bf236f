/* datatype.c: the life of a datatype and the assertion of its rules. */
#include "sim/datatypes/datatype.h"

#include <assert.h>
#include <mpix.h>
#include <stdlib.h>
#include <string.h>

#ifdef NDEBUG
#error "assertions are part of the machine"
#endif

MPI_Datatype sim_datatype_handle(const struct sim_datatype *type)
{
    if (type->predefined)
        return (MPI_Datatype)(uintptr_t)(SIM_DATATYPE_FIRST + (type - sim_datatype_predefined));
    return (MPI_Datatype)(uintptr_t)type;
}

/* References are counted in const objects too: they belong to whoever holds them, not to the value.
 */
static atomic_uint *references_of(const struct sim_datatype *type)
{
    return (atomic_uint *)(uintptr_t)&type->references;
}

void sim_datatype_retain_derived(const struct sim_datatype *type)
{
    atomic_fetch_add_explicit(references_of(type), 1, memory_order_relaxed);
}

void sim_contents_free(struct sim_contents *contents)
{
    if (!contents)
        return;
    for (size_t i = 0; i < contents->type_count; i++)
        sim_datatype_release(contents->types[i]);
    free(contents->integers);
    free(contents->addresses);
    free(contents->counts);
    free(contents->types);
    free(contents);
}

void sim_datatype_release_derived(const struct sim_datatype *type)
{
    unsigned before = atomic_fetch_sub_explicit(references_of(type), 1, memory_order_acq_rel);
    assert(before > 0);
    if (before > 1)
        return;
    struct sim_datatype *dead = (struct sim_datatype *)(uintptr_t)type;
    dead->magic = SIM_MAGIC_FREED;
    if (dead->runs != &dead->run)
        free((void *)(uintptr_t)dead->runs);
    sim_contents_free(dead->contents);
    sim_attributes_release(&dead->attributes);
    free(dead->name);
    free(dead);
}

const char *sim_datatype_name(const struct sim_datatype *type)
{
    return type->name ? type->name : type->label ? type->label : "";
}

void sim_datatype_check(const struct sim_datatype *type)
{
    size_t size = 0;
    for (size_t i = 0; i < type->run_count; i++) {
        const struct sim_run *run = &type->runs[i];
        assert(run->start == size);
        assert(run->length > 0 && run->count > 0);
        assert(run->count > 1 ? run->stride != (ptrdiff_t)run->length : run->stride == 0);
        size += run->length * run->count;
    }
    assert(size == type->size);
    assert(!type->contiguous || size == 0 || (type->run_count == 1 && type->runs->offset == 0));
    assert(!type->contiguous || type->extent == (MPI_Aint)size);
    assert(!type->basic ||
           type->elements * sim_datatype_predefined[type->basic - SIM_DATATYPE_FIRST].size == size);
    assert((size == 0) == (type->elements == 0));
}

int MPIX_Type_known(MPI_Datatype type)
{
    return sim_datatype_get(type) != NULL;
}
