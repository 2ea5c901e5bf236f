/* Iterations that were recorded once: which of them leave rows in the trace, and making those.
 *
 * A trace of all of them may not fit anywhere, and would say the same over and over. Left out are
 * iterations of all ranks at once that belong together. To find them the ranks are walked through
 * side by side: a send waits in its channel for its receive or the other way round, a collective for
 * its members. When all ranks stand at the same records again, with the same operations waiting,
 * then what lies between is a round that leads from a state to the same state; as many more such
 * rounds as all ranks still have are left out. What remains matches as it did, and nothing in it
 * can tell the difference.
 *
 * The walk knows no waiting; a rank that is far ahead of its partners is held until they come, so
 * that states repeat. When nobody moves, all may go further ahead. */
#include "recorder/loading/loader.h"
#include "traces/trace/memory.h"
#include "traces/trace/trace.h"

#include <stdlib.h>
#include <string.h>

/* An operation of a channel or collective that waits for others. */
struct queue {
    const void **items;
    uint32_t head, tail, room;
    bool receives;    /* what waits are receives */
    uint32_t meeting; /* of a member's queue: its communicator's */
};

struct meeting {
    uint32_t size, present; /* members; those with an operation that waits */
    uint32_t *queues;
    uint32_t count, room;
};

struct walker {
    size_t source, source_end;
    const struct record_head *record; /* the last one that was passed */
    struct loader_repeat *repeat;     /* in it, or NULL */
    const char *at;                   /* in its iteration */
    uint64_t left;                    /* iterations, with the one begun */
    uint64_t dropped;                 /* of this repeat */
    const struct record_op *next;     /* not yet passed; NULL: at the end */
    bool wrapped, failed;
    size_t repeats_seen;
};

struct walk {
    struct loader *loader;
    struct walker *walkers;
    struct handle_map queue_of; /* key -> index + 1 */
    struct queue *queues;
    size_t queue_count, queue_room;
    struct handle_map meeting_of;
    struct meeting *meetings;
    size_t meeting_count, meeting_room;
    uint64_t ahead_most;
    /* a state that was passed, flat; NULL: none */
    uint64_t *state;
    size_t state_count, state_room;
    uint64_t *lefts; /* per rank, in that state */
    uint64_t rounds, state_at;
    struct balances lost; /* of loader->lost, what the walk has not passed */
    uint64_t cut;         /* what it has */
    bool failed;
};

static void *grow(void *items, size_t *room, size_t count, size_t size, bool *failed)
{
    if (count < *room)
        return items;
    size_t wanted = *room ? *room * 2 : 16;
    void *more = realloc(items, wanted * size);
    if (!more) {
        *failed = true;
        return items;
    }
    *room = wanted;
    return more;
}

/* ---- the repeats of a recording ---- */

static bool is_whole(const struct loader_repeat *repeat)
{
    uint32_t ops = 0, bytes = 0;
    while (bytes + sizeof(struct record_head) <= repeat->record->bytes) {
        const struct record_head *head = (const void *)(repeat->template + bytes);
        if (head->size < record_least_size(head->type) || head->size % 8 ||
            (head->type != RECORD_OP && head->type != RECORD_WAITS && head->type != RECORD_COUNTS))
            return false;
        ops += head->type == RECORD_OP;
        bytes += head->size;
    }
    return bytes == repeat->record->bytes && ops == repeat->record->body && ops > 0;
}

static void add_repeat(struct loader *loader, uint32_t rank, const struct record_repeat *record,
                       const char *start, const char *end, uint64_t *number)
{
    struct loader_repeat repeat = {.record = record,
                                   .template = end - record->bytes,
                                   .rank = rank,
                                   .first = (uint32_t)*number};
    if (!start || (size_t)(end - start) < record->bytes || !is_whole(&repeat) ||
        record->times > UINT32_MAX)
        return;
    *number += record->times * record->body;
    loader->repeats = grow(loader->repeats, &loader->repeat_room, loader->repeat_count,
                           sizeof *loader->repeats, &loader->failed);
    if (loader->repeat_count < loader->repeat_room)
        loader->repeats[loader->repeat_count++] = repeat;
}

