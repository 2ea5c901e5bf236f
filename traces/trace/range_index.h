/* Which range of memory holds an address: an index of the values of a handle map whose keys are where the
 * ranges begin. Each value begins with a `struct range`; ranges that are in the map at one time do not
 * overlap.
 *
 * The map alone says what there is: the index is told of additions, not of removals, and may be forgotten
 * at any time. It is made when somebody asks first, and forgotten when much was added since somebody
 * asked last: a program that allocates and does not ask pays nothing. */
#ifndef TRACES_TRACE_RANGE_INDEX_H
#define TRACES_TRACE_RANGE_INDEX_H

#include "traces/trace/handle_map.h"

struct range {
    uintptr_t start;
    size_t size;
};

struct range_index {
    struct range
        *ranges; /* NULL: forgotten; in order of their starts, and behind these the new ones */
    size_t sorted, count, room;
};

void range_index_forget(struct range_index *index);
/* After the range came into the map. */
void range_index_add(struct range_index *index, struct range range);
/* The value of the range that holds the address; NULL: none does. */
const void *range_index_find(struct range_index *index, const struct handle_map *map,
                             uintptr_t address);

#endif
