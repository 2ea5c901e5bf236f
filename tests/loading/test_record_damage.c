/* What is told of recording memory that somebody else wrote to: one byte or number changed at a time, on either side of each border.
 * What recorders leave is right, also where a rank was killed in the middle of a record. */
#include "tests/tap.h"

#include "recorder/buffers.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, UNIT = 4096, BLOCK = 512, HEAD = 16, RECORD = 64, LONGEST = 65535 };

static struct buffers buffers;
static struct buffers_header *header;
static struct chunk *chunks[32]; /* in their order */
static int chunk_count, gap_at;  /* the chunk that has a gap before it */
static char *tails[32];          /* behind the last record of each */

static void take(uint32_t rank, struct buffers_writer *writer, bool full)
{
    writer->rank = rank;
    if (!buffers_more(&buffers, writer, RECORD))
        abort();
    struct chunk *chunk = (void *)(writer->next - HEAD);
    int records = full ? (int)(((size_t)writer->units * UNIT - HEAD) / RECORD) : 3;
    for (int i = 0; i < records; i++, writer->next += RECORD)
        *(struct record_head *)(void *)writer->next = (struct record_head){RECORD, RECORD_NOTE, 0};
    tails[chunk_count] = writer->next;
    chunks[chunk_count++] = chunk;
}

/* Some chunks of each rank, up to one of a whole block behind a gap. */
static void begin(void)
{
    struct failure failure = {0};
    struct buffers_writer writers[RANKS] = {{.rank = 0}};
    if (buffers_init(&buffers, RANKS, (size_t)1 << 25, &failure))
        abort();
    header = buffers.header;
    chunk_count = 0;
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t rank = 0; rank < RANKS; rank++)
            take(rank, &writers[rank], i % 2);
    for (int i = 0; i < 6; i++)
        take(1, &writers[1], false);
    gap_at = chunk_count - 1;
    for (int i = 0; i < chunk_count; i++)
        gap_at = chunks[i]->units == BLOCK && i < gap_at ? i : gap_at;
}

static void end(void)
{
    buffers_release(&buffers);
}

static const char *said;

/* 0: it is right; 1: damaged, at this place. */
static int look(bool ended_well, const void *where)
{
    static char text[200];
    char due[80] = "";
    text[0] = 0;
    said = text;
    if (!buffers_damaged(&buffers, RANKS, ended_well, text, sizeof text))
        return 0;
    if (where)
        snprintf(due, sizeof due, ", %zu bytes from the begin of %zu that are in use",
                 (size_t)((const char *)where - (const char *)header),
                 (size_t)buffers_used(&buffers));
    return strstr(text, due) ? 1 : 2;
}

static void is(int damaged, bool ended_well, const void *where, const char *what)
{
    int seen = look(ended_well, where);
    tap_ok(seen == damaged, "%s: %s%s", what, damaged ? said : "right",
           seen == damaged ? "" : " (not)");
}