static void gather(struct loader *loader)
{
    size_t next = 0;
    for (uint32_t rank = 0; rank < loader->trace->ranks; rank++) {
        const char *start = NULL, *end = NULL; /* records in a row, just before */
        uint64_t number = 0;
        loader->rank_repeats[rank] = loader->repeat_count;
        for (; next < loader->source_count && loader->sources[next].rank == rank; next++) {
            const struct source *source = &loader->sources[next];
            const struct chunk *chunk = source->chunk;
            number = drops_skip(loader->drops, rank, number);
            if (source->packed) { /* there are none in it */
                number += (*source->packed)->ops;
                start = end = NULL;
                continue;
            }
            for (const struct record_head *record = buffers_next_record(chunk, NULL); record;
                 record = buffers_next_record(chunk, record)) {
                const void *whole = record;
                if (record->type == RECORD_REPEAT && record->size >= sizeof(struct record_repeat))
                    add_repeat(loader, rank, whole, start, end, &number);
                number += record->type == RECORD_OP;
                start = whole == (const void *)chunk->records ? whole : start;
                end = (const char *)record + record->size;
            }
        }
    }
    loader->rank_repeats[loader->trace->ranks] = loader->repeat_count;
}

/* ---- the walk ---- */

static struct queue *queue_at(struct walk *walk, uint64_t key, bool *made)
{
    uintptr_t known = (uintptr_t)handle_map_find(&walk->queue_of, key | 1);
    if (made)
        *made = !known;
    if (known)
        return &walk->queues[known - 1];
    walk->queues = grow(walk->queues, &walk->queue_room, walk->queue_count, sizeof *walk->queues,
                        &walk->failed);
    if (walk->queue_count >= walk->queue_room ||
        !handle_map_add(&walk->queue_of, key | 1, (void *)(walk->queue_count + 1))) {
        walk->failed = true;
        return NULL;
    }
    walk->queues[walk->queue_count] = (struct queue){0};
    return &walk->queues[walk->queue_count++];
}

static void queue_push(struct walk *walk, struct queue *queue, const void *item)
{
    if (queue->tail == queue->room) {
        uint32_t kept = queue->tail - queue->head;
        if (queue->head < kept || queue->room == 0) {
            uint32_t room = queue->room ? queue->room * 2 : 8;
            const void **items = realloc(queue->items, room * sizeof *items);
            if (!items) {
                walk->failed = true;
                return;
            }
            queue->items = items;
            queue->room = room;
        }
        memmove(queue->items, queue->items + queue->head, kept * sizeof *queue->items);
        queue->head = 0;
        queue->tail = kept;
    }
    queue->items[queue->tail++] = item;
}

