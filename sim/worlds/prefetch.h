/* What a rank of a large world will want when it runs again is fetched two switches before its
 * turn: one switch is over before the memory has answered.
 *
 * Its stack is known. Of its image it wants the word through which it calls the next MPI function:
 * with thousands of images that word and the page it lies in have left the caches, and the jump
 * waits for both. Ranks mostly call from the same place one after the other; so every few hundred
 * switches the machine looks from which word the rank that is about to block has just called, and
 * reads the same word of each image ahead.
 *
 * Only a hint: what is fetched is not used, and any image may be read. Stacks are prefetched, which
 * holds nothing up: `bench/run.sh` with loads instead took a third longer for a barrier of 4,096
 * ranks. The word is loaded, one switch ahead. */
#ifndef SIM_WORLDS_PREFETCH_H
#define SIM_WORLDS_PREFETCH_H

#include "sim/worlds/rank.h"

/* Worlds smaller than this stay in the caches; switches between two looks; lines of the stack of
 * a suspended rank, of which there are always so many. */
enum { SIM_AHEAD_RANKS = 512, SIM_AHEAD_PERIOD = 256, SIM_AHEAD_LINES = 4 };

/* The calling rank is about to block: remembers in its world whence it called. Nothing where images
 * are not clones or the call is not understood. */
void sim_prefetch_learn(struct sim_rank *rank);

/* Not instrumented: a sanitizer knows nothing of what lies there. */
__attribute__((no_sanitize("address", "thread"))) static inline void
sim_prefetch_read(const char *at)
{
    __asm__ volatile("" ::"r"(*(const volatile char *)at));
}

/* `running` is about to run; what those behind it in the queue want is fetched meanwhile. */
static inline void sim_prefetch_fetch(const struct sim_rank *running)
{
    const struct sim_world *world = running->world;
    const struct sim_rank *next = running->next_ready, *second = next ? next->next_ready : NULL;
    if (next && world->ahead.word)
        sim_prefetch_read(world->ahead.word + (size_t)next->libc.image * world->ahead.stride);
    if (!second)
        return;
    for (int line = 0; line < SIM_AHEAD_LINES; line++)
        __builtin_prefetch((const char *)second->stack_pointer + (ptrdiff_t)line * 64);
    __builtin_prefetch(second->comm_world);
    if (second->next_ready)
        __builtin_prefetch(second->next_ready);
}

#endif
