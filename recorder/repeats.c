/* Loops whose iterations leave the same records: see rank.h and struct record_repeat.
 *
 * Looking: every operation has a number for what it is; the place where the last such one stood
 * proposes a length for the loop's body, and as many equal operations in a row as three iterations
 * have make it one. From then on a RECORD_REPEAT stands behind an iteration that is kept, the
 * template, and each following iteration is written behind that as ever, compared with the template
 * when it is whole, counted, and wiped out again.
 *
 * Rules:
 *  1. An iteration is closed: all its operations are complete, without an error, and name
 *     operations of the same iteration only. So nobody holds a pointer to one that is wiped out.
 *  2. Only operations, their waits and counts are wiped out; anything else ends the loop.
 *  3. A rank with several threads, and operations of backward passes and batches, have no loops.
 *  4. Nor has a rank with a window: its messages order accesses of others, each its own. */
#include "recorder/rank.h"
#include "recorder/recording_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    MATCHED_MIN = 64, /* shorter repetitions stay as they are: they are part of longer loops */
    BODY_MAX = 400,
    BYTES_MAX = 60000, /* a killed rank's last bytes may be anything; see buffers_damaged */
    WINDOW = 2048,     /* operations that are remembered; more than a body */
    KINDS = 1024,
    PLACES_MAX = 64 /* buffers of a body that may lie elsewhere each time */
};

struct remembered {
    uint64_t hash;
    const struct record_op *op;
    uint32_t earlier; /* the one before it in the same list */
};

struct recorder_repeats {
    struct remembered window[WINDOW]; /* by number */
    uint32_t last[KINDS];             /* lists by hash, newest first: number of an operation + 1 */
    const struct record_op *seen;     /* the last one that was looked at */
    uint32_t from; /* number of the first operation that may be part of what is found */
    uint32_t body, matched;
    /* while a loop is being folded */
    struct record_repeat *repeat;
    const char *template;
    uint32_t template_op, first_op; /* numbers: of the template's, of the current iteration's */
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t op_hash(const struct record_op *op)
{
    uint64_t one = mix(op->site, (uint64_t)op->head.small << 32 | op->flags);
    uint64_t two = mix((uint64_t)op->comm << 32 | op->type, (uint64_t)op->count);
    one = mix(one, (uint64_t)(uint32_t)op->peer << 32 | (uint32_t)op->tag);
    return mix(one, two) | 1;
}

/* What was written when it began, 16 bytes at once: a call of memcmp costs more than what it
 * compares. What was written just now is compared as it was written, or it would be waited for. */
typedef uint64_t words __attribute__((vector_size(16), aligned(8), may_alias));
_Static_assert(sizeof(struct record_op) - offsetof(struct record_op, pass) == 5 * sizeof(words),
               "five of them, and no gap");
_Static_assert(offsetof(struct record_op, buffer) - offsetof(struct record_op, pass) ==
                   4 * sizeof(words),
               "the fifth is where the buffer lies");

/* `moved` becomes true where only the place of the buffer is another. */
static inline bool same_op(const struct record_op *one, uint32_t first_one,
                           const struct record_op *other, uint32_t first_other, bool *moved)
{
    const words *a = (const void *)&one->pass, *b = (const void *)&other->pass;
    words differ = (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]);
    words place = a[4] ^ b[4]; /* buffer and extent */
    *moved |= place[0] != 0;
    bool linked = one->request != UINT32_MAX && other->request != UINT32_MAX
                      ? one->request - first_one == other->request - first_other
                      : one->request == other->request;
    return linked && !(differ[0] | differ[1] | place[1]) && one->head.small == other->head.small &&
           one->state == other->state && one->thread == other->thread &&
           one->flags == other->flags && one->peer_matched == other->peer_matched &&
           one->tag_matched == other->tag_matched && one->count_matched == other->count_matched;
}

static bool same_waits(const struct record_waits *one, uint32_t first_one,
                       const struct record_waits *other, uint32_t first_other, uint32_t body)
{
    const uint32_t completed = 1u << 31;
    if (one->op - first_one != other->op - first_other || one->n != other->n)
        return false;
    for (uint32_t i = 0; i < one->n; i++) {
        uint32_t start = (one->starts[i] & ~completed) - first_one;
        if (start >= body || (other->starts[i] & ~completed) - first_other != start ||
            (one->starts[i] & completed) != (other->starts[i] & completed))
            return false;
    }
    return true;
}