static uint64_t mixed(uint64_t one, uint64_t other)
{
    uint64_t hash = (one ^ other * UINT64_C(0xbf58476d1ce4e5b9)) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint32_t comm_of(const struct walk *walk, uint32_t rank, const struct record_op *op)
{
    return op->comm ? numbers_get(&walk->loader->rank_comms[rank], op->comm) : TRACE_NO;
}

static bool is_passed_by(const struct record_op *op, bool sends)
{
    int32_t peer = sends || op->peer_matched < 0 ? op->peer : op->peer_matched;
    return peer < 0 || op->state == STATE_CANCELLED || op->state == STATE_FAILED;
}

/* False when the rank must not go further ahead of its partner. */
static bool pass_message(struct walk *walk, uint32_t rank, const struct record_op *op, bool sends)
{
    if (is_passed_by(op, sends))
        return true;
    uint32_t peer = (uint32_t)(sends || op->peer_matched < 0 ? op->peer : op->peer_matched);
    int32_t tag = sends || op->tag_matched < 0 ? op->tag : op->tag_matched;
    uint64_t key = mixed(comm_of(walk, rank, op), (uint64_t)(uint32_t)tag << 2 | 2);
    key = mixed(key, sends ? (uint64_t)rank << 32 | peer : (uint64_t)peer << 32 | rank);
    struct queue *queue = queue_at(walk, key, NULL);
    if (!queue)
        return true;
    uint32_t waiting = queue->tail - queue->head;
    if (waiting && queue->receives == sends) {
        queue->head++;
        return true;
    }
    if (waiting >= walk->ahead_most)
        return false;
    queue->receives = !sends;
    queue_push(walk, queue, op);
    return true;
}

static struct meeting *meeting_at(struct walk *walk, uint32_t comm, uint32_t *index)
{
    uint64_t key = mixed(comm, 77) | 1;
    uintptr_t known = (uintptr_t)handle_map_find(&walk->meeting_of, key);
    if (!known) {
        walk->meetings = grow(walk->meetings, &walk->meeting_room, walk->meeting_count,
                              sizeof *walk->meetings, &walk->failed);
        known = walk->meeting_count + 1;
        if (walk->meeting_count >= walk->meeting_room ||
            !handle_map_add(&walk->meeting_of, key, (void *)known)) {
            walk->failed = true;
            return NULL;
        }
        walk->meetings[walk->meeting_count++] =
            (struct meeting){.size = walk->loader->trace->comms[comm].size};
    }
    *index = (uint32_t)known - 1;
    return &walk->meetings[known - 1];
}

static void all_met(struct walk *walk, struct meeting *meeting)
{
    meeting->present = 0;
    for (uint32_t i = 0; i < meeting->count; i++) {
        struct queue *queue = &walk->queues[meeting->queues[i]];
        queue->head++;
        meeting->present += queue->head < queue->tail;
    }
}

static bool pass_collective(struct walk *walk, uint32_t rank, const struct record_op *op)
{
    uint32_t comm = comm_of(walk, rank, op), number = 0;
    bool made;
    struct meeting *meeting = comm == TRACE_NO ? NULL : meeting_at(walk, comm, &number);
    struct queue *queue =
        meeting ? queue_at(walk, mixed(mixed(comm, 5), (uint64_t)rank << 2), &made) : NULL;
    if (!queue)
        return true;
    if (made) {
        size_t room = meeting->room;
        meeting->queues =
            grow(meeting->queues, &room, meeting->count, sizeof *meeting->queues, &walk->failed);
        meeting->room = (uint32_t)room;
        if (meeting->count >= room)
            return true;
        meeting->queues[meeting->count++] = (uint32_t)(queue - walk->queues);
    }
    if (queue->tail - queue->head >= walk->ahead_most)
        return false;
    meeting->present += queue->head == queue->tail;
    queue_push(walk, queue, op);
    if (meeting->present == meeting->size)
        all_met(walk, meeting);
    return true;
}

static bool pass(struct walk *walk, uint32_t rank, const struct record_op *op)
{
    if (loader_is_cut(walk->loader, &walk->lost, rank, op)) {
        walk->cut++;
        return true;
    }
    switch (op_kind_class(op->head.small)) {
    case CLASS_SEND:
        return pass_message(walk, rank, op, true);
    case CLASS_RECEIVE:
        return pass_message(walk, rank, op, false);
    case CLASS_COLLECTIVE:
        return pass_collective(walk, rank, op);
    default:
        return true;
    }
}

/* The record behind the last one, of this rank's chunks; NULL: none. */
static const struct record_head *step_record(const struct loader *loader, struct walker *walker)
{
    while (walker->source < walker->source_end) {
        struct source *source = &loader->sources[walker->source];
        if (source->packed && !source->opened)
            source->opened = packing_unpack(*source->packed);
        const struct chunk *chunk = source->packed ? source->opened : source->chunk;
        walker->failed |= !chunk;
        walker->record = chunk ? buffers_next_record(chunk, walker->record) : NULL;
        if (walker->record)
            return walker->record;
        walker->source++;
    }
    return NULL;
}

static const struct record_op *step_iteration(struct walker *walker)
{
    while (walker->repeat) {
        if (walker->at == walker->repeat->template + walker->repeat->record->bytes) {
            walker->at = walker->repeat->template;
            walker->wrapped = true;
            if (--walker->left == 0)
                walker->repeat = NULL;
            continue;
        }
        const struct record_head *head = (const void *)walker->at;
        walker->at += head->size;
        if (head->type == RECORD_OP)
            return (const void *)head;
    }
    return NULL;
}

/* The rank's next operation; NULL: none. */
static const struct record_op *step(const struct loader *loader, uint32_t rank,
                                    struct walker *walker)
{
    const struct record_op *op = step_iteration(walker);
    const struct record_head *record;
    while (!op && (record = step_record(loader, walker)) != NULL) {
        if (record->type == RECORD_OP && record->size >= sizeof(struct record_op))
            op = (const void *)record;
        size_t at = loader->rank_repeats[rank] + walker->repeats_seen;
        if (at >= loader->rank_repeats[rank + 1] ||
            (const void *)loader->repeats[at].record != (const void *)record)
            continue;
        walker->repeats_seen++;
        walker->repeat = loader->repeats[at].record->times ? &loader->repeats[at] : NULL;
        walker->at = loader->repeats[at].template;
        walker->left = loader->repeats[at].record->times;
        walker->dropped = 0;
        op = step_iteration(walker);
    }
    return op;
}

/* ---- states ---- */

static void state_add(struct walk *walk, uint64_t **state, size_t *count, size_t *room,
                      uint64_t value)
{
    *state = grow(*state, room, *count, sizeof **state, &walk->failed);
    if (*count < *room)
        (*state)[(*count)++] = value;
}

/* Of how many numbers the state consists. */
static size_t state_size(const struct walk *walk)
{
    size_t count = 1 + 3 * (size_t)walk->loader->trace->ranks + walk->queue_count;
    for (size_t i = 0; i < walk->queue_count; i++)
        count += walk->queues[i].tail - walk->queues[i].head;
    return count;
}

/* Where everybody is, and what waits. */
static uint64_t *state_now(struct walk *walk, size_t *count, size_t *room)
{
    uint64_t *state = NULL;
    *count = *room = 0;
    state_add(walk, &state, count, room, walk->cut);
    for (uint32_t rank = 0; rank < walk->loader->trace->ranks; rank++) {
        const struct walker *walker = &walk->walkers[rank];
        state_add(walk, &state, count, room, (uint64_t)(uintptr_t)walker->next);
        state_add(walk, &state, count, room, (uint64_t)(uintptr_t)walker->repeat);
        state_add(walk, &state, count, room, (uint64_t)(uintptr_t)walker->record);
    }
    for (size_t i = 0; i < walk->queue_count; i++) {
        const struct queue *queue = &walk->queues[i];
        state_add(walk, &state, count, room,
                  (uint64_t)(queue->tail - queue->head) << 1 | queue->receives);
        for (uint32_t k = queue->head; k < queue->tail; k++)
            state_add(walk, &state, count, room, (uint64_t)(uintptr_t)queue->items[k]);
    }
    return state;
}

/* The iteration that was begun goes on. */
static void add_gap(struct walk *walk, struct walker *walker, uint64_t times)
{
    struct loader *loader = walk->loader;
    const struct loader_repeat *repeat = walker->repeat;
    uint64_t begun = repeat->record->times - walker->left + 1; /* or left out */
    loader->gaps = grow(loader->gaps, &loader->gap_room, loader->gap_count, sizeof *loader->gaps,
                        &walk->failed);
    if (loader->gap_count >= loader->gap_room)
        return;
    loader->gaps[loader->gap_count++] =
        (struct loader_gap){.repeat = (size_t)(repeat - loader->repeats),
                            .kept = begun - walker->dropped,
                            .dropped = times,
                            .first = repeat->first + begun * repeat->record->body,
                            .count = times * repeat->record->body};
    walker->left -= times;
    walker->dropped += times;
}

/* The rounds that all ranks still have but one are left out. Outside of loops no iterations are left, and none was done. */
static void leave_out(struct walk *walk)
{
    uint64_t rounds = UINT64_MAX;
    uint32_t ranks = walk->loader->trace->ranks;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint64_t done = walk->lefts[rank] - walk->walkers[rank].left;
        if (done && walk->walkers[rank].left / done < rounds)
            rounds = walk->walkers[rank].left / done;
    }
    for (uint32_t rank = 0; rank < ranks && rounds != UINT64_MAX && rounds > 1; rank++) {
        uint64_t done = walk->lefts[rank] - walk->walkers[rank].left;
        if (done)
            add_gap(walk, &walk->walkers[rank], (rounds - 1) * done);
    }
}

