/* array.c: MPI_Type_create_subarray and MPI_Type_create_darray.
 *
 * Both choose, in every dimension of an array, some indices; the type map is the product of these
 * choices, the fastest dimension innermost. So both are built dimension by dimension: a type for
 * the chosen part of one line, one line's extent apart in the next dimension.
 */
#include <assert.h>
#include <stdlib.h>

#include "sim/datatypes/call.h"
#include "sim/worlds/open_handles.h"

/* Indices of one dimension, `size` long: `count` blocks of `block` indices, `stride` apart from
 * `start`, then `rest` more indices from where the next block would start. */
struct slice {
    MPI_Count size, start, block, count, stride, rest;
};

/* Copies of `inner`, whose extent is that of one index, at the indices of the slice. */
static struct sim_datatype *slice_apply(const struct sim_datatype *inner, const struct slice *slice,
                                        int *error)
{
    struct sim_layout layout;
    MPI_Aint unit = inner->extent, extent = 0, start = 0, stride = 0, rest = 0;
    sim_layout_begin(&layout);
    if (!layout.error && (__builtin_mul_overflow(slice->size, unit, &extent) ||
                          __builtin_mul_overflow(slice->start, unit, &start) ||
                          __builtin_mul_overflow(slice->stride, unit, &stride) ||
                          __builtin_mul_overflow(slice->count, stride, &rest)))
        layout.error = MPI_ERR_VALUE_TOO_LARGE;
    sim_layout_add(&layout, inner,
                   (struct sim_blocks){start, (size_t)slice->block, (size_t)slice->count, stride});
    sim_layout_add(&layout, inner,
                   (struct sim_blocks){start + rest, (size_t)slice->rest, .count = 1});
    sim_layout_set_bounds(&layout, 0, extent);
    return sim_layout_finish(&layout, NULL, error);
}

/* A type with the data of `old` at offset 0 in an extent that starts at 0, as one array element. */
static struct sim_datatype *element_type(const struct sim_datatype *old, int *error)
{
    struct sim_layout layout;
    sim_layout_begin(&layout);
    sim_layout_add(&layout, old, (struct sim_blocks){.block = 1, .count = 1});
    sim_layout_set_bounds(&layout, 0, old->extent);
    return sim_layout_finish(&layout, NULL, error);
}

/* Applies all slices, the last dimension first in C order, the first one in Fortran's. The type
 * comes without contents and is not handed out. */
static struct sim_datatype *product(const struct sim_datatype *old, const struct slice *slices,
                                    int ndims, int order, int *error)
{
    struct sim_datatype *type = element_type(old, error);
    for (int i = 0; i < ndims && type; i++) {
        struct sim_datatype *inner = type;
        type = slice_apply(inner, &slices[order == MPI_ORDER_C ? ndims - 1 - i : i], error);
        sim_datatype_release(inner);
    }
    return type;
}

static int hand_out(const struct sim_type_call *call, struct sim_datatype *product_type, int error,
                    struct sim_contents *contents)
{
    if (!product_type || !contents) {
        sim_datatype_release(product_type);
        sim_contents_free(contents);
        return sim_type_raise(call->function, product_type ? MPI_ERR_NO_MEM : error,
                              "the array type cannot be represented");
    }
    product_type->contents = contents;
    *call->newtype = sim_datatype_handle(product_type);
    sim_open_handles_add(SIM_LIVE_DATATYPE, (uint64_t)(uintptr_t)*call->newtype);
    return MPI_SUCCESS;
}

static int check_order(const struct sim_type_call *call, int ndims, int order)
{
    if (ndims < 1)
        return sim_type_raise(call->function, MPI_ERR_DIMS, "ndims is %d; it must be positive",
                              ndims);
    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
        return sim_type_raise(call->function, MPI_ERR_ARG,
                              "order is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN: %d", order);
    return MPI_SUCCESS;
}

/* ---- subarray ---- */

struct subarray {
    int ndims, order;
    struct sim_counts sizes, subsizes, starts;
};

static int subarray_check(const struct sim_type_call *call, const struct subarray *array)
{
    int error = check_order(call, array->ndims, array->order);
    if (error)
        return error;
    if (sim_counts_missing(array->sizes, 1) || sim_counts_missing(array->subsizes, 1) ||
        sim_counts_missing(array->starts, 1))
        return sim_type_raise(call->function, MPI_ERR_ARG, "an array argument is a null pointer");
    for (int i = 0; i < array->ndims; i++) {
        long long size = sim_counts_at(array->sizes, i);
        long long subsize = sim_counts_at(array->subsizes, i);
        long long start = sim_counts_at(array->starts, i);
        if (subsize < 1 || subsize > size || start < 0 || start > size - subsize)
            return sim_type_raise(call->function, MPI_ERR_ARG,
                                  "dimension %d: %lld elements from %lld on do not lie within %lld",
                                  i, subsize, start, size);
    }
    return MPI_SUCCESS;
}

