/* construct.c: MPI_Type_contiguous, vector, hvector, resized, dup. */
#include "sim/datatypes/call.h"
#include "sim/worlds/open_handles.h"

int sim_type_query_check(const char *function, MPI_Datatype datatype, bool pointers)
{
    int error = sim_point_outside(function);
    if (error)
        return error;
    if (!sim_datatype_get(datatype))
        return sim_type_raise(function, MPI_ERR_TYPE, "datatype is not a valid datatype");
    if (!pointers)
        return sim_type_raise(function, MPI_ERR_ARG, "a result argument is a null pointer");
    return MPI_SUCCESS;
}

int sim_type_call_check(const struct sim_type_call *call, int64_t count, MPI_Datatype oldtype,
                        const struct sim_datatype **old)
{
    *old = sim_datatype_get(oldtype);
    int error = sim_point_outside(call->function);
    if (error)
        return error;
    if (!call->newtype)
        return sim_type_raise(call->function, MPI_ERR_ARG, "newtype is a null pointer");
    if (count < 0)
        return sim_type_raise(call->function, MPI_ERR_COUNT, "count is negative: %lld",
                              (long long)count);
    if (!*old)
        return sim_type_raise(call->function, MPI_ERR_TYPE, "oldtype is not a valid datatype");
    return MPI_SUCCESS;
}

int sim_type_call_check_array(const struct sim_type_call *call, const char *name,
                              struct sim_counts array, int64_t count, bool lengths)
{
    if (sim_counts_missing(array, count))
        return sim_type_raise(call->function, MPI_ERR_ARG, "%s is a null pointer", name);
    for (int64_t i = 0; lengths && i < count; i++)
        if (sim_counts_at(array, i) < 0)
            return sim_type_raise(call->function, MPI_ERR_ARG, "%s[%lld] is negative: %lld", name,
                                  (long long)i, (long long)sim_counts_at(array, i));
    return MPI_SUCCESS;
}

int sim_type_call_finish(const struct sim_type_call *call, struct sim_layout *layout,
                         struct sim_contents *contents)
{
    int error;
    if (!contents && !layout->error)
        layout->error = MPI_ERR_NO_MEM;
    struct sim_datatype *type = sim_layout_finish(layout, contents, &error);
    if (!type)
        return sim_type_raise(call->function, error,
                              error == MPI_ERR_NO_MEM ? "out of memory"
                                                      : "the type is too large for its addresses");
    *call->newtype = sim_datatype_handle(type);
    sim_open_handles_add(SIM_LIVE_DATATYPE, (uint64_t)(uintptr_t)*call->newtype);
    return MPI_SUCCESS;
}

/* ---- contiguous ---- */

static int contiguous(struct sim_type_call call, MPI_Count count, MPI_Datatype oldtype)
{
    const struct sim_datatype *old;
    int error = sim_type_call_check(&call, count, oldtype, &old);
    if (error)
        return error;
    struct sim_layout layout;
    sim_layout_begin(&layout);
    sim_layout_add(&layout, old, (struct sim_blocks){.block = (size_t)count, .count = 1});
    struct sim_contents *contents = sim_contents_new(MPI_COMBINER_CONTIGUOUS, call.large, 1, 1);
    if (contents) {
        sim_contents_put_count(contents, count);
        sim_contents_put_type(contents, old);
    }
    return sim_type_call_finish(&call, &layout, contents);
}

int PMPI_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return contiguous((struct sim_type_call){"Type_contiguous", false, newtype}, count, oldtype);
}

int PMPI_Type_contiguous_c(MPI_Count count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return contiguous((struct sim_type_call){"Type_contiguous_c", true, newtype}, count, oldtype);
}

/* ---- vector and hvector ---- */

struct vector {
    MPI_Count count, blocklength, stride;
    bool in_bytes; /* the stride */
};

static void vector_put_stride(struct sim_contents *contents, const struct vector *vector)
{
    if (vector->in_bytes && !contents->large)
        sim_contents_put_address(contents, vector->stride);
    else
        sim_contents_put_count(contents, vector->stride);
}

