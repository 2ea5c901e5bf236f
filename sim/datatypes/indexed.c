/* indexed.c: MPI_Type_indexed, hindexed, indexed_block, hindexed_block, create_struct. */
#include "sim/datatypes/call.h"

/* ---- Blocks of one old type ---- */

struct indexed {
    int combiner;
    MPI_Count count;
    MPI_Count blocklength; /* of each block when there is no array of lengths */
    struct sim_counts lengths;
    struct sim_counts displacements;
    bool in_bytes;   /* the displacements */
    bool same_block; /* there is no array of lengths */
};

static MPI_Count indexed_length(const struct indexed *indexed, MPI_Count i)
{
    return indexed->same_block ? indexed->blocklength : sim_counts_at(indexed->lengths, i);
}

static int indexed_check(const struct sim_type_call *call, const struct indexed *indexed)
{
    if (indexed->same_block && indexed->blocklength < 0)
        return sim_type_raise(call->function, MPI_ERR_ARG, "blocklength is negative: %lld",
                              (long long)indexed->blocklength);
    int error = MPI_SUCCESS;
    if (!indexed->same_block)
        error = sim_type_call_check_array(call, "array_of_blocklengths", indexed->lengths,
                                          indexed->count, true);
    return error ? error
                 : sim_type_call_check_array(call, "array_of_displacements", indexed->displacements,
                                             indexed->count, false);
}

static void indexed_lay_out(struct sim_layout *layout, const struct indexed *indexed,
                            const struct sim_datatype *old)
{
    MPI_Aint unit = indexed->in_bytes ? 1 : old->extent;
    for (MPI_Count i = 0; i < indexed->count && !layout->error; i++) {
        struct sim_blocks blocks = {.block = (size_t)indexed_length(indexed, i), .count = 1};
        MPI_Count at = sim_counts_at(indexed->displacements, i);
        if (__builtin_mul_overflow(at, unit, &blocks.displacement))
            layout->error = MPI_ERR_VALUE_TOO_LARGE;
        sim_layout_add(layout, old, blocks);
    }
}

static struct sim_contents *indexed_contents(const struct indexed *indexed, bool large,
                                             const struct sim_datatype *old)
{
    struct sim_contents *contents =
        sim_contents_new(indexed->combiner, large, 2 + 2 * (size_t)indexed->count, 1);
    if (!contents)
        return NULL;
    sim_contents_put_count(contents, indexed->count);
    if (indexed->same_block)
        sim_contents_put_count(contents, indexed->blocklength);
    for (MPI_Count i = 0; !indexed->same_block && i < indexed->count; i++)
        sim_contents_put_count(contents, sim_counts_at(indexed->lengths, i));
    for (MPI_Count i = 0; i < indexed->count; i++) {
        MPI_Count at = sim_counts_at(indexed->displacements, i);
        if (indexed->in_bytes && !large)
            sim_contents_put_address(contents, at);
        else
            sim_contents_put_count(contents, at);
    }
    sim_contents_put_type(contents, old);
    return contents;
}

static int indexed_create(struct sim_type_call call, struct indexed indexed, MPI_Datatype oldtype)
{
    const struct sim_datatype *old;
    int error = sim_type_call_check(&call, indexed.count, oldtype, &old);
    if (!error)
        error = indexed_check(&call, &indexed);
    if (error)
        return error;
    struct sim_layout layout;
    sim_layout_begin(&layout);
    indexed_lay_out(&layout, &indexed, old);
    return sim_type_call_finish(&call, &layout, indexed_contents(&indexed, call.large, old));
}

/* The entry points, each in its int and its large-count form; the displacements of the int form are
 * of `displacement_t`, which `displacements_of` (SIM_NARROW, SIM_WIDE) reads. */
