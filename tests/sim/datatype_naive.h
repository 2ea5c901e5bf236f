/* datatype_naive.h: datatypes as the standard defines them, for tests: a list of (basic type,
 * displacement) with markers for explicit bounds, and random types made side by side with MPI's.
 *
 * Shares nothing with the machine: no runs, no strides, no rules for folding, only the definitions
 * of the constructors written down as loops over the entries of the old type.
 */
#ifndef TESTS_SIM_DATATYPE_NAIVE_H
#define TESTS_SIM_DATATYPE_NAIVE_H

#include "tests/dice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

/* ---- Random numbers ---- */

static _Thread_local uint64_t naive_state;

static inline uint64_t naive_random(void)
{
    return dice_next(&naive_state);
}
/* low <= result <= high */
static inline int naive_between(int low, int high)
{
    return low + (int)(naive_random() % (uint64_t)(high - low + 1));
}

/* ---- Type maps ---- */

struct naive_basic {
    MPI_Datatype handle;
    int size, alignment;
};
static const struct naive_basic naive_basics[] = {
    {MPI_CHAR, 1, 1},
    {MPI_SHORT, sizeof(short), _Alignof(short)},
    {MPI_INT, sizeof(int), _Alignof(int)},
    {MPI_FLOAT, sizeof(float), _Alignof(float)},
    {MPI_DOUBLE, sizeof(double), _Alignof(double)},
    {MPI_LONG_DOUBLE, sizeof(long double), _Alignof(long double)},
    {MPI_C_BOOL, 1, 1},
};
enum {
    NAIVE_BASICS = sizeof naive_basics / sizeof *naive_basics,
    NAIVE_LOWER = -1, /* markers of bounds */
    NAIVE_UPPER = -2,
    NAIVE_SHORT = 1,
    NAIVE_INT = 2,
    NAIVE_DOUBLE = 4,
    NAIVE_ENTRIES_MAX = 6000
};

struct naive_entry {
    ptrdiff_t at;
    int basic; /* index above, or a marker */
};
struct naive {
    MPI_Datatype handle;
    size_t count;
    struct naive_entry *entries;
};

static inline void naive_put(struct naive *type, int basic, ptrdiff_t at)
{
    type->entries = realloc(type->entries, (type->count + 1) * sizeof *type->entries);
    type->entries[type->count++] = (struct naive_entry){at, basic};
}

static inline void naive_free(struct naive *type)
{
    free(type->entries);
    if ((uintptr_t)type->handle >= 4096)
        PMPI_Type_free(&type->handle);
    *type = (struct naive){MPI_DATATYPE_NULL, 0, NULL};
}

struct naive_bounds {
    ptrdiff_t lb, extent, true_lb, true_extent;
    size_t size;
};

static inline struct naive_bounds naive_bounds(const struct naive *type)
{
    bool lower = false, upper = false, data = false;
    ptrdiff_t lb = 0, ub = 0, low = 0, high = 0;
    struct naive_bounds bounds = {0, 0, 0, 0, 0};
    int unit = 1;
    for (size_t i = 0; i < type->count; i++) {
        struct naive_entry entry = type->entries[i];
        if (entry.basic == NAIVE_LOWER) {
            lb = !lower || entry.at < lb ? entry.at : lb;
            lower = true;
        } else if (entry.basic == NAIVE_UPPER) {
            ub = !upper || entry.at > ub ? entry.at : ub;
            upper = true;
        } else {
            const struct naive_basic *basic = &naive_basics[entry.basic];
            low = !data || entry.at < low ? entry.at : low;
            high = !data || entry.at + basic->size > high ? entry.at + basic->size : high;
            unit = basic->alignment > unit ? basic->alignment : unit;
            bounds.size += (size_t)basic->size;
            data = true;
        }
    }
    bounds.true_lb = low;
    bounds.true_extent = high - low;
    bounds.lb = lower ? lb : low;
    bounds.extent = upper ? ub - bounds.lb : (high - low + unit - 1) / unit * unit;
    return bounds;
}

/* The old type's entries once more, moved. */
static inline void naive_copy(struct naive *type, const struct naive *old, ptrdiff_t shift,
                              bool markers)
{
    for (size_t i = 0; i < old->count; i++)
        if (markers || old->entries[i].basic >= 0)
            naive_put(type, old->entries[i].basic, old->entries[i].at + shift);
}

