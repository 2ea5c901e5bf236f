/* Memory of one tape: many small pieces taken one by one, all given back at once.
 *
 * Rules: pieces are 16-byte aligned (64 with a block of their own) and stay where they are; clearing keeps the
 * blocks, so that a program that fills the tape again and again touches the same pages. It never
 * frees a single piece. */
#ifndef COLLECTIVES_TAPE_ARENA_H
#define COLLECTIVES_TAPE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *used, *spare;
    char *next, *end; /* free part of the newest small block */
    size_t block_size;
    size_t bytes;              /* taken since the last clear */
    struct arena_block **pool; /* where small blocks come from and go to, NULL: the heap */
};

void arena_init(struct arena *arena);
/* A piece of at least `size` bytes, its content undefined. Without memory the rank ends with a
 * finding. */
void *arena_take(struct arena *arena, size_t size);
void *arena_take_zeroed(struct arena *arena, size_t size);
/* Forgets every piece and keeps the blocks. */
void arena_clear(struct arena *arena);
void arena_release(struct arena *arena);
void arena_pool_release(struct arena_block **pool);

#endif
