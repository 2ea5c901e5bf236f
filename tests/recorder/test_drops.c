/* Letting go of the oldest records, against lists that are gone through from their start: random
 * records of ranks that write as they like, some of which must be kept, and loops whose iterations
 * stand as a number. After each look: what is gone was old and complete, the oldest went first, and
 * no more than was needed; in the end the numbers of operations, what is left over of each channel,
 * and which collectives are gone for somebody. */
#include "tests/dice.h"
#include "tests/tap.h"

#include "recorder/drops.h"
#include "traces/trace/trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 3, COMMS = 4, UNKNOWN = COMMS, TAGS = 2, CHUNKS = 2000, ITEMS = 60000 };

struct item {             /* an operation, or the iterations of one in a loop */
    uint64_t first, each; /* number; numbers, and collectives there, from one to the next */
    uint64_t times, collectives;
    uint32_t rank, piece, comm;
    struct record_op op;     /* as it was written */
    struct record_op *where; /* NULL: iterations */
    uint32_t next;           /* of the same chunk, from 1 */
    bool gone;
};

struct piece { /* a chunk */
    const struct chunk *chunk;
    uint32_t rank, units, ordinal;
    uint64_t from; /* its first number; and how many there are */
    uint64_t count;
    bool other, dropped, seen; /* other: it has a record that must be kept */
    uint32_t packed;           /* units that it counts for then; 0: it is not */
    uint32_t items;            /* the last of them, from 1 */
};

static struct test {
    struct buffers buffers;
    struct drops drops;
    struct buffers_writer writers[RANKS];
    uint64_t ops[RANKS], dice;
    uint32_t pieces_of[RANKS], piece[RANKS], sequence[RANKS][COMMS];
    uint64_t keys[COMMS];
    struct piece pieces[CHUNKS];
    struct item items[ITEMS];
    uint32_t piece_count, item_count;
    bool spoils[RANKS]; /* this chunk may have what must be kept */
    int wrong[9];
} test;

enum { AGE, ORDER, ENOUGH, MARKS, GONE, MEMORY, UNITS, SETTLED, ANSWER };
static const char *const sentences[] = {
    "what is gone was old and complete",
    "the oldest went first",
    "what goes is needed, and enough where there is as much",
    "what is kept and looked at is marked where it is complete",
    "what is marked is complete, and stays so",
    "the memory of what is gone is the system's, and no other",
    "as many units are free as are gone",
    "and settled are those that nobody packs",
    "a look says whether the memory was nearly used up",
};

static void wrong(int what, bool is)
{
    test.wrong[what] += is;
}

/* ---- what is written ---- */

static char *room(uint32_t rank, size_t size)
{
    struct buffers_writer *writer = &test.writers[rank];
    if (writer->end - writer->next < (ptrdiff_t)size) {
        uint64_t limit = test.buffers.limit;
        test.buffers.limit = 0; /* nobody would make room while this waits for it */
        if (!buffers_more(&test.buffers, writer, size))
            abort();
        test.buffers.limit = limit;
        size_t bytes = (size_t)writer->units * BUFFERS_UNIT;
        struct piece *piece = &test.pieces[test.piece_count];
        *piece = (struct piece){.chunk = (const void *)(writer->end - bytes),
                                .rank = rank,
                                .units = writer->units,
                                .ordinal = test.pieces_of[rank]++,
                                .from = test.ops[rank]};
        test.piece[rank] = test.piece_count++;
        test.spoils[rank] = dice_below(&test.dice, 3) == 0;
    }
    return writer->next;
}

static void commit(uint32_t rank, void *record, enum record_type type, int small, size_t size)
{
    struct record_head *head = record;
    *head = (struct record_head){(uint16_t)size, (uint8_t)type, (uint8_t)small};
    test.writers[rank].next += size;
    if (type != RECORD_OP && type != RECORD_WAITS && type != RECORD_COUNTS && type != RECORD_REPEAT)
        test.pieces[test.piece[rank]].other = true;
}

static void put_other(uint32_t rank, enum record_type type, size_t size)
{
    void *record = room(rank, size);
    commit(rank, record, type, 0, size);
}

