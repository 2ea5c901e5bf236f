/* Atomic batches: under that progress model a group of operations started together moves only when
 * every member is matched with a member of a batch that can move too (greatest fixed point). An
 * operation outside a batch is a batch of one.
 *
 * A batch is sealed when its last operation has been started; before that it cannot move. */
#ifndef SIM_MESSAGES_BATCH_H
#define SIM_MESSAGES_BATCH_H

#include "sim/messages/request.h"

struct sim_batch {
    struct sim_request *first, *last;
    int members, unmatched;
    bool sealed, moving;
    uint64_t visited; /* mark of the component search */
    struct sim_batch *queue_next;
};

/* Puts a posted operation into the caller's open batch, or into one of its own. In the monitor. */
void sim_batch_add(struct sim_rank *rank, struct sim_request *request);
/* `send` and `receive` have been matched: moves their component if it now can. In the monitor. */
void sim_batch_matched(struct sim_request *send, struct sim_request *receive);

#endif
