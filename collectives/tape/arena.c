/* The arena: see arena.h. Small pieces come from blocks that double in size up to a limit; a piece
 * larger than a quarter of the limit, for which the newest has no room, gets a block of its own. */
#include "collectives/tape/arena.h"

#include <assert.h>
#include <mpix.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGNMENT = 64,
    SMALL_ALIGNMENT = 16,
    FIRST_BLOCK = 16 * 1024,
    LAST_BLOCK = 1024 * 1024,
    POOLED_MOST = 2 * FIRST_BLOCK
};

struct arena_block {
    struct arena_block *next;
    size_t room; /* bytes after the header */
};

_Static_assert(sizeof(struct arena_block) <= ALIGNMENT, "the header fits before the first piece");

void arena_init(struct arena *arena)
{
    *arena = (struct arena){.block_size = FIRST_BLOCK};
}

static struct arena_block *spare_take(struct arena_block **spare, size_t room)
{
    for (struct arena_block **link = spare; *link; link = &(*link)->next)
        if ((*link)->room >= room && (*link)->room / 2 <= room) {
            struct arena_block *block = *link;
            *link = block->next;
            return block;
        }
    return NULL;
}

static struct arena_block *block_get(struct arena *arena, size_t room)
{
    struct arena_block *block = spare_take(&arena->spare, room);
    if (!block && arena->pool)
        block = spare_take(arena->pool, room);
    if (!block) {
        if (room <= SIZE_MAX - 2 * (size_t)ALIGNMENT)
            block = aligned_alloc(ALIGNMENT, room + ALIGNMENT);
        if (!block)
            MPIX_Fail("X002", "the differentiable library ran out of memory");
        assert(block);
        block->room = room;
    }
    block->next = arena->used;
    arena->used = block;
    return block;
}

static char *block_data(struct arena_block *block)
{
    return (char *)block + ALIGNMENT;
}

void *arena_take(struct arena *arena, size_t size)
{
    size_t need = (size + SMALL_ALIGNMENT - 1) & ~(size_t)(SMALL_ALIGNMENT - 1);
    if (need < size)
        MPIX_Fail("X002", "the differentiable library was asked for more memory than exists");
    if (need == 0)
        need = SMALL_ALIGNMENT;
    arena->bytes += need;
    if (need <= (size_t)(arena->end - arena->next)) {
        void *piece = arena->next;
        arena->next += need;
        return piece;
    }
    if (need > LAST_BLOCK / 4)
        return block_data(block_get(arena, (need + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1)));
    while (arena->block_size < need)
        arena->block_size *= 2;
    struct arena_block *block = block_get(arena, arena->block_size);
    if (arena->block_size < LAST_BLOCK)
        arena->block_size *= 2;
    arena->next = block_data(block) + need;
    arena->end = block_data(block) + block->room;
    return block_data(block);
}

void *arena_take_zeroed(struct arena *arena, size_t size)
{
    void *piece = arena_take(arena, size);
    memset(piece, 0, size);
    return piece;
}

void arena_clear(struct arena *arena)
{
    while (arena->used) {
        struct arena_block *block = arena->used;
        arena->used = block->next;
        block->next = arena->spare;
        arena->spare = block;
    }
    arena->next = arena->end = NULL;
    arena->bytes = 0;
}

void arena_release(struct arena *arena)
{
    arena_clear(arena);
    while (arena->spare) {
        struct arena_block *block = arena->spare;
        arena->spare = block->next;
        if (arena->pool && block->room <= POOLED_MOST) {
            block->next = *arena->pool;
            *arena->pool = block;
        } else {
            free(block);
        }
    }
    arena_init(arena);
}

void arena_pool_release(struct arena_block **pool)
{
    struct arena lender = {.spare = *pool};
    *pool = NULL;
    arena_release(&lender);
}
