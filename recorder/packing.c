/* Packing of records: see packing.h.
 *
 * A record stands as the number of its kind's slot and a bit for each of its 32-bit words that differs
 * from the record which was in that slot before; then, for each of those, by how much, small numbers
 * in one byte. One that is not like it in size begins with SLOT_NEW and stands as it is. Either takes
 * the slot. */
#include "recorder/packing.h"
#include "traces/trace/kinds.h"
#include "traces/trace/trace.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 255, SLOT_NEW = 255, WORDS_MAX = 64, RECORD_MAX = WORDS_MAX * 4 };
/* At most: the slot, the bits, and five bytes for each word. */
enum { PACKED_MAX = 1 + 8 + WORDS_MAX * 5 };

static bool is_settled(const struct record_op *op)
{
    int kind = op->head.small;
    bool windows = op_kind_on_window(kind);
    bool matched = kind == OP_MRECV || kind == OP_IMRECV || kind == OP_MPROBE || kind == OP_IMPROBE;
    return op->state == STATE_COMPLETE && !windows && !matched && !op->pass && !op->node;
}

static uint32_t slot_of(const uint32_t *record, size_t size)
{
    struct record_head head;
    memcpy(&head, record, sizeof head);
    uint64_t key = (uint64_t)size << 16 | (uint32_t)head.type << 8 | head.small;
    if (head.type == RECORD_OP) {
        struct record_op op;
        memcpy(&op, record, sizeof op);
        key ^= op.site * 0x9e3779b97f4a7c15u;
    }
    key *= 0xbf58476d1ce4e5b9u;
    return (uint32_t)((key >> 32) % SLOTS);
}

static unsigned char *put_number(unsigned char *to, uint32_t number)
{
    while (number >= 0x80) {
        *to++ = (unsigned char)(number | 0x80);
        number >>= 7;
    }
    *to++ = (unsigned char)number;
    return to;
}

static const unsigned char *get_number(const unsigned char *from, uint32_t *number)
{
    uint32_t value = *from & 0x7f;
    for (int shift = 7; *from++ & 0x80; shift += 7)
        value |= (uint32_t)(*from & 0x7f) << shift;
    *number = value;
    return from;
}

/* Small ones for small differences of either sign. */
static uint32_t folded(uint32_t difference)
{
    return difference << 1 ^ (uint32_t) - (difference >> 31);
}

static uint32_t unfolded(uint32_t number)
{
    return number >> 1 ^ (uint32_t) - (number & 1);
}

struct slot {
    size_t size;
    uint32_t words[WORDS_MAX];
};

static unsigned char *pack_record(struct slot *slots, const uint32_t *record, size_t size,
                                  unsigned char *to)
{
    uint32_t number = slot_of(record, size);
    struct slot *slot = &slots[number];
    if (slot->size != size) {
        *to++ = SLOT_NEW;
        memcpy(to, record, size);
        to += size;
    } else {
        size_t words = size / 4;
        uint64_t bits = 0;
        for (size_t i = 0; i < words; i++)
            bits |= (uint64_t)(record[i] != slot->words[i]) << i;
        *to++ = (unsigned char)number;
        memcpy(to, &bits, words > 32 ? 8 : 4);
        to += words > 32 ? 8 : 4;
        for (; bits; bits &= bits - 1) {
            int i = __builtin_ctzll(bits);
            to = put_number(to, folded(record[i] - slot->words[i]));
        }
    }
    slot->size = size;
    memcpy(slot->words, record, size);
    return to;
}

static bool all_zero(const char *from, const char *end)
{
    return from >= end || (*from == 0 && memcmp(from, from + 1, (size_t)(end - from) - 1) == 0);
}