/* Every rank has its own numbers, some of them far apart. */
static uint32_t number_of(uint32_t rank, uint32_t comm)
{
    static const uint32_t numbers[][COMMS] = {{1, 2, 40, 41}, {3, 100, 1, 2}, {5, 6, 7, 300}};
    return comm < COMMS ? numbers[rank][comm] : rank ? 50 : 1 << 24;
}

static void put_comm(uint32_t rank, uint32_t number, uint32_t comm, uint8_t small)
{
    struct record_comm *record = (void *)room(rank, sizeof *record);
    record->number = number;
    record->id = comm == 0 ? 1000 + rank : 2 * comm + 2; /* not asked of the world */
    commit(rank, record, RECORD_COMM, small | (comm ? 0 : RECORD_COMM_WORLD), sizeof *record);
    uint64_t key = drops_comm_key(record);
    if (small == 0 && comm < COMMS) {
        tap_state.failed += test.keys[comm] && test.keys[comm] != key;
        test.keys[comm] = key;
    }
}

static bool is_complete(const struct item *item)
{
    static const uint8_t held[] = {OP_MRECV, OP_IMRECV, OP_MPROBE, OP_IMPROBE};
    const struct record_op *op = &item->op;
    enum op_class class = op_kind_class(op->head.small);
    bool message = class == CLASS_SEND || class == CLASS_RECEIVE;
    if (op->state != STATE_COMPLETE || op->pass || op->node ||
        !strncmp(op_kind_name(op->head.small), "Win_", 4) ||
        memchr(held, op->head.small, sizeof held))
        return false;
    if (class == CLASS_COLLECTIVE)
        return item->comm < COMMS;
    if (message && op->peer != RECORD_NONE)
        return item->comm < COMMS &&
               (op->peer >= 0 || (class == CLASS_RECEIVE && op->peer_matched >= 0)) &&
               (op->tag >= 0 || (class == CLASS_RECEIVE && op->tag_matched >= 0));
    return message || class == CLASS_PROBE || class == CLASS_WAIT;
}

static struct record_op some_op(void)
{
    static const uint8_t kinds[] = {OP_SEND,  OP_ISEND,   OP_SSEND,     OP_RECV,
                                    OP_IRECV, OP_PROBE,   OP_IPROBE,    OP_WAIT,
                                    OP_BCAST, OP_BARRIER, OP_ALLREDUCE, OP_COMM_SPLIT};
    struct record_op op = {
        .state = STATE_COMPLETE, .peer_matched = RECORD_NONE, .tag_matched = RECORD_NONE};
    op.head.small = kinds[dice_below(&test.dice, sizeof kinds)];
    bool receives = op_kind_class(op.head.small) == CLASS_RECEIVE;
    op.peer = op.peer_matched = (int32_t)dice_below(&test.dice, RANKS);
    op.tag = op.tag_matched = (int32_t)dice_below(&test.dice, TAGS);
    if (!receives) /* which says nothing of them */
        op.peer_matched = op.tag_matched = (int32_t)dice_below(&test.dice, 3) - 2;
    else if (dice_below(&test.dice, 2))
        op.peer = TRACE_ANY;
    else if (dice_below(&test.dice, 2))
        op.tag = TRACE_ANY;
    else if (dice_below(&test.dice, 2))
        op.peer_matched = op.tag_matched = RECORD_NONE;
    if (dice_below(&test.dice, 9) == 0)
        op.peer = op.peer_matched = RECORD_NONE;
    return op;
}

/* Made one that must be kept; of a posted one until it is complete. Those of loops are complete, and of no node. */
static void spoil(struct record_op *op, uint32_t *comm, bool loop)
{
    static const uint8_t held[] = {OP_MRECV,     OP_IMRECV, OP_MPROBE,  OP_IMPROBE,
                                   OP_WIN_FENCE, OP_INIT,   OP_COMPUTE, OP_PUT};
    switch (loop ? 5 + dice_below(&test.dice, 4) : dice_below(&test.dice, 9)) {
    case 0:
    case 1:
        op->state = STATE_POSTED;
        break;
    case 2:
        op->pass = 1;
        break;
    case 3:
        op->node = 1;
        break;
    case 4:
        op->state = STATE_CANCELLED;
        break;
    case 5: /* of no channel */
        op->peer = op->peer_matched = TRACE_ANY;
        break;
    case 6:
        op->tag = op->tag_matched = TRACE_ANY;
        break;
    case 7:
        *comm = UNKNOWN;
        break;
    default:
        op->head.small = held[dice_below(&test.dice, sizeof held)];
        if (dice_below(&test.dice, 2))
            op->peer = op->peer_matched = RECORD_NONE;
    }
}

