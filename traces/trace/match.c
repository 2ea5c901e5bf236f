/* Which send a receive got: reconstructed from the trace. See trace.h.
 *
 * Rules (MPI's non-overtaking order, per source, destination and communicator):
 *  1. Receives of a rank are looked at in the order in which they were posted, sends of a rank in
 *     the order issued.
 *  2. A receive whose matched source and tag were recorded gets the first free send with that
 *     source and tag.
 *  3. A receive from one source without a record gets the first free send of that source that fits
 *     its tag.
 *  4. What is left are receives from any source without a record: each gets the source of the first
 *     free send to its rank that fits, lowest source first. Only here something is assumed; a
 *     checker may look for other senders. Then receives without a record are matched again, all in
 *     the order in which they were posted, each with its source: a receive by name takes nothing
 *     that one from any source, posted before it, takes by MPI's rule.
 *  5. A matched probe takes the message at its own place in the order, and its match belongs to the
 *     receive that names it in `request`.
 *  6. Where ranks have several threads, the order recorded is not always that in which the threads
 *     came: a receive whose amount was recorded gets the first free send of that amount, if there
 *     is one among the next.
 *  7. Cancelled operations take no part; neither do failed ones, unless a receive's matched source
 *     was recorded.
 *
 * Sends hang in FIFO lists under the key (source, destination, communicator, tag), where source or
 * tag may be ANY; taken sends are skipped lazily, so the whole is linear. Lists with any source exist
 * only if somebody will ask for them. Most messages are received in the order in which they were
 * sent: the first of all from a source has the tag that is asked for. Lists by tag are made when
 * that is not so for the first time: a program with many tags has as many lists. */
#include "traces/trace/memory.h"
#include "traces/trace/trace.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_EXACT, LIST_ANY_TAG, LIST_ANY_SOURCE, LIST_ANY_BOTH, LISTS };
enum { SLOTS_FIRST = 256 };

struct key {
    int32_t source, destination, tag;
    uint32_t comm, list; /* a file may call a tag what stands for any */
};

struct slot {
    struct key key;
    uint32_t head, tail; /* send numbers, TRACE_NO: empty slot */
    uint32_t first; /* the head before anything was taken; what was given is nobody's to take */
};

struct matcher {
    struct trace *trace;
    uint32_t *sends; /* send number -> op */
    /* per list kind: the send after this one, NULL when the kind is not needed */
    uint32_t *next[LISTS];
    size_t send_count, send_room;
    struct slot *slots;
    size_t slot_count, slots_used; /* power of two; at most half of them */
    bool wanted[LISTS];
    bool threads;    /* some rank has several */
    bool probes;     /* there are matched probes */
    bool given;      /* there are matches already */
    bool failed;     /* no memory */
    uint8_t *taken;  /* per op: a send that is spoken for */
    uint8_t *named;  /* per op: a receive of a message that a probe has taken; NULL: none */
    int32_t *source; /* per op: assumed for a receive from any source; -1: none yet */
};

static uint64_t key_hash(const struct key *key)
{
    uint64_t hash = (uint64_t)(uint32_t)key->source << 32 | (uint32_t)key->destination;
    hash = (hash ^ ((uint64_t)key->comm << 32 | (uint32_t)key->tag) * 0x9e3779b97f4a7c15u) *
           0xbf58476d1ce4e5b9u;
    return (hash ^ hash >> 29) + key->list;
}

static struct slot *slot_find(const struct matcher *matcher, const struct key *key)
{
    size_t mask = matcher->slot_count - 1;
    for (size_t i = key_hash(key) & mask;; i = (i + 1) & mask) {
        struct slot *slot = &matcher->slots[i];
        if (slot->tail == TRACE_NO || memcmp(&slot->key, key, sizeof *key) == 0)
            return slot;
    }
}

static bool takes_part(const struct trace_op *op)
{
    if (op->peer == TRACE_NONE || op->state == STATE_CANCELLED)
        return false;
    return op->state != STATE_FAILED ||
           (op_kind_class(op->kind) == CLASS_RECEIVE && trace_op_peer_matched(op) >= 0);
}