/* Bytes of its records, 0: it must stay; and how many are operations. */
static size_t settled_size(const struct chunk *chunk, uint32_t units, uint32_t *ops)
{
    const struct record_head *record = NULL, *next;
    const char *end = (const char *)chunk + (size_t)units * BUFFERS_UNIT, *from = chunk->records;
    for (; (next = buffers_record_within(chunk, units, record)) != NULL; record = next) {
        bool op = next->type == RECORD_OP;
        if (next->size < record_least_size(next->type) || next->size > RECORD_MAX ||
            (!op && next->type != RECORD_WAITS && next->type != RECORD_COUNTS) ||
            (op && !is_settled((const struct record_op *)(const void *)next)))
            return 0;
        *ops += op;
        from = (const char *)next + next->size;
    }
    return all_zero(from, end) ? (size_t)(from - chunk->records) : 0;
}

bool packing_can(const struct chunk *chunk, uint32_t units)
{
    uint32_t ops = 0;
    return settled_size(chunk, units, &ops) > 0;
}

struct packed *packing_pack(const struct chunk *chunk, uint32_t units)
{
    uint32_t ops = 0;
    size_t records = settled_size(chunk, units, &ops);
    /* Larger than what comes out: a record that is not new is at most so much larger. */
    size_t room = sizeof(struct packed) + records + records / 2 + PACKED_MAX;
    struct packed *packed = records ? malloc(room) : NULL;
    struct slot *slots = packed ? calloc(SLOTS, sizeof *slots) : NULL;
    if (!slots) {
        free(packed);
        return NULL;
    }
    packed->rank = chunk->rank;
    packed->sequence = chunk->sequence;
    packed->units = units;
    packed->ops = ops;
    unsigned char *to = packed->bytes;
    for (size_t at = 0; at < records;) {
        uint32_t record[WORDS_MAX]; /* read once: the program under test can write there */
        uint16_t size = *(const volatile uint16_t *)(const void *)(chunk->records + at);
        size_t used = (size_t)(to - packed->bytes);
        if (size < sizeof(struct record_head) || size % 8 || size > RECORD_MAX ||
            size > records - at || used + PACKED_MAX > room - sizeof *packed) {
            free(slots);
            free(packed);
            return NULL;
        }
        memcpy(record, chunk->records + at, size);
        memcpy(record, &size, sizeof size);
        to = pack_record(slots, record, size, to);
        at += size;
    }
    free(slots);
    packed->size = (size_t)(to - packed->bytes);
    struct packed *tight = realloc(packed, sizeof *packed + packed->size);
    return tight ? tight : packed;
}

struct chunk *packing_unpack(const struct packed *packed)
{
    size_t all = (size_t)packed->units * BUFFERS_UNIT;
    struct chunk *chunk = malloc(all);
    struct slot *slots = chunk ? calloc(SLOTS, sizeof *slots) : NULL;
    if (!slots) {
        free(chunk);
        return NULL;
    }
    *chunk =
        (struct chunk){.rank = packed->rank, .sequence = packed->sequence, .units = packed->units};
    const unsigned char *from = packed->bytes, *end = packed->bytes + packed->size;
    char *to = chunk->records;
    while (from < end) {
        uint32_t record[WORDS_MAX];
        struct record_head head;
        size_t size;
        if (*from == SLOT_NEW) {
            memcpy(&head, ++from, sizeof head);
            size = head.size;
            memcpy(record, from, size);
            from += size;
        } else {
            const struct slot *slot = &slots[*from++];
            uint64_t bits = 0;
            size = slot->size;
            memcpy(&bits, from, size > 128 ? 8 : 4);
            from += size > 128 ? 8 : 4;
            memcpy(record, slot->words, size);
            for (; bits; bits &= bits - 1) {
                uint32_t number;
                from = get_number(from, &number);
                record[__builtin_ctzll(bits)] += unfolded(number);
            }
        }
        struct slot *slot = &slots[slot_of(record, size)];
        slot->size = size;
        memcpy(slot->words, record, size);
        memcpy(to, record, size);
        to += size;
    }
    free(slots);
    memset(to, 0, (size_t)((char *)chunk + all - to));
    return chunk;
}
