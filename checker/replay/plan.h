/* What every rank will do, in which order, and what meets what: a trace compiled for the abstract
 * machine (replay.h).
 *
 * Rules:
 *  1. Given the ranks' orders and a source for every wildcard receive, what meets what does not
 *     depend on timing: receives on one (source, destination, communicator) take, in posted order,
 *     the first message left that fits. So a plan fixes it.
 *  2. The n-th collective call of each rank on a communicator is one slot.
 *  3. In the batch model messages and calls tied together by batches form a bundle, which moves
 *     when all of it is posted: the greatest fixpoint of "a batch moves if all its members are
 *     matched with members of batches that move".
 *  4. A test or a probe that may fail never blocks. One that succeeded is passed where it would
 *     succeed again, so that what follows is what was recorded; a rank that can only get past it by
 *     failing is off the record (replay.h).
 *  5. In a run that ended, messages nobody matched complete at once: properties/leaks.c and
 *     properties/activity.c speak of it. In an imported plan (OUTCOME_IMPORTED) they never
 *     complete. */
#ifndef CHECKER_REPLAY_PLAN_H
#define CHECKER_REPLAY_PLAN_H

#include "checker/context.h"

enum plan_action {
    PLAN_PASS,      /* no influence on anybody */
    PLAN_SEND,      /* standard: depends on the model */
    PLAN_SYNC_SEND, /* always waits for its receive */
    PLAN_BUFFERED,  /* never waits */
    PLAN_RECEIVE,
    PLAN_PROBE, /* waits for a message to be there; takes none */
    PLAN_COLLECTIVE,
    PLAN_WAIT_ONE, /* target: the op that started it */
    PLAN_WAIT_ALL, /* target: first row in the trace's waits */
    PLAN_WAIT_ANY
};

struct plan_step {
    uint8_t action;  /* enum plan_action */
    bool starts;     /* completes through a request: the rank goes on at once */
    bool tested;     /* a test or probe that succeeded, and may fail (rule 4) */
    uint32_t target; /* partner op or slot, TRACE_NO: none; for waits see above */
};

struct check_plan {
    const struct check_context *context;
    const uint32_t
        *order; /* op at each position, rank by rank as in ops; NULL: as recorded. Not owned */
    struct plan_step *steps; /* per op */
    size_t slot_count;
    uint32_t *slot_need;   /* posts each slot waits for */
    uint32_t *bundle_of;   /* per op, TRACE_NO: in none; NULL: no batches */
    uint32_t *bundle_need; /* posts each bundle waits for */
    size_t bundle_count;
    uint32_t *slot_root; /* each slot's call of its root, TRACE_NO: none */
    uint32_t *probed_by; /* per op: the matched probe that took the message which it receives,
                            TRACE_NO: none; NULL: there are none */
    bool minimal;        /* collectives only wait for the data they need, else for everybody */
    bool rearranged;     /* other orders or sources than recorded: things may meet that did not */
};

/* A wildcard receive takes a message of this rank instead of the recorded one. */
struct plan_choice {
    uint32_t receive, source;
};

struct plan_options {
    const uint32_t *order; /* NULL: as recorded */
    const struct plan_choice *choices;
    size_t choice_count;
    bool minimal;       /* eager: collectives wait only for the data they need */
    bool backward_only; /* only ops of backward passes; the rest is taken as done */
    bool lost_wait;     /* a message nobody received waits for ever where sends wait */
    /* what a recorded run received, and these choices leave nothing for, waits, too */
    bool lost_receives;
};

/* What an op that blocks, or a request, waits for: an op to be posted, a slot or a bundle to be
 * full, as one number. */
enum { PLAN_NEEDS_NOTHING = -1, PLAN_NEEDS_NOBODY = -2 /* waits, and nobody will ever come */ };
static inline size_t plan_slot_key(const struct check_plan *plan, uint32_t slot)
{
    return plan->context->trace->op_count + slot;
}
static inline size_t plan_bundle_key(const struct check_plan *plan, uint32_t bundle)
{
    return plan->context->trace->op_count + plan->slot_count + bundle;
}
static inline size_t plan_key_count(const struct check_plan *plan)
{
    return plan->context->trace->op_count + plan->slot_count + plan->bundle_count;
}
/* The i-th start a wait waits for, TRACE_NO past the end. */
static inline uint32_t plan_request(const struct check_plan *plan, uint32_t wait, size_t i)
{
    const struct trace *trace = plan->context->trace;
    const struct plan_step *step = &plan->steps[wait];
    if (step->action == PLAN_WAIT_ONE)
        return i == 0 ? step->target : TRACE_NO;
    size_t row = step->target + i;
    return row < trace->wait_count && trace->waits[row].wait == wait ? trace->waits[row].start
                                                                     : TRACE_NO;
}
/* The op with which the receive took its message. */
static inline uint32_t plan_taking(const struct check_plan *plan, uint32_t receive)
{
    uint32_t probe = plan->probed_by ? plan->probed_by[receive] : TRACE_NO;
    return probe == TRACE_NO ? receive : probe;
}
/* The i-th start and the one behind it are halves of one request: an Isendrecv. */
static inline bool plan_is_pair(const struct check_plan *plan, uint32_t wait, size_t i)
{
    return check_are_halves(plan->context->trace, plan_request(plan, wait, i),
                            plan_request(plan, wait, i + 1));
}
/* For a send, receive, probe or collective; waits need what their requests need. */
int64_t check_plan_need(const struct check_plan *plan, enum check_model model, uint32_t op);
/* The same of a collective that waits for the data it needs. */
int64_t check_plan_data_need(const struct check_plan *plan, uint32_t op);

void check_plan_init(struct check_plan *plan, const struct check_context *context,
                     const struct plan_options *options);
void check_plan_release(struct check_plan *plan);

#endif
