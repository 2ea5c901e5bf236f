/* What is kept of a recording whose oldest records were dropped begins at one place in each channel
 * and communicator: an operation that lost its partners there stays as a row, a message to or from
 * nobody, a collective among the rank alone, a probe for nobody's message, and is counted as not
 * judged. See drops.h. */
#include "recorder/loading/loader.h"
#include "traces/trace/kinds.h"
#include "traces/trace/trace.h"

#include <stdlib.h>
#include <string.h>

static uint32_t comm_of(const struct loader *loader, uint32_t rank, const struct record_op *op)
{
    return op->comm ? numbers_get(&loader->rank_comms[rank], op->comm) : TRACE_NO;
}

/* So many of the rank's next collectives there have lost a member. */
static void collectives_lost(struct loader *loader, uint32_t rank, uint32_t comm, uint64_t count)
{
    balances_add(&loader->lost, &(struct balance){.comm = comm,
                                                  .source = (int32_t)rank,
                                                  .destination = BALANCE_COLLECTIVE,
                                                  .tag = BALANCE_COLLECTIVE,
                                                  .sends = (int64_t)count});
}

/* Collectives on one communicator among the operations of an iteration. */
static uint64_t each_of(const struct loader_repeat *repeat, uint32_t comm)
{
    const char *at = repeat->template, *end = at + repeat->record->bytes;
    uint64_t each = 0;
    for (const struct record_head *head; at < end; at += head->size) {
        head = (const void *)at;
        each += head->type == RECORD_OP && op_kind_class(head->small) == CLASS_COLLECTIVE &&
                ((const struct record_op *)(const void *)at)->comm == comm;
    }
    return each;
}

static void count_collective(struct loader *loader, uint32_t rank, const struct record_op *op,
                             const struct loader_repeat *repeat)
{
    uint32_t comm = comm_of(loader, rank, op);
    if (op_kind_class(op->head.small) != CLASS_COLLECTIVE || op->flags & RECORD_OP_CUT ||
        comm == TRACE_NO)
        return;
    uint64_t gone = loader->gone[comm];
    uint64_t each = repeat ? each_of(repeat, op->comm) : 1;
    uint64_t first = op->comm_seq + (repeat ? each : 0);
    uint64_t count = gone > first && each ? (gone - first + each - 1) / each : 0;
    uint64_t most = repeat ? repeat->record->times : 1;
    if (count)
        collectives_lost(loader, rank, comm, count < most ? count : most);
}

static void count_repeat(struct loader *loader, const struct loader_repeat *repeat)
{
    const char *at = repeat->template, *end = at + repeat->record->bytes;
    for (const struct record_head *head; at < end; at += head->size) {
        head = (const void *)at;
        if (head->type == RECORD_OP)
            count_collective(loader, repeat->rank, (const void *)at, repeat);
    }
}

/* What balances and thresholds say, by this trace's communicators. */
static bool translate(struct loader *loader)
{
    const struct drops *drops = loader->drops;
    loader->gone = calloc(loader->trace->comm_count, sizeof *loader->gone);
    if (!loader->gone)
        return false;
    for (size_t i = 0; i < drops->channels.room; i++) {
        struct balance channel = drops->channels.slots[i];
        if (!channel.used || !channel.sends)
            continue;
        void *known = handle_map_find(&loader->comms, channel.comm);
        channel.comm = known ? (uintptr_t)known - 1 : 0;
        balances_add(&loader->lost, &channel);
    }
    for (size_t i = 0; i < drops->collectives.slots; i++) {
        const struct handle_entry *entry = &drops->collectives.entries[i];
        void *known = entry->key ? handle_map_find(&loader->comms, entry->key) : NULL;
        if (entry->key)
            loader->gone[known ? (uintptr_t)known - 1 : 0] = (uintptr_t)entry->value;
    }
    return !loader->lost.failed;
}

