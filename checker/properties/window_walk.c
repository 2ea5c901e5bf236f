#include "checker/properties/window_walk.h"

#include "checker/memory.h"

#include <stdlib.h>
#include <string.h>

/* Words of all clocks that are kept. */
static const size_t words_max = (size_t)1 << 26;

/* `place`: even where an operation begins, odd where it returns; a request ends with a wait. */
struct event {
    uint64_t time, place;
    uint32_t op;
    bool begins;
};

static uint32_t *clock_of(struct window_walk *walk, uint32_t rank)
{
    return walk->clocks + (size_t)rank * walk->trace->ranks;
}

static void join(const struct window_walk *walk, uint32_t *to, const uint32_t *from)
{
    for (uint32_t i = 0; i < walk->trace->ranks; i++)
        to[i] = from[i] > to[i] ? from[i] : to[i];
}

static uint32_t *copy_of(struct window_walk *walk, const uint32_t *clock)
{
    uint32_t *copy = check_new(walk->trace->ranks, sizeof *copy);
    walk->words += walk->trace->ranks;
    memcpy(copy, clock, walk->trace->ranks * sizeof *copy);
    return copy;
}

static uint32_t number_of(const struct window_walk *walk, uint32_t op)
{
    return op - (uint32_t)walk->trace->rank_begin[walk->trace->ops[op].rank];
}

/* What the program itself does between two operations comes before the second. */
static uint64_t place_of(const struct trace_access *access)
{
    return 2 * (uint64_t)access->op + !window_access_is_instant(access);
}

/* Accesses sorted by rank and operation, so that each rank's are met in its order. */
static int by_rank_and_op(const void *a, const void *b)
{
    const struct trace_access *x = ((const struct judged *)a)->access;
    const struct trace_access *y = ((const struct judged *)b)->access;
    return x->rank != y->rank ? check_order_of(x->rank, y->rank)
                              : check_order_of(place_of(x), place_of(y));
}

static int syncs_by_rank_and_op(const void *a, const void *b)
{
    const struct trace_sync *x = a, *y = b;
    return x->rank != y->rank ? check_order_of(x->rank, y->rank) : check_order_of(x->op, y->op);
}

/* MPI_Win_complete ends an access that changes the target at the origin only: at the target it is
 * over when the MPI_Win_wait there is. */
static void over_at_target(const struct window_walk *walk, struct judged *judged)
{
    const struct trace_access *access = judged->access;
    judged->at = access->target;
    judged->done = UINT32_MAX;
    for (uint32_t i = walk->next_sync[access->target]; walk->syncs[i].rank == access->target; i++)
        if (walk->syncs[i].peer == access->rank && walk->syncs[i].peer_op == access->done)
            judged->done = 2 * walk->syncs[i].op;
}

/* What the sync tells of; TRACE_NO: it is not in the trace. */
static uint32_t source_of(const struct trace *trace, const struct trace_sync *sync)
{
    size_t op = trace->rank_begin[sync->peer] + sync->peer_op;
    return op < trace->rank_begin[sync->peer + 1] ? (uint32_t)op : TRACE_NO;
}

static void over(const struct window_walk *walk, struct judged *judged)
{
    const struct trace *trace = walk->trace;
    const struct trace_access *access = judged->access;
    size_t done = trace->rank_begin[access->rank] + access->done;
    unsigned by = done < trace->op_count ? trace->ops[done].kind : OP_NONE;
    judged->at = access->rank;
    if (window_access_is_instant(access))
        judged->done = 2 * access->op + 1;
    else if (window_access_is_local(access)) /* the epoch behind a fence is everybody's */
        judged->done = 2 * access->done + (by == OP_WIN_FENCE ? 1 : 2);
    else if (!window_access_reads(access) && by == OP_WIN_COMPLETE)
        over_at_target(walk, judged);
    else
        judged->done = 2 * access->done + 1;
}

/* Whether the sync is the rank's, and tells it something before operation `number` begins. */
static bool is_due(const struct window_walk *walk, size_t sync, uint32_t rank, uint32_t number)
{
    return walk->syncs[sync].rank == rank && walk->syncs[sync].op <= number;
}