static bool is_send(const struct trace_op *op)
{
    return op_kind_class(op->kind) == CLASS_SEND && op->peer >= 0 && takes_part(op);
}

static bool is_matched_probe(const struct trace_op *op)
{
    return op->kind == OP_MPROBE || op->kind == OP_IMPROBE;
}

/* Matched probes post the receive for the Mrecv that names them. */
static bool is_receive(const struct trace_op *op)
{
    if (is_matched_probe(op))
        return op->state == STATE_COMPLETE && op->peer != TRACE_NONE;
    return op_kind_class(op->kind) == CLASS_RECEIVE && takes_part(op);
}

static bool is_recorded(const struct trace_op *op)
{
    return trace_op_peer_matched(op) >= 0 && trace_op_tag_matched(op) >= 0;
}

/* Its source as posted, or as assumed. */
static int32_t source_of(const struct matcher *matcher, const struct trace_op *op)
{
    size_t index = (size_t)(op - matcher->trace->ops);
    if (op->peer != TRACE_ANY || !matcher->source || matcher->source[index] < 0)
        return op->peer;
    return matcher->source[index];
}

/* The list that answers a receive: of its recorded match, or of what it was posted with. */
static int list_for(const struct matcher *matcher, const struct trace_op *op)
{
    if (is_recorded(op))
        return LIST_EXACT;
    return (source_of(matcher, op) == TRACE_ANY ? LIST_ANY_SOURCE : 0) +
           (op->tag == TRACE_ANY ? LIST_ANY_TAG : 0);
}

static struct key key_of_send(const struct trace_op *op, int list)
{
    return (struct key){.source = list >= LIST_ANY_SOURCE ? TRACE_ANY : (int32_t)op->rank,
                        .destination = op->peer,
                        .tag = list & LIST_ANY_TAG ? TRACE_ANY : op->tag,
                        .comm = op->form->comm,
                        .list = (uint32_t)list};
}

static struct key key_of_receive(const struct matcher *matcher, const struct trace_op *op)
{
    bool recorded = is_recorded(op);
    return (struct key){.source = recorded ? trace_op_peer_matched(op) : source_of(matcher, op),
                        .destination = (int32_t)op->rank,
                        .tag = recorded ? trace_op_tag_matched(op) : op->tag,
                        .comm = op->form->comm,
                        .list = (uint32_t)list_for(matcher, op)};
}

static bool slots_resize(struct matcher *matcher, size_t count)
{
    struct slot *old = matcher->slots, *slots = malloc(count * sizeof *slots);
    size_t old_count = matcher->slot_count;
    if (!slots)
        return false;
    memset(slots, 0xff, count * sizeof *slots);
    matcher->slots = slots;
    matcher->slot_count = count;
    for (size_t i = 0; i < old_count; i++)
        if (old[i].tail != TRACE_NO)
            *slot_find(matcher, &old[i].key) = old[i];
    free(old);
    return true;
}

static bool list_append(struct matcher *matcher, int list, uint32_t number)
{
    if (matcher->slots_used * 2 >= matcher->slot_count &&
        !slots_resize(matcher, matcher->slot_count * 2))
        return false;
    struct key key = key_of_send(&matcher->trace->ops[matcher->sends[number]], list);
    struct slot *slot = slot_find(matcher, &key);
    matcher->next[list][number] = TRACE_NO;
    if (slot->tail == TRACE_NO) {
        slot->key = key;
        slot->head = slot->first = number;
        matcher->slots_used++;
    } else {
        matcher->next[list][slot->tail] = number;
        if (matcher->trace->ops[matcher->sends[slot->first]].match != TRACE_NO)
            slot->first = number;
    }
    slot->tail = number;
    return true;
}

static bool send_add(struct matcher *matcher, uint32_t send)
{
    if (matcher->send_count == matcher->send_room) {
        size_t room = matcher->send_room ? matcher->send_room * 2 : 256;
        uint32_t *sends = realloc(matcher->sends, room * sizeof *sends);
        if (!sends)
            return false;
        matcher->sends = sends;
        matcher->send_room = room;
    }
    matcher->sends[matcher->send_count++] = send;
    return true;
}

