/* Which ops of one rank must come before which: the partial order that every legal execution keeps.
 *
 * A rank's ops fall into segments, in order. Inside a backward pass in data mode a segment is
 * partially ordered: its items are the DAG nodes that communicate, ordered by the DAG's edges
 * (a row of predecessors per item), and an item's ops are ordered as issued. Everywhere else, and
 * for ops of a pass that belong to none of its nodes, the recorded order is the only one. */
#ifndef CHECKER_ORDERS_PARTIAL_ORDER_H
#define CHECKER_ORDERS_PARTIAL_ORDER_H

#include "checker/context.h"
#include "checker/orders/bit_rows.h"

struct reach_segment {
    uint32_t rank;
    uint32_t first, end; /* ops */
    uint32_t item_count; /* 0: totally ordered */
    size_t pieces;       /* of one row */
    uint32_t *rows[2];   /* item_count each. Before: bit j of row i: item j is item i or must
                             precede it; after: the transpose */
    uint64_t *flat[2];   /* the same, each bit for itself, once check_partial_order_sort has changed
                             them; NULL */
    uint32_t *item_ops;  /* ops item by item, as issued */
    uint32_t *item_begin; /* item_count + 1, into item_ops */
};

struct check_partial_order {
    const struct check_context *context;
    const struct trace_edge *edges; /* between nodes, sorted by their source */
    size_t edge_count;
    struct trace_edge *own_edges; /* where they are not just those of the trace; else NULL */
    struct reach_segment *segments;
    size_t segment_count, segment_room;
    struct bit_pool pool;    /* of all rows */
    uint32_t *segment_begin; /* per rank, ranks + 1 */
    uint32_t *segment_of;    /* per op */
    uint32_t *item_of;       /* per op, TRACE_NO in total segments */
    bool bounded;            /* a pass was too large or cyclic: taken as recorded */
    uint32_t bounded_at;     /* its first op */
};

void check_partial_order_init(struct check_partial_order *reach,
                              const struct check_context *context);
/* The same with further edges between nodes of one pass each, towards the recorded order. */
void check_partial_order_init_with(struct check_partial_order *reach,
                                   const struct check_context *context,
                                   const struct trace_edge *more, size_t more_count);
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

enum { REACH_BEFORE, REACH_AFTER };

/* BIT_PIECE_WORDS words of an item's row. */
static inline const uint64_t *reach_piece(const struct check_partial_order *reach,
                                          const struct reach_segment *segment, int side,
                                          uint32_t item, size_t piece)
{
    size_t at = item * segment->pieces + piece;
    return segment->flat[side] ? segment->flat[side] + at * BIT_PIECE_WORDS
                               : bit_piece(&reach->pool, segment->rows[side][at]);
}

/* Whether item `earlier` of the segment is item `later` or must precede it. */
static inline bool reach_before(const struct check_partial_order *reach,
                                const struct reach_segment *segment, uint32_t earlier,
                                uint32_t later)
{
    const uint64_t *piece = reach_piece(reach, segment, REACH_BEFORE, later, earlier / BIT_PIECE);
    return piece[earlier % BIT_PIECE / 64] >> (earlier % 64) & 1;
}

#endif
