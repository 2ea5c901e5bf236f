/* Objects on the heap: where what a program allocated begins and ends.
 *
 * The compile cache links programs so that their calls of malloc and its kin arrive here
 * (--wrap, see libc.c). An operation whose buffer begins in such an object must end in it: B006.
 * Memory that a library allocated or freed is not known; what malloc says about a block is compared
 * with what it said before, so that a block which a library freed is not mistaken. */
#ifndef SIM_MEMORY_OBJECTS_H
#define SIM_MEMORY_OBJECTS_H

#include "sim/memory/region.h"

struct sim_objects;

/* `memory`, of so many bytes, was allocated by the calling rank (the call returned to `site`), or is
 * freed by it. */
void sim_objects_add(void *memory, size_t size, const void *site);
void sim_objects_remove(void *memory);
void sim_objects_release(struct sim_rank *rank);
/* The object of the rank that begins at an address, or that holds it. */
struct sim_object_found {
    uintptr_t start;
    size_t size;
    uintptr_t site; /* behind the call that allocated it */
    bool recycled;  /* some of its memory was another object's before */
};
bool sim_objects_at(struct sim_rank *rank, uintptr_t start, struct sim_object_found *found);
bool sim_objects_holding(struct sim_rank *rank, uintptr_t address, struct sim_object_found *found);
/* Notes B006 when the hull begins in an object and ends behind it: true. */
bool sim_objects_bound(struct sim_rank *rank, const struct sim_region *region, struct sim_hull hull,
                       const char *name, const char *verb);
/* A number that changes with the rank's objects, and is no other rank's; 0: it has none. */
uint64_t sim_objects_stamp(const struct sim_rank *rank);
/* The calling rank's program gives `memory` back, of so many bytes, at `site`. True: it is held back for
 * a while, so that nobody else gets it, and an operation that names it can be told. False: the caller
 * frees it. */
bool sim_objects_hold(void *memory, size_t size, const void *site);
/* Notes B006 when the hull begins in memory that was given back: true. */
bool sim_objects_freed(struct sim_rank *rank, const struct sim_region *region, struct sim_hull hull,
                       const char *name, const char *verb);
/* How many bytes the calling rank allocated at `memory`; 0: not known. */
size_t sim_objects_size(const void *memory);

#endif
