/* What the ranks of a recorded run did, as one number: see recording_conduct. */
#include "recorder/recording.h"

#include "recorder/recording_internal.h"
#include "traces/trace/kinds.h"

#include <stdlib.h>
#include <string.h>

/* Per rank: what it did so far, and the messages to it. */
struct conduct {
    uint64_t hash;
    uint64_t message; /* what all messages to it are like; 0: none so far */
    bool mixed;       /* they are not alike */
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static uint64_t mix_pair(uint64_t hash, uint32_t high, uint32_t low)
{
    return mix(hash, (uint64_t)high << 32 | low);
}

static uint64_t mix_text(uint64_t hash, const char *text, size_t size)
{
    for (size_t i = 0; i < size && text[i]; i++)
        hash = mix(hash, (unsigned char)text[i]);
    return hash;
}

static void note_message(struct conduct *ranks, uint32_t count, const struct record_op *op)
{
    if (op_kind_class(op->head.small) != CLASS_SEND || op->peer < 0 || (uint32_t)op->peer >= count)
        return;
    struct conduct *to = &ranks[op->peer];
    uint64_t like = mix_pair(op->type, op->signature, (uint32_t)op->count);
    like = mix_pair(like, op->identity, op->pass != 0) | 1;
    to->mixed = to->mixed || (to->message && to->message != like);
    to->message = like;
}

static uint64_t mix_op(uint64_t hash, const struct record_op *op, bool mixed)
{
    hash = mix_pair(hash, (uint32_t)op->head.small << 8 | op->state,
                    (uint32_t)op->thread << 16 | op->flags);
    hash = mix_pair(mix_pair(hash, op->pass, op->node), op->comm, op->comm_seq);
    hash = mix_pair(hash, (uint32_t)op->peer, (uint32_t)op->tag);
    hash = mix_pair(mix(hash, (uint64_t)op->count), op->type, op->signature);
    hash = mix_pair(mix_pair(hash, op->reduce_op, op->batch), op->identity, (uint32_t)op->error);
    if (mixed)
        hash = mix_pair(hash, (uint32_t)op->peer_matched, (uint32_t)op->tag_matched);
    return hash;
}

static uint64_t mix_counts(uint64_t hash, const struct record_counts *counts)
{
    size_t n = counts->head.size < sizeof *counts
                   ? 0
                   : (counts->head.size - sizeof *counts) / sizeof *counts->values;
    hash = mix_pair(mix_pair(hash, counts->op, counts->head.small), counts->total, counts->first);
    for (size_t i = 0; i < n; i++)
        hash = mix(hash, (uint64_t)counts->values[i]);
    return hash;
}

static uint64_t mix_record(const struct conduct *rank, const struct record_head *record)
{
    uint64_t hash = mix(rank->hash, record->type);
    switch (record->type) {
    case RECORD_OP:
        return mix_op(hash, (const struct record_op *)(const void *)record, rank->mixed);
    case RECORD_COUNTS:
        return mix_counts(hash, (const struct record_counts *)(const void *)record);
    case RECORD_NODE: {
        const struct record_node *node = (const void *)record;
        hash = mix_pair(hash, node->pass, node->forward);
        return mix_pair(hash, node->kind, record->small);
    }
    case RECORD_NOTE: {
        const struct record_note *note = (const void *)record;
        hash = mix_text(hash, note->code, sizeof note->code);
        return mix_text(mix(hash, note->op), (const char *)(note + 1), record->size - sizeof *note);
    }
    case RECORD_REPEAT: {
        const struct record_repeat *repeat = (const void *)record;
        return mix(mix(hash, repeat->body), repeat->times);
    }
    default:
        return rank->hash;
    }
}

uint64_t recording_conduct(const struct recording *recording)
{
    uint32_t count = recording->ranks;
    struct conduct *ranks = calloc(count, sizeof *ranks);
    uint64_t hash = 0;
    const struct chunk *chunk = NULL;
    const struct record_head *record;
    if (!ranks)
        return 0;
    while ((chunk = buffers_next_chunk(&recording->buffers, chunk)) != NULL)
        for (record = NULL; (record = buffers_next_record(chunk, record)) != NULL;)
            if (record->type == RECORD_OP)
                note_message(ranks, count, (const struct record_op *)(const void *)record);
    while ((chunk = buffers_next_chunk(&recording->buffers, chunk)) != NULL)
        for (record = NULL; (record = buffers_next_record(chunk, record)) != NULL;)
            if (chunk->rank < count)
                ranks[chunk->rank].hash = mix_record(&ranks[chunk->rank], record);
    for (uint32_t rank = 0; rank < count; rank++)
        hash = mix(hash, ranks[rank].hash);
    free(ranks);
    return hash;
}