static bool same_counts(const struct record_counts *one, uint32_t first_one,
                        const struct record_counts *other, uint32_t first_other)
{
    size_t fixed = offsetof(struct record_counts, total);
    return one->op - first_one == other->op - first_other &&
           memcmp((const char *)one + fixed, (const char *)other + fixed, one->head.size - fixed) ==
               0;
}

struct stretch {
    const char *records, *end;
    uint32_t first; /* number of its first operation */
};

/* Rules 1 and 3, of an iteration of `body` operations; those that are like it have them, too. */
static bool closed(const struct stretch *iteration, uint32_t body)
{
    for (const char *at = iteration->records; at < iteration->end;) {
        const struct record_op *op = (const void *)at;
        if (op->head.size == 0)
            return false;
        at += op->head.size;
        if (op->head.type == RECORD_OP &&
            (op->state != STATE_COMPLETE || op->error || op->thread || op->pass || op->node ||
             op->batch || (op->request != UINT32_MAX && op->request - iteration->first >= body)))
            return false;
    }
    return true;
}

static uint32_t places_of(const struct stretch *iteration, const struct record_op **ops)
{
    uint32_t count = 0;
    for (const char *at = iteration->records; at < iteration->end;) {
        const struct record_head *head = (const void *)at;
        if (head->type == RECORD_OP && count < PLACES_MAX)
            ops[count++] = (const void *)at;
        at += head->size;
    }
    return count;
}

/* What a buffer may be instead: NULL, or one of MPI's own values. */
static bool is_place(uint64_t buffer)
{
    return buffer >= 4096 && buffer < UINT64_MAX - 4096;
}

static bool apart(const struct record_op *one, const struct record_op *other)
{
    return one->buffer + one->extent <= other->buffer ||
           other->buffer + other->extent <= one->buffer;
}

/* Whether the buffers of two iterations lie to each other in one as in the other: each pair has moved
 * together, or has nothing in common in both. All that checks ask of the places within an iteration
 * that is closed is what overlaps; where memory comes from depends on who has freed what before. */
static __attribute__((noinline)) bool same_places(const struct stretch *one,
                                                  const struct stretch *other, uint32_t body)
{
    const struct record_op *left[PLACES_MAX], *right[PLACES_MAX];
    if (body > PLACES_MAX)
        return false;
    uint32_t count = places_of(one, left);
    places_of(other, right);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t shift = right[i]->buffer - left[i]->buffer;
        if (shift && (!is_place(left[i]->buffer) || !is_place(right[i]->buffer)))
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (right[j]->buffer - left[j]->buffer != shift &&
                !(apart(left[i], left[j]) && apart(right[i], right[j])))
                return false;
    }
    return true;
}

/* Whether both are one iteration, of `body` operations. */
static inline __attribute__((always_inline)) bool same(const struct stretch *one,
                                                       const struct stretch *other, uint32_t body)
{
    const char *a = one->records, *b = other->records;
    bool moved = false;
    if (one->end - a != other->end - b)
        return false;
    while (a < one->end) {
        const struct record_head *left = (const void *)a, *right = (const void *)b;
        const void *first = a, *second = b;
        bool alike = left->size == right->size && left->type == right->type && left->size > 0;
        if (alike && left->type == RECORD_OP)
            alike = same_op(first, one->first, second, other->first, &moved);
        else if (alike && left->type == RECORD_WAITS)
            alike = same_waits(first, one->first, second, other->first, body);
        else if (alike && left->type == RECORD_COUNTS)
            alike = same_counts(first, one->first, second, other->first);
        else
            alike = false;
        if (!alike)
            return false;
        a += left->size;
        b += left->size;
    }
    return !moved || same_places(one, other, body);
}

/* From here on nothing is known of what came before. */
static void start_over(struct recorder_repeats *repeats, uint32_t ops)
{
    repeats->repeat = NULL;
    repeats->matched = repeats->body = 0;
    repeats->from = ops;
}

static const struct record_op *remembered(const struct recorder_repeats *repeats, uint32_t number)
{
    return repeats->window[number % WINDOW].op;
}

/* The last `body` operations are one iteration, and so are those before: what follows is compared
 * with them. */