#define TRY(member, value, damaged)                                                                \
    do {                                                                                           \
        begin();                                                                                   \
        (member) = (value);                                                                        \
        is(damaged, true, damaged ? header : NULL, #member " = " #value);                          \
        end();                                                                                     \
    } while (0)

static void heads(void)
{
    TRY(header->magic, header->magic + 1, 1);
    TRY(header->version, header->version + 1, 1);
    TRY(header->ranks, RANKS - 1, 1);
    TRY(header->ranks, RANKS + 1, 1);
    TRY(header->units, header->units - 1, 1);
    TRY(header->units, header->units + 1, 1);
    TRY(header->image_count, BUFFERS_IMAGES, 0);
    TRY(header->image_count, BUFFERS_IMAGES + 1, 1);
    TRY(header->paths_used, BUFFERS_PATHS, 0);
    TRY(header->paths_used, BUFFERS_PATHS + 1, 1);
    TRY(header->next_unit, buffers_first_unit(), 0);
    TRY(header->next_unit, buffers_first_unit() - 1, 1);
    TRY(header->next_unit, header->units + 1, 1);
    TRY(header->freed, header->next_unit, 0);
    TRY(header->freed, header->next_unit + 1, 1);
    begin();
    uint64_t used = header->next_unit;
    header->next_unit = header->units;
    is(1, true, (char *)header + used * UNIT, "more units than are chunks'");
    is(0, false, NULL, "which a rank took that was killed");
    header->next_unit = header->units + 1;
    header->lost = 1;
    is(0, true, NULL, "more units than there are, and somebody found no room");
    end();
}

static void chunk_heads(void)
{
    for (int killed = 0; killed < 2; killed++) {
        int last[RANKS] = {0};
        begin();
        is(0, !killed, NULL, "as it was recorded");
        for (int i = 0; i < chunk_count; i++)
            last[chunks[i]->rank] = i;
        for (int i = 0; i < chunk_count; i++) {
            struct chunk *chunk = chunks[i];
            uint32_t rank = chunk->rank, sequence = chunk->sequence;
            chunk->rank = RANKS;
            is(1, !killed, chunk, "a rank that there is not");
            chunk->rank = rank;
            chunk->sequence++;
            is(1, !killed, chunk, "a chunk was left out");
            header->freed = 1;
            is(last[rank] == i ? 0 : 1, !killed, NULL,
               "which is right where some were dropped, but no number twice");
            if (sequence > 1) {
                chunk->sequence = sequence - 1;
                is(1, !killed, chunk, "nor a lower one");
            }
            header->freed = 0;
            if (sequence > 1)
                is(1, !killed, chunk, "nor where none were");
            chunk->sequence = 0;
            is(last[rank] == i || sequence == 0 ? 0 : 1, !killed, NULL,
               "a rank that begins anew counts from 0 again");
            chunk->sequence = sequence;
        }
        is(0, !killed, NULL, "as it was");
        end();
    }
}

/* By kind, how long a record is at least. */
static size_t least_of(int type)
{
    static const size_t least[] = {
        0,
        sizeof(struct record_rank),
        sizeof(struct record_op),
        sizeof(struct record_waits),
        sizeof(struct record_counts),
        sizeof(struct record_comm),
        sizeof(struct record_members),
        sizeof(struct record_string),
        sizeof(struct record_node),
        sizeof(struct record_edge),
        sizeof(struct record_pass),
        sizeof(struct record_note),
        sizeof(struct record_input),
        sizeof(struct record_objective),
        sizeof(struct record_gradient),
        sizeof(struct record_metric),
        sizeof(struct record_access),
        sizeof(struct record_sync),
        sizeof(struct record_repeat),
    };
    return type > 0 && type < (int)(sizeof least / sizeof *least) ? (least[type] + 7) / 8 * 8
                                                                  : SIZE_MAX;
}

static void kinds(void)
{
    begin();
    int wrong = 0;
    struct record_head *one = (void *)tails[0], *first = (void *)chunks[0]->records;
    for (int type = 0; type <= 255; type++) {
        size_t size = least_of(type);
        *one = (struct record_head){(uint16_t)(size == SIZE_MAX ? 1024 : size), (uint8_t)type, 0};
        wrong += look(true, one) != (size == SIZE_MAX);
        wrong += (record_least_size(type) + 7) / 8 * 8 != (size == SIZE_MAX ? 0 : size);
        if (size != SIZE_MAX) {
            one->size = (uint16_t)(size - 8);
            wrong += look(true, one) != 1; /* a record of no kind; without any size bytes of none */
            wrong += look(false, one) != (size > 8);
        }
        *one = (struct record_head){0};
    }
    tap_is_int(wrong, 0,
               "a record of each kind is as long as that at least, and there are no others");
    tap_ok(record_least_size(-1) == SIZE_MAX, "nor below");
    first->type = 0;
    is(1, true, first, "the first record is looked at");
    end();
}

static void tails_of(void)
{
    begin();
    for (int i = 0; i < chunk_count; i++) {
        char *from = tails[i], *to = (char *)chunks[i] + (size_t)chunks[i]->units * UNIT;
        size_t room = (size_t)(to - from);
        if (!room)
            continue;
        static const size_t places[] = {0, 1, 2, 9, LONGEST - 1, LONGEST, LONGEST + 1, SIZE_MAX};
        for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
            size_t at = places[k] == SIZE_MAX ? room - 1 : places[k];
            if (at >= room)
                continue;
            from[at] = 1; /* no record is of one byte, or of 256 that are more than there are */
            if (at != 1 || room < 256)
                is(1, true, from, "a byte behind the last record");
            if (at != 1)
                is(at >= LONGEST, false, from, "of a rank that was killed it may be a part of one");
            from[at] = 0;
        }
    }
    end();
}