static int vector_create(struct sim_type_call call, struct vector vector, MPI_Datatype oldtype)
{
    const struct sim_datatype *old;
    int error = sim_type_call_check(&call, vector.count, oldtype, &old);
    if (error)
        return error;
    if (vector.blocklength < 0)
        return sim_type_raise(call.function, MPI_ERR_ARG, "blocklength is negative: %lld",
                              (long long)vector.blocklength);
    struct sim_layout layout;
    sim_layout_begin(&layout);
    MPI_Aint stride = vector.stride;
    if (!vector.in_bytes && __builtin_mul_overflow(vector.stride, old->extent, &stride))
        layout.error = layout.error ? layout.error : MPI_ERR_VALUE_TOO_LARGE;
    sim_layout_add(&layout, old,
                   (struct sim_blocks){.block = (size_t)vector.blocklength,
                                       .count = (size_t)vector.count,
                                       .stride = stride});
    int combiner = vector.in_bytes ? MPI_COMBINER_HVECTOR : MPI_COMBINER_VECTOR;
    struct sim_contents *contents = sim_contents_new(combiner, call.large, 3, 1);
    if (contents) {
        sim_contents_put_count(contents, vector.count);
        sim_contents_put_count(contents, vector.blocklength);
        vector_put_stride(contents, &vector);
        sim_contents_put_type(contents, old);
    }
    return sim_type_call_finish(&call, &layout, contents);
}

/* The int form has a stride of `stride_t`. */
#define VECTOR(name, stride_t, bytes)                                                              \
    int PMPI_##name(int count, int blocklength, stride_t stride, MPI_Datatype oldtype,             \
                    MPI_Datatype *newtype)                                                         \
    {                                                                                              \
        return vector_create((struct sim_type_call){#name, false, newtype},                        \
                             (struct vector){count, blocklength, stride, bytes}, oldtype);         \
    }                                                                                              \
    int PMPI_##name##_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride,                  \
                        MPI_Datatype oldtype, MPI_Datatype *newtype)                               \
    {                                                                                              \
        return vector_create((struct sim_type_call){#name "_c", true, newtype},                    \
                             (struct vector){count, blocklength, stride, bytes}, oldtype);         \
    }

VECTOR(Type_vector, int, false)
VECTOR(Type_create_hvector, MPI_Aint, true)

/* ---- resized ---- */

static void bound_put(struct sim_contents *contents, MPI_Count bound)
{
    if (contents->large)
        sim_contents_put_count(contents, bound);
    else
        sim_contents_put_address(contents, bound);
}

static int resized(struct sim_type_call call, MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent)
{
    const struct sim_datatype *old;
    int error = sim_type_call_check(&call, 0, oldtype, &old);
    if (error)
        return error;
    struct sim_layout layout;
    sim_layout_begin(&layout);
    sim_layout_add(&layout, old, (struct sim_blocks){.block = 1, .count = 1});
    sim_layout_set_bounds(&layout, lb, extent);
    struct sim_contents *contents = sim_contents_new(MPI_COMBINER_RESIZED, call.large, 2, 1);
    if (contents) {
        bound_put(contents, lb);
        bound_put(contents, extent);
        sim_contents_put_type(contents, old);
    }
    return sim_type_call_finish(&call, &layout, contents);
}

int PMPI_Type_create_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent,
                             MPI_Datatype *newtype)
{
    return resized((struct sim_type_call){"Type_create_resized", false, newtype}, oldtype, lb,
                   extent);
}

int PMPI_Type_create_resized_c(MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent,
                               MPI_Datatype *newtype)
{
    return resized((struct sim_type_call){"Type_create_resized_c", true, newtype}, oldtype, lb,
                   extent);
}

/* ---- dup ---- */

int PMPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    struct sim_type_call call = {"Type_dup", false, newtype};
    const struct sim_datatype *old;
    int error = sim_type_call_check(&call, 0, oldtype, &old);
    if (error)
        return error;
    struct sim_layout layout;
    sim_layout_begin(&layout);
    sim_layout_add(&layout, old, (struct sim_blocks){.block = 1, .count = 1});
    if (layout.type) {
        layout.type->committed = old->committed;
        layout.type->overlaps = old->overlaps;
    }
    struct sim_contents *contents = sim_contents_new(MPI_COMBINER_DUP, false, 0, 1);
    if (contents)
        sim_contents_put_type(contents, old);
    error = sim_type_call_finish(&call, &layout, contents);
    return error ? error : sim_type_copy_attributes(&call, oldtype);
}
