/* Letting go of the oldest records: see drops.h. */
#include "recorder/drops.h"
#include "traces/trace/kinds.h"
#include "traces/trace/trace.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { NEWER_MIN = 2, IN_VAIN_MAX = 20, WORLD_KEY = 2, PACK_UNITS_MIN = 32 };

uint64_t drops_comm_key(const struct record_comm *record)
{
    return record->head.small & RECORD_COMM_WORLD ? WORLD_KEY : record->id | 1;
}

static void *grown(struct drops *drops, void *items, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return items;
    size_t wanted = *room ? *room * 2 : 64;
    void *more = realloc(items, wanted * size);
    if (!more) {
        drops->failed = true;
        return items;
    }
    *room = wanted;
    return more;
}

void drops_init(struct drops *drops, struct buffers *buffers, uint32_t ranks)
{
    *drops = (struct drops){
        .buffers = buffers,
        .ranks = ranks,
        .of = calloc(ranks, sizeof(struct drops_rank)),
        .blocks = calloc(buffers->size / BUFFERS_UNIT / BUFFERS_BLOCK + 1, sizeof(uint16_t))};
    drops->failed = !drops->of || !drops->blocks;
    atomic_store(&buffers->header->relieved, !drops->failed);
}

void drops_release(struct drops *drops)
{
    for (uint32_t rank = 0; drops->of && rank < drops->ranks; rank++) {
        free(drops->of[rank].comms);
        free(drops->of[rank].gaps);
    }
    for (size_t i = 0; i < drops->place_count; i++)
        free(drops->places[i].packed);
    free(drops->of);
    free(drops->blocks);
    free(drops->places);
    free(drops->untried);
    balances_release(&drops->channels);
    handle_map_release(&drops->collectives);
    *drops = (struct drops){0};
}

/* ---- what is gone ---- */

bool drops_channel(uint32_t rank, const struct record_op *op, struct balance *channel)
{
    enum op_class class = op_kind_class(op->head.small);
    bool sends = class == CLASS_SEND;
    if (!sends && class != CLASS_RECEIVE)
        return false;
    int32_t peer = sends || op->peer_matched < 0 ? op->peer : op->peer_matched;
    int32_t tag = sends || op->tag_matched < 0 ? op->tag : op->tag_matched;
    if (peer < 0 || tag < 0)
        return false;
    channel->source = sends ? (int32_t)rank : peer;
    channel->destination = sends ? peer : (int32_t)rank;
    channel->tag = tag;
    return true;
}

static uint64_t comm_of(const struct drops_rank *of, uint32_t number)
{
    return number < of->comm_room ? of->comms[number] : 0;
}

static void set_comm(struct drops *drops, struct drops_rank *of, const struct record_comm *record)
{
    uint32_t number = *(const volatile uint32_t *)&record->number; /* once: ranks still run */
    if (record->head.small & RECORD_COMM_ADJOINT || number >= 1u << 24)
        return;
    if (number >= of->comm_room) {
        uint32_t room = (number + 8) * 2;
        uint64_t *comms = realloc(of->comms, room * sizeof *comms);
        if (!comms) {
            drops->failed = true;
            return;
        }
        memset(comms + of->comm_room, 0, (room - of->comm_room) * sizeof *comms);
        of->comms = comms;
        of->comm_room = room;
    }
    of->comms[number] = drops_comm_key(record);
}

/* The first `count` collectives on it are gone for somebody. */
static void set_collectives(struct drops *drops, uint64_t comm, uint64_t count)
{
    uintptr_t known = (uintptr_t)handle_map_find(&drops->collectives, comm);
    if (known >= count)
        return;
    handle_map_remove(&drops->collectives, comm);
    if (!handle_map_add(&drops->collectives, comm, (void *)(uintptr_t)count))
        drops->failed = true;
}

/* A complete operation is gone, `times` times; `each`: collectives on its communicator from one
 * time to the next. */
static void account(struct drops *drops, uint32_t rank, const struct record_op *op, uint64_t times,
                    uint64_t each)
{
    struct balance channel = {.comm = comm_of(&drops->of[rank], op->comm)};
    enum op_class class = op_kind_class(op->head.small);
    if (class == CLASS_COLLECTIVE) {
        set_collectives(drops, channel.comm, op->comm_seq + times * each + 1);
    } else if (drops_channel(rank, op, &channel)) {
        channel.sends = class == CLASS_SEND ? (int64_t)times : -(int64_t)times;
        balances_add(&drops->channels, &channel);
    }
}