static struct item *add_item(uint32_t rank, const struct record_op *op, uint32_t comm)
{
    struct item *item = &test.items[test.item_count++];
    *item =
        (struct item){.rank = rank, .piece = test.piece[rank], .comm = comm, .op = *op, .times = 1};
    item->next = test.pieces[item->piece].items;
    test.pieces[item->piece].items = test.item_count;
    return item;
}

static void put_op(uint32_t rank, bool may_spoil, bool loop)
{
    struct record_op op = some_op();
    uint32_t comm = dice_below(&test.dice, COMMS);
    if (may_spoil && dice_below(&test.dice, 40) == 0)
        spoil(&op, &comm, loop);
    op.comm = number_of(rank, comm);
    if (op_kind_class(op.head.small) == CLASS_COLLECTIVE && comm < COMMS)
        op.comm_seq = test.sequence[rank][comm]++;
    struct record_op *record = (void *)room(rank, sizeof op);
    *record = op;
    commit(rank, record, RECORD_OP, op.head.small, sizeof op);
    struct item *item = add_item(rank, record, comm);
    item->where = record;
    item->first = test.ops[rank]++;
    test.pieces[item->piece].count++;
}

/* One iteration as it is, and a number of further ones. */
static void put_loop(uint32_t rank)
{
    uint32_t body = 1 + dice_below(&test.dice, 6), times = dice_below(&test.dice, 9);
    (void)room(rank, body * sizeof(struct record_op) + sizeof(struct record_repeat));
    uint32_t first = test.item_count, collectives[COMMS] = {0};
    for (uint32_t i = 0; i < body; i++)
        put_op(rank, test.spoils[rank], true);
    for (uint32_t i = first; i < first + body; i++)
        if (test.items[i].comm < COMMS)
            collectives[test.items[i].comm] +=
                op_kind_class(test.items[i].op.head.small) == CLASS_COLLECTIVE;
    struct record_repeat *repeat = (void *)room(rank, sizeof *repeat);
    repeat->body = body;
    repeat->bytes = (uint32_t)(body * sizeof(struct record_op));
    repeat->times = times;
    commit(rank, repeat, RECORD_REPEAT, 0, sizeof *repeat);
    for (uint32_t i = first; i < first + body && times; i++) {
        struct item *item = add_item(rank, &test.items[i].op, test.items[i].comm);
        item->first = test.items[i].first + body;
        item->each = body;
        item->times = times;
        item->collectives = item->comm < COMMS ? collectives[item->comm] : 0;
    }
    for (int i = 0; i < COMMS; i++)
        test.sequence[rank][i] += times * collectives[i];
    test.ops[rank] += (uint64_t)times * body;
    test.pieces[test.piece[rank]].count += (uint64_t)times * body;
}

static void put_some(void)
{
    uint32_t rank = dice_below(&test.dice, 8) * RANKS / 8;
    bool spoils = test.spoils[rank];
    switch (dice_below(&test.dice, 20)) {
    case 0:
        put_other(rank, RECORD_WAITS, sizeof(struct record_waits));
        break;
    case 1:
        put_other(rank, RECORD_COUNTS, sizeof(struct record_counts) + 8);
        break;
    case 2:
        put_loop(rank);
        break;
    case 3:
        if (spoils && dice_below(&test.dice, 9) == 0)
            put_other(rank, RECORD_EDGE, sizeof(struct record_edge));
        break;
    default:
        put_op(rank, spoils, false);
    }
}

/* What was under way is complete now. */
static void go_on(void)
{
    for (uint32_t i = 0; i < test.item_count; i++) {
        struct item *item = &test.items[i];
        if (item->where && item->op.state == STATE_POSTED && dice_below(&test.dice, 4) == 0)
            item->op.state = item->where->state = STATE_COMPLETE;
    }
}

