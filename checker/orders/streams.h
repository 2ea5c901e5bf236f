/* Streams: ops among which MPI matches by order alone, and the pairs in them that nothing orders.
 *
 * A stream is the collectives of a communicator, or the sends, or the receives, of one (source,
 * destination, communicator, tag). What a stream carries can cross exactly if on some rank two
 * neighbours of it are not ordered: with all neighbours ordered everywhere, every legal execution
 * posts it as recorded. */
#ifndef CHECKER_ORDERS_STREAMS_H
#define CHECKER_ORDERS_STREAMS_H

#include "checker/orders/partial_order.h"

struct stream_pair {
    uint32_t first, second; /* on one rank, neither ordered before the other */
    bool doubtful;
};

struct check_streams {
    struct stream_pair *pairs;
    size_t pair_count, pair_room;
};

/* Neighbours are taken in the order of `position` (per op; NULL: as recorded), which must be a
 * legal order of every rank. */
void check_streams_init(struct check_streams *streams, const struct check_partial_order *reach,
                        const uint32_t *position);
void check_streams_release(struct check_streams *streams);

#endif
