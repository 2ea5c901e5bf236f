/* A datatype's type map laid over what debug information says of memory. */
#ifndef SIM_MEMORY_MATCH_H
#define SIM_MEMORY_MATCH_H

#include "sim/debug/type.h"
#include "sim/memory/region.h"

struct sim_mismatch {
    const struct sim_datatype *basic; /* of the operation */
    size_t offset;                    /* where in the object */
    const struct debug_leaf *leaf;    /* what is there; NULL: padding */
};

/* Elements of `type` stand from `start` on, in so many bytes (0: not known); the region begins there or
 * behind. True: every number of the region is one of them (of those that are looked at, which are some
 * thousand), or displacements in bytes lead to where it is, outside of them. */
bool sim_match(const struct sim_region *region, uintptr_t start, size_t bytes,
               const struct debug_type *type, struct sim_mismatch *mismatch);

/* Whether an element has numbers, and not only bytes and characters. */
bool sim_match_numbers(const struct sim_datatype *type);

/* Whether the answer depends on how many elements are moved: what fits does not fit in smaller numbers. */
bool sim_match_by_count(const struct sim_datatype *type);
/* Does the region move characters where numbers are, in a number that cuts one of them? `count`
 * elements of the type are there; 0: not known. */
bool sim_match_cut(const struct sim_region *region, uintptr_t start, const struct debug_type *type,
                   size_t count, struct sim_mismatch *mismatch);

#endif