static struct sim_contents *subarray_contents(const struct subarray *array, bool large,
                                              const struct sim_datatype *old)
{
    struct sim_contents *contents =
        sim_contents_new(MPI_COMBINER_SUBARRAY, large, 2 + 3 * (size_t)array->ndims, 1);
    if (!contents)
        return NULL;
    const struct sim_counts columns[3] = {array->sizes, array->subsizes, array->starts};
    sim_contents_put_integer(contents, array->ndims);
    for (int column = 0; column < 3; column++)
        for (int i = 0; i < array->ndims; i++)
            sim_contents_put_count(contents, sim_counts_at(columns[column], i));
    sim_contents_put_integer(contents, array->order);
    sim_contents_put_type(contents, old);
    return contents;
}

static int subarray_create(struct sim_type_call call, struct subarray array, MPI_Datatype oldtype)
{
    const struct sim_datatype *old;
    int error = sim_type_call_check(&call, 0, oldtype, &old);
    if (!error)
        error = subarray_check(&call, &array);
    if (error)
        return error;
    assert(array.ndims > 0);
    struct slice *slices = calloc((size_t)array.ndims, sizeof *slices);
    if (!slices)
        return sim_type_raise(call.function, MPI_ERR_NO_MEM, "out of memory");
    for (int i = 0; i < array.ndims; i++)
        slices[i] = (struct slice){.size = sim_counts_at(array.sizes, i),
                                   .start = sim_counts_at(array.starts, i),
                                   .block = sim_counts_at(array.subsizes, i),
                                   .count = 1};
    struct sim_datatype *type = product(old, slices, array.ndims, array.order, &error);
    free(slices);
    return hand_out(&call, type, error, subarray_contents(&array, call.large, old));
}

int PMPI_Type_create_subarray(int ndims, const int array_of_sizes[], const int array_of_subsizes[],
                              const int array_of_starts[], int order, MPI_Datatype oldtype,
                              MPI_Datatype *newtype)
{
    struct subarray array = {ndims, order, SIM_NARROW(array_of_sizes),
                             SIM_NARROW(array_of_subsizes), SIM_NARROW(array_of_starts)};
    return subarray_create((struct sim_type_call){"Type_create_subarray", false, newtype}, array,
                           oldtype);
}

int PMPI_Type_create_subarray_c(int ndims, const MPI_Count array_of_sizes[],
                                const MPI_Count array_of_subsizes[],
                                const MPI_Count array_of_starts[], int order, MPI_Datatype oldtype,
                                MPI_Datatype *newtype)
{
    struct subarray array = {ndims, order, SIM_WIDE(array_of_sizes), SIM_WIDE(array_of_subsizes),
                             SIM_WIDE(array_of_starts)};
    return subarray_create((struct sim_type_call){"Type_create_subarray_c", true, newtype}, array,
                           oldtype);
}

/* ---- darray ---- */

struct darray {
    int size, rank, ndims, order;
    struct sim_counts gsizes;
    const int *distributions, *arguments, *psizes;
};

/* The length of a block in dimension i; 0 when the arguments fit no distribution. */
static MPI_Count darray_block(const struct darray *array, int i)
{
    MPI_Count gsize = sim_counts_at(array->gsizes, i);
    int psize = array->psizes[i], argument = array->arguments[i];
    switch (array->distributions[i]) {
    case MPI_DISTRIBUTE_NONE:
        return psize == 1 ? gsize : 0;
    case MPI_DISTRIBUTE_BLOCK:
        if (argument == MPI_DISTRIBUTE_DFLT_DARG)
            return (gsize + psize - 1) / psize;
        return argument > 0 && (MPI_Count)argument * psize >= gsize ? argument : 0;
    case MPI_DISTRIBUTE_CYCLIC:
        if (argument == MPI_DISTRIBUTE_DFLT_DARG)
            return 1;
        return argument > 0 ? argument : 0;
    default:
        return 0;
    }
}

