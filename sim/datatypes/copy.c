/* copy.c: moves bytes between typed elements and their packed form.
 *
 * Both directions are one body, compiled twice: `out` is a constant wherever it is used. A run of
 * small blocks is copied by a loop for just that block length; calling memcpy for eight bytes costs
 * more than moving them. Addresses are computed as integers, since MPI_BOTTOM plus a displacement
 * is no pointer arithmetic that C knows.
 */
#include <string.h>

#include "sim/datatypes/datatype.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Packed bytes that pass through the stack at a time when neither side is dense. */
enum { STAGE = 4096 };

ALWAYS_INLINE char *address(const void *base, ptrdiff_t offset)
{
    return (char *)((uintptr_t)base + (uintptr_t)offset);
}

ALWAYS_INLINE void copy(bool out, char *typed, char *packed, size_t length)
{
    if (out)
        memcpy(packed, typed, length);
    else
        memcpy(typed, packed, length);
}

/* `count` blocks, `length` being a constant to the compiler. */
ALWAYS_INLINE void copy_fixed(bool out, char *typed, char *packed, size_t length, size_t count,
                              ptrdiff_t stride)
{
    for (size_t i = 0; i < count; i++)
        copy(out, address(typed, (ptrdiff_t)i * stride), packed + i * length, length);
}

/* Blocks of whole words. */
ALWAYS_INLINE void copy_words(bool out, char *typed, char *packed, size_t length, size_t count,
                              ptrdiff_t stride)
{
    for (size_t i = 0; i < count; i++)
        for (size_t at = 0; at < length; at += 8)
            copy(out, address(typed, (ptrdiff_t)i * stride + (ptrdiff_t)at),
                 packed + i * length + at, 8);
}

ALWAYS_INLINE void copy_blocks(bool out, char *typed, char *packed, size_t length, size_t count,
                               ptrdiff_t stride)
{
    if (length == 8)
        copy_fixed(out, typed, packed, 8, count, stride);
    else if (length == 4)
        copy_fixed(out, typed, packed, 4, count, stride);
    else if (length == 16)
        copy_fixed(out, typed, packed, 16, count, stride);
    else if (length == 1)
        copy_fixed(out, typed, packed, 1, count, stride);
    else if (length == 2)
        copy_fixed(out, typed, packed, 2, count, stride);
    else if (length % 8 == 0 && length <= 64)
        copy_words(out, typed, packed, length, count, stride);
    else
        copy_fixed(out, typed, packed, length, count, stride);
}

/* `count` elements of a type with one run as one run, if they form one. */
static bool run_of_elements(const struct sim_datatype *type, size_t count, struct sim_run *run)
{
    if (type->run_count != 1)
        return false;
    *run = type->run;
    if (count == 1)
        return true;
    if (run->count > 1) {
        run->count *= count;
        return type->extent == (MPI_Aint)type->run.count * run->stride;
    }
    if (type->extent == (MPI_Aint)run->length)
        run->length *= count;
    else {
        run->count = count;
        run->stride = type->extent;
    }
    return true;
}

ALWAYS_INLINE void copy_elements(bool out, const struct sim_datatype *type, char *buffer,
                                 size_t count, char *packed)
{
    struct sim_run whole;
    if (run_of_elements(type, count, &whole)) {
        copy_blocks(out, address(buffer, whole.offset), packed, whole.length, whole.count,
                    whole.stride);
        return;
    }
    for (size_t i = 0; i < count; i++, buffer = address(buffer, type->extent), packed += type->size)
        for (const struct sim_run *run = type->runs; run != type->runs + type->run_count; run++)
            copy_blocks(out, address(buffer, run->offset), packed + run->start, run->length,
                        run->count, run->stride);
}

/* The run that byte `offset` of an element belongs to. */
static const struct sim_run *find_run(const struct sim_datatype *type, size_t offset)
{
    size_t low = 0, high = type->run_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (type->runs[middle].start <= offset)
            low = middle;
        else
            high = middle;
    }
    return &type->runs[low];
}

/* Bytes [from, to) of the run; `packed` is where byte `from` goes. */
ALWAYS_INLINE void copy_run_part(bool out, const struct sim_run *run, char *element, size_t from,
                                 size_t to, char *packed)
{
    while (from < to) {
        size_t block = from / run->length, skip = from % run->length;
        char *typed = address(element, run->offset + (ptrdiff_t)block * run->stride);
        size_t moved, left = to - from;
        if (skip == 0 && left >= run->length) {
            moved = left - left % run->length;
            copy_blocks(out, typed, packed, run->length, moved / run->length, run->stride);
        } else {
            moved = run->length - skip < left ? run->length - skip : left;
            copy(out, typed + skip, packed, moved);
        }
        from += moved;
        packed += moved;
    }
}