/* What there is; false: no memory for the sends. */
static bool survey(struct matcher *matcher, size_t *receives)
{
    const struct trace *trace = matcher->trace;
    bool done = true;
    matcher->send_count = *receives = 0;
    memset(matcher->wanted, 0, sizeof matcher->wanted);
    for (uint32_t i = 0; i < trace->op_count && done; i++) {
        const struct trace_op *op = &trace->ops[i];
        matcher->threads = matcher->threads || op->form->thread;
        matcher->probes = matcher->probes || is_matched_probe(op);
        matcher->given = matcher->given || op->match != TRACE_NO;
        if (is_send(op)) {
            done = send_add(matcher, i);
        } else if (is_receive(op)) {
            matcher->wanted[list_for(matcher, op)] = true;
            ++*receives;
        }
    }
    return done;
}

static bool list_fill(struct matcher *matcher, int list)
{
    matcher->next[list] = malloc(matcher->send_count * sizeof *matcher->next[list]);
    if (!matcher->next[list])
        return false;
    for (uint32_t number = 0; number < matcher->send_count; number++)
        if (!list_append(matcher, list, number))
            return false;
    return true;
}

static bool matcher_fill(struct matcher *matcher)
{
    if (!slots_resize(matcher, SLOTS_FIRST))
        return false;
    /* By amount (rule 6) only the lists by tag tell. */
    bool first_of_all = matcher->wanted[LIST_EXACT] && !matcher->threads;
    for (int list = 0; list < LISTS; list++)
        if (list == LIST_ANY_TAG ? matcher->wanted[list] || first_of_all
                                 : matcher->wanted[list] && !(list == LIST_EXACT && first_of_all))
            if (!list_fill(matcher, list))
                return false;
    return true;
}

static bool is_free(const struct matcher *matcher, uint32_t send)
{
    return matcher->trace->ops[send].match == TRACE_NO && !(matcher->taken && matcher->taken[send]);
}

static int64_t bytes_of(const struct trace_op *op, int64_t count)
{
    return (int64_t)((uint64_t)count *
                     trace_type_size(op->form->type)); /* a file may say any count */
}

/* Rule 6; TRACE_NO where there is none. Sends that are taken leave the list on the way, lest all later receives pass over them. */
static uint32_t send_of_amount(const struct matcher *matcher, struct slot *slot, int list,
                               const struct trace_op *receive)
{
    enum { NEXT = 64 };
    const struct trace *trace = matcher->trace;
    bool named = is_matched_probe(receive) && receive->request < trace->op_count;
    const struct trace_op *taker = named ? &trace->ops[receive->request] : receive;
    if (!matcher->threads || trace_op_count_matched(taker) < 0)
        return TRACE_NO;
    int64_t wanted = bytes_of(taker, trace_op_count_matched(taker));
    uint32_t *link = &slot->head;
    for (int seen = 0; *link != TRACE_NO && seen < NEXT;) {
        uint32_t send = matcher->sends[*link], *next = &matcher->next[list][*link];
        if (!is_free(matcher, send)) {
            *link = *next;
            continue;
        }
        if (bytes_of(&trace->ops[send], trace->ops[send].count) == wanted)
            return send;
        seen++;
        link = next;
    }
    return TRACE_NO;
}

/* The first free send from this source whatever its tag: whether it is the one, or there is none. */
static bool first_of_all(struct matcher *matcher, struct key key, uint32_t *send)
{
    int32_t tag = key.tag;
    key.tag = TRACE_ANY;
    key.list = LIST_ANY_TAG;
    struct slot *slot = slot_find(matcher, &key);
    *send = TRACE_NO;
    if (slot->tail == TRACE_NO)
        return true;
    const uint32_t *next = matcher->next[LIST_ANY_TAG];
    while (slot->head != TRACE_NO && !is_free(matcher, matcher->sends[slot->head]))
        slot->head = next[slot->head];
    if (slot->head == TRACE_NO)
        return true;
    *send = matcher->sends[slot->head];
    return matcher->trace->ops[*send].tag == tag;
}