/* Nothing but its partners can ask for it any more. */
static bool is_plain(const struct drops_rank *of, const struct record_op *op)
{
    struct balance channel;
    enum op_class class = op_kind_class(op->head.small);
    bool windows = op_kind_on_window(op->head.small);
    bool matched = op->head.small == OP_MRECV || op->head.small == OP_IMRECV ||
                   op->head.small == OP_MPROBE || op->head.small == OP_IMPROBE;
    if (op->state != STATE_COMPLETE || windows || matched || op->pass || op->node)
        return false;
    if (class == CLASS_PROBE || class == CLASS_WAIT)
        return true;
    if (class == CLASS_COLLECTIVE)
        return comm_of(of, op->comm) != 0;
    return (class == CLASS_SEND || class == CLASS_RECEIVE) &&
           (op->peer == RECORD_NONE || (comm_of(of, op->comm) && drops_channel(0, op, &channel)));
}

/* Of its iterations what would be marked if they were kept: the template is, and they are made of it. */
static void account_repeat(struct drops *drops, const struct drops_place *place,
                           const struct record_repeat *repeat)
{
    const char *end = (const char *)repeat, *begin = end - repeat->bytes;
    if (begin < place->chunk->records || !repeat->times)
        return;
    const struct record_head *head;
    for (const char *at = begin; at < end; at += head->size) {
        const struct record_op *op = (const void *)at;
        uint64_t each = 0;
        head = (const void *)at;
        if (head->size < sizeof *head)
            return;
        if (head->type != RECORD_OP || !is_plain(&drops->of[place->rank], op))
            continue;
        const struct record_head *other;
        for (const char *one = begin; one < end; one += other->size) {
            other = (const void *)one;
            if (other->size < sizeof *other)
                return;
            each += other->type == RECORD_OP && op_kind_class(other->small) == CLASS_COLLECTIVE &&
                    ((const struct record_op *)(const void *)one)->comm == op->comm;
        }
        account(drops, place->rank, op, repeat->times, each);
    }
}

/* ---- one chunk ---- */

static const struct record_head *next_record(const struct drops_place *place,
                                             const struct record_head *record)
{
    return buffers_record_within(place->chunk, place->units, record);
}

/* Counts its operations and learns its communicators, the first time; true: it may be dropped. */
static bool look_at(struct drops *drops, struct drops_place *place)
{
    struct drops_rank *of = &drops->of[place->rank];
    bool plain = true;
    uint64_t count = 0;
    for (const struct record_head *record = next_record(place, NULL); record;
         record = next_record(place, record)) {
        const void *whole = record;
        if (record->size < record_least_size(record->type)) {
            drops->failed = true; /* no recorder's: see buffers_damaged */
            return false;
        }
        if (record->type == RECORD_OP)
            plain = is_plain(of, whole) && plain;
        else if (record->type == RECORD_COMM && !place->known)
            set_comm(drops, of, whole);
        plain = plain && (record->type == RECORD_OP || record->type == RECORD_WAITS ||
                          record->type == RECORD_COUNTS || record->type == RECORD_REPEAT);
        count += record->type == RECORD_OP;
        if (record->type == RECORD_REPEAT)
            count += ((const struct record_repeat *)whole)->times *
                     ((const struct record_repeat *)whole)->body;
    }
    if (!place->known) {
        place->first = of->ops;
        place->count = count;
        of->ops += count;
    }
    return plain;
}

/* Its complete operations are gone, or as good as gone. */
static void let_go(struct drops *drops, struct drops_place *place)
{
    const struct drops_rank *of = &drops->of[place->rank];
    for (const struct record_head *record = next_record(place, NULL); record;
         record = next_record(place, record)) {
        union {
            const void *from;
            struct record_op *op;
        } whole = {.from = record};
        if (record->type == RECORD_REPEAT && !place->known)
            account_repeat(drops, place, whole.from);
        if (record->type != RECORD_OP || whole.op->flags & RECORD_OP_CUT ||
            !is_plain(of, whole.from))
            continue;
        account(drops, place->rank, whole.op, 1, 0);
        whole.op->flags |= RECORD_OP_CUT;
    }
    place->known = true;
}

static void add_gap(struct drops *drops, const struct drops_place *place)
{
    struct drops_rank *of = &drops->of[place->rank];
    struct drops_gap *last = of->gap_count ? &of->gaps[of->gap_count - 1] : NULL;
    drops->ops += place->count;
    if (last && last->first + last->count == place->first) {
        last->count += place->count;
        return;
    }
    of->gaps = grown(drops, of->gaps, &of->gap_room, of->gap_count, sizeof *of->gaps);
    if (of->gap_count >= of->gap_room)
        return;
    of->gaps[of->gap_count++] = (struct drops_gap){.first = place->first, .count = place->count};
}