/* ---- what is seen ---- */

static bool is_whole(uint32_t piece)
{
    bool whole = !test.pieces[piece].other;
    for (uint32_t i = test.pieces[piece].items; i && whole; i = test.items[i - 1].next)
        whole = is_complete(&test.items[i - 1]);
    return whole;
}

static const struct drops_place *place_of(uint32_t piece)
{
    for (size_t i = 0; i < test.drops.place_count; i++)
        if (test.drops.places[i].chunk == test.pieces[piece].chunk)
            return &test.drops.places[i];
    return NULL;
}

static uint64_t unit_of(const struct piece *piece)
{
    return (uint64_t)((const char *)piece->chunk - (const char *)test.buffers.header) /
           BUFFERS_UNIT;
}

/* Which of a kept chunk's operations are marked, and that this is right. */
static void look_marks(uint32_t number, bool before, const struct drops_place *place)
{
    struct piece *piece = &test.pieces[number];
    struct chunk *opened = place->packed ? packing_unpack(place->packed) : NULL;
    const char *records = (const char *)(opened ? opened : piece->chunk);
    for (uint32_t i = piece->items; i; i = test.items[i - 1].next) {
        struct item *item = &test.items[i - 1];
        bool marked = piece->seen && is_complete(item) && (!before || item->gone); /* iterations */
        if (item->where) {
            const struct record_op *op =
                (const void *)(records + ((const char *)item->where - (const char *)piece->chunk));
            marked = op->flags & RECORD_OP_CUT;
            wrong(MARKS, piece->seen && !before && is_complete(item) && !marked);
            wrong(GONE,
                  (marked && (!is_complete(item) || !piece->seen)) || (item->gone && !marked));
        }
        item->gone = marked;
    }
    free(opened);
}

static uint64_t kept_now(void)
{
    uint64_t freed = 0;
    for (uint32_t i = 0; i < test.piece_count; i++) {
        const struct piece *piece = &test.pieces[i];
        freed += piece->dropped ? piece->units : piece->packed ? piece->units - piece->packed : 0;
    }
    return buffers_used(&test.buffers) / BUFFERS_UNIT - freed;
}

static bool is_old(const struct piece *piece)
{
    return test.pieces_of[piece->rank] >= piece->ordinal + 3; /* two are newer */
}

static void relieve(bool packs)
{
    uint64_t limit = test.buffers.limit, before = kept_now(), after, last = 0;
    static bool stays[CHUNKS];
    bool pressed = before >= limit - limit / 4;
    bool said = drops_relieve(&test.drops);
    uint32_t newest = 0, fresh = 0;
    wrong(ANSWER, packs ? said && !pressed : said != pressed);
    for (uint32_t i = 0; i < test.piece_count; i++) {
        struct piece *piece = &test.pieces[i];
        const struct drops_place *place = place_of(i);
        stays[i] = false;
        if (!piece->dropped && !place) {
            wrong(AGE, !is_old(piece) || !is_whole(i) || !said);
            piece->dropped = piece->seen = true;
            newest = i + 1;
            last = piece->packed ? piece->packed : piece->units;
            for (uint32_t k = piece->items; k; k = test.items[k - 1].next)
                test.items[k - 1].gone = true;
        } else if (place) {
            bool seen = piece->seen;
            stays[i] = is_old(piece) && !seen;
            fresh += !seen && place->known;
            piece->seen = place->known;
            piece->packed = place->packed ? place->counts_for : 0;
            if (place->packed) { /* half of it at least: a trace is made of it */
                uint64_t least = (piece->units + 1) / 2,
                         own = (sizeof *place->packed + place->packed->size) / BUFFERS_UNIT + 1;
                own = own > piece->units ? piece->units : own;
                wrong(UNITS, piece->packed != (own > least ? own : least));
            }
            if (said || place->known)
                look_marks(i, seen, place);
        }
    }
    after = kept_now();
    wrong(UNITS, atomic_load(&test.buffers.header->freed) !=
                     buffers_used(&test.buffers) / BUFFERS_UNIT - after);
    wrong(ENOUGH, !packs && last && after + last <= limit / 2);
    for (uint32_t i = 0; i < test.piece_count; i++) {
        wrong(ORDER, stays[i] && i < newest && !test.pieces[i].seen);
        wrong(ENOUGH, said && stays[i] && after > limit / 2 &&
                          (!test.pieces[i].seen || (!test.pieces[i].dropped && is_whole(i))));
    }
    wrong(AGE, !said && fresh);
}