static inline void naive_block(struct naive *type, const struct naive *old, ptrdiff_t at,
                               int length)
{
    ptrdiff_t extent = naive_bounds(old).extent;
    for (int i = 0; i < length; i++)
        naive_copy(type, old, at + i * extent, true);
}

/* Offsets of all bytes of `elements` elements in the order in which they travel. */
static inline ptrdiff_t *naive_bytes(const struct naive *type, int elements, size_t *count)
{
    struct naive_bounds bounds = naive_bounds(type);
    ptrdiff_t *bytes = calloc(bounds.size * (size_t)elements + 1, sizeof *bytes);
    *count = 0;
    for (int element = 0; element < elements; element++)
        for (size_t i = 0; i < type->count; i++)
            for (int b = 0;
                 type->entries[i].basic >= 0 && b < naive_basics[type->entries[i].basic].size; b++)
                bytes[(*count)++] = element * bounds.extent + type->entries[i].at + b;
    return bytes;
}

/* ---- Random types ---- */

static const char *const naive_kinds[] = {
    "basic",         "pair",           "contiguous", "vector",  "hvector", "indexed",  "hindexed",
    "indexed_block", "hindexed_block", "struct",     "resized", "dup",     "subarray", "darray",
};
enum naive_kind {
    KIND_BASIC,
    KIND_PAIR,
    KIND_CONTIGUOUS,
    KIND_VECTOR,
    KIND_HVECTOR,
    KIND_INDEXED,
    KIND_HINDEXED,
    KIND_INDEXED_BLOCK,
    KIND_HINDEXED_BLOCK,
    KIND_STRUCT,
    KIND_RESIZED,
    KIND_DUP,
    KIND_SUBARRAY,
    KIND_DARRAY,
    KINDS
};

enum { LIST = 5 };

static struct naive naive_make(enum naive_kind kind, int depth, bool large);

static inline struct naive naive_make_any(int depth)
{
    enum naive_kind kind = (enum naive_kind)naive_between(0, depth > 0 ? KINDS - 1 : 1);
    return naive_make(kind, depth, naive_between(0, 1));
}

static inline struct naive naive_make_basic(bool pair)
{
    struct naive type = {MPI_DATATYPE_NULL, 0, NULL};
    int basic = naive_between(0, NAIVE_BASICS - 1);
    if (!pair) {
        type.handle = naive_basics[basic].handle;
        naive_put(&type, basic, 0);
    } else if (basic % 2) {
        type.handle = MPI_SHORT_INT;
        naive_put(&type, NAIVE_SHORT, 0);
        naive_put(&type, NAIVE_INT, sizeof(int));
    } else {
        type.handle = MPI_DOUBLE_INT;
        naive_put(&type, NAIVE_DOUBLE, 0);
        naive_put(&type, NAIVE_INT, sizeof(double));
    }
    return type;
}

static inline void naive_vector(struct naive *type, const struct naive *old, enum naive_kind kind,
                                bool large)
{
    bool bytes = kind == KIND_HVECTOR;
    int count = naive_between(0, 4), length = naive_between(0, 3);
    int stride = bytes ? naive_between(-40, 60) : naive_between(-4, 6);
    for (int i = 0; i < count; i++)
        naive_block(type, old, i * stride * (bytes ? 1 : naive_bounds(old).extent), length);
    if (bytes && large)
        PMPI_Type_create_hvector_c(count, length, stride, old->handle, &type->handle);
    else if (bytes)
        PMPI_Type_create_hvector(count, length, stride, old->handle, &type->handle);
    else if (large)
        PMPI_Type_vector_c(count, length, stride, old->handle, &type->handle);
    else
        PMPI_Type_vector(count, length, stride, old->handle, &type->handle);
}

/* Lengths and displacements, in both widths. */
struct naive_lists {
    int count, same;
    int lengths[LIST], displacements[LIST];
    MPI_Count wide_lengths[LIST], wide_displacements[LIST];
};

static inline struct naive_lists naive_lists(int reach)
{
    struct naive_lists lists = {.count = naive_between(0, LIST), .same = naive_between(0, 3)};
    for (int i = 0; i < LIST; i++) {
        lists.wide_lengths[i] = lists.lengths[i] = naive_between(0, 3);
        lists.wide_displacements[i] = lists.displacements[i] = naive_between(-reach, 2 * reach);
    }
    return lists;
}

