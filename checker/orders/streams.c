#include "checker/orders/streams.h"

#include "checker/memory.h"

#include <stdlib.h>
#include <string.h>

/* How far apart the ops of a doubtful pair may stand in their stream. */
enum { DOUBTFUL_REACH = 64 };

struct entry {
    uint32_t kind; /* 0 collective, 1 send, 2 receive: sides are separate */
    uint32_t comm, source, destination;
    int32_t tag;
    uint32_t rank, position, op;
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
    *entry = (struct entry){.comm = op->comm, .rank = op->rank, .op = index, .tag = op->tag};
    switch (check_class(op)) {
    case CLASS_COLLECTIVE:
        entry->tag = 0;
        return context->group_of[index] != TRACE_NO;
    case CLASS_SEND:
        entry->kind = 1;
        entry->source = op->rank;
        entry->destination = (uint32_t)op->peer;
        return op->peer >= 0;
    case CLASS_RECEIVE: {
        int32_t source = op->peer == TRACE_ANY ? op->peer_matched : op->peer;
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

static void find_pairs(struct check_streams *streams, const struct check_partial_order *reach,
                       const struct entry *entries, size_t count)
{
    uint32_t stream = 0;
    for (size_t first = 0, i = 0; i < count; i++) {
        if (i == 0 || !same_stream(&entries[i - 1], &entries[i])) {
            first = i;
            stream++;
        }
        bool doubtful = entries[i].kind && entries[i].tag == TRACE_ANY;
        streams->stream_of[entries[i].op] = doubtful ? TRACE_NO : stream;
        size_t from = doubtful ? first : i ? i - 1 : 0;
        if (doubtful && i - first > DOUBTFUL_REACH)
            from = i - DOUBTFUL_REACH;
        for (size_t j = i; j-- > from && j >= first && j < i;)
            add_pair(streams, reach, &entries[j], &entries[i], doubtful);
    }
}

void check_streams_init(struct check_streams *streams, const struct check_partial_order *reach,
                        const uint32_t *position)
{
    const struct check_context *context = reach->context;
    size_t ops = context->trace->op_count, count = 0, room = 0;
    struct entry *entries = NULL, entry;
    *streams = (struct check_streams){0};
    streams->stream_of = check_new(ops, sizeof *streams->stream_of);
    memset(streams->stream_of, 0xff, ops * sizeof *streams->stream_of);
    for (uint32_t op = 0; op < ops; op++) {
        if (reach->item_of[op] == TRACE_NO || !make_entry(context, op, &entry))
            continue;
        entry.position = position ? position[op] : op;
        entries = check_grow(entries, &room, count + 1, sizeof *entries);
        entries[count++] = entry;
    }
    if (count) {
        merge_tags(entries, count);
        qsort(entries, count, sizeof *entries, by_stream);
        find_pairs(streams, reach, entries, count);
    }
    free(entries);
}

void check_streams_release(struct check_streams *streams)
{
    free(streams->stream_of);
    free(streams->pairs);
    *streams = (struct check_streams){0};
}
