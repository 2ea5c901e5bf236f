/* Objects on the heap: see objects.h. */
#include "sim/memory/objects.h"
#include "sim/debug/lines.h"
#include "sim/memory/frames.h"
#include "sim/worlds/rank.h"
#include "sim/worlds/told.h"
#include "traces/trace/range_index.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct object {
    struct range range; /* as asked for */
    size_t usable;      /* what malloc gave */
    bool recycled;
    uintptr_t site;
};

/* What was given back last, in a circle. */
enum { HELD = 16, HELD_BYTES = 256 << 10, HELD_LARGEST = 4 << 20, HELD_BY_ALL = 64 << 20 };
struct held {
    struct {
        struct range range;
        const void *site;
    } blocks[HELD];
    size_t first, count, bytes;
};

struct sim_objects {
    struct handle_map map; /* by address */
    struct range_index index;
    uint64_t stamp;
    uintptr_t freed_low, freed_high; /* where those lay that were freed */
    struct held *held;               /* NULL: nothing */
};

static atomic_size_t held_by_all;

static atomic_uint_least64_t stamps;

uint64_t sim_objects_stamp(const struct sim_rank *rank)
{
    return rank->objects ? rank->objects->stamp : 0;
}

/* ---- what the program gave back ---- */

static size_t costs(size_t size)
{
    return size + sizeof(struct held) / HELD;
}

static void give_back_oldest(struct held *held)
{
    struct range range = held->blocks[held->first].range;
    held->first = (held->first + 1) % HELD;
    held->count--;
    held->bytes -= range.size;
    atomic_fetch_sub_explicit(&held_by_all, costs(range.size), memory_order_relaxed);
    free((void *)range.start);
}

/* Where it is among them it is freed twice: libc is to find that out, as it does in any program. */
static void give_back(struct held *held, const void *memory)
{
    bool again = false;
    for (size_t i = 0; held && i < held->count; i++)
        again |= held->blocks[(held->first + i) % HELD].range.start == (uintptr_t)memory;
    while (again && held->count)
        give_back_oldest(held);
}

void sim_objects_add(void *memory, size_t size, const void *site)
{
    struct sim_rank *rank = sim_current_rank;
    if (!rank || !memory)
        return;
    if (!rank->objects)
        rank->objects = calloc(1, sizeof *rank->objects);
    struct object *object = rank->objects ? malloc(sizeof *object) : NULL;
    if (!object)
        return;
    sim_objects_remove(memory); /* one that a library freed */
    struct sim_objects *objects = rank->objects;
    uintptr_t start = (uintptr_t)memory;
    *object = (struct object){{start, size},
                              malloc_usable_size(memory),
                              start < objects->freed_high && start + size > objects->freed_low,
                              (uintptr_t)site};
    objects->stamp = atomic_fetch_add_explicit(&stamps, 1, memory_order_relaxed) + 1;
    if (handle_map_add(&objects->map, start, object))
        range_index_add(&objects->index, object->range);
    else
        free(object);
}

void sim_objects_remove(void *memory)
{
    struct sim_rank *rank = sim_current_rank;
    struct object *object =
        rank && rank->objects ? handle_map_find(&rank->objects->map, (uintptr_t)memory) : NULL;
    if (!object) {
        if (rank && rank->objects)
            give_back(rank->objects->held, memory);
        return;
    }
    handle_map_remove(&rank->objects->map, object->range.start);
    struct sim_objects *objects = rank->objects;
    if (!objects->freed_high || object->range.start < objects->freed_low)
        objects->freed_low = object->range.start;
    if (object->range.start + object->range.size > objects->freed_high)
        objects->freed_high = object->range.start + object->range.size;
    objects->stamp = atomic_fetch_add_explicit(&stamps, 1, memory_order_relaxed) + 1;
    free(object);
}

bool sim_objects_hold(void *memory, size_t size, const void *site)
{
    struct sim_rank *rank = sim_current_rank;
    struct sim_objects *objects = rank ? rank->objects : NULL;
    if (!objects || !size || size > HELD_LARGEST || !rank->pending)
        return false;
    if (atomic_load_explicit(&held_by_all, memory_order_relaxed) + costs(size) > HELD_BY_ALL)
        return false;
    if (!objects->held && !(objects->held = calloc(1, sizeof *objects->held)))
        return false;
    struct held *held = objects->held;
    if (held->count == HELD)
        give_back_oldest(held);
    size_t place = (held->first + held->count++) % HELD;
    held->blocks[place].range = (struct range){(uintptr_t)memory, size};
    held->blocks[place].site = site;
    held->bytes += size;
    atomic_fetch_add_explicit(&held_by_all, costs(size), memory_order_relaxed);
    while (held->bytes > HELD_BYTES && held->count > 1)
        give_back_oldest(held);
    return true;
}