static inline void naive_indexed(struct naive *type, const struct naive *old, enum naive_kind kind,
                                 bool large)
{
    bool bytes = kind == KIND_HINDEXED || kind == KIND_HINDEXED_BLOCK;
    bool same = kind == KIND_INDEXED_BLOCK || kind == KIND_HINDEXED_BLOCK;
    struct naive_lists l = naive_lists(bytes ? 60 : 6);
    for (int i = 0; i < l.count; i++)
        naive_block(type, old, l.displacements[i] * (bytes ? 1 : naive_bounds(old).extent),
                    same ? l.same : l.lengths[i]);
    if (kind == KIND_INDEXED && large)
        PMPI_Type_indexed_c(l.count, l.wide_lengths, l.wide_displacements, old->handle,
                            &type->handle);
    else if (kind == KIND_INDEXED)
        PMPI_Type_indexed(l.count, l.lengths, l.displacements, old->handle, &type->handle);
    else if (kind == KIND_HINDEXED && large)
        PMPI_Type_create_hindexed_c(l.count, l.wide_lengths, l.wide_displacements, old->handle,
                                    &type->handle);
    else if (kind == KIND_HINDEXED)
        PMPI_Type_create_hindexed(l.count, l.lengths, l.wide_displacements, old->handle,
                                  &type->handle);
    else if (kind == KIND_INDEXED_BLOCK && large)
        PMPI_Type_create_indexed_block_c(l.count, l.same, l.wide_displacements, old->handle,
                                         &type->handle);
    else if (kind == KIND_INDEXED_BLOCK)
        PMPI_Type_create_indexed_block(l.count, l.same, l.displacements, old->handle,
                                       &type->handle);
    else if (large)
        PMPI_Type_create_hindexed_block_c(l.count, l.same, l.wide_displacements, old->handle,
                                          &type->handle);
    else
        PMPI_Type_create_hindexed_block(l.count, l.same, l.wide_displacements, old->handle,
                                        &type->handle);
}

static inline void naive_struct(struct naive *type, int depth, bool large)
{
    struct naive_lists l = naive_lists(60);
    struct naive olds[LIST];
    MPI_Datatype handles[LIST];
    for (int i = 0; i < l.count; i++) {
        olds[i] = naive_make_any(depth - 1);
        handles[i] = olds[i].handle;
        naive_block(type, &olds[i], l.displacements[i], l.lengths[i]);
    }
    if (large)
        PMPI_Type_create_struct_c(l.count, l.wide_lengths, l.wide_displacements, handles,
                                  &type->handle);
    else
        PMPI_Type_create_struct(l.count, l.lengths, l.wide_displacements, handles, &type->handle);
    for (int i = 0; i < l.count; i++)
        naive_free(&olds[i]);
}

static inline void naive_resized(struct naive *type, const struct naive *old, bool large)
{
    int lb = naive_between(-20, 20), extent = naive_between(-30, 80);
    naive_copy(type, old, 0, false);
    naive_put(type, NAIVE_LOWER, lb);
    naive_put(type, NAIVE_UPPER, lb + extent);
    if (large)
        PMPI_Type_create_resized_c(old->handle, lb, extent, &type->handle);
    else
        PMPI_Type_create_resized(old->handle, lb, extent, &type->handle);
}

/* An array of up to three dimensions, of which `owns` says for every index whether it is chosen. */
struct naive_array {
    int ndims, order;
    int sizes[3];
    bool owns[3][8];
};

static inline void naive_array(struct naive *type, const struct naive *old,
                               const struct naive_array *array)
{
    ptrdiff_t extent = naive_bounds(old).extent;
    int total = 1;
    for (int d = 0; d < array->ndims; d++)
        total *= array->sizes[d];
    for (int linear = 0; linear < total; linear++) {
        bool chosen = true;
        int rest = linear;
        for (int i = 0; i < array->ndims; i++) {
            int d = array->order == MPI_ORDER_C ? array->ndims - 1 - i : i;
            chosen = chosen && array->owns[d][rest % array->sizes[d]];
            rest /= array->sizes[d];
        }
        if (chosen)
            naive_copy(type, old, linear * extent, false);
    }
    naive_put(type, NAIVE_LOWER, 0);
    naive_put(type, NAIVE_UPPER, total * extent);
}