static int darray_check(const struct sim_type_call *call, const struct darray *array)
{
    int error = check_order(call, array->ndims, array->order);
    if (error)
        return error;
    if (array->rank < 0 || array->rank >= array->size)
        return sim_type_raise(call->function, MPI_ERR_ARG, "rank %d is not one of %d", array->rank,
                              array->size);
    if (sim_counts_missing(array->gsizes, 1) || !array->distributions || !array->arguments ||
        !array->psizes)
        return sim_type_raise(call->function, MPI_ERR_ARG, "an array argument is a null pointer");
    long long processes = 1;
    for (int i = 0; i < array->ndims; i++) {
        if (sim_counts_at(array->gsizes, i) < 1 || array->psizes[i] < 1)
            return sim_type_raise(call->function, MPI_ERR_ARG,
                                  "dimension %d: gsize and psize must be positive", i);
        if (darray_block(array, i) == 0)
            return sim_type_raise(call->function, MPI_ERR_ARG,
                                  "dimension %d: distribution and its argument do not fit", i);
        if (__builtin_mul_overflow(processes, array->psizes[i], &processes))
            processes = 0;
    }
    if (processes != array->size)
        return sim_type_raise(call->function, MPI_ERR_ARG,
                              "the grid has not as many processes as size says: %d", array->size);
    return MPI_SUCCESS;
}

/* What the process with this coordinate owns of dimension i. */
static struct slice darray_slice(const struct darray *array, int i, int coordinate)
{
    MPI_Count gsize = sim_counts_at(array->gsizes, i), block = darray_block(array, i);
    MPI_Count round = block * array->psizes[i]; /* indices after which it is one's turn again */
    struct slice slice = {
        .size = gsize, .start = coordinate * block, .block = block, .stride = round};
    MPI_Count left = gsize > slice.start ? gsize - slice.start : 0;
    slice.count = left / round;
    left -= slice.count * round;
    if (left >= block)
        slice.count++;
    else
        slice.rest = left;
    return slice;
}

static struct slice *darray_slices(const struct darray *array)
{
    struct slice *slices = calloc((size_t)array->ndims, sizeof *slices);
    int rank = array->rank;
    /* Processes are numbered in C order, whatever the order of the array. */
    for (int i = array->ndims - 1; slices && i >= 0; i--) {
        slices[i] = darray_slice(array, i, rank % array->psizes[i]);
        rank /= array->psizes[i];
    }
    return slices;
}

static struct sim_contents *darray_contents(const struct darray *array, bool large,
                                            const struct sim_datatype *old)
{
    struct sim_contents *contents =
        sim_contents_new(MPI_COMBINER_DARRAY, large, 4 + 4 * (size_t)array->ndims, 1);
    if (!contents)
        return NULL;
    const int *columns[3] = {array->distributions, array->arguments, array->psizes};
    sim_contents_put_integer(contents, array->size);
    sim_contents_put_integer(contents, array->rank);
    sim_contents_put_integer(contents, array->ndims);
    for (int i = 0; i < array->ndims; i++)
        sim_contents_put_count(contents, sim_counts_at(array->gsizes, i));
    for (int column = 0; column < 3; column++)
        for (int i = 0; i < array->ndims; i++)
            sim_contents_put_integer(contents, columns[column][i]);
    sim_contents_put_integer(contents, array->order);
    sim_contents_put_type(contents, old);
    return contents;
}

static int darray_create(struct sim_type_call call, struct darray array, MPI_Datatype oldtype)
{
    const struct sim_datatype *old;
    int error = sim_type_call_check(&call, 0, oldtype, &old);
    if (!error)
        error = darray_check(&call, &array);
    if (error)
        return error;
    struct slice *slices = darray_slices(&array);
    if (!slices)
        return sim_type_raise(call.function, MPI_ERR_NO_MEM, "out of memory");
    struct sim_datatype *type = product(old, slices, array.ndims, array.order, &error);
    free(slices);
    return hand_out(&call, type, error, darray_contents(&array, call.large, old));
}

int PMPI_Type_create_darray(int size, int rank, int ndims, const int array_of_gsizes[],
                            const int array_of_distribs[], const int array_of_dargs[],
                            const int array_of_psizes[], int order, MPI_Datatype oldtype,
                            MPI_Datatype *newtype)
{
    struct darray array = {size,
                           rank,
                           ndims,
                           order,
                           SIM_NARROW(array_of_gsizes),
                           array_of_distribs,
                           array_of_dargs,
                           array_of_psizes};
    return darray_create((struct sim_type_call){"Type_create_darray", false, newtype}, array,
                         oldtype);
}

int PMPI_Type_create_darray_c(int size, int rank, int ndims, const MPI_Count array_of_gsizes[],
                              const int array_of_distribs[], const int array_of_dargs[],
                              const int array_of_psizes[], int order, MPI_Datatype oldtype,
                              MPI_Datatype *newtype)
{
    struct darray array = {
        size,           rank,           ndims, order, SIM_WIDE(array_of_gsizes), array_of_distribs,
        array_of_dargs, array_of_psizes};
    return darray_create((struct sim_type_call){"Type_create_darray_c", true, newtype}, array,
                         oldtype);
}
