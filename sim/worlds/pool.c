/* Free lists for a world's small blocks (messages, requests): sizes are rounded up to 64 << class;
 * larger ones are malloc's.
 *
 * Blocks come from slabs that are freed with the world, so what a deadlocked world leaves behind
 * costs nothing. */
#include "sim/worlds/rank.h"

#include <stdlib.h>

enum { SMALLEST = 64, SLAB = 64 * 1024 };

struct free_block {
    struct free_block *next;
};

struct slab {
    struct slab *next;
    _Alignas(64) char bytes[SLAB];
};

static unsigned class_of(size_t size)
{
    unsigned class = 0;
    while (((size_t)SMALLEST << class) < size)
        class ++;
    return class;
}

static void *carve(struct sim_world *world, size_t size)
{
    struct slab *slab = world->slabs;
    if (!slab || world->slab_used + size > SLAB) {
        struct slab *fresh = aligned_alloc(64, sizeof *fresh);
        if (!fresh)
            return NULL;
        fresh->next = slab;
        world->slabs = slab = fresh;
        world->slab_used = 0;
    }
    void *block = slab->bytes + world->slab_used;
    world->slab_used += size;
    return block;
}

void *sim_pool_get(struct sim_world *world, size_t size)
{
    unsigned class = class_of(size);
    if (class >= SIM_POOL_CLASSES)
        return malloc(size);
    struct free_block *block = world->free_blocks[class];
    if (block) {
        world->free_blocks[class] = block->next;
        return block;
    }
    return carve(world, (size_t)SMALLEST << class);
}

void sim_pool_put(struct sim_world *world, void *pointer, size_t size)
{
    unsigned class = class_of(size);
    if (class >= SIM_POOL_CLASSES) {
        free(pointer);
        return;
    }
    struct free_block *block = pointer;
    block->next = world->free_blocks[class];
    world->free_blocks[class] = block;
}

void sim_pool_release(struct sim_world *world)
{
    for (struct slab *slab = world->slabs, *next; slab; slab = next) {
        next = slab->next;
        free(slab);
    }
    world->slabs = NULL;
}
