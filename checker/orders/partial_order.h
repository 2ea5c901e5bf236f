/* Which ops of one rank must come before which: the partial order that every legal execution keeps.
 *
 * A rank's ops fall into segments, in order. Inside a backward pass in data mode a segment is
 * partially ordered: its items are the DAG nodes that communicate, ordered by the DAG's edges
 * (bitset of predecessors per item), and an item's ops are ordered as issued. Everywhere else, and
 * for ops of a pass that belong to none of its nodes, the recorded order is the only one. */
#ifndef CHECKER_ORDERS_PARTIAL_ORDER_H
#define CHECKER_ORDERS_PARTIAL_ORDER_H

#include "checker/context.h"

struct reach_segment {
    uint32_t rank;
    uint32_t first, end;  /* ops */
    uint32_t item_count;  /* 0: totally ordered */
    size_t words;         /* of one row */
    uint64_t *before;     /* item_count rows: bit j of row i: item j is item i or must precede it */
    uint64_t *after;      /* the transpose */
    uint32_t *item_ops;   /* ops item by item, as issued */
    uint32_t *item_begin; /* item_count + 1, into item_ops */
};

struct check_partial_order {
    const struct check_context *context;
    struct reach_segment *segments;
    size_t segment_count, segment_room;
    uint32_t *segment_begin; /* per rank, ranks + 1 */
    uint32_t *segment_of;    /* per op */
    uint32_t *item_of;       /* per op, TRACE_NO in total segments */
    bool bounded;            /* a pass was too large or cyclic: taken as recorded */
    uint32_t bounded_at;     /* its first op */
};

void check_partial_order_init(struct check_partial_order *reach,
                              const struct check_context *context);
void check_partial_order_release(struct check_partial_order *reach);
/* Both ops are on one rank. Whether a comes first in every legal execution; false for a == b. */
bool check_partial_order_before(const struct check_partial_order *reach, uint32_t a, uint32_t b);
/* Whether some legal execution runs a before b. */
bool check_partial_order_possible(const struct check_partial_order *reach, uint32_t a, uint32_t b);
/* Adds that a comes before b; both stand in one partial segment and nothing orders them yet. */
void check_partial_order_sort(struct check_partial_order *reach, uint32_t a, uint32_t b);
/* Rewrites the rank's part of `order` (as recorded on entry, at least in the pair's segment) so
 * that x comes before y; they must be possible in that order. The result is a legal execution. */
void check_partial_order_linearize(const struct check_partial_order *reach, uint32_t x, uint32_t y,
                                   uint32_t *order);

static inline bool reach_bit(const uint64_t *row, uint32_t bit)
{
    return row[bit / 64] >> (bit % 64) & 1;
}

#endif
