/* Regions: the bytes that one side of an operation reads or writes, by their true type map.
 *
 * A region is `count` elements of a datatype at an address. Its hull is the stretch from its lowest
 * byte to behind its highest; two regions whose hulls overlap need not share a byte. */
#ifndef SIM_MEMORY_REGION_H
#define SIM_MEMORY_REGION_H

#include "sim/datatypes/datatype.h"

struct sim_region {
    uintptr_t base; /* what the program gave as buffer */
    const struct sim_datatype *type;
    size_t count;
    bool written;     /* by the operation; else only read */
    const char *side; /* "buffer", "send buffer", "receive buffer" */
};

struct sim_hull {
    uintptr_t low, high; /* equal: no byte */
};

/* Where elements have a negative extent. */
struct sim_hull sim_region_hull_backwards(const struct sim_region *region);
/* In registers: every operation asks, and halves that a function returned are stored one by one and
 * read as a whole, which waits for both stores. */
static inline struct sim_hull sim_region_hull(const struct sim_region *region)
{
    const struct sim_datatype *type = region->type;
    if (!region->count || !type->size)
        return (struct sim_hull){0, 0};
    if (type->extent < 0)
        return sim_region_hull_backwards(region);
    uintptr_t low = region->base + (uintptr_t)type->true_lb;
    uintptr_t last = (uintptr_t)(region->count - 1) * (uintptr_t)type->extent;
    return (struct sim_hull){low, low + last + (uintptr_t)type->true_extent};
}
/* Whether a byte of [low, high) belongs to the region. */
bool sim_region_touches(const struct sim_region *region, uintptr_t low, uintptr_t high);

/* Whether its datatype was made of displacements in bytes, which may lead to other variables. */
bool sim_region_leads_away(const struct sim_region *region);

/* How many bytes beyond `end`, that of the object its lowest byte is in, it reaches for sure. Types
 * that were made of addresses may mean several objects by one element: a block that begins beyond
 * the end may be in another. */
size_t sim_region_beyond(const struct sim_region *region, uintptr_t end);

/* Whether two regions share a byte; UNDECIDED where that takes too many steps. `at` is one such
 * byte. */
enum sim_share { SIM_APART, SIM_SHARED, SIM_UNDECIDED };
enum sim_share sim_regions_share(const struct sim_region *a, const struct sim_region *b,
                                 uintptr_t *at);

/* Where accesses are not seen, messages of up to so many bytes are compared by a checksum. */
enum { SIM_REGION_GUARDED = 1 << 20 };
/* A checksum over the region's bytes, whatever their number; never 0. */
uint64_t sim_region_checksum(const struct sim_region *region);

struct sim_rank;

typedef void sim_region_visit(void *context, const struct sim_region *region);

#endif