bool loader_plan_cut(struct loader *loader)
{
    if (!loader->drops || !loader->drops->ops)
        return true;
    if (!translate(loader))
        return false;
    for (size_t i = 0; i < loader->source_count; i++) {
        const struct source *source = &loader->sources[i];
        const struct chunk *chunk = source_open(loader, source);
        for (const struct record_head *record = chunk ? buffers_next_record(chunk, NULL) : NULL;
             record; record = buffers_next_record(chunk, record))
            if (record->type == RECORD_OP && record->size >= sizeof(struct record_op))
                count_collective(loader, source->rank, (const void *)record, NULL);
        source_close(source, chunk);
    }
    for (size_t i = 0; i < loader->repeat_count; i++)
        count_repeat(loader, &loader->repeats[i]);
    return !loader->lost.failed;
}

bool loader_lost_copy(const struct loader *loader, struct balances *lost)
{
    *lost = loader->lost;
    if (!lost->room)
        return true;
    lost->slots = malloc(lost->room * sizeof *lost->slots);
    if (lost->slots)
        memcpy(lost->slots, loader->lost.slots, lost->room * sizeof *lost->slots);
    return lost->slots != NULL;
}

/* A probe saw the message that the next receive there takes. */
static bool saw_lost(const struct balances *lost, uint32_t rank, const struct record_op *probe,
                     struct balance *channel)
{
    struct record_op receive = *probe;
    receive.head.small = OP_RECV;
    return probe->peer_matched >= 0 && drops_channel(rank, &receive, channel) &&
           balances_next(lost, channel, false);
}

bool loader_is_cut(const struct loader *loader, struct balances *lost, uint32_t rank,
                   const struct record_op *op)
{
    struct balance channel = {.comm = comm_of(loader, rank, op)};
    enum op_class class = op_kind_class(op->head.small);
    if (!loader->drops)
        return false;
    if (op->flags & RECORD_OP_CUT)
        return true;
    if (class == CLASS_COLLECTIVE) {
        channel.source = (int32_t)rank;
        channel.destination = channel.tag = BALANCE_COLLECTIVE;
        return balances_take(lost, &channel, false);
    }
    if (class == CLASS_PROBE)
        return saw_lost(lost, rank, op, &channel);
    return op->state == STATE_COMPLETE && drops_channel(rank, op, &channel) &&
           balances_take(lost, &channel, class == CLASS_SEND);
}

/* A communicator of this rank alone. */
static uint32_t comm_alone(struct loader *loader)
{
    int32_t *member;
    if (loader->alone_of == loader->rank + 1)
        return loader->alone;
    struct trace_comm row = {.id = (uint32_t)loader->trace->comm_count + 1,
                             .size = 1,
                             .parent = TRACE_NO,
                             .adjoint_of = TRACE_NO,
                             .name = "not judged"};
    int32_t own = (int32_t)loader->rank;
    member = &own;
    row.members = member;
    loader->alone = trace_add_comm(loader->trace, &row);
    loader->alone_of = loader->rank + 1;
    loader->alone_count = 0;
    loader->failed |= loader->alone == TRACE_NO;
    return loader->alone;
}

void loader_cut(struct loader *loader, struct trace_plain_op *op)
{
    enum op_class class = op_kind_class(op->kind);
    loader->cut++;
    op->flags |= OP_CUT;
    op->place = 0; /* who knows when it was free again */
    if (class == CLASS_COLLECTIVE) {
        op->comm = comm_alone(loader);
        op->comm_seq = loader->alone_count++;
        op->peer = op->peer >= 0 ? (int32_t)loader->rank : op->peer;
    } else if (class == CLASS_SEND || class == CLASS_RECEIVE ||
               (class == CLASS_PROBE && op->peer_matched >= 0)) {
        op->peer = op->peer_matched = TRACE_NONE;
        op->count_matched = class == CLASS_SEND ? op->count_matched : 0;
    }
}
