/* Buffers that wait to be filled: see held.h. */
#include "sim/memory/held.h"

#include "recorder/recorder.h"
#include "sim/datatypes/datatype.h"
#include "sim/worlds/rank.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* No wider stretch of memory is stood for: addresses of several objects may be one buffer. */
enum { WIDEST = 1 << 30 };

struct sim_held {
    size_t count;
    uintptr_t low; /* of the stretch that `room` stands for */
    unsigned char *room;
    uint64_t poisoned; /* a checksum */
    struct sim_region regions[];
};

ptrdiff_t sim_held_shift(const struct sim_held *held)
{
    return (ptrdiff_t)((uintptr_t)held->room - held->low);
}

static void *in_room(const struct sim_held *held, const struct sim_region *region)
{
    return (void *)(region->base + (uintptr_t)sim_held_shift(held));
}

static void copy(const struct sim_region *region, void *to, const void *from)
{
    const struct sim_datatype *type = region->type;
    if (type->contiguous)
        memcpy(to, from, type->size * region->count);
    else
        sim_datatype_transfer(from, type, region->count, to, type, region->count);
}

static uint64_t checksum(const struct sim_held *held)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < held->count; i++)
        sum = sum * 0x9e3779b97f4a7c15u + sim_region_checksum(&held->regions[i]);
    return sum;
}

/* Two of these words are 1.9e7, one is 15.2 or 1,098,018,725: finite, as a gradient check has to say
 * that such a gradient is wrong, and not that it is not a number. */
static bool poison(const struct sim_region *region)
{
    static const uint32_t word = 0x41726fa5;
    size_t bytes = region->type->size * region->count;
    unsigned char *packed = malloc(bytes);
    if (!packed)
        return false;
    for (size_t i = 0; i < bytes; i++)
        packed[i] = ((const unsigned char *)&word)[i % sizeof word];
    sim_datatype_copy_in_range(region->type, (void *)region->base, 0, bytes, packed);
    free(packed);
    return true;
}

static struct sim_held *held_of(const struct sim_region *regions, size_t count)
{
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (size_t i = 0; i < count; i++) {
        struct sim_hull hull = sim_region_hull(&regions[i]);
        low = hull.low < hull.high && hull.low < low ? hull.low : low;
        high = hull.low < hull.high && hull.high > high ? hull.high : high;
    }
    if (low >= high || high - low > WIDEST)
        return NULL;
    struct sim_held *held = calloc(1, sizeof *held + count * sizeof *regions);
    /* As far from a multiple of 64 as the buffer: types may rely on their alignment. */
    unsigned char *room = held ? aligned_alloc(64, (high - low + 127) / 64 * 64) : NULL;
    if (!room) {
        free(held);
        return NULL;
    }
    held->low = low - low % 64;
    held->room = room;
    return held;
}

bool sim_held_is_late(struct sim_rank *rank)
{
    const struct sim_world_options *options = &rank->world->options;
    uint64_t number = rank->world->late_count++;
    bool late = options->late_receives &&
                (!options->late_to || (number >= options->late_from && number < options->late_to));
    if (late && options->late_told)
        record_note_of(record_position(), NULL, "B001",
                       "the buffer is read before the operation is complete: ranks print something "
                       "else where it is filled as late as MPI lets it");
    return late;
}

static bool has_bytes(const struct sim_region *regions, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (regions[i].count && regions[i].type->size)
            return true;
    return false;
}

struct sim_held *sim_held_new(struct sim_rank *rank, const struct sim_region *regions, size_t count)
{
    bool late = sim_held_is_late(rank), poisoned = true;
    struct sim_held *held = late ? held_of(regions, count) : NULL;
    for (size_t i = 0; held && i < count; i++) {
        struct sim_region *region = &held->regions[held->count];
        *region = regions[i];
        if (!region->count || !region->type->size)
            continue;
        sim_datatype_retain(region->type);
        held->count++;
        copy(region, in_room(held, region), (const void *)region->base);
    }
    for (size_t i = 0; held && i < held->count; i++)
        poisoned = poison(&held->regions[i]) && poisoned;
    if (held && !poisoned) {
        sim_held_end(held);
        held = NULL;
    }
    if (held)
        held->poisoned = checksum(held);
    else if (late && has_bytes(regions, count))
        record_gap("delivery", 1,
                   "operations whose buffers were filled as it came: parts that lie more than "
                   "%d MiB apart, or no memory to keep what comes (--delivery late)",
                   WIDEST >> 20);
    return held;
}

bool sim_held_end(struct sim_held *held)
{
    bool written = checksum(held) != held->poisoned;
    for (size_t i = 0; i < held->count; i++)
        copy(&held->regions[i], (void *)held->regions[i].base, in_room(held, &held->regions[i]));
    sim_held_free(held);
    return written;
}

void sim_held_free(struct sim_held *held)
{
    if (!held)
        return;
    for (size_t i = 0; i < held->count; i++)
        sim_datatype_release(held->regions[i].type);
    free(held->room);
    free(held);
}
