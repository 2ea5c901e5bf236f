/* Records that nobody changes any more, kept in a fraction of their bytes: each is told by what it has
 * else than the last one of its kind from the same place of the program. */
#ifndef RECORDER_PACKING_H
#define RECORDER_PACKING_H

#include "recorder/buffers.h"

struct packed {
    uint32_t rank, sequence, units; /* what the chunk's head said */
    uint32_t ops;                   /* operations among its records */
    size_t size;                    /* of `bytes` */
    unsigned char bytes[];
};

/* Are its records those of complete operations that nobody holds on to? Ranks may still run: one may be about to write the rest of what it
 * knows of an operation that is complete. */
bool packing_can(const struct chunk *chunk, uint32_t units);
/* The records of a chunk of so many units, to be freed by free(); NULL: there is more in it than
 * records of complete operations that nobody holds on to, or no memory. Ranks may still run. */
struct packed *packing_pack(const struct chunk *chunk, uint32_t units);
/* The chunk again, to be freed by free(); NULL: no memory. */
struct chunk *packing_unpack(const struct packed *packed);

#endif