/* Its memory is the system's again. */
static void give_back(struct drops *drops, const struct drops_place *place)
{
    uint64_t units = place->units;
    uint64_t unit = (uint64_t)((const char *)place->chunk - (const char *)drops->buffers->header) /
                    BUFFERS_UNIT;
    buffers_give_back(drops->buffers, unit, units);
    /* The kernel may keep a large page of which a part is given back, until all of it is at once. */
    for (uint64_t at = unit; at < unit + units; at++)
        if (++drops->blocks[at / BUFFERS_BLOCK] == BUFFERS_BLOCK)
            buffers_give_back(drops->buffers, at / BUFFERS_BLOCK * BUFFERS_BLOCK, BUFFERS_BLOCK);
}

/* What a packed chunk counts for: the trace made of it takes more than itself, half of what it was. */
static uint32_t packed_units(const struct drops_place *place)
{
    uint64_t units = (sizeof *place->packed + place->packed->size) / BUFFERS_UNIT + 1;
    uint32_t least = (place->units + 1) / 2;
    return units > place->units ? place->units : units > least ? (uint32_t)units : least;
}

static void drop(struct drops *drops, struct drops_place *place)
{
    add_gap(drops, place);
    if (!place->packed)
        give_back(drops, place);
    if (!place->tried)
        atomic_fetch_add(&drops->buffers->header->settled, place->units);
    atomic_fetch_add(&drops->buffers->header->freed,
                     place->packed ? place->counts_for : place->units);
    free(place->packed);
    place->packed = NULL;
}

/* Nothing is written there any more (rule 3). Chunks that were begun before it was seen to be complete say nothing: they are counted a look
 * later. */
static bool is_final(const struct drops *drops, struct drops_place *place)
{
    uint64_t chunks = drops->of[place->rank].chunks;
    if (atomic_load(&drops->buffers->header->waiting[place->rank]))
        return true;
    if (place->counted)
        return chunks > place->chunks_then;
    place->counted = true;
    place->chunks_then = chunks;
    return false;
}

static void pack(struct drops *drops, struct drops_place *place)
{
    struct buffers_header *header = drops->buffers->header;
    bool can = !place->known && (place->complete || packing_can(place->chunk, place->units));
    if (can && !place->complete) {
        place->complete = true;
        if (!atomic_load(&header->waiting[place->rank]))
            return;
    } else if (can && !is_final(drops, place)) {
        return;
    }
    place->tried = true;
    if (can)
        place->packed = packing_pack(place->chunk, place->units);
    if (place->packed) {
        give_back(drops, place);
        place->counts_for = packed_units(place);
        atomic_fetch_add(&header->freed, place->units - place->counts_for);
    }
    atomic_fetch_add(&header->settled, place->units);
}

/* Of a packed one the chunk, as it was, for a while. */
static bool open_place(struct drops *drops, struct drops_place *place, struct chunk **opened)
{
    *opened = place->packed ? packing_unpack(place->packed) : NULL;
    drops->failed |= place->packed && !*opened;
    if (*opened)
        place->chunk = *opened;
    return !drops->failed;
}

/* What was marked in it is packed again. */
static void close_place(struct drops *drops, struct drops_place *place, const struct chunk *chunk,
                        struct chunk *opened)
{
    if (!opened)
        return;
    if (place->packed) {
        struct packed *again = packing_pack(opened, place->units);
        drops->failed |= !again;
        if (again) {
            free(place->packed);
            place->packed = again;
        }
    }
    place->chunk = chunk;
    free(opened);
}

/* ---- all chunks ---- */

static void add_untried(struct drops *drops, size_t place)
{
    drops->untried = grown(drops, drops->untried, &drops->untried_room, drops->untried_count,
                           sizeof *drops->untried);
    if (drops->untried_count < drops->untried_room)
        drops->untried[drops->untried_count++] = place;
}

static void take_in(struct drops *drops)
{
    const struct chunk *next;
    while (!drops->failed && (next = buffers_chunk_behind(drops->buffers, drops->last)) != NULL) {
        struct drops_place place = {.chunk = next, .rank = next->rank, .units = next->units};
        uint64_t unit =
            (uint64_t)((const char *)next - (const char *)drops->buffers->header) / BUFFERS_UNIT;
        drops->damaged =
            place.rank >= drops->ranks || place.units > drops->buffers->size / BUFFERS_UNIT - unit;
        if (drops->damaged || (next->sequence == 0 && drops->of[place.rank].chunks > 0)) {
            drops->failed = true; /* no recorder's, or a rank that begins anew */
            return;
        }
        drops->places = grown(drops, drops->places, &drops->place_room, drops->place_count,
                              sizeof *drops->places);
        if (drops->place_count >= drops->place_room)
            return;
        place.ordinal = drops->of[place.rank].chunks++;
        place.tried = place.units < PACK_UNITS_MIN || place.rank >= BUFFERS_WAITERS;
        if (place.tried)
            atomic_fetch_add(&drops->buffers->header->settled, place.units);
        else
            add_untried(drops, drops->place_count);
        drops->places[drops->place_count++] = place;
        drops->last = next;
    }
}

