/* Layouts: see layout.h. A datatype's layout is found by packing an array of element numbers with
 * it. */
#include "collectives/tape/layout.h"

#include <string.h>

enum { WIDTH_MAX = 16 }; /* bytes of a value */

static size_t *places(struct diff_tape *tape, size_t count)
{
    return arena_take(&tape->arena, (count + 1) * sizeof(size_t));
}

struct layout layout_blocks(struct diff_tape *tape, int blocks, const int *counts,
                            const int *displacements)
{
    struct layout layout = {0};
    for (int i = 0; i < blocks; i++) {
        if (counts[i] < 0 || (displacements && displacements[i] < 0))
            state_fail(tape->state, "M009", "block %d has count %d and displacement %d", i,
                       counts[i], displacements ? displacements[i] : 0);
        layout.count += (size_t)counts[i];
    }
    layout.span = layout.count;
    if (!displacements)
        return layout;
    layout.index = places(tape, layout.count);
    layout.span = 0;
    size_t at = 0;
    bool dense = true;
    for (int i = 0; i < blocks; i++)
        for (int k = 0; k < counts[i]; k++) {
            size_t place = (size_t)displacements[i] + (size_t)k;
            dense = dense && place == at;
            layout.index[at++] = place;
            layout.span = place + 1 > layout.span ? place + 1 : layout.span;
        }
    if (dense)
        layout.index = NULL;
    return layout;
}

/* Element `number` as it stands in memory: the number in its first bytes, and what is no number of
 * an element in all others, so that pieces of several elements are seen. */
static void number_write(char *element, size_t size, size_t number)
{
    uint32_t low = (uint32_t)number, rest = ~low;
    memcpy(element, &low, sizeof low);
    for (size_t at = sizeof low; at < size; at += sizeof rest)
        memcpy(element + at, &rest, sizeof rest);
}

static size_t number_read(const char *element)
{
    uint32_t low;
    memcpy(&low, element, sizeof low);
    return low;
}

struct layout layout_datatype(struct diff_tape *tape, enum diff_type type, int count,
                              MPI_Datatype datatype)
{
    MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
    int bytes = 0, position = 0;
    size_t width = diff_type_size(type);
    MPI_Type_size(datatype, &bytes);
    MPI_Type_get_extent(datatype, &lower, &extent);
    MPI_Type_get_true_extent(datatype, &true_lower, &true_extent);
    struct layout layout = {.count = (size_t)bytes / width * (size_t)count};
    if (count < 0)
        state_fail(tape->state, "M009", "%d of a datatype", count);
    if (bytes % (int)width != 0 || true_lower < 0 || extent < 0)
        state_fail(tape->state, "M009", "the datatype does not consist of %s values",
                   diff_type_name(type));
    if (count == 0 || bytes == 0)
        return layout;
    layout.span =
        ((size_t)(count - 1) * (size_t)extent + (size_t)(true_lower + true_extent)) / width;
    char *numbers = arena_take(&tape->arena, (layout.span + 1) * width);
    char *packed = arena_take(&tape->arena, (layout.count + 1) * width);
    char whole[WIDTH_MAX];
    for (size_t i = 0; i <= layout.span; i++) /* a piece of one more may be listed */
        number_write(numbers + i * width, width, i);
    MPI_Pack(numbers, count, datatype, packed, (int)(layout.count * width), &position,
             MPI_COMM_SELF);
    layout.index = places(tape, layout.count);
    for (size_t i = 0; i < layout.count; i++) {
        layout.index[i] = number_read(packed + i * width);
        number_write(whole, width, layout.index[i]);
        if (layout.index[i] >= layout.span || memcmp(whole, packed + i * width, width) != 0)
            state_fail(tape->state, "M009", "the datatype does not consist of whole %s values",
                       diff_type_name(type));
    }
    return layout;
}

struct layout layout_blocks_w(struct diff_tape *tape, enum diff_type type, int blocks,
                              const int *counts, const int *displacements,
                              const MPI_Datatype *datatypes, int *sizes)
{
    struct layout whole = {0};
    struct layout *parts = arena_take(&tape->arena, ((size_t)blocks + 1) * sizeof *parts);
    if (!displacements)
        state_fail(tape->state, "M009",
                   "datatypes stand at displacements in bytes, and there are none");
    for (int i = 0; i < blocks; i++) {
        parts[i] = layout_datatype(tape, type, counts[i], datatypes[i]);
        sizes[i] = (int)parts[i].count;
        whole.count += parts[i].count;
    }
    whole.index = places(tape, whole.count);
    size_t at = 0, width = diff_type_size(type);
    for (int i = 0; i < blocks; i++) {
        if (displacements[i] < 0 || (size_t)displacements[i] % width != 0)
            state_fail(tape->state, "M009", "byte displacement %d is not a multiple of %zu",
                       displacements[i], width);
        size_t begin = (size_t)displacements[i] / width;
        for (size_t k = 0; k < parts[i].count; k++)
            whole.index[at++] = begin + parts[i].index[k];
        if (parts[i].count && begin + parts[i].span > whole.span)
            whole.span = begin + parts[i].span;
    }
    return whole;
}

static struct diff_tensor *flat(struct diff_tensor *x)
{
    return x->dims == 1 ? x : local_shaped(x, 1, &x->count);
}

struct diff_tensor *layout_take(struct diff_tensor *x, const struct layout *layout)
{
    if (layout->span > x->count)
        state_fail(x->tape->state, "M009", "the layout reaches element %zu of %zu",
                   layout->span - 1, x->count);
    if (layout->index)
        return local_take(x, layout->index, layout->count);
    return layout->count == x->count ? x : local_window(flat(x), 0, layout->count);
}

struct diff_tensor *layout_put(struct diff_tensor *dense, const struct layout *layout,
                               struct diff_tensor *into)
{
    struct diff_tape *tape = dense->tape;
    size_t total = into ? into->count : layout->span;
    if (layout->span > total)
        state_fail(tape->state, "M009", "the layout reaches element %zu of %zu", layout->span - 1,
                   total);
    if (!layout->index && layout->count == total)
        return into ? local_shaped_like(dense, into) : dense;
    double *keep = arena_take(&tape->arena, (total + 1) * sizeof *keep);
    for (size_t i = 0; i < total; i++)
        keep[i] = 1;
    for (size_t i = 0; i < layout->count; i++) {
        size_t place = layout->index ? layout->index[i] : i;
        if (keep[place] == 0)
            state_fail(tape->state, "M009", "element %zu is received twice", place);
        keep[place] = 0;
    }
    struct diff_tensor *placed =
        layout->index ? local_put(dense, layout->index, total) : local_pad(dense, 0, total);
    if (!into)
        return placed;
    return diff_add(local_shaped_like(placed, into), local_mask(into, keep));
}