static void look_memory(bool packs)
{
    uint64_t settled = 0;
    for (uint32_t i = 0; i < test.piece_count; i++) {
        const struct piece *piece = &test.pieces[i];
        off_t at = (off_t)(unit_of(piece) * BUFFERS_UNIT),
              end = at + (off_t)piece->units * BUFFERS_UNIT;
        off_t data = lseek(test.buffers.file, at, SEEK_DATA);
        wrong(MEMORY, piece->dropped || piece->packed ? data >= 0 && data < end : data != at);
        settled += piece->units;
    }
    if (!packs)
        wrong(SETTLED, atomic_load(&test.buffers.header->settled) != settled);
}

/* ---- what is left over ---- */

static void look_numbers(const char *name)
{
    int bad = 0;
    uint64_t all = 0;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        unsigned char *gone = calloc(test.ops[rank] + 1, 1);
        for (uint32_t i = 0; i < test.piece_count; i++)
            if (test.pieces[i].rank == rank && test.pieces[i].dropped)
                memset(gone + test.pieces[i].from, 1, test.pieces[i].count);
        uint64_t before = 0, skip = 0;
        for (uint64_t n = 0; n < test.ops[rank]; n++) {
            bad += drops_before(&test.drops, rank, n) != (gone[n] ? UINT64_MAX : before);
            for (skip = n; (n == 0 || !gone[n - 1]) && gone[skip];)
                skip++;
            bad += drops_skip(&test.drops, rank, n) != skip;
            before += gone[n];
        }
        all += before;
        free(gone);
    }
    tap_is_int(bad, 0, "%s: each number that is left is known by how many before it are not", name);
    tap_is_int((long long)test.drops.ops, (long long)all, "%s: and so many are gone", name);
}

static int64_t sends[COMMS][RANKS][RANKS][TAGS];

static void look_balances(const char *name)
{
    uint64_t collectives[COMMS] = {0};
    int bad = 0;
    memset(sends, 0, sizeof sends);
    for (uint32_t i = 0; i < test.item_count; i++) {
        const struct item *item = &test.items[i];
        const struct record_op *op = &item->op;
        enum op_class class = op_kind_class(op->head.small);
        int64_t times = (int64_t)item->times;
        if (!item->gone)
            continue;
        if (class == CLASS_COLLECTIVE) {
            uint64_t last = op->comm_seq + (item->where ? 0 : item->times * item->collectives);
            collectives[item->comm] =
                last >= collectives[item->comm] ? last + 1 : collectives[item->comm];
        } else if (class == CLASS_SEND && op->peer >= 0) {
            sends[item->comm][item->rank][op->peer][op->tag] += times;
        } else if (class == CLASS_RECEIVE && op->peer != RECORD_NONE) {
            int32_t from = op->peer_matched >= 0 ? op->peer_matched : op->peer,
                    tag = op->tag_matched >= 0 ? op->tag_matched : op->tag;
            sends[item->comm][from][item->rank][tag] -= times;
        }
    }
    for (size_t i = 0; i < test.drops.channels.room; i++) {
        const struct balance *slot = &test.drops.channels.slots[i];
        for (int c = 0; slot->used && c < COMMS; c++)
            if (slot->comm == test.keys[c])
                sends[c][slot->source][slot->destination][slot->tag] -= slot->sends;
    }
    for (size_t i = 0; i < sizeof sends / sizeof(int64_t); i++)
        bad += (&sends[0][0][0][0])[i] != 0;
    tap_is_int(bad, 0, "%s: each channel has lost as many as were gone of it", name);
    bad = 0;
    for (int c = 0; c < COMMS; c++)
        bad += (uint64_t)(uintptr_t)handle_map_find(&test.drops.collectives, test.keys[c]) !=
               collectives[c];
    tap_is_int(bad, 0, "%s: it is known which collectives are gone for somebody", name);
}

