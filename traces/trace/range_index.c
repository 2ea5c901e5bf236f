/* Which range of memory holds an address: see range_index.h. */
#include "traces/trace/range_index.h"

#include <stdlib.h>

enum {
    NEW_MAX = 256,  /* ranges that are looked at one by one */
    ROOM_MIN = 1024 /* for ranges that are added while nobody asks */
};

void range_index_forget(struct range_index *index)
{
    free(index->ranges);
    *index = (struct range_index){0};
}

void range_index_add(struct range_index *index, struct range range)
{
    if (!index->ranges)
        return;
    if (index->count == index->room)
        range_index_forget(index);
    else
        index->ranges[index->count++] = range;
}

static const struct range *in_map(const struct handle_map *map, const struct range *range)
{
    const struct range *value = handle_map_find(map, range->start);
    return value && value->size == range->size ? value : NULL;
}

static bool holds(const struct range *range, uintptr_t address)
{
    return address - range->start < range->size;
}

static int by_start(const void *left, const void *right)
{
    const struct range *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

/* Without an index. */
static const void *search(const struct handle_map *map, uintptr_t address)
{
    for (size_t i = 0; i < map->slots; i++)
        if (map->entries[i].key && holds(map->entries[i].value, address))
            return map->entries[i].value;
    return NULL;
}

static struct range *ranges_new(struct range_index *index, size_t count)
{
    index->room = 2 * count + ROOM_MIN;
    return malloc(index->room * sizeof *index->ranges);
}

static void make(struct range_index *index, const struct handle_map *map)
{
    index->ranges = ranges_new(index, map->count);
    if (!index->ranges)
        return;
    index->count = 0;
    for (size_t i = 0; i < map->slots; i++)
        if (map->entries[i].key)
            index->ranges[index->count++] = *(const struct range *)map->entries[i].value;
    qsort(index->ranges, index->count, sizeof *index->ranges, by_start);
    index->sorted = index->count;
}

/* Sorts in what is new and still there. What began before within one of these is gone. */
static void sort_in(struct range_index *index, const struct handle_map *map)
{
    struct range *fresh = index->ranges + index->sorted, *old = index->ranges;
    size_t count = 0, olds = index->sorted, at = 0, next = 0;
    for (size_t i = 0; i < index->count - index->sorted; i++)
        if (in_map(map, &fresh[i]))
            fresh[count++] = fresh[i];
    qsort(fresh, count, sizeof *fresh, by_start);
    struct range *merged = ranges_new(index, olds + count);
    index->count = 0;
    for (size_t i = 0; merged && i < count; i++) {
        for (; at < olds && old[at].start < fresh[i].start; at++)
            merged[next++] = old[at];
        while (at < olds && (old[at].start == fresh[i].start || holds(&fresh[i], old[at].start)))
            at++;
        if (!next || merged[next - 1].start != fresh[i].start)
            merged[next++] = fresh[i];
    }
    for (; merged && at < olds; at++)
        merged[next++] = old[at];
    free(index->ranges);
    index->ranges = merged;
    index->sorted = index->count = next;
}

/* The last that begins at the address or before it. */
static const struct range *before(const struct range_index *index, uintptr_t address)
{
    size_t low = 0, high = index->sorted;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->ranges[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &index->ranges[low - 1] : NULL;
}

const void *range_index_find(struct range_index *index, const struct handle_map *map,
                             uintptr_t address)
{
    if (index->ranges && index->sorted > 2 * map->count + ROOM_MIN)
        range_index_forget(index); /* most of them are gone */
    if (index->ranges && index->count - index->sorted > NEW_MAX)
        sort_in(index, map);
    if (!index->ranges)
        make(index, map);
    if (!index->ranges)
        return search(map, address);
    for (size_t i = index->count; i > index->sorted; i--)
        if (holds(&index->ranges[i - 1], address) && in_map(map, &index->ranges[i - 1]))
            return in_map(map, &index->ranges[i - 1]);
    const struct range *last = before(index, address);
    return last && holds(last, address) ? in_map(map, last) : NULL;
}