/* Before operation `number` of the rank begins: what it learns, and the loads and stores before. */
static void reach(struct window_walk *walk, uint32_t rank, uint32_t number)
{
    const struct trace *trace = walk->trace;
    uint32_t *clock = clock_of(walk, rank);
    uint32_t *at = &walk->next_sync[rank];
    for (; is_due(walk, *at, rank, number); ++*at) {
        const struct trace_sync *sync = &walk->syncs[*at];
        uint32_t source = source_of(trace, sync);
        if (source == TRACE_NO || !walk->begun[source]) {
            walk->disordered = true;
            continue;
        }
        walk->chances +=
            window_is_atomic(trace->ops[source].kind) && clock[sync->peer] < 2 * sync->peer_op + 1;
        join(walk, clock, walk->begun[source]);
    }
    at = &walk->next_access[rank];
    for (; walk->judged[*at].access->rank == rank; ++*at) {
        struct judged *judged = &walk->judged[*at];
        if (judged->access->op > number || !window_access_is_instant(judged->access))
            break;
        judged->start = copy_of(walk, clock);
    }
}

/* The accesses of one-sided operation `number`, which has begun. */
static void issue(struct window_walk *walk, uint32_t rank, uint32_t number)
{
    uint32_t *at = &walk->next_access[rank];
    for (; walk->judged[*at].access->rank == rank && walk->judged[*at].access->op == number; ++*at)
        walk->judged[*at].start = copy_of(walk, clock_of(walk, rank));
}

static bool is_prefix(uint8_t kind)
{
    return kind == OP_SCAN || kind == OP_EXSCAN;
}

static bool from_root(uint8_t kind)
{
    return kind == OP_BCAST || kind == OP_SCATTER || kind == OP_SCATTERV;
}

static bool to_root(uint8_t kind)
{
    return kind == OP_REDUCE || kind == OP_GATHER || kind == OP_GATHERV;
}

/* Whose beginnings others ask for: trace_sync and prefix reductions. */
static bool orders_later(uint8_t kind)
{
    return kind == OP_WIN_POST || kind == OP_WIN_COMPLETE || kind == OP_ACCUMULATE ||
           kind == OP_GET_ACCUMULATE || kind == OP_FETCH_AND_OP || kind == OP_COMPARE_AND_SWAP ||
           is_prefix(kind);
}

/* By rank: where it stands in the communicator. */
static const uint32_t *positions_in(struct window_walk *walk, uint32_t comm)
{
    uint32_t size = check_comm_size(walk->trace, comm);
    for (uint32_t i = 0; walk->positioned != comm && i < size; i++)
        walk->positions[check_comm_member(walk->trace, comm, i)] = i;
    walk->positioned = comm;
    return walk->positions;
}

/* Whether a call of a collective can only return once the other one has begun. */
static bool needs(struct window_walk *walk, const struct trace_op *call,
                  const struct trace_op *other)
{
    if (is_prefix(call->kind)) {
        const uint32_t *positions = positions_in(walk, call->form->comm);
        return positions[other->rank] < positions[call->rank];
    }
    return from_root(call->kind) ? call->peer == (int32_t)other->rank
                                 : !to_root(call->kind) || call->peer == (int32_t)call->rank;
}

static void join_prefix(struct window_walk *walk, uint32_t op, uint32_t *clock)
{
    const struct check_context *context = walk->context;
    const struct trace_op *ops = walk->trace->ops;
    const struct check_group *group = &context->groups[check_group_of(context, op)];
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t other = context->group_ops[group->first + i];
        if (needs(walk, &ops[op], &ops[other]))
            join(walk, clock, walk->begun[other]);
    }
}

/* Rank, communicator, source, tag. */
static int by_message(const struct trace_op *a, const struct trace_op *b)
{
    if (a->rank != b->rank)
        return check_order_of(a->rank, b->rank);
    if (a->form->comm != b->form->comm)
        return check_order_of(a->form->comm, b->form->comm);
    if (trace_op_peer_matched(a) != trace_op_peer_matched(b))
        return check_order_of((uint32_t)trace_op_peer_matched(a),
                              (uint32_t)trace_op_peer_matched(b));
    return check_order_of((uint32_t)trace_op_tag_matched(a), (uint32_t)trace_op_tag_matched(b));
}

static int receives_by_message(const void *a, const void *b, void *context)
{
    const struct trace_op *ops = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = by_message(&ops[x], &ops[y]);
    return order ? order : check_order_of(x, y);
}

static void index_receives(struct window_walk *walk)
{
    const struct trace *trace = walk->trace;
    walk->receives = check_new(trace->op_count, sizeof *walk->receives);
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (check_class(&trace->ops[op]) == CLASS_RECEIVE)
            walk->receives[walk->receive_count++] = op;
    qsort_r(walk->receives, walk->receive_count, sizeof *walk->receives, receives_by_message,
            trace->ops);
}

/* The send of the message that a probe saw: the next receive of its kind takes it. */
static uint32_t probed(const struct window_walk *walk, uint32_t op)
{
    const struct trace_op *ops = walk->trace->ops;
    size_t low = 0, high = walk->receive_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = by_message(&ops[walk->receives[middle]], &ops[op]);
        if (order < 0 || (order == 0 && walk->receives[middle] < op))
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < walk->receive_count && by_message(&ops[walk->receives[low]], &ops[op]) == 0;
    return found ? ops[walk->receives[low]].match : TRACE_NO;
}

