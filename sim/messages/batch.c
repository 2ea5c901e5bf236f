/* Atomic batches: see batch.h. */
#include "sim/messages/batch.h"

#include "recorder/recorder.h"

#include <assert.h>

static struct sim_batch *batch_new(struct sim_world *world)
{
    struct sim_batch *batch = sim_pool_get(world, sizeof *batch);
    assert(batch && "out of memory for a batch");
    *batch = (struct sim_batch){0};
    return batch;
}

void sim_batch_add(struct sim_rank *rank, struct sim_request *request)
{
    struct sim_batch *batch = rank->batch;
    if (!batch) {
        batch = batch_new(rank->world);
        batch->sealed = true;
    }
    request->batch = batch;
    request->batch_next = NULL;
    request->partner = NULL;
    if (batch->first)
        batch->last->batch_next = request;
    else
        batch->first = request;
    batch->last = request;
    batch->members++;
    batch->unmatched++;
}

static void enqueue(struct sim_batch ***tail, struct sim_batch *batch, uint64_t mark)
{
    if (batch->visited == mark)
        return;
    batch->visited = mark;
    batch->queue_next = NULL;
    **tail = batch;
    *tail = &batch->queue_next;
}

/* All batches reachable through matches, as a list; NULL when one of them cannot move. */
static struct sim_batch *movable_component(struct sim_batch *start, uint64_t mark)
{
    struct sim_batch *list = NULL, **tail = &list;
    enqueue(&tail, start, mark);
    for (struct sim_batch *batch = list; batch; batch = batch->queue_next) {
        if (!batch->sealed || batch->unmatched)
            return NULL;
        for (struct sim_request *member = batch->first; member; member = member->batch_next)
            enqueue(&tail, member->partner->batch, mark);
    }
    return list;
}

static void move(struct sim_world *world, struct sim_batch *list)
{
    for (struct sim_batch *batch = list, *next; batch; batch = next) {
        next = batch->queue_next;
        for (struct sim_request *member = batch->first, *after; member; member = after) {
            after = member->batch_next; /* completion may hand the request back to its owner */
            struct sim_request *partner = member->partner;
            member->batch = NULL;
            if (!partner
                     ->batch) { /* the second of a pair to be seen: both sides are released now */
                bool sends = member->kind == SIM_REQUEST_SEND;
                sim_request_transfer(sends ? member : partner, sends ? partner : member);
            }
        }
        sim_pool_put(world, batch, sizeof *batch);
    }
}

static void try_to_move(struct sim_world *world, struct sim_batch *batch)
{
    struct sim_batch *list = movable_component(batch, ++world->changes);
    if (list)
        move(world, list);
}

void sim_batch_matched(struct sim_request *send, struct sim_request *receive)
{
    send->partner = receive;
    receive->partner = send;
    send->state = receive->state = SIM_MATCHED;
    receive->source_matched = send->comm->rank; /* known before anything moves */
    receive->tag_matched = send->tag;
    send->batch->unmatched--;
    receive->batch->unmatched--;
    try_to_move(send->owner->world, send->batch);
}

void SIM_Tensor_name(const char *name)
{
    record_identity(name);
}

void SIM_Metric(const char *name, double step, double value)
{
    record_metric_at(name ? name : "", step, value);
}

void SIM_Batch_begin(void)
{
    struct sim_rank *rank = sim_current_rank;
    record_batch_begin();
    if (!rank || rank->batch || rank->world->options.send_model != SIM_SEND_BATCH)
        return;
    sim_world_enter(rank->world);
    rank->batch = batch_new(rank->world);
    sim_world_leave(rank->world);
}

void SIM_Batch_end(void)
{
    struct sim_rank *rank = sim_current_rank;
    record_batch_end();
    if (!rank || !rank->batch)
        return;
    sim_world_enter(rank->world);
    struct sim_batch *batch = rank->batch;
    rank->batch = NULL;
    batch->sealed = true;
    if (batch->members)
        try_to_move(rank->world, batch);
    else
        sim_pool_put(rank->world, batch, sizeof *batch);
    sim_world_leave(rank->world);
}