bool sim_objects_freed(struct sim_rank *rank, const struct sim_region *region, struct sim_hull hull,
                       const char *name, const char *verb)
{
    const struct held *held = rank->objects ? rank->objects->held : NULL;
    for (size_t i = 0; held && i < held->count; i++) {
        size_t place = (held->first + i) % HELD;
        struct range range = held->blocks[place].range;
        if (hull.low - range.start >= range.size)
            continue;
        char line[DEBUG_LINE_MAX], text[512];
        sim_frames_line(held->blocks[place].site, line);
        snprintf(text, sizeof text,
                 "%s %s memory that was freed%s%s: its %s begins %zu into what was an allocated "
                 "object of %zu",
                 name, verb, *line ? " at " : "", line, region->side, hull.low - range.start,
                 range.size);
        sim_told_note("B006", text);
        return true;
    }
    return false;
}

void sim_objects_release(struct sim_rank *rank)
{
    struct sim_objects *objects = rank->objects;
    if (!objects)
        return;
    for (size_t i = 0; i < objects->map.slots; i++)
        if (objects->map.entries[i].key)
            free(objects->map.entries[i].value);
    while (objects->held && objects->held->count)
        give_back_oldest(objects->held);
    free(objects->held);
    handle_map_release(&objects->map);
    range_index_forget(&objects->index);
    free(objects);
    rank->objects = NULL;
}

size_t sim_objects_size(const void *memory)
{
    const struct sim_rank *rank = sim_current_rank;
    const struct object *object =
        rank && rank->objects ? handle_map_find(&rank->objects->map, (uintptr_t)memory) : NULL;
    return object ? object->range.size : 0;
}

static const struct object *find(struct sim_objects *objects, uintptr_t address)
{
    const struct object *object = handle_map_find(&objects->map, address);
    return object ? object : range_index_find(&objects->index, &objects->map, address);
}

/* False: there is none, or a library has freed it since. */
static bool tell(const struct object *object, struct sim_object_found *found)
{
    if (!object || malloc_usable_size((void *)object->range.start) != object->usable)
        return false;
    *found = (struct sim_object_found){object->range.start, object->range.size, object->site,
                                       object->recycled};
    return true;
}

bool sim_objects_at(struct sim_rank *rank, uintptr_t start, struct sim_object_found *found)
{
    return rank->objects && tell(handle_map_find(&rank->objects->map, start), found);
}

bool sim_objects_holding(struct sim_rank *rank, uintptr_t address, struct sim_object_found *found)
{
    const struct object *object = rank->objects ? find(rank->objects, address) : NULL;
    return object && address - object->range.start < object->range.size && tell(object, found);
}

/* Displacements that lead out of the object that the buffer is in, but not far: where they lead to
 * another that is not known, that lies elsewhere. */
static bool bound_outside(struct sim_rank *rank, const struct sim_region *region,
                          struct sim_hull hull, const char *name, const char *verb)
{
    enum { NEAR = 1 << 16 };
    const struct object *object = find(rank->objects, region->base);
    char text[256];
    if (!object || region->base - object->range.start >= object->range.size ||
        malloc_usable_size((void *)object->range.start) != object->usable)
        return false;
    uintptr_t start = object->range.start, end = start + object->range.size;
    bool below = hull.low < start;
    size_t away = below ? start - hull.low : hull.low - end;
    if ((!below && hull.low < end) || away > NEAR)
        return false;
    if (below)
        snprintf(text, sizeof text,
                 "%s %s %zu byte%s before the beginning of an allocated object of %zu: "
                 "displacements of its %s's datatype are negative",
                 name, verb, away, away == 1 ? "" : "s", object->range.size, region->side);
    else
        snprintf(text, sizeof text,
                 "%s %s what begins %zu byte%s behind the end of an allocated object of %zu: "
                 "displacements of its %s's datatype lead out of it",
                 name, verb, away, away == 1 ? "" : "s", object->range.size, region->side);
    sim_told_note("B006", text);
    return true;
}

bool sim_objects_bound(struct sim_rank *rank, const struct sim_region *region, struct sim_hull hull,
                       const char *name, const char *verb)
{
    const struct object *object = rank->objects ? find(rank->objects, hull.low) : NULL;
    char text[256];
    if (rank->objects && !object)
        return bound_outside(rank, region, hull, name, verb);
    size_t beyond =
        object ? sim_region_beyond(region, object->range.start + object->range.size) : 0;
    if (!beyond || malloc_usable_size((void *)object->range.start) != object->usable)
        return false;
    snprintf(text, sizeof text,
             "%s %s %zu byte%s beyond the end of an allocated object of %zu: its %s begins %zu "
             "into the object and spans %zu",
             name, verb, beyond, beyond == 1 ? "" : "s", object->range.size, region->side,
             hull.low - object->range.start, hull.high - hull.low);
    sim_told_note("B006", text);
    return true;
}