static void gaps(void)
{
    begin();
    char *gap = (char *)chunks[gap_at - 1] + (size_t)chunks[gap_at - 1]->units * UNIT;
    struct chunk *label = (void *)gap;
    uint32_t units = label->units;
    size_t size = (size_t)units * UNIT;
    tap_ok(units > 2 && gap + size == (char *)chunks[gap_at], "there is a gap of %u units", units);
    static const size_t places[] = {HEAD, HEAD + 1, UNIT, SIZE_MAX};
    for (int killed = 0; killed < 2; killed++)
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            char *at = gap + (places[i] == SIZE_MAX ? size - 1 : places[i]);
            *at = 1;
            is(1, !killed, gap, "a byte in it");
            *at = 0;
            is(0, !killed, NULL, "without it");
        }
    struct chunk kept = *label;
    *label = (struct chunk){0};
    is(1, true, gap, "it has no label");
    is(0, false, NULL, "as a rank was killed in that moment");
    gap[UNIT - 1] = 1;
    is(1, false, gap, "but nothing else either");
    gap[UNIT - 1] = 0;
    *label = kept;
    label->units = 1;
    is(1, true, gap, "what is behind a label of one unit has none");
    is(0, false, NULL, "as ranks were killed");
    struct chunk *second = (void *)(gap + UNIT);
    *second = kept;
    second->units = units - 1;
    is(0, true, NULL, "two labels");
    second->units = units;
    is(1, true, NULL, "of which one covers what is no gap");
    end();
    begin();
    struct chunk *last = chunks[chunk_count - 1];
    const char *from =
        (char *)chunks[chunk_count - 2] + (size_t)chunks[chunk_count - 2]->units * UNIT;
    last->magic = 0;
    is(1, true, from, "the last chunk has no label");
    is(0, false, NULL, "which is right where a rank was killed");
    memset(last, 0, (size_t)last->units * UNIT);
    is(1, true, from, "nor was it written");
    header->lost = 1;
    is(0, true, NULL, "as there was no room for it");
    header->lost = 0;
    header->freed = 1;
    is(0, true, NULL, "or others were dropped: what lies there is not looked at");
    end();
    begin();
    memset(chunks[2], 0, (size_t)chunks[2]->units * UNIT);
    is(1, true, chunks[2], "one in the middle");
    is(1, false, chunks[5], "whose rank has later ones");
    header->freed = 1;
    is(0, true, NULL, "as it may be where it was dropped");
    end();
    begin();
    header->freed = 1;
    gap = (char *)chunks[gap_at - 1] + (size_t)chunks[gap_at - 1]->units * UNIT;
    gap[HEAD] = 1;
    is(0, true, NULL, "where some were dropped gaps are not looked at");
    end();
}

int main(void)
{
    void (*const all[])(void) = {heads, chunk_heads, kinds, tails_of, gaps};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        all[i]();
    return tap_done();
}