/* The operation that must have begun before this one ends: a receive's or probe's send; the receive
 * of a synchronous send. */
static uint32_t told_by(const struct window_walk *walk, uint32_t op)
{
    const struct trace_op *at = &walk->trace->ops[op];
    enum op_class class = check_class(at);
    if (class == CLASS_PROBE)
        return probed(walk, op);
    return class == CLASS_RECEIVE || check_is_synchronous(at) ? at->match : TRACE_NO;
}

static void op_begins(struct window_walk *walk, uint32_t op)
{
    const struct trace_op *at = &walk->trace->ops[op];
    uint32_t *clock = clock_of(walk, at->rank), number = number_of(walk, op);
    uint32_t group = check_group_of(walk->context, op);
    reach(walk, at->rank, number);
    clock[at->rank] = 2 * number + 1;
    issue(walk, at->rank, number);
    enum op_class class = check_class(at);
    if (class == CLASS_SEND || class == CLASS_RECEIVE || orders_later(at->kind))
        walk->begun[op] = copy_of(walk, clock);
    if (group == TRACE_NO || (from_root(at->kind) && at->peer != (int32_t)at->rank))
        return;
    if (!walk->gathered[group])
        walk->gathered[group] = copy_of(walk, clock);
    else
        join(walk, walk->gathered[group], clock);
}

static void op_ends(struct window_walk *walk, uint32_t op)
{
    const struct trace_op *at = &walk->trace->ops[op];
    uint32_t *clock = clock_of(walk, at->rank), number = number_of(walk, op);
    uint32_t group = check_group_of(walk->context, op);
    uint32_t teller = told_by(walk, op);
    if (teller != TRACE_NO)
        join(walk, clock, walk->begun[teller]);
    if (group != TRACE_NO && is_prefix(at->kind))
        join_prefix(walk, op, clock);
    else if (group != TRACE_NO && walk->gathered[group] &&
             !(to_root(at->kind) && at->peer != (int32_t)at->rank))
        join(walk, clock, walk->gathered[group]);
    if (!check_is_start(at)) /* another thread's later operation may have begun */
        clock[at->rank] = 2 * number + 2 > clock[at->rank] ? 2 * number + 2 : clock[at->rank];
}

/* Several of a rank may have the same time. */
static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->time != y->time)
        return check_order_of(x->time, y->time);
    return x->place != y->place ? check_order_of(x->place, y->place) : check_order_of(x->op, y->op);
}

/* Events of every rank in its own order; `next`: the first not yet walked. */
struct steps {
    struct event *events;
    size_t *next, *end; /* by rank */
    bool *begun;        /* by operation */
};

static struct steps steps_of(const struct trace *trace)
{
    struct steps steps = {.events = check_new(2 * trace->op_count, sizeof *steps.events),
                          .next = check_new(trace->ranks, sizeof *steps.next),
                          .end = check_new(trace->ranks, sizeof *steps.end),
                          .begun = check_new(trace->op_count, sizeof *steps.begun)};
    size_t count = 0;
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        steps.next[rank] = count;
        for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1]; i++) {
            const struct trace_op *at = &trace->ops[i];
            uint32_t op = (uint32_t)i;
            uint64_t last = check_is_start(at) && at->request != TRACE_NO ? at->request : op;
            steps.events[count++] = (struct event){at->begin, 2 * (uint64_t)op, op, true};
            if (at->end)
                steps.events[count++] = (struct event){at->end - 1, 2 * last + 1, op, false};
        }
        steps.end[rank] = count;
        qsort(steps.events + steps.next[rank], count - steps.next[rank], sizeof *steps.events,
              by_time);
    }
    return steps;
}

static bool group_has_begun(struct window_walk *walk, const struct steps *steps, uint32_t op)
{
    const struct trace_op *ops = walk->trace->ops;
    const struct check_group *group = &walk->context->groups[check_group_of(walk->context, op)];
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t other = walk->context->group_ops[group->first + i];
        if (!steps->begun[other] && needs(walk, &ops[op], &ops[other]))
            return false;
    }
    return true;
}

