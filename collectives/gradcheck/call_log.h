/* What the calls of a world move, in doubles: for each rank its calls of MPI in order, with the
 * numbers that they sent and got. One of them may be given other numbers than it got. */
#ifndef COLLECTIVES_GRADCHECK_CALL_LOG_H
#define COLLECTIVES_GRADCHECK_CALL_LOG_H

#include "recorder/watch.h"

struct call_numbers {
    double *values;
    size_t count, room;
};

struct call_entry {
    const struct record_op *record; /* while the world is there */
    uint32_t number;                /* of the rank's operations, from 0 */
    uint64_t comm, site;
    uint32_t reduction;
    uint32_t sequence; /* of a communicator's collectives */
    int kind;          /* enum op_kind */
    int32_t peer, tag; /* as matched */
    bool single;       /* floats */
    bool opaque;       /* it moves numbers that are not seen */
    struct call_numbers sent, got;
    struct call_block { /* where `got` comes from */
        void *values;
        size_t count;
    } * blocks;
    size_t block_count, block_room;
};

struct call_rank {
    struct call_entry *entries;
    size_t count, room;
};

struct call_log {
    struct record_watch watch;
    struct call_rank *ranks;
    int rank_count;
    bool failed; /* without memory */
    /* step times `direction` is added to what these calls got: one entry of each rank, SIZE_MAX for
     * none; rank r's direction stands from begin[r] up to begin[r + 1]. */
    const size_t *pushed, *begin;
    const double *direction;
    double step;
};

bool call_log_init(struct call_log *log, int ranks);
void call_log_release(struct call_log *log);

#endif
