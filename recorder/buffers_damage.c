/* Whether recording memory is still what recorders made of it: see buffers_damaged. */
#include "recorder/buffers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t record_least_size(int type)
{
    static const size_t sizes[] = {
        [RECORD_RANK] = sizeof(struct record_rank),
        [RECORD_OP] = sizeof(struct record_op),
        [RECORD_WAITS] = sizeof(struct record_waits),
        [RECORD_COUNTS] = sizeof(struct record_counts),
        [RECORD_COMM] = sizeof(struct record_comm),
        [RECORD_MEMBERS] = sizeof(struct record_members),
        [RECORD_STRING] = sizeof(struct record_string),
        [RECORD_NODE] = sizeof(struct record_node),
        [RECORD_EDGE] = sizeof(struct record_edge),
        [RECORD_PASS] = sizeof(struct record_pass),
        [RECORD_NOTE] = sizeof(struct record_note),
        [RECORD_INPUT] = sizeof(struct record_input),
        [RECORD_OBJECTIVE] = sizeof(struct record_objective),
        [RECORD_GRADIENT] = sizeof(struct record_gradient),
        [RECORD_METRIC] = sizeof(struct record_metric),
        [RECORD_ACCESS] = sizeof(struct record_access),
        [RECORD_SYNC] = sizeof(struct record_sync),
        [RECORD_REPEAT] = sizeof(struct record_repeat),
    };
    return type > 0 && (size_t)type < sizeof sizes / sizeof *sizes ? sizes[type] : SIZE_MAX;
}

struct look {
    const struct buffers *buffers;
    uint32_t ranks;
    bool ended_well;
    uint32_t *sequences; /* by rank: that of its next chunk */
    char *text;
    size_t size;
};

static bool found(struct look *look, const char *what, const void *where)
{
    size_t offset = (size_t)((const char *)where - (const char *)look->buffers->header);
    snprintf(look->text, look->size, "%s, %zu bytes from the begin of %zu that are in use", what,
             offset, (size_t)buffers_used(look->buffers));
    return true;
}

static bool all_zero(const char *from, const char *end)
{
    return from >= end || (*from == 0 && memcmp(from, from + 1, (size_t)(end - from) - 1) == 0);
}

/* The last record of a rank that was killed may be written in part. */
static bool tail_damaged(struct look *look, const struct chunk *chunk, const char *from)
{
    const char *end = (const char *)chunk + (size_t)chunk->units * BUFFERS_UNIT;
    size_t part = look->ended_well ? 0 : UINT16_MAX;
    if ((size_t)(end - from) <= part || all_zero(from + part, end))
        return false;
    return found(look, "no record stands where there are bytes", from);
}

static bool records_damaged(struct look *look, const struct chunk *chunk)
{
    const struct record_head *record = NULL, *next;
    const char *from = chunk->records;
    for (; (next = buffers_next_record(chunk, record)) != NULL; record = next) {
        if (next->size < record_least_size(next->type))
            return found(look, "a record of no kind", next);
        from = (const char *)next + next->size;
    }
    return tail_damaged(look, chunk, from);
}

static bool chunk_damaged(struct look *look, const struct chunk *chunk)
{
    if (chunk->rank >= look->ranks)
        return found(look, "a record of a rank that there is not", chunk);
    /* A rank that begins anew counts from 0 again. */
    bool dropped = atomic_load(&look->buffers->header->freed) > 0;
    bool follows = dropped ? chunk->sequence >= look->sequences[chunk->rank]
                           : chunk->sequence == look->sequences[chunk->rank];
    if (!follows && chunk->sequence != 0)
        return found(look, "a part of a rank's record is missing", chunk);
    look->sequences[chunk->rank] = chunk->sequence + 1;
    return records_damaged(look, chunk);
}

/* Nothing stands there but labels that say so, and where ranks were killed not even those. */
static bool gap_damaged(const struct look *look, const char *from, const char *to)
{
    while (from < to) {
        const struct chunk *chunk = (const void *)from;
        uint32_t units = buffers_nobodys_units(chunk);
        size_t size = (size_t)(units ? units : 1) * BUFFERS_UNIT;
        if ((!units && look->ended_well) || size > (size_t)(to - from) ||
            !all_zero(units ? chunk->records : from, from + size))
            return true;
        from += size;
    }
    return false;
}

/* Chunks follow each other without other gaps; one that was taken but not labelled, by a rank that
 * was killed in that moment, is zero. */
static bool chunks_damaged(struct look *look)
{
    const char *base = (const char *)look->buffers->header;
    const char *expected = base + buffers_first_unit() * BUFFERS_UNIT;
    for (const struct chunk *chunk = buffers_next_chunk(look->buffers, NULL); chunk;
         chunk = buffers_next_chunk(look->buffers, chunk)) {
        const char *at = (const char *)chunk;
        bool dropped = atomic_load(&look->buffers->header->freed) > 0; /* holes: not to be read */
        if (at != expected && !dropped && gap_damaged(look, expected, at))
            return found(look, "no part of a record begins where one must", expected);
        if (chunk_damaged(look, chunk))
            return true;
        expected = at + (size_t)chunk->units * BUFFERS_UNIT;
    }
    /* Behind the last one there is nothing that was taken, but by a rank that was killed or found no room. */
    const struct buffers_header *header = look->buffers->header;
    bool all = look->ended_well && !atomic_load(&header->lost) && !atomic_load(&header->freed);
    return all && gap_damaged(look, expected, base + buffers_used(look->buffers)) &&
           found(look, "no part of a record begins where one must", expected);
}

static bool header_damaged(struct look *look)
{
    const struct buffers_header *header = look->buffers->header;
    uint64_t units = look->buffers->size / BUFFERS_UNIT;
    bool whole = buffers_header_known(look->buffers) && header->ranks == look->ranks &&
                 header->units == units && header->image_count <= BUFFERS_IMAGES &&
                 header->paths_used <= BUFFERS_PATHS && header->next_unit >= buffers_first_unit() &&
                 (header->next_unit <= units || header->lost > 0) &&
                 header->freed <= header->next_unit;
    return !whole && found(look, "the head of the record says what cannot be", header);
}

bool buffers_damaged(const struct buffers *buffers, uint32_t ranks, bool ended_well, char *text,
                     size_t size)
{
    struct look look = {.buffers = buffers,
                        .ranks = ranks,
                        .ended_well = ended_well,
                        .sequences = calloc(ranks, sizeof *look.sequences),
                        .text = text,
                        .size = size};
    bool damaged = look.sequences && (header_damaged(&look) || chunks_damaged(&look));
    free(look.sequences);
    return damaged;
}