/* Whether all that the rank's next event waits for has been walked. */
static bool is_ready(struct window_walk *walk, const struct steps *steps, uint32_t rank)
{
    const struct trace *trace = walk->trace;
    const struct event *event = &steps->events[steps->next[rank]];
    if (event->begins) {
        for (size_t i = walk->next_sync[rank]; is_due(walk, i, rank, number_of(walk, event->op));
             i++) {
            uint32_t source = source_of(trace, &walk->syncs[i]);
            if (source != TRACE_NO && !steps->begun[source])
                return false;
        }
        return true;
    }
    uint32_t teller = told_by(walk, event->op);
    if (teller != TRACE_NO)
        return steps->begun[teller];
    return check_group_of(walk->context, event->op) == TRACE_NO ||
           group_has_begun(walk, steps, event->op);
}

static void step(struct window_walk *walk, struct steps *steps, uint32_t rank)
{
    const struct event *event = &steps->events[steps->next[rank]++];
    if (event->begins)
        op_begins(walk, event->op);
    else
        op_ends(walk, event->op);
    steps->begun[event->op] = true;
}

/* Walks the run, each rank as far as what it waits for has been walked. False where it takes too
 * much memory. */
static bool walk_all(struct window_walk *walk)
{
    const struct trace *trace = walk->trace;
    struct steps steps = steps_of(trace);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t rank = 0; rank < trace->ranks; rank++)
            for (; steps.next[rank] < steps.end[rank] && walk->words <= words_max &&
                   is_ready(walk, &steps, rank);
                 more = true)
                step(walk, &steps, rank);
    }
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        bool bare = trace->rank_begin[rank] == trace->rank_begin[rank + 1] &&
                    walk->judged[walk->next_access[rank]].access->rank == rank;
        walk->disordered = walk->disordered || bare || steps.next[rank] < steps.end[rank];
        reach(walk, rank, UINT32_MAX);
    }
    free(steps.events);
    free(steps.next);
    free(steps.end);
    free(steps.begun);
    return walk->words <= words_max;
}

/* Behind the last row of each table stands one of no rank; who has no rows meets another's first. */
static void index_rows(struct window_walk *walk)
{
    static const struct trace_access none = {.rank = UINT32_MAX};
    const struct trace *trace = walk->trace;
    size_t accesses = trace->access_count, syncs = trace->sync_count;
    walk->judged[accesses].access = &none;
    for (size_t i = 0; i < accesses; i++)
        walk->judged[i].access = &trace->accesses[i];
    qsort(walk->judged, accesses, sizeof *walk->judged, by_rank_and_op);
    for (size_t i = 0; i < syncs; i++)
        walk->syncs[i] = trace->syncs[i];
    walk->syncs[syncs].rank = UINT32_MAX;
    qsort(walk->syncs, syncs, sizeof *walk->syncs, syncs_by_rank_and_op);
    for (size_t i = accesses; i-- > 0;)
        walk->next_access[walk->judged[i].access->rank] = (uint32_t)i;
    for (size_t i = syncs; i-- > 0;)
        walk->next_sync[walk->syncs[i].rank] = (uint32_t)i;
    for (size_t i = 0; i < accesses; i++)
        over(walk, &walk->judged[i]);
}

bool window_walk_run(struct window_walk *walk, const struct check_context *context)
{
    const struct trace *trace = context->trace;
    *walk = (struct window_walk){
        .context = context, .trace = trace, .words = (size_t)trace->ranks * trace->ranks};
    if (walk->words > words_max)
        return false;
    *walk = (struct window_walk){
        .context = context,
        .trace = trace,
        .words = walk->words,
        .clocks = check_new((size_t)trace->ranks * trace->ranks, sizeof *walk->clocks),
        .begun = check_new(trace->op_count, sizeof *walk->begun),
        .gathered = check_new(context->group_count, sizeof *walk->gathered),
        .judged = check_new(trace->access_count + 1, sizeof *walk->judged),
        .next_access = check_new(trace->ranks, sizeof *walk->next_access),
        .next_sync = check_new(trace->ranks, sizeof *walk->next_sync),
        .positions = check_new(trace->ranks, sizeof *walk->positions),
        .positioned = TRACE_NO,
        .syncs = check_new(trace->sync_count + 1, sizeof *walk->syncs)};
    index_rows(walk);
    index_receives(walk);
    return walk_all(walk);
}

static void free_all(uint32_t **clocks, size_t count)
{
    for (size_t i = 0; clocks && i < count; i++)
        free(clocks[i]);
    free(clocks);
}

void window_walk_release(struct window_walk *walk)
{
    for (size_t i = 0; walk->judged && i < walk->trace->access_count; i++)
        free(walk->judged[i].start);
    free_all(walk->begun, walk->trace->op_count);
    free_all(walk->gathered, walk->context->group_count);
    free(walk->receives);
    free(walk->clocks);
    free(walk->judged);
    free(walk->next_access);
    free(walk->next_sync);
    free(walk->positions);
    free(walk->syncs);
}
