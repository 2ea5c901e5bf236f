/* The critical path of the backward pass: see timeline.h.
 *
 * Walked backwards from the operation that ended last. An operation that had to wait was decided by
 * whoever came last: the sender of its message, the last member of its collective, the partner of a
 * request it waited for; any other by the operation before it on its rank. A trace whose times
 * contradict each other cannot make the walk longer than the trace. */
#include "viz/charts/timeline.h"

#include <stdlib.h>

struct arrival { /* who came last to a collective */
    uint32_t comm, sequence, op;
};

struct arrivals {
    struct arrival *items;
    size_t count;
};

static uint64_t begin_of(const struct trace *trace, const struct trace_op *op, bool wall)
{
    return wall ? trace_op_times(trace, op).begin_ns : op->begin;
}

static int compare_meeting(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;
    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static bool arrivals_init(struct arrivals *arrivals, const struct trace *trace, bool wall)
{
    arrivals->count = 0;
    arrivals->items = calloc(trace->op_count ? trace->op_count : 1, sizeof *arrivals->items);
    if (!arrivals->items)
        return false;
    for (uint32_t i = 0; i < trace->op_count; i++)
        if (op_kind_class(trace->ops[i].kind) == CLASS_COLLECTIVE &&
            trace->ops[i].state != STATE_NEVER)
            arrivals->items[arrivals->count++] =
                (struct arrival){trace->ops[i].form->comm, trace->ops[i].comm_seq, i};
    if (arrivals->count)
        qsort(arrivals->items, arrivals->count, sizeof *arrivals->items, compare_meeting);
    size_t kept = 0;
    for (size_t i = 0; i < arrivals->count; i++) {
        struct arrival *last = kept ? &arrivals->items[kept - 1] : NULL;
        const struct arrival *item = &arrivals->items[i];
        if (!last || compare_meeting(last, item) != 0)
            arrivals->items[kept++] = *item;
        else if (begin_of(trace, &trace->ops[item->op], wall) >
                 begin_of(trace, &trace->ops[last->op], wall))
            last->op = item->op;
    }
    arrivals->count = kept;
    return true;
}

static uint32_t last_member(const struct arrivals *arrivals, const struct trace_op *op)
{
    struct arrival key = {op->form->comm, op->comm_seq, 0};
    const struct arrival *found = arrivals->count ? bsearch(&key, arrivals->items, arrivals->count,
                                                            sizeof key, compare_meeting)
                                                  : NULL;
    return found ? found->op : TRACE_NO;
}

/* The partner operation that started last among what this operation waited for; TRACE_NO for none.
 */
static uint32_t partner_of(const struct trace *trace, const struct arrivals *arrivals, uint32_t at,
                           bool wall)
{
    enum { REQUESTS = 256 };
    const struct trace_op *op = &trace->ops[at];
    uint32_t starts[REQUESTS], best = TRACE_NO;
    switch (op_kind_class(op->kind)) {
    case CLASS_SEND:
    case CLASS_RECEIVE:
        return op->match;
    case CLASS_COLLECTIVE:
        return last_member(arrivals, op);
    case CLASS_WAIT:
        break;
    default:
        return TRACE_NO;
    }
    size_t count = trace_op_requests(trace, at, starts, REQUESTS);
    for (size_t i = 0; i < count && i < REQUESTS; i++) {
        const struct trace_op *start = &trace->ops[starts[i]];
        uint32_t partner = op_kind_class(start->kind) == CLASS_COLLECTIVE
                               ? last_member(arrivals, start)
                               : start->match;
        if (partner != TRACE_NO &&
            (best == TRACE_NO || begin_of(trace, &trace->ops[partner], wall) >
                                     begin_of(trace, &trace->ops[best], wall)))
            best = partner;
    }
    return best;
}

static uint32_t last_backward(const struct trace *trace, bool wall)
{
    uint32_t last = TRACE_NO;
    uint64_t latest = 0;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        uint64_t end = wall ? trace_op_times(trace, op).end_ns : op->end;
        if (op->form->pass > 0 && op->state == STATE_COMPLETE &&
            (last == TRACE_NO || end > latest)) {
            last = i;
            latest = end;
        }
    }
    return last;
}

size_t viz_critical_path(const struct trace *trace, bool wall, uint32_t *ops, size_t limit)
{
    struct arrivals arrivals;
    size_t count = 0;
    if (!arrivals_init(&arrivals, trace, wall))
        return 0;
    uint32_t at = last_backward(trace, wall);
    while (at != TRACE_NO && count < trace->op_count && trace->ops[at].form->pass > 0) {
        const struct trace_op *op = &trace->ops[at];
        if (count < limit)
            ops[count] = at;
        count++;
        uint32_t partner = partner_of(trace, &arrivals, at, wall);
        bool waited = partner != TRACE_NO && partner != at &&
                      begin_of(trace, &trace->ops[partner], wall) > begin_of(trace, op, wall);
        if (waited && trace->ops[partner].rank != op->rank)
            at = partner;
        else
            at = at > trace->rank_begin[op->rank] ? at - 1 : TRACE_NO;
    }
    free(arrivals.items);
    return count;
}