static __attribute__((noinline)) void begin(struct recorder_rank *me,
                                            struct recorder_repeats *repeats)
{
    uint32_t body = repeats->body, first = me->ops - body;
    const char *middle = (const char *)remembered(repeats, first);
    const char *start = (const char *)remembered(repeats, first - body);
    const char *end = me->writer.next;
    size_t bytes = (size_t)(end - middle);
    /* In one chunk: pointers into another are further away than these. */
    bool near = start < middle && middle < end && (size_t)(middle - start) == bytes &&
                bytes <= BYTES_MAX &&
                start >= me->writer.end - (size_t)me->writer.units * BUFFERS_UNIT;
    const struct stretch one = {start, middle, first - body}, two = {middle, end, first};
    struct record_repeat *repeat = (void *)me->writer.next;
    /* It stands behind its template, or that could be let go of without it; and there is room for one iteration, and what ends the loop. */
    bool room = (size_t)(me->writer.end - end) >= sizeof *repeat + bytes + sizeof(struct record_op);
    if (!near || !room || !closed(&two, body) || !same(&one, &two, body))
        return; /* perhaps one operation later */
    *repeat = (struct record_repeat){.body = body, .bytes = (uint32_t)bytes};
    recorder_commit(me, repeat, RECORD_REPEAT, 0, sizeof *repeat);
    repeats->repeat = repeat;
    repeats->template = middle;
    repeats->template_op = first;
    repeats->first_op = me->ops;
}

/* A whole iteration behind the repeat: counted and wiped out, or the end of the loop. */
static void compare(struct recorder_rank *me, struct recorder_repeats *repeats)
{
    struct record_repeat *repeat = repeats->repeat;
    char *from = (char *)(repeat + 1), *end = me->writer.next;
    const struct stretch kept = {repeats->template, repeats->template + repeat->bytes,
                                 repeats->template_op};
    const struct stretch now = {from, end, repeats->first_op};
    if (end - from != repeat->bytes || !same(&kept, &now, repeat->body)) {
        start_over(repeats, me->ops);
        return;
    }
    repeat->end = recorder_steps(me);
    __atomic_store_n(&repeat->times, repeat->times + 1, __ATOMIC_RELEASE);
    memset(from, 0, (size_t)(end - from));
    me->writer.next = from;
    repeats->first_op = me->ops;
}

/* Number of the last operation of this hash + 1, 0: none is near. A hash is of sites, too: what
 * else stands in the same list must not matter, or equal runs would not be recorded as equal. */
static uint32_t last_of(const struct recorder_repeats *repeats, uint64_t hash, uint32_t number)
{
    uint32_t seen = repeats->last[hash >> 20 & (KINDS - 1)];
    while (seen > repeats->from && number + 1 - seen <= BODY_MAX) {
        const struct remembered *place = &repeats->window[(seen - 1) % WINDOW];
        if (place->hash == hash)
            return seen;
        seen = place->earlier;
    }
    return 0;
}

static void remember(struct recorder_rank *me, struct recorder_repeats *repeats)
{
    const struct record_op *op = me->self->current;
    uint32_t number = me->ops - 1;
    uint64_t hash = op_hash(op);
    struct remembered *place = &repeats->window[number % WINDOW];
    uint32_t before = repeats->body ? number - repeats->body : 0;
    bool goes_on =
        repeats->body && before >= repeats->from && repeats->window[before % WINDOW].hash == hash;
    if (goes_on) {
        repeats->matched++;
    } else {
        uint32_t seen = last_of(repeats, hash, number);
        repeats->body = seen ? number + 1 - seen : 0;
        repeats->matched = seen != 0;
    }
    uint32_t *last = &repeats->last[hash >> 20 & (KINDS - 1)];
    *place = (struct remembered){.hash = hash, .op = op, .earlier = *last};
    *last = number + 1;
}

void recorder_repeats_look(struct recorder_rank *me)
{
    struct recorder_repeats *repeats = me->repeats;
    if (!repeats) {
        if (me->level != RECORD_LEVEL_OPS)
            return;
        me->repeats = repeats = calloc(1, sizeof *repeats);
        if (!repeats)
            return;
        repeats->from = me->ops;
    }
    if (!me->self->current || atomic_load_explicit(&me->shared, memory_order_relaxed) ||
        (!repeats->repeat && me->windows.count)) {
        start_over(repeats, me->ops);
        me->look_at = me->ops + 1;
        return;
    }
    if (repeats->repeat) {
        compare(me, repeats);
    } else if (me->ops > repeats->from) {
        remember(me, repeats);
        if (repeats->body && repeats->matched >= MATCHED_MIN &&
            repeats->matched >= 2 * repeats->body)
            begin(me, repeats);
    }
    me->look_at = me->ops + (repeats->repeat ? repeats->repeat->body : 1);
}

void recorder_repeats_free(struct recorder_rank *me)
{
    free(me->repeats);
    me->repeats = NULL;
}