#define INDEXED(name, kind, displacement_t, displacements_of, bytes)                               \
    int PMPI_##name(int count, const int array_of_blocklengths[],                                  \
                    const displacement_t array_of_displacements[], MPI_Datatype oldtype,           \
                    MPI_Datatype *newtype)                                                         \
    {                                                                                              \
        return indexed_create(                                                                     \
            (struct sim_type_call){#name, false, newtype},                                         \
            (struct indexed){.combiner = kind,                                                     \
                             .count = count,                                                       \
                             .lengths = SIM_NARROW(array_of_blocklengths),                         \
                             .displacements = displacements_of(array_of_displacements),            \
                             .in_bytes = bytes},                                                   \
            oldtype);                                                                              \
    }                                                                                              \
    int PMPI_##name##_c(MPI_Count count, const MPI_Count array_of_blocklengths[],                  \
                        const MPI_Count array_of_displacements[], MPI_Datatype oldtype,            \
                        MPI_Datatype *newtype)                                                     \
    {                                                                                              \
        return indexed_create((struct sim_type_call){#name "_c", true, newtype},                   \
                              (struct indexed){.combiner = kind,                                   \
                                               .count = count,                                     \
                                               .lengths = SIM_WIDE(array_of_blocklengths),         \
                                               .displacements = SIM_WIDE(array_of_displacements),  \
                                               .in_bytes = bytes},                                 \
                              oldtype);                                                            \
    }

#define INDEXED_BLOCK(name, kind, displacement_t, displacements_of, bytes)                         \
    int PMPI_##name(int count, int blocklength, const displacement_t array_of_displacements[],     \
                    MPI_Datatype oldtype, MPI_Datatype *newtype)                                   \
    {                                                                                              \
        return indexed_create(                                                                     \
            (struct sim_type_call){#name, false, newtype},                                         \
            (struct indexed){.combiner = kind,                                                     \
                             .count = count,                                                       \
                             .blocklength = blocklength,                                           \
                             .displacements = displacements_of(array_of_displacements),            \
                             .in_bytes = bytes,                                                    \
                             .same_block = true},                                                  \
            oldtype);                                                                              \
    }                                                                                              \
    int PMPI_##name##_c(MPI_Count count, MPI_Count blocklength,                                    \
                        const MPI_Count array_of_displacements[], MPI_Datatype oldtype,            \
                        MPI_Datatype *newtype)                                                     \
    {                                                                                              \
        return indexed_create((struct sim_type_call){#name "_c", true, newtype},                   \
                              (struct indexed){.combiner = kind,                                   \
                                               .count = count,                                     \
                                               .blocklength = blocklength,                         \
                                               .displacements = SIM_WIDE(array_of_displacements),  \
                                               .in_bytes = bytes,                                  \
                                               .same_block = true},                                \
                              oldtype);                                                            \
    }

INDEXED(Type_indexed, MPI_COMBINER_INDEXED, int, SIM_NARROW, false)
INDEXED(Type_create_hindexed, MPI_COMBINER_HINDEXED, MPI_Aint, SIM_WIDE, true)
INDEXED_BLOCK(Type_create_indexed_block, MPI_COMBINER_INDEXED_BLOCK, int, SIM_NARROW, false)
INDEXED_BLOCK(Type_create_hindexed_block, MPI_COMBINER_HINDEXED_BLOCK, MPI_Aint, SIM_WIDE, true)

/* ---- struct ---- */

struct structure {
    MPI_Count count;
    struct sim_counts lengths;
    struct sim_counts displacements;
    const MPI_Datatype *types;
};

static int structure_check(const struct sim_type_call *call, const struct structure *structure)
{
    if (sim_point_outside(call->function))
        return MPI_ERR_OTHER;
    if (!call->newtype)
        return sim_type_raise(call->function, MPI_ERR_ARG, "newtype is a null pointer");
    if (structure->count < 0)
        return sim_type_raise(call->function, MPI_ERR_COUNT, "count is negative: %lld",
                              (long long)structure->count);
    int error = sim_type_call_check_array(call, "array_of_blocklengths", structure->lengths,
                                          structure->count, true);
    if (!error)
        error = sim_type_call_check_array(call, "array_of_displacements", structure->displacements,
                                          structure->count, false);
    if (!error && structure->count && !structure->types)
        error = sim_type_raise(call->function, MPI_ERR_ARG, "array_of_types is a null pointer");
    for (MPI_Count i = 0; !error && i < structure->count; i++)
        if (!sim_datatype_get(structure->types[i]))
            error = sim_type_raise(call->function, MPI_ERR_TYPE,
                                   "array_of_types[%lld] is not a valid datatype", (long long)i);
    return error;
}

static struct sim_contents *structure_contents(const struct structure *structure, bool large)
{
    size_t count = (size_t)structure->count;
    struct sim_contents *contents =
        sim_contents_new(MPI_COMBINER_STRUCT, large, 1 + 2 * count, count);
    if (!contents)
        return NULL;
    sim_contents_put_count(contents, structure->count);
    for (MPI_Count i = 0; i < structure->count; i++)
        sim_contents_put_count(contents, sim_counts_at(structure->lengths, i));
    for (MPI_Count i = 0; i < structure->count; i++) {
        MPI_Count at = sim_counts_at(structure->displacements, i);
        if (large)
            sim_contents_put_count(contents, at);
        else
            sim_contents_put_address(contents, at);
        sim_contents_put_type(contents, sim_datatype_get(structure->types[i]));
    }
    return contents;
}

static int structure_create(struct sim_type_call call, struct structure structure)
{
    int error = structure_check(&call, &structure);
    if (error)
        return error;
    struct sim_layout layout;
    sim_layout_begin(&layout);
    for (MPI_Count i = 0; i < structure.count; i++)
        sim_layout_add(
            &layout, sim_datatype_get(structure.types[i]),
            (struct sim_blocks){.displacement = sim_counts_at(structure.displacements, i),
                                .block = (size_t)sim_counts_at(structure.lengths, i),
                                .count = 1});
    return sim_type_call_finish(&call, &layout, structure_contents(&structure, call.large));
}

int PMPI_Type_create_struct(int count, const int array_of_blocklengths[],
                            const MPI_Aint array_of_displacements[],
                            const MPI_Datatype array_of_types[], MPI_Datatype *newtype)
{
    struct structure structure = {count, SIM_NARROW(array_of_blocklengths),
                                  SIM_WIDE(array_of_displacements), array_of_types};
    return structure_create((struct sim_type_call){"Type_create_struct", false, newtype},
                            structure);
}

int PMPI_Type_create_struct_c(MPI_Count count, const MPI_Count array_of_blocklengths[],
                              const MPI_Count array_of_displacements[],
                              const MPI_Datatype array_of_types[], MPI_Datatype *newtype)
{
    struct structure structure = {count, SIM_WIDE(array_of_blocklengths),
                                  SIM_WIDE(array_of_displacements), array_of_types};
    return structure_create((struct sim_type_call){"Type_create_struct_c", true, newtype},
                            structure);
}