/* The first free send for this receive, TRACE_NO if there is none. */
static uint32_t send_take(struct matcher *matcher, const struct trace_op *receive)
{
    struct key key = key_of_receive(matcher, receive);
    int list = list_for(matcher, receive);
    if (list == LIST_EXACT && matcher->next[LIST_ANY_TAG] && !matcher->threads) {
        uint32_t send;
        if (first_of_all(matcher, key, &send))
            return send;
        if (!matcher->next[LIST_EXACT] && !list_fill(matcher, LIST_EXACT)) {
            matcher->failed = true;
            return TRACE_NO;
        }
    }
    struct slot *slot = slot_find(matcher, &key);
    if (slot->tail == TRACE_NO)
        return TRACE_NO;
    uint32_t of_amount = send_of_amount(matcher, slot, list, receive);
    if (of_amount != TRACE_NO)
        return of_amount;
    while (slot->head != TRACE_NO) {
        uint32_t send = matcher->sends[slot->head];
        slot->head = matcher->next[list][slot->head];
        if (is_free(matcher, send))
            return send;
    }
    return TRACE_NO;
}

static void pair_operations(struct trace *trace, uint32_t receive, uint32_t send)
{
    struct trace_op *r = &trace->ops[receive], *s = &trace->ops[send];
    s->match = receive;
    r->match = send;
    if (s->state == STATE_COMPLETE)
        trace_op_set_matched(trace, send, s->peer, s->tag);
    if (r->state == STATE_COMPLETE) {
        trace_op_set_matched(trace, receive, (int32_t)s->rank, s->tag);
        if (trace_op_count_matched(r) < 0 && r->kind != OP_MPROBE && r->kind != OP_IMPROBE) {
            struct trace_plain_op plain = trace_op_plain(trace, receive);
            plain.count_matched = s->count;
            trace_op_change(trace, receive, &plain);
        }
    }
}

/* Matches given by the builder stay when they are symmetric. */
static void validate_given_matches(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->op_count; i++) {
        struct trace_op *op = &trace->ops[i];
        if (op->match == TRACE_NO)
            continue;
        struct trace_op *other = op->match < trace->op_count ? &trace->ops[op->match] : NULL;
        enum op_class class = op_kind_class(op->kind);
        enum op_class wanted = class == CLASS_SEND ? CLASS_RECEIVE : CLASS_SEND;
        if (!other || (class != CLASS_SEND && class != CLASS_RECEIVE) ||
            op_kind_class(other->kind) != wanted || (other->match != TRACE_NO && other->match != i))
            op->match = TRACE_NO;
        else
            pair_operations(trace, class == CLASS_SEND ? op->match : i,
                            class == CLASS_SEND ? i : op->match);
    }
}

/* Of a receive from anybody: that of the send it takes; where receives by name have taken all that
 * fits, one of whose messages it may be served first. */
static void assume_source(struct matcher *matcher, uint32_t receive, uint32_t send)
{
    const struct trace_op *op = &matcher->trace->ops[receive];
    struct key key = key_of_receive(matcher, op);
    struct slot *slot = slot_find(matcher, &key);
    if (send != TRACE_NO) {
        matcher->taken[send] = 1;
    } else if (slot->tail != TRACE_NO) {
        send = matcher->sends[slot->first];
    }
    if (op->peer == TRACE_ANY && send != TRACE_NO)
        matcher->source[receive] = (int32_t)matcher->trace->ops[send].rank;
}

static void match_receive(struct matcher *matcher, uint32_t receive, bool from_any, bool trial)
{
    struct trace *trace = matcher->trace;
    const struct trace_op *op = &trace->ops[receive];
    if (!is_receive(op) || op->match != TRACE_NO ||
        (list_for(matcher, op) >= LIST_ANY_SOURCE) != from_any ||
        (matcher->named && matcher->named[receive]))
        return;
    uint32_t send = send_take(matcher, op);
    if (trial)
        assume_source(matcher, receive, send);
    else if (send != TRACE_NO)
        pair_operations(trace, receive, send);
}

