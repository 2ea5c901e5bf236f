/* What a rank of a large world will want when it runs again is read one switch before its turn.
 *
 * Its stack is known. Of its image it wants the word through which it calls the next MPI function:
 * with thousands of images that word and the page it lies in have left the caches, and the jump
 * waits for both. Ranks mostly call from the same place one after the other; so every few hundred
 * switches the machine looks from which word the rank that is about to block has just called, and
 * reads the same word of each image ahead.
 *
 * Only a hint: what is read is not used, and any image may be read. These are loads, since a
 * prefetch is dropped exactly where the page has to be looked up. */
#ifndef SIM_AHEAD_H
#define SIM_AHEAD_H

#include "sim/rank.h"

/* Worlds smaller than this stay in the caches; switches between two looks; lines of the stack of
 * a suspended rank, of which there are always so many. */
enum { SIM_AHEAD_RANKS = 512, SIM_AHEAD_PERIOD = 256, SIM_AHEAD_LINES = 4 };

/* The calling rank is about to block: remembers in its world whence it called. Nothing where images
 * are not clones or the call is not understood. */
void sim_ahead_learn(struct sim_rank *rank);

/* Not instrumented: a sanitizer knows nothing of what lies there. */
__attribute__((no_sanitize("address", "thread"))) static inline void sim_ahead_read(const char *at)
{
    __asm__ volatile("" ::"r"(*(const volatile char *)at));
}

/* `running` is about to run; what the one behind it in the queue wants is fetched meanwhile. */
static inline void sim_ahead_fetch(const struct sim_rank *running)
{
    const struct sim_world *world = running->world;
    const struct sim_rank *next = running->next_ready;
    if (!next)
        return;
    for (int line = 0; line < SIM_AHEAD_LINES; line++)
        sim_ahead_read((const char *)next->stack_pointer + (ptrdiff_t)line * 64);
    __builtin_prefetch(next->comm_world);
    if (next->next_ready)
        __builtin_prefetch(next->next_ready);
    if (world->ahead.word)
        sim_ahead_read(world->ahead.word + (size_t)next->libc.image * world->ahead.stride);
}

#endif