static void run(const char *name, uint64_t seed, uint32_t most, uint32_t limit, int records)
{
    struct failure failure = {0};
    bool packs = most >= 32;
    memset(&test, 0, sizeof test);
    test.dice = seed;
    if (buffers_init(&test.buffers, RANKS, (size_t)1 << 28, &failure))
        abort();
    test.buffers.limit = limit;
    test.buffers.most = most;
    drops_init(&test.drops, &test.buffers, RANKS);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        test.writers[rank].rank = rank;
        put_other(rank, RECORD_RANK, sizeof(struct record_rank));
        for (uint32_t c = 0; c < COMMS; c++)
            put_comm(rank, number_of(rank, c), c, 0);
        put_comm(rank, number_of(rank, 1), 2, RECORD_COMM_ADJOINT); /* is still the one it was */
        put_comm(rank, number_of(0, UNKNOWN), 2, 0);                /* nobody has so many */
    }
    for (int i = 0; i < records && test.item_count < ITEMS - 20 && test.piece_count < CHUNKS - 1;
         i++) {
        put_some();
        if (i % 100 == 99) {
            relieve(packs);
            go_on();
        }
    }
    relieve(packs);
    look_memory(packs);
    uint32_t dropped = 0;
    for (uint32_t i = 0; i < test.piece_count; i++)
        dropped += test.pieces[i].dropped;
    tap_ok(dropped > 2 * RANKS && dropped < test.piece_count, "%s: %u of %u chunks are dropped",
           name, dropped, test.piece_count);
    for (unsigned i = 0; i < sizeof sentences / sizeof *sentences; i++)
        tap_is_int(test.wrong[i], 0, "%s: %s", name, sentences[i]);
    drops_settle(&test.drops);
    tap_ok(!drops_damaged(&test.drops), "%s: nobody wrote over it", name);
    look_numbers(name);
    look_balances(name);
    drops_release(&test.drops);
    buffers_release(&test.buffers);
}

/* ---- what no recorder wrote ---- */

static struct buffers_header *begin_simple(uint32_t ranks)
{
    struct failure failure = {0};
    memset(&test, 0, sizeof test);
    test.dice = 9;
    if (buffers_init(&test.buffers, RANKS, (size_t)1 << 26, &failure))
        abort();
    test.buffers.most = 2;
    drops_init(&test.drops, &test.buffers, ranks);
    return test.buffers.header;
}

static void end_simple(void)
{
    drops_release(&test.drops);
    buffers_release(&test.buffers);
}

/* Chunks of one rank, of complete waits; of the first the place of its last operation. */
static struct record_op *put_waits(uint32_t rank, uint32_t chunks)
{
    struct record_op *last = NULL;
    test.writers[rank].rank = rank;
    for (uint32_t first = test.piece_count; test.piece_count <= first + chunks;) {
        struct record_op *op = (void *)room(rank, sizeof *op);
        if (test.piece_count > first + chunks)
            break;
        op->state = STATE_COMPLETE;
        commit(rank, op, RECORD_OP, OP_WAIT, sizeof *op);
        if (test.piece_count == first + 1)
            last = op;
    }
    return last;
}

/* Where nearly all memory is used up. */
static void press(void)
{
    test.buffers.limit = buffers_used(&test.buffers) / BUFFERS_UNIT;
    drops_relieve(&test.drops);
}