/* Bytes [from, to) of one element. */
ALWAYS_INLINE void copy_element_part(bool out, const struct sim_datatype *type, char *element,
                                     size_t from, size_t to, char *packed)
{
    for (const struct sim_run *run = find_run(type, from); from < to; run++) {
        size_t end = run->start + run->length * run->count;
        size_t stop = end < to ? end : to;
        copy_run_part(out, run, element, from - run->start, stop - run->start, packed);
        packed += stop - from;
        from = stop;
    }
}

ALWAYS_INLINE void copy_range(bool out, const struct sim_datatype *type, char *buffer,
                              size_t offset, size_t length, char *packed)
{
    if (type->contiguous) {
        copy(out, address(buffer, (ptrdiff_t)offset), packed, length);
        return;
    }
    while (length) {
        size_t index = offset / type->size, from = offset % type->size, moved;
        char *element = address(buffer, (ptrdiff_t)index * type->extent);
        if (from == 0 && length >= type->size) {
            moved = length - length % type->size;
            copy_elements(out, type, element, moved / type->size, packed);
        } else {
            moved = type->size - from < length ? type->size - from : length;
            copy_element_part(out, type, element, from, from + moved, packed);
        }
        offset += moved;
        packed += moved;
        length -= moved;
    }
}

void sim_datatype_copy_out_range(const struct sim_datatype *type, const void *buffer, size_t offset,
                                 size_t length, void *packed)
{
    if (length)
        copy_range(true, type, address(buffer, 0), offset, length, packed);
}

void sim_datatype_copy_in_range(const struct sim_datatype *type, void *buffer, size_t offset,
                                size_t length, const void *packed)
{
    if (length)
        copy_range(false, type, buffer, offset, length, address(packed, 0));
}

void sim_datatype_copy_out(const struct sim_datatype *type, const void *buffer, size_t count,
                           void *packed)
{
    sim_datatype_copy_out_range(type, buffer, 0, count * type->size, packed);
}

void sim_datatype_copy_in(const struct sim_datatype *type, void *buffer, size_t count,
                          const void *packed)
{
    sim_datatype_copy_in_range(type, buffer, 0, count * type->size, packed);
}

/* ---- From typed to typed ---- */

ALWAYS_INLINE void copy_strided_fixed(const char *from, ptrdiff_t from_stride, char *to,
                                      ptrdiff_t to_stride, size_t length, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy(address(to, (ptrdiff_t)i * to_stride), address(from, (ptrdiff_t)i * from_stride),
               length);
}

/* Blocks of one length at two strides. */
static void copy_strided(const char *from, const struct sim_run *from_run, char *to,
                         const struct sim_run *to_run, size_t count)
{
    ptrdiff_t from_stride = from_run->stride, to_stride = to_run->stride;
    from = address(from, from_run->offset);
    to = address(to, to_run->offset);
    if (from_run->length == 8)
        copy_strided_fixed(from, from_stride, to, to_stride, 8, count);
    else if (from_run->length == 4)
        copy_strided_fixed(from, from_stride, to, to_stride, 4, count);
    else if (from_run->length == 16)
        copy_strided_fixed(from, from_stride, to, to_stride, 16, count);
    else
        copy_strided_fixed(from, from_stride, to, to_stride, from_run->length, count);
}

static void transfer_staged(const void *from, const struct sim_datatype *from_type, void *to,
                            const struct sim_datatype *to_type, size_t bytes)
{
    char stage[STAGE];
    for (size_t done = 0; done < bytes;) {
        size_t length = bytes - done < STAGE ? bytes - done : STAGE;
        sim_datatype_copy_out_range(from_type, from, done, length, stage);
        sim_datatype_copy_in_range(to_type, to, done, length, stage);
        done += length;
    }
}

size_t sim_datatype_transfer(const void *from, const struct sim_datatype *from_type,
                             size_t from_count, void *to, const struct sim_datatype *to_type,
                             size_t to_count)
{
    size_t bytes = from_count * from_type->size;
    if (to_count * to_type->size < bytes)
        bytes = to_count * to_type->size;
    if (bytes == 0)
        return 0;
    struct sim_run from_run, to_run;
    if (from_type->contiguous && to_type->contiguous)
        memcpy(to, from, bytes);
    else if (from_type->contiguous)
        sim_datatype_copy_in_range(to_type, to, 0, bytes, from);
    else if (to_type->contiguous)
        sim_datatype_copy_out_range(from_type, from, 0, bytes, to);
    else if (run_of_elements(from_type, from_count, &from_run) &&
             run_of_elements(to_type, to_count, &to_run) && from_run.length == to_run.length &&
             bytes % from_run.length == 0)
        copy_strided(from, &from_run, to, &to_run, bytes / from_run.length);
    else
        transfer_staged(from, from_type, to, to_type, bytes);
    return bytes;
}