static bool is_old(const struct drops *drops, const struct drops_place *place)
{
    return drops->of[place->rank].chunks - place->ordinal > NEWER_MIN;
}

static void pack_old(struct drops *drops)
{
    size_t left = 0;
    for (size_t i = 0; i < drops->untried_count; i++) {
        struct drops_place *place = &drops->places[drops->untried[i]];
        if (is_old(drops, place))
            pack(drops, place);
        if (!place->tried)
            drops->untried[left++] = drops->untried[i];
    }
    drops->untried_count = left;
}

bool drops_relieve(struct drops *drops)
{
    struct buffers_header *header = drops->buffers->header;
    uint64_t limit = drops->buffers->limit;
    if (!drops->failed)
        take_in(drops);
    if (!drops->failed)
        pack_old(drops);
    if (drops->failed)
        atomic_store(&header->relieved, 0);
    if (drops->failed || !limit || buffers_kept(drops->buffers) < limit - limit / 4)
        return false;
    drops->untried_count = 0;
    size_t kept = 0, dropped = 0;
    for (size_t i = 0; i < drops->place_count; i++) {
        struct drops_place *place = &drops->places[i];
        bool old = is_old(drops, place);
        bool enough = buffers_kept(drops->buffers) <= limit / 2;
        if (!drops->failed && old && !enough && !(place->known && drops->in_vain % 4 == 1)) {
            const struct chunk *chunk = place->chunk;
            struct chunk *opened;
            bool plain = open_place(drops, place, &opened) && look_at(drops, place);
            if (!drops->failed)
                let_go(drops, place);
            if (!drops->failed && plain)
                drop(drops, place);
            close_place(drops, place, chunk, opened);
            if (!drops->failed && plain) {
                dropped++;
                continue;
            }
        }
        if (!place->tried)
            add_untried(drops, kept);
        drops->places[kept++] = *place;
    }
    drops->place_count = kept;
    drops->failed |= drops->channels.failed;
    drops->in_vain = dropped ? 0 : drops->in_vain + 1;
    atomic_store(&header->relieved, !drops->failed && drops->in_vain < IN_VAIN_MAX);
    return true;
}

/* ---- for who loads what is left ---- */

bool drops_damaged(const struct drops *drops)
{
    bool damaged = drops->damaged;
    for (size_t i = 0; i < drops->place_count; i++) {
        const struct drops_place *place = &drops->places[i];
        if (place->packed)
            continue;
        damaged |= place->chunk->rank != place->rank || place->chunk->units != place->units;
    }
    return damaged;
}

static int gap_order(const void *left, const void *right)
{
    const struct drops_gap *a = left, *b = right;
    return (a->first > b->first) - (a->first < b->first);
}

void drops_settle(struct drops *drops)
{
    for (uint32_t rank = 0; drops->of && rank < drops->ranks; rank++) {
        struct drops_rank *of = &drops->of[rank];
        uint64_t before = 0;
        size_t kept = 0;
        if (of->gap_count)
            qsort(of->gaps, of->gap_count, sizeof *of->gaps, gap_order);
        for (size_t i = 0; i < of->gap_count; i++) {
            struct drops_gap *last = kept ? &of->gaps[kept - 1] : NULL;
            if (last && last->first + last->count == of->gaps[i].first) {
                last->count += of->gaps[i].count;
            } else {
                of->gaps[kept] = of->gaps[i];
                of->gaps[kept++].before = before;
            }
            before += of->gaps[i].count;
        }
        of->gap_count = kept;
    }
}

/* The last gap that begins at this number or before it; NULL: none. */
static const struct drops_gap *gap_before(const struct drops *drops, uint32_t rank, uint64_t number)
{
    const struct drops_rank *of = drops && drops->of ? &drops->of[rank] : NULL;
    size_t low = 0, high = of ? of->gap_count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (of->gaps[middle].first <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &of->gaps[low - 1] : NULL;
}

uint64_t drops_before(const struct drops *drops, uint32_t rank, uint64_t number)
{
    const struct drops_gap *gap = gap_before(drops, rank, number);
    if (!gap)
        return 0;
    return number - gap->first < gap->count ? UINT64_MAX : gap->before + gap->count;
}

uint64_t drops_skip(const struct drops *drops, uint32_t rank, uint64_t number)
{
    const struct drops_gap *gap = gap_before(drops, rank, number);
    return gap && gap->first == number ? number + gap->count : number;
}
