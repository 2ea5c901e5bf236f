#include "checker/replay/syncs.h"

#include "checker/memory.h"

#include <stdlib.h>

static int by_op(const void *a, const void *b)
{
    const struct check_sync *x = a, *y = b;
    return x->op < y->op ? -1 : x->op > y->op;
}

struct sourced {
    uint32_t source, number;
};

static int by_source(const void *a, const void *b)
{
    const struct sourced *x = a, *y = b;
    return x->source < y->source ? -1 : x->source > y->source;
}

static bool is_meant(const struct trace *trace, const struct trace_sync *sync)
{
    size_t op = trace->rank_begin[sync->rank] + sync->op;
    size_t source = trace->rank_begin[sync->peer] + sync->peer_op;
    if (!sync->op || op >= trace->rank_begin[sync->rank + 1] ||
        source >= trace->rank_begin[sync->peer + 1])
        return false;
    uint8_t kind = trace->ops[op - 1].kind;
    return kind == OP_WIN_START || kind == OP_WIN_WAIT; /* a test, too, is recorded as a wait */
}

void check_syncs_init(struct check_syncs *syncs, const struct trace *trace)
{
    *syncs = (struct check_syncs){.items = check_new(trace->sync_count, sizeof *syncs->items)};
    for (size_t i = 0; i < trace->sync_count; i++) {
        const struct trace_sync *sync = &trace->syncs[i];
        if (is_meant(trace, sync))
            syncs->items[syncs->count++] = (struct check_sync){
                .op = (uint32_t)trace->rank_begin[sync->rank] + sync->op,
                .peer = sync->peer,
                .source = (uint32_t)trace->rank_begin[sync->peer] + sync->peer_op};
    }
    qsort(syncs->items, syncs->count, sizeof *syncs->items, by_op);
    struct sourced *sourced = check_new(syncs->count, sizeof *sourced);
    for (uint32_t i = 0; i < syncs->count; i++)
        sourced[i] = (struct sourced){syncs->items[i].source, i};
    qsort(sourced, syncs->count, sizeof *sourced, by_source);
    syncs->by_source = check_new(syncs->count, sizeof *syncs->by_source);
    for (size_t i = 0; i < syncs->count; i++)
        syncs->by_source[i] = sourced[i].number;
    free(sourced);
}

void check_syncs_release(struct check_syncs *syncs)
{
    free(syncs->items);
    free(syncs->by_source);
    *syncs = (struct check_syncs){0};
}

size_t check_syncs_first(const struct check_syncs *syncs, uint32_t op)
{
    size_t low = 0, high = syncs->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (syncs->items[middle].op < op)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t check_syncs_first_of(const struct check_syncs *syncs, uint32_t source)
{
    size_t low = 0, high = syncs->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (syncs->items[syncs->by_source[middle]].source < source)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
