/* What calls move: see call_log.h. */
#include "collectives/gradcheck/call_log.h"

#include "traces/trace/kinds.h"

#include <mpix.h>
#include <stdlib.h>

static struct call_log *log_of(struct record_watch *watch)
{
    return (struct call_log *)(void *)watch; /* its first member */
}

/* The caller's entry of this operation: the newest ones are asked for most. */
static struct call_entry *entry_find(struct call_log *log, const struct record_op *record)
{
    struct call_rank *rank = &log->ranks[MPIX_World_rank()];
    for (size_t i = rank->count; i-- > 0;)
        if (rank->entries[i].record == record)
            return &rank->entries[i];
    return NULL;
}

/* Room for one more; NULL without memory, and the log has failed. */
static void *grown(struct call_log *log, void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return items;
    size_t more = *room ? 2 * *room : 16;
    while (more <= count)
        more *= 2;
    void *larger = realloc(items, more * size);
    if (larger)
        *room = more;
    log->failed |= !larger;
    return larger;
}

static void numbers_add(struct call_log *log, struct call_numbers *numbers, bool single,
                        const void *values, size_t count)
{
    if (count == 0)
        return;
    double *larger =
        grown(log, numbers->values, numbers->count + count - 1, &numbers->room, sizeof *larger);
    if (!larger)
        return;
    numbers->values = larger;
    for (size_t i = 0; i < count; i++)
        larger[numbers->count++] =
            single ? (double)((const float *)values)[i] : ((const double *)values)[i];
}

static void begins(struct record_watch *watch, const struct record_op *record, uint32_t number,
                   uint64_t comm)
{
    struct call_log *log = log_of(watch);
    struct call_rank *rank = &log->ranks[MPIX_World_rank()];
    struct call_entry *larger = grown(log, rank->entries, rank->count, &rank->room, sizeof *larger);
    if (!larger)
        return;
    rank->entries = larger;
    rank->entries[rank->count++] = (struct call_entry){.record = record,
                                                       .number = number,
                                                       .comm = comm,
                                                       .site = record->site,
                                                       .sequence = record->comm_seq,
                                                       .kind = record->head.small};
}

static void block(struct record_watch *watch, const struct record_op *record, bool receives,
                  bool single, void *values, size_t count)
{
    struct call_log *log = log_of(watch);
    struct call_entry *entry = entry_find(log, record);
    if (!entry)
        return;
    entry->single = single;
    if (!receives) {
        numbers_add(log, &entry->sent, single, values, count);
        return;
    }
    struct call_block *larger =
        grown(log, entry->blocks, entry->block_count, &entry->block_room, sizeof *larger);
    if (!larger)
        return;
    entry->blocks = larger;
    entry->blocks[entry->block_count++] = (struct call_block){values, count};
}

static void opaque(struct record_watch *watch, const struct record_op *record)
{
    struct call_entry *entry = entry_find(log_of(watch), record);
    if (entry)
        entry->opaque = true;
}

static void push(bool single, void *values, size_t i, double by)
{
    if (single)
        ((float *)values)[i] = (float)((double)((float *)values)[i] + by);
    else
        ((double *)values)[i] += by;
}

static void done(struct record_watch *watch, const struct record_op *record)
{
    struct call_log *log = log_of(watch);
    struct call_entry *entry = entry_find(log, record);
    int self = MPIX_World_rank();
    if (!entry)
        return;
    size_t which = (size_t)(entry - log->ranks[self].entries);
    bool pushed = log->pushed && log->pushed[self] == which;
    size_t at = pushed ? log->begin[self] : 0, end = pushed ? log->begin[self + 1] : 0;
    for (size_t i = 0; i < entry->block_count; i++) {
        struct call_block *from = &entry->blocks[i];
        for (size_t k = 0; k < from->count && at < end; k++)
            push(entry->single, from->values, k, log->step * log->direction[at++]);
        numbers_add(log, &entry->got, entry->single, from->values, from->count);
    }
}

/* Behind what arrived of a message stands in the buffer what stood there: nothing, perhaps. It is none of the numbers that are moved. */
static void arrived_alone(struct call_entry *entry)
{
    uint64_t unit = entry->record->unit > 1 ? entry->record->unit : 1;
    uint64_t bytes =
        entry->record->count_matched > 0 ? (uint64_t)entry->record->count_matched * unit : 0;
    size_t arrived = (size_t)(bytes / (entry->single ? sizeof(float) : sizeof(double)));
    if (arrived < entry->got.count)
        entry->got.count = arrived;
}

/* What only the completed operation knows. */
static void over(struct record_watch *watch)
{
    struct call_log *log = log_of(watch);
    for (int r = 0; r < log->rank_count; r++)
        for (size_t i = 0; i < log->ranks[r].count; i++) {
            struct call_entry *entry = &log->ranks[r].entries[i];
            bool receives = op_kind_class(entry->kind) == CLASS_RECEIVE;
            entry->peer = receives ? entry->record->peer_matched : entry->record->peer;
            entry->tag = receives ? entry->record->tag_matched : entry->record->tag;
            if (receives)
                arrived_alone(entry);
            entry->reduction = entry->record->reduce_op;
            entry->record = NULL;
        }
}

bool call_log_init(struct call_log *log, int ranks)
{
    *log = (struct call_log){.watch = {begins, block, opaque, done, over}, .rank_count = ranks};
    log->ranks = calloc((size_t)ranks, sizeof *log->ranks);
    return log->ranks != NULL;
}

void call_log_release(struct call_log *log)
{
    for (int r = 0; log->ranks && r < log->rank_count; r++) {
        for (size_t i = 0; i < log->ranks[r].count; i++) {
            free(log->ranks[r].entries[i].sent.values);
            free(log->ranks[r].entries[i].got.values);
            free(log->ranks[r].entries[i].blocks);
        }
        free(log->ranks[r].entries);
    }
    free(log->ranks);
    *log = (struct call_log){0};
}