/* All lists are of one rank's receives, so ranks may take turns. Receives from anybody, or the others. In a trial nobody is paired: it only tells who may come
 * from where. */
static void match_receives(struct matcher *matcher, bool from_any, bool trial)
{
    for (struct trace_walk walk = trace_walk_begin(matcher->trace); trace_walk_next(&walk);)
        for (size_t i = walk.from; i < walk.to; i++)
            match_receive(matcher, (uint32_t)i, from_any, trial);
}

static void lists_release(struct matcher *matcher)
{
    free(matcher->slots);
    for (int list = 0; list < LISTS; list++) {
        free(matcher->next[list]);
        matcher->next[list] = NULL;
    }
    matcher->slots = NULL;
    matcher->slot_count = matcher->slots_used = 0;
}

/* Rule 4: a source for every receive from anybody that has no record. */
static bool assume_sources(struct matcher *matcher)
{
    size_t ops = matcher->trace->op_count, receives;
    matcher->taken = calloc(ops, sizeof *matcher->taken);
    matcher->source = malloc(ops * sizeof *matcher->source);
    if (!matcher->taken || !matcher->source || !matcher_fill(matcher))
        return false;
    memset(matcher->source, 0xff, ops * sizeof *matcher->source);
    match_receives(matcher, false, true);
    match_receives(matcher, true, true);
    lists_release(matcher);
    free(matcher->taken);
    matcher->taken = NULL;
    return survey(matcher, &receives);
}

/* An Imrecv's own `request` is the wait that completed it: only its probe says that it has one. */
static bool name_receives(struct matcher *matcher)
{
    const struct trace *trace = matcher->trace;
    for (size_t i = 0; i < trace->op_count; i++) {
        uint32_t receive = trace->ops[i].request;
        if (!is_matched_probe(&trace->ops[i]) || receive >= trace->op_count ||
            op_kind_class(trace->ops[receive].kind) != CLASS_RECEIVE)
            continue;
        if (!matcher->named)
            matcher->named = calloc(trace->op_count, sizeof *matcher->named);
        if (!matcher->named)
            return false;
        matcher->named[receive] = 1;
    }
    return true;
}

static void transfer_match(struct trace *trace, uint32_t probe, uint32_t receive)
{
    uint32_t send = trace->ops[probe].match;
    if (send == TRACE_NO)
        return;
    trace->ops[probe].match = TRACE_NO;
    trace->ops[send].match = TRACE_NO;
    if (receive != TRACE_NO)
        pair_operations(trace, receive, send);
}

/* Rule 5, second half. */
static void resolve_mprobes(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (!is_matched_probe(op))
            continue;
        uint32_t receive = op->request;
        bool fits = receive < trace->op_count && trace->ops[receive].match == TRACE_NO &&
                    op_kind_class(trace->ops[receive].kind) == CLASS_RECEIVE;
        transfer_match(trace, i, fits ? receive : TRACE_NO);
    }
}

bool trace_match(struct trace *trace)
{
    struct matcher matcher = {.trace = trace};
    size_t receives = 0;
    bool done = survey(&matcher, &receives);
    if (done && matcher.given) {
        validate_given_matches(trace);
        done = survey(&matcher, &receives);
    }
    if (done && matcher.send_count > 0 && receives > 0) {
        done = !matcher.probes || name_receives(&matcher);
        if (done && (matcher.wanted[LIST_ANY_SOURCE] || matcher.wanted[LIST_ANY_BOTH]))
            done = assume_sources(&matcher);
        done = done && matcher_fill(&matcher);
        if (done)
            match_receives(&matcher, false, false);
        if (done && matcher.probes)
            resolve_mprobes(trace);
        done = done && !matcher.failed;
    }
    lists_release(&matcher);
    free(matcher.sends);
    free(matcher.taken);
    free(matcher.named);
    free(matcher.source);
    return done;
}