/* After a round of the walk. A state is kept for twice as many rounds as the one before it. */
static void look(struct walk *walk)
{
    size_t count, room;
    bool inside = false;
    uint32_t ranks = walk->loader->trace->ranks;
    for (uint32_t rank = 0; rank < ranks && !inside; rank++)
        inside = walk->walkers[rank].repeat && walk->walkers[rank].left > 2;
    if (!inside)
        return;
    walk->rounds++;
    if (walk->state && walk->rounds < 2 * walk->state_at && state_size(walk) != walk->state_count)
        return; /* another one, and too early to keep it: where a rank runs ahead, it is large */
    uint64_t *state = state_now(walk, &count, &room);
    if (walk->state && count == walk->state_count &&
        memcmp(state, walk->state, count * sizeof *state) == 0) {
        leave_out(walk);
        walk->rounds = walk->state_at = 0;
        count = 0;
    } else if (walk->state && walk->rounds < 2 * walk->state_at) {
        free(state);
        return;
    }
    free(walk->state);
    walk->state = count ? state : NULL;
    if (!count)
        free(state);
    walk->state_count = count;
    walk->state_at = walk->rounds ? walk->rounds : 1;
    for (uint32_t rank = 0; rank < ranks; rank++)
        walk->lefts[rank] = walk->walkers[rank].left;
}

