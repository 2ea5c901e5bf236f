#include "checker/orders/streams.h"

#include "checker/memory.h"
#include "traces/trace/trace.h"

#include <stdlib.h>
#include <string.h>

/* Each doubtful pair may be replayed, which takes a step per op of the trace: so many steps in all.
 * At least neighbours of this distance are looked at. */
enum { DOUBTFUL_REACH = 64 };
static const size_t doubtful_steps_max = 100000000;

struct entry {
    uint32_t kind; /* 0 collective, 1 send, 2 receive: sides are separate */
    uint32_t comm, source, destination;
    int32_t tag;
    uint32_t rank, position, op;
    bool partial; /* others are there for what they make of their channel */
};

#define COMPARE(field)                                                                             \
    if (x->field != y->field)                                                                      \
    return x->field < y->field ? -1 : 1

static int by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    COMPARE(comm);
    COMPARE(source);
    COMPARE(destination);
    COMPARE(kind);
    COMPARE(op);
    return 0;
}

static int by_stream(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    COMPARE(kind);
    COMPARE(comm);
    COMPARE(source);
    COMPARE(destination);
    COMPARE(tag);
    COMPARE(rank);
    COMPARE(position);
    return 0;
}

static bool make_entry(const struct check_context *context, uint32_t index, struct entry *entry)
{
    const struct trace_op *op = &context->trace->ops[index];
    *entry = (struct entry){.comm = op->form->comm, .rank = op->rank, .op = index, .tag = op->tag};
    switch (check_class(op)) {
    case CLASS_COLLECTIVE:
        entry->tag = 0;
        return check_group_of(context, index) != TRACE_NO;
    case CLASS_SEND:
        entry->kind = 1;
        entry->source = op->rank;
        entry->destination = (uint32_t)op->peer;
        return op->peer >= 0;
    case CLASS_RECEIVE: {
        int32_t source = op->peer == TRACE_ANY ? trace_op_peer_matched(op) : op->peer;
        entry->kind = 2;
        entry->source = (uint32_t)source;
        entry->destination = op->rank;
        return source >= 0;
    }
    default:
        return false;
    }
}

static bool same_channel(const struct entry *a, const struct entry *b)
{
    return a->comm == b->comm && a->source == b->source && a->destination == b->destination;
}

/* Where a receive takes any tag, all of its channel is one stream. */
static void merge_tags(struct entry *entries, size_t count)
{
    qsort(entries, count, sizeof *entries, by_place);
    for (size_t first = 0; first < count;) {
        size_t end = first;
        bool any = false;
        for (; end < count && same_channel(&entries[first], &entries[end]); end++)
            any = any || entries[end].tag == TRACE_ANY;
        for (size_t i = first; i < end && any; i++)
            entries[i].tag = entries[i].kind ? TRACE_ANY : entries[i].tag;
        first = end;
    }
}

/* Those that stand in a partial order. */
static size_t keep_partial(struct entry *entries, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (entries[i].partial)
            entries[kept++] = entries[i];
    return kept;
}

static bool same_stream(const struct entry *a, const struct entry *b)
{
    return same_channel(a, b) && a->kind == b->kind && a->tag == b->tag;
}

static void add_pair(struct check_streams *streams, const struct check_partial_order *reach,
                     const struct entry *first, const struct entry *second, bool doubtful)
{
    if (first->rank != second->rank || check_partial_order_before(reach, first->op, second->op) ||
        check_partial_order_before(reach, second->op, first->op))
        return;
    streams->pairs = check_grow(streams->pairs, &streams->pair_room, streams->pair_count + 1,
                                sizeof *streams->pairs);
    streams->pairs[streams->pair_count++] =
        (struct stream_pair){.first = first->op, .second = second->op, .doubtful = doubtful};
}

/* How far apart the ops of a doubtful pair may stand in their stream. */
static size_t reach_of_doubt(const struct entry *entries, size_t count, size_t ops)
{
    size_t doubtful = 0;
    for (size_t i = 0; i < count; i++)
        doubtful += entries[i].kind && entries[i].tag == TRACE_ANY;
    size_t reach = doubtful ? doubtful_steps_max / doubtful / ops : 0;
    return reach > DOUBTFUL_REACH ? reach : DOUBTFUL_REACH;
}

static void find_pairs(struct check_streams *streams, const struct check_partial_order *reach,
                       const struct entry *entries, size_t count)
{
    const struct trace *trace = reach->context->trace;
    size_t distance = reach_of_doubt(entries, count, trace->op_count), left = 0;
    for (size_t first = 0, i = 1; i < count; i++) {
        if (!same_stream(&entries[i - 1], &entries[i]))
            first = i;
        bool doubtful = entries[i].kind && entries[i].tag == TRACE_ANY;
        size_t from = doubtful || first == i ? first : i - 1;
        if (doubtful && i - first > distance) {
            left += i - first - distance;
            from = i - distance;
        }
        for (size_t j = i; j-- > from;)
            add_pair(streams, reach, &entries[j], &entries[i], doubtful);
    }
    trace_gap(trace, "order", left,
              "pairs of one channel with any-tag receives, more than %zu apart", distance);
}

void check_streams_init(struct check_streams *streams, const struct check_partial_order *reach,
                        const uint32_t *position)
{
    const struct check_context *context = reach->context;
    size_t ops = context->trace->op_count, count = 0, room = 0;
    struct entry *entries = NULL, entry;
    *streams = (struct check_streams){0};
    for (uint32_t op = 0; op < ops; op++) {
        bool partial = reach->item_of[op] != TRACE_NO;
        if ((!partial && context->trace->ops[op].tag != TRACE_ANY) ||
            !make_entry(context, op, &entry))
            continue;
        entry.partial = partial;
        entry.position = position ? position[op] : op;
        entries = check_grow(entries, &room, count + 1, sizeof *entries);
        entries[count++] = entry;
    }
    if (count) {
        merge_tags(entries, count);
        count = keep_partial(entries, count);
    }
    if (count) {
        qsort(entries, count, sizeof *entries, by_stream);
        find_pairs(streams, reach, entries, count);
    }
    free(entries);
}

void check_streams_release(struct check_streams *streams)
{
    free(streams->pairs);
    *streams = (struct check_streams){0};
}