static inline void naive_subarray(struct naive *type, const struct naive *old, bool large)
{
    struct naive_array array = {.ndims = naive_between(1, 3),
                                .order = naive_between(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN};
    int subsizes[3], starts[3];
    MPI_Count wide_sizes[3], wide_subsizes[3], wide_starts[3];
    for (int d = 0; d < array.ndims; d++) {
        wide_sizes[d] = array.sizes[d] = naive_between(1, 5);
        wide_subsizes[d] = subsizes[d] = naive_between(1, array.sizes[d]);
        wide_starts[d] = starts[d] = naive_between(0, array.sizes[d] - subsizes[d]);
        for (int i = 0; i < subsizes[d]; i++)
            array.owns[d][starts[d] + i] = true;
    }
    naive_array(type, old, &array);
    if (large)
        PMPI_Type_create_subarray_c(array.ndims, wide_sizes, wide_subsizes, wide_starts,
                                    array.order, old->handle, &type->handle);
    else
        PMPI_Type_create_subarray(array.ndims, array.sizes, subsizes, starts, array.order,
                                  old->handle, &type->handle);
}

static inline void naive_darray(struct naive *type, const struct naive *old, bool large)
{
    struct naive_array array = {.ndims = naive_between(1, 3),
                                .order = naive_between(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN};
    int distributions[3], arguments[3], psizes[3], size = 1;
    MPI_Count wide_sizes[3];
    for (int d = 0; d < array.ndims; d++) {
        wide_sizes[d] = array.sizes[d] = naive_between(1, 7);
        distributions[d] = naive_between(MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC);
        psizes[d] = distributions[d] == MPI_DISTRIBUTE_NONE ? 1 : naive_between(1, 3);
        arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
        if (distributions[d] == MPI_DISTRIBUTE_CYCLIC && naive_between(0, 1))
            arguments[d] = naive_between(1, 4);
        if (distributions[d] == MPI_DISTRIBUTE_BLOCK && naive_between(0, 1))
            arguments[d] = (array.sizes[d] + psizes[d] - 1) / psizes[d] + naive_between(0, 2);
        size *= psizes[d];
    }
    int rank = naive_between(0, size - 1), rest = rank;
    for (int d = array.ndims - 1; d >= 0; d--) {
        int coordinate = rest % psizes[d], block = arguments[d];
        rest /= psizes[d];
        if (block == MPI_DISTRIBUTE_DFLT_DARG)
            block = distributions[d] == MPI_DISTRIBUTE_CYCLIC
                        ? 1
                        : (array.sizes[d] + psizes[d] - 1) / psizes[d];
        for (int i = 0; i < array.sizes[d]; i++)
            array.owns[d][i] =
                distributions[d] == MPI_DISTRIBUTE_NONE || i / block % psizes[d] == coordinate;
    }
    naive_array(type, old, &array);
    if (large)
        PMPI_Type_create_darray_c(size, rank, array.ndims, wide_sizes, distributions, arguments,
                                  psizes, array.order, old->handle, &type->handle);
    else
        PMPI_Type_create_darray(size, rank, array.ndims, array.sizes, distributions, arguments,
                                psizes, array.order, old->handle, &type->handle);
}

/* A random type of this kind on random types of up to depth - 1 levels. Not committed. */
static inline struct naive naive_make(enum naive_kind kind, int depth, bool large)
{
    struct naive type = {MPI_DATATYPE_NULL, 0, NULL};
    if (kind <= KIND_PAIR)
        return naive_make_basic(kind == KIND_PAIR);
    if (kind == KIND_STRUCT) {
        naive_struct(&type, depth, large);
        return type;
    }
    struct naive old = naive_make_any(depth - 1);
    while (old.count > NAIVE_ENTRIES_MAX / 50) {
        naive_free(&old);
        old = naive_make_any(depth - 1);
    }
    if (kind == KIND_CONTIGUOUS) {
        int count = naive_between(0, 4);
        naive_block(&type, &old, 0, count);
        if (large)
            PMPI_Type_contiguous_c(count, old.handle, &type.handle);
        else
            PMPI_Type_contiguous(count, old.handle, &type.handle);
    } else if (kind == KIND_VECTOR || kind == KIND_HVECTOR)
        naive_vector(&type, &old, kind, large);
    else if (kind <= KIND_HINDEXED_BLOCK)
        naive_indexed(&type, &old, kind, large);
    else if (kind == KIND_RESIZED)
        naive_resized(&type, &old, large);
    else if (kind == KIND_DUP) {
        naive_copy(&type, &old, 0, true);
        PMPI_Type_dup(old.handle, &type.handle);
    } else if (kind == KIND_SUBARRAY)
        naive_subarray(&type, &old, large);
    else
        naive_darray(&type, &old, large);
    naive_free(&old);
    return type;
}

#endif
