/* The ops not yet visited by a walk, found by what may legally come after or before a given op.
 *
 * A walk over the graph of possible orders has a quadratic number of edges; asking only for
 * unvisited neighbours keeps it near linear: total segments are union-find chains, partial ones a
 * bitset of items. */
#ifndef CHECKER_ORDERS_FRONTIER_H
#define CHECKER_ORDERS_FRONTIER_H

#include "checker/orders/partial_order.h"

struct frontier {
    const struct check_partial_order *reach;
    bool *present;  /* per op */
    uint32_t *link; /* per op + 1: towards the next present op (or itself); backwards walks use it
                       mirrored */
    bool backwards;
    uint64_t *items;     /* per partial segment: items with an op left */
    size_t *items_begin; /* per segment, into items */
    uint32_t *left; /* per op position of item_begin: ops left in the item, indexed like items */
    size_t *left_begin;
};

/* All ops with wanted[op] are in. `backwards`: will be asked for what may come before. */
void frontier_init(struct frontier *frontier, const struct check_partial_order *reach,
                   const bool *wanted, bool backwards);
void frontier_release(struct frontier *frontier);
void frontier_remove(struct frontier *frontier, uint32_t op);
/* Some op left that may come after (before) `op` on its rank; TRACE_NO: none. */
uint32_t frontier_find(struct frontier *frontier, uint32_t op);

#endif