/* Every rank goes on until it is held, or has done an iteration. False: nobody moved. */
static bool round_of(struct walk *walk)
{
    bool moved = false;
    for (uint32_t rank = 0; rank < walk->loader->trace->ranks; rank++) {
        struct walker *walker = &walk->walkers[rank];
        walker->wrapped = false;
        while (walker->next && !walker->wrapped && pass(walk, rank, walker->next)) {
            walker->next = step(walk->loader, rank, walker);
            walk->failed |= walker->failed;
            moved = true;
        }
    }
    return moved;
}

static bool at_end(const struct walk *walk)
{
    for (uint32_t rank = 0; rank < walk->loader->trace->ranks; rank++)
        if (walk->walkers[rank].next)
            return false;
    return true;
}

static void walk_init(struct walk *walk, struct loader *loader)
{
    uint32_t ranks = loader->trace->ranks;
    *walk = (struct walk){.loader = loader, .ahead_most = 4};
    walk->walkers = calloc(ranks, sizeof *walk->walkers);
    walk->lefts = calloc(ranks, sizeof *walk->lefts);
    walk->failed = !walk->walkers || !walk->lefts || !loader_lost_copy(loader, &walk->lost);
    size_t next = 0;
    for (uint32_t rank = 0; rank < ranks && !walk->failed; rank++) {
        struct walker *walker = &walk->walkers[rank];
        walker->source = next;
        while (next < loader->source_count && loader->sources[next].rank == rank)
            next++;
        walker->source_end = next;
        walker->next = step(loader, rank, walker);
        walk->failed |= walker->failed;
    }
}

static void walk_release(struct walk *walk)
{
    for (size_t i = 0; i < walk->queue_count; i++)
        free(walk->queues[i].items);
    for (size_t i = 0; i < walk->meeting_count; i++)
        free(walk->meetings[i].queues);
    free(walk->queues);
    free(walk->meetings);
    for (size_t i = 0; i < walk->loader->source_count; i++) {
        free(walk->loader->sources[i].opened);
        walk->loader->sources[i].opened = NULL;
    }
    free(walk->walkers);
    free(walk->lefts);
    free(walk->state);
    balances_release(&walk->lost);
    handle_map_release(&walk->queue_of);
    handle_map_release(&walk->meeting_of);
}