static void no_recorders(void)
{
    struct buffers_header *header = begin_simple(RANKS);
    put_waits(0, 6);
    press();
    tap_ok(test.drops.ops > 0 && !test.drops.failed && atomic_load(&header->relieved),
           "complete operations go");
    struct chunk *kept =
        (void *)(test.writers[0].end - (size_t)test.writers[0].units * BUFFERS_UNIT);
    tap_ok(!drops_damaged(&test.drops), "what stays is as it was");
    kept->rank = 1;
    tap_ok(drops_damaged(&test.drops), "another rank's all at once");
    kept->rank = 0;
    kept->units++;
    tap_ok(drops_damaged(&test.drops), "or larger");
    kept->units--;
    tap_ok(!drops_damaged(&test.drops), "and again as it was");
    end_simple();

    header = begin_simple(2);
    put_waits(2, 1);
    put_waits(0, 5);
    press();
    tap_ok(test.drops.failed && drops_damaged(&test.drops) && !test.drops.ops &&
               !atomic_load(&header->relieved),
           "a chunk of a rank that there is not: nothing is let go of any more");
    end_simple();

    header = begin_simple(RANKS);
    put_waits(0, 2);
    test.writers[0] = (struct buffers_writer){0};
    put_waits(0, 5);
    press();
    tap_ok(test.drops.failed && !drops_damaged(&test.drops) && !atomic_load(&header->relieved),
           "nor of a rank that begins anew");
    end_simple();

    static const uint16_t sizes[] = {sizeof(struct record_op) - 8, 8, 0, 3};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        header = begin_simple(RANKS);
        struct record_op *last = put_waits(0, 6);
        last->head.size = sizes[i];
        press();
        bool none = sizes[i] < 8; /* the chunk ends there */
        tap_ok(test.drops.failed == !none && (test.drops.ops > 0) == none, "a record of %d bytes%s",
               sizes[i], none ? " is none" : " is no recorder's");
        end_simple();
    }
}

/* A loop's number of bytes is not what it was, or they are no records. */
static void no_loops(void)
{
    static const uint32_t bytes[] = {
        0, 8, UINT32_MAX, 1 << 20, sizeof(struct record_op), 2 * sizeof(struct record_op)};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        for (int broken = 0; broken < 2; broken++) {
            begin_simple(RANKS);
            struct record_op *op[2];
            test.writers[0].rank = 0;
            put_comm(0, 1, 0, 0);
            for (int k = 0; k < 2; k++) {
                op[k] = (void *)room(0, sizeof **op);
                *op[k] =
                    (struct record_op){.state = STATE_COMPLETE, .comm = 1, .peer = 1, .tag = k};
                commit(0, op[k], RECORD_OP, OP_SEND, sizeof **op);
            }
            struct record_repeat *repeat = (void *)room(0, sizeof *repeat);
            repeat->body = 2;
            repeat->bytes = bytes[i];
            repeat->times = 10;
            commit(0, repeat, RECORD_REPEAT, 0, sizeof *repeat);
            put_waits(0, 4);
            if (broken)
                op[1]->head.type = RECORD_EDGE;
            press();
            bool one = bytes[i] == sizeof **op, both = bytes[i] == 2 * sizeof **op;
            struct balance channel = {.comm = test.keys[0], .source = 0, .destination = 1};
            int gone[2] = {0};
            for (channel.tag = 0; channel.tag < 2; channel.tag++)
                while (balances_take(&test.drops.channels, &channel, false))
                    gone[channel.tag]++;
            tap_ok(gone[0] == 1 + (both ? 10 : 0) &&
                       gone[1] == (broken ? 0 : 1 + (one || both ? 10 : 0)),
                   "a loop of %u bytes%s: %d and %d messages are gone", bytes[i],
                   broken ? ", one of them no operation" : "", gone[0], gone[1]);
            end_simple();
        }
}

/* Where nothing can go for long, ranks do not wait for it; as soon as something does they may. */
static void in_vain(void)
{
    struct buffers_header *header = begin_simple(RANKS);
    struct record_op *last = put_waits(0, 2);
    last->state = STATE_POSTED;
    tap_ok(atomic_load(&header->relieved), "at first ranks wait for room");
    press();
    int looks = 1;
    for (; atomic_load(&header->relieved) && looks < 200; looks++)
        press();
    tap_ok(looks > 5 && looks < 100 && !test.drops.ops,
           "after %d looks in vain nobody waits for more room", looks);
    last->state = STATE_COMPLETE;
    for (int i = 0; i < 4 && !test.drops.ops; i++)
        press();
    tap_ok(test.drops.ops > 0 && atomic_load(&header->relieved),
           "what could not go goes when it is complete, and ranks wait again");
    end_simple();
}

int main(void)
{
    no_recorders();
    no_loops();
    in_vain();
    run("small chunks", 1, 2, 40, 9000);
    run("chunks", 2, 16, 130, 12000);
    run("chunks and less room", 3, 7, 30, 9000);
    run("chunks that are packed", 4, 32, 200, 16000);
    return tap_done();
}
