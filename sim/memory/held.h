/* Buffers that are filled only when the program completes what fills them (--delivery late).
 *
 * MPI lets a nonblocking operation fill its buffer at any time until then. Meanwhile the program finds
 * numbers there that no message brings. */
#ifndef SIM_MEMORY_HELD_H
#define SIM_MEMORY_HELD_H

#include "sim/memory/region.h"

struct sim_rank;
struct sim_held;

/* Numbers an operation of the rank: whether what it brings is to be late. In the monitor. */
bool sim_held_is_late(struct sim_rank *rank);
/* Poisons the regions of one operation of the rank, all of them written by it. NULL: this one is not
 * to be late; or they have no bytes, lie too far apart, or there is no memory: they are filled as it
 * comes. */
struct sim_held *sim_held_new(struct sim_rank *rank, const struct sim_region *regions,
                              size_t count);
/* How far from the program's buffer the operation finds the one that it uses instead. */
ptrdiff_t sim_held_shift(const struct sim_held *held);
/* Fills the regions with what has come; where nothing came, with what was there before. Whether the
 * program has written to them. */
bool sim_held_end(struct sim_held *held);
/* Without a look at the program's memory, which may be gone. NULL: nothing. */
void sim_held_free(struct sim_held *held);

#endif