static int gap_order(const void *left, const void *right)
{
    const struct loader_gap *a = left, *b = right;
    if (a->repeat != b->repeat)
        return a->repeat < b->repeat ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

/* By rank and number; each knows how many operations those before it on its rank leave out. */
static void sort_gaps(struct loader *loader)
{
    if (loader->gap_count)
        qsort(loader->gaps, loader->gap_count, sizeof *loader->gaps, gap_order);
    size_t gap = 0;
    for (uint32_t rank = 0; rank < loader->trace->ranks; rank++) {
        uint64_t dropped = 0;
        for (size_t i = loader->rank_repeats[rank]; i < loader->rank_repeats[rank + 1]; i++) {
            loader->repeats[i].gaps = gap;
            for (; gap < loader->gap_count && loader->gaps[gap].repeat == i; gap++) {
                loader->gaps[gap].before = dropped;
                dropped += loader->gaps[gap].count;
            }
            loader->repeats[i].gap_end = gap;
        }
    }
}

bool loader_plan_repeats(struct loader *loader)
{
    loader->rank_repeats = calloc((size_t)loader->trace->ranks + 1, sizeof *loader->rank_repeats);
    if (!loader->rank_repeats)
        return false;
    gather(loader);
    if (!loader_plan_cut(loader) || loader->failed)
        return false;
    if (!loader->repeat_count)
        return true;
    struct walk walk;
    walk_init(&walk, loader);
    while (!walk.failed && !at_end(&walk)) {
        if (round_of(&walk))
            look(&walk);
        else
            walk.ahead_most *= 2;
    }
    bool good = !walk.failed;
    walk_release(&walk);
    sort_gaps(loader);
    return good;
}

/* ---- rows ---- */

/* Among the operations of all iterations. */
static uint32_t unfolded_position(const struct loader *loader, uint32_t rank, uint64_t number)
{
    size_t from = loader->rank_repeats[rank], to = loader->rank_repeats[rank + 1];
    if (from == to)
        return (uint32_t)number;
    size_t first = loader->repeats[from].gaps, low = first, high = loader->repeats[to - 1].gap_end;
    while (low < high) { /* the first gap behind it */
        size_t middle = low + (high - low) / 2;
        if (loader->gaps[middle].first <= number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == first)
        return (uint32_t)number;
    const struct loader_gap *gap = &loader->gaps[low - 1];
    if (number - gap->first < gap->count)
        return UINT32_MAX;
    return (uint32_t)(number - gap->before - gap->count);
}

uint32_t loader_position(const struct loader *loader, uint32_t rank, uint64_t number)
{
    uint64_t dropped = drops_before(loader->drops, rank, number);
    uint32_t position = unfolded_position(loader, rank, number);
    return dropped == UINT64_MAX || position == UINT32_MAX ? UINT32_MAX
                                                           : position - (uint32_t)dropped;
}

/* The collectives of one iteration, by communicator. */
static void count_collectives(struct loader *loader, const struct loader_repeat *repeat)
{
    enum { MOST = sizeof loader->comm_shifts / sizeof *loader->comm_shifts };
    for (size_t i = 0; i < loader->comm_shift_count; i++)
        loader->comm_shifts[i].each = 0;
    const char *at = repeat->template, *end = at + repeat->record->bytes;
    for (const struct record_head *head; at < end; at += head->size) {
        head = (const void *)at;
        const struct record_op *op = (const void *)at;
        size_t i = 0;
        if (head->type != RECORD_OP || op_kind_class(head->small) != CLASS_COLLECTIVE)
            continue;
        while (i < loader->comm_shift_count && loader->comm_shifts[i].comm != op->comm)
            i++;
        if (i == MOST)
            continue;
        if (i == loader->comm_shift_count) {
            loader->comm_shifts[i].comm = op->comm;
            loader->comm_shifts[i].each = 0;
            loader->comm_shifts[i].dropped = 0;
            loader->comm_shift_count++;
        }
        loader->comm_shifts[i].each++;
    }
}

/* Receives of one iteration that could have taken other messages. */
static uint64_t wildcards(const struct loader_repeat *repeat)
{
    uint64_t count = 0;
    const char *at = repeat->template, *end = at + repeat->record->bytes;
    for (const struct record_head *head; at < end; at += head->size) {
        head = (const void *)at;
        const struct record_op *op = (const void *)at;
        count += head->type == RECORD_OP && op_kind_class(head->small) != CLASS_COLLECTIVE &&
                 (op->peer == TRACE_ANY || op->tag == TRACE_ANY);
    }
    return count;
}

/* Operations of the loop that stand in the trace before what the template stands for. */
static uint64_t earlier_operations(const struct loader *loader, uint32_t body)
{
    const struct trace *trace = loader->trace;
    uint64_t alike = 0;
    for (size_t i = trace->op_count - body; i > loader->first_op; i--, alike++) {
        const struct trace_op *one = &trace->ops[i - 1], *other = &trace->ops[i - 1 + body];
        if (one->kind != other->kind || one->form->site != other->form->site ||
            one->peer != other->peer || one->tag != other->tag || one->count != other->count)
            break;
    }
    return alike + body;
}

static void leave_gap(struct loader *loader, const struct loader_repeat *repeat,
                      const struct loader_gap *gap)
{
    const struct trace_fold fold = {.op = (uint32_t)loader->trace->op_count - 1,
                                    .body = repeat->record->body,
                                    .times = gap->dropped,
                                    .before = loader->earlier + gap->first - repeat->first};
    trace_add_fold(loader->trace, &fold);
    loader->wildcards += gap->dropped * wildcards(repeat);
    for (size_t i = 0; i < loader->comm_shift_count; i++)
        loader->comm_shifts[i].dropped += gap->dropped * loader->comm_shifts[i].each;
}

static void one_iteration(struct loader *loader, const struct loader_repeat *repeat,
                          uint64_t length)
{
    const char *at = repeat->template, *end = at + repeat->record->bytes;
    loader->ahead = (loader->round + 1) * repeat->record->body;
    loader->later = (loader->round + 1) * length;
    for (const struct record_head *head; at < end; at += head->size) {
        head = (const void *)at;
        loader_record(loader, head);
    }
    loader->ahead = loader->later = 0;
}

static uint64_t last_end(const struct loader_repeat *repeat)
{
    uint64_t last = 0;
    const char *at = repeat->template, *end = at + repeat->record->bytes;
    for (const struct record_head *head; at < end; at += head->size) {
        head = (const void *)at;
        if (head->type == RECORD_OP && ((const struct record_op *)(const void *)at)->end > last)
            last = ((const struct record_op *)(const void *)at)->end;
    }
    return last;
}

void loader_repeat(struct loader *loader, const struct record_repeat *record)
{
    size_t at = loader->rank_repeats[loader->rank] + loader->repeats_seen;
    if (at >= loader->rank_repeats[loader->rank + 1] || loader->repeats[at].record != record)
        return;
    loader->repeats_seen++;
    if (loader->trace->op_count - loader->first_op < record->body)
        return; /* out of memory */
    const struct loader_repeat *repeat = &loader->repeats[at];
    uint64_t last = last_end(repeat), length = 0;
    if (record->times && record->end > last)
        length = (record->end - last) / record->times;
    count_collectives(loader, repeat);
    loader->earlier = earlier_operations(loader, record->body);
    size_t gap = repeat->gaps;
    uint64_t kept = 0;
    for (loader->round = 0; loader->round < record->times; loader->round++, kept++) {
        for (; gap < repeat->gap_end && loader->gaps[gap].kept == kept; gap++) {
            leave_gap(loader, repeat, &loader->gaps[gap]);
            loader->round += loader->gaps[gap].dropped;
        }
        if (loader->round < record->times)
            one_iteration(loader, repeat, length);
    }
    for (; gap < repeat->gap_end; gap++)
        leave_gap(loader, repeat, &loader->gaps[gap]);
}
