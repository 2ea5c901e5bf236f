/* R001, R002 between threads of a rank: two of them use one communicator (or one channel of it), and
 * nothing orders them.
 *
 * An imported plan says which operations belong to which thread; its threads run side by side. An operation of one comes
 * before one of another where data must have gone from it to there: through messages, through collectives. Receives share a
 * channel where one message could go to either; sends with different tags do where somebody receives any tag.
 *
 * What orders the threads of a recorded run, a lock or a join, is not in the trace: there it is said that
 * their order was taken as seen. */
#include "checker/memory.h"
#include "checker/places.h"
#include "checker/properties.h"
#include "checker/replay/prerequisites.h"
#include "checker/replay/replay.h"
#include "traces/trace/trace.h"

#include <stdlib.h>
#include <string.h>

enum { CHANNELS_MOST = 256 /* of the threads of a rank, on one communicator */ };

struct entry {
    uint32_t rank, comm, class, op;
    int32_t peer, tag;
    uint32_t when; /* the plan has so many before */
    bool any_tag;  /* of a send: its tag does not matter to everybody */
};

#define COMPARE(field)                                                                             \
    if (x->field != y->field)                                                                      \
    return x->field < y->field ? -1 : 1

static int by_channel(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    COMPARE(rank);
    COMPARE(comm);
    COMPARE(class);
    COMPARE(peer);
    COMPARE(tag);
    COMPARE(op);
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    COMPARE(rank);
    COMPARE(comm);
    COMPARE(class);
    COMPARE(when);
    COMPARE(op);
    return 0;
}

static bool same_group(const struct entry *a, const struct entry *b)
{
    return a->rank == b->rank && a->comm == b->comm && a->class == b->class;
}

static bool same_channel(const struct entry *a, const struct entry *b)
{
    return same_group(a, b) && a->peer == b->peer && a->tag == b->tag;
}

/* Of one group: who comes first decides what they meet. */
static bool share_channel(const struct entry *a, const struct entry *b)
{
    bool wild = a->class == CLASS_RECEIVE;
    bool peers = a->peer == b->peer || (wild && (a->peer == TRACE_ANY || b->peer == TRACE_ANY));
    bool tags = a->tag == b->tag || (wild && (a->tag == TRACE_ANY || b->tag == TRACE_ANY)) ||
                (a->any_tag && b->any_tag);
    return peers && tags;
}

/* Where one comes in place of the other, nothing fails. */
static bool are_alike(const struct trace_op *a, const struct trace_op *b)
{
    bool collective = op_kind_class(a->kind) == CLASS_COLLECTIVE;
    return a->count == b->count && a->form->type == b->form->type &&
           a->form->signature == b->form->signature &&
           (!collective || (a->kind == b->kind && a->form->reduce_op == b->form->reduce_op));
}

static void report(const struct trace *trace, uint32_t first, uint32_t second,
                   struct findings *findings)
{
    const struct trace_op *a = &trace->ops[first], *b = &trace->ops[second];
    bool alike = are_alike(a, b);
    char one[PLACE_TEXT], other[PLACE_TEXT];
    struct finding *finding =
        findings_add(findings, alike ? "R002" : "R001",
                     "two threads of rank %u: nothing orders %s and %s, which can cross", a->rank,
                     check_short_place(trace, first, one, sizeof one),
                     check_short_place(trace, second, other, sizeof other));
    finding_detail(finding, "Threads %u and %u both use communicator %u: either may come first.\n",
                   a->form->thread, b->form->thread, trace->comms[a->form->comm].id);
    finding_detail(finding, alike ? "Kinds, counts and types agree, so nothing fails: the values "
                                    "are swapped.\n"
                                  : "They do not fit each other: a mismatch, or a hang.\n");
    finding_op_add(finding, first, "culprit");
    finding_op_add(finding, second, "culprit");
    finding->confirmation = CONFIRM_ABSTRACT;
    finding_seal(finding, trace);
}

/* ---- what is ordered ---- */

struct order {
    const struct trace *trace;
    struct check_plan plan;
    struct check_needs needs;
    uint32_t *when;   /* per op: the plan has so many before it when it goes as it may */
    uint32_t *before; /* per op: the one before it on its thread, TRACE_NO */
    uint32_t *seen;   /* per op: in which question */
    uint32_t *stack, question, clock;
    size_t top;
};

static void note_time(void *context, uint32_t op, bool passed)
{
    struct order *order = context;
    (void)passed;
    if (order->when[op] == TRACE_NO)
        order->when[op] = order->clock++;
}

static int by_thread(const void *a, const void *b)
{
    const struct trace_op *const *x = a, *const *y = b;
    int order = check_order_of((*x)->rank, (*y)->rank);
    order = order ? order : check_order_of((*x)->form->thread, (*y)->form->thread);
    return order ? order : (*x > *y) - (*x < *y);
}

static void order_init(struct order *order, const struct check_context *context)
{
    const struct trace *trace = context->trace;
    size_t count = trace->op_count;
    struct check_replay replay;
    *order = (struct order){.trace = trace,
                            .when = check_new(count, sizeof *order->when),
                            .before = check_new(count, sizeof *order->before),
                            .seen = check_new(count, sizeof *order->seen),
                            .stack = check_new(count, sizeof *order->stack)};
    memset(order->when, 0xff, count * sizeof *order->when);
    memset(order->before, 0xff, count * sizeof *order->before);
    check_plan_init(&order->plan, context, &(struct plan_options){.minimal = true});
    check_needs_init(&order->needs, &order->plan, CHECK_EAGER);
    check_replay_watch(&order->plan, CHECK_EAGER,
                       &(struct replay_watch){.event = note_time, .context = order}, &replay);
    check_replay_release(&replay);
    const struct trace_op **ops = check_new(count, sizeof *ops);
    for (size_t i = 0; i < count; i++)
        ops[i] = &trace->ops[i];
    if (count)
        qsort(ops, count, sizeof *ops, by_thread);
    for (size_t i = 1; i < count; i++)
        if (ops[i]->rank == ops[i - 1]->rank && ops[i]->form->thread == ops[i - 1]->form->thread)
            order->before[ops[i] - trace->ops] = (uint32_t)(ops[i - 1] - trace->ops);
    free(ops);
}

static void order_release(struct order *order)
{
    check_needs_release(&order->needs);
    check_plan_release(&order->plan);
    free(order->when);
    free(order->before);
    free(order->seen);
    free(order->stack);
}

static void see(struct order *order, uint32_t op, uint32_t since)
{
    if (order->seen[op] == order->question || order->when[op] < since)
        return;
    order->seen[op] = order->question;
    order->stack[order->top++] = op;
}

/* The second cannot be posted before the first is. */
static bool comes_before(struct order *order, uint32_t first, uint32_t second)
{
    const struct check_needs *needs = &order->needs;
    uint32_t since = order->when[first], single;
    size_t count;
    order->question++;
    order->top = 0;
    see(order, second, 0);
    while (order->top) {
        uint32_t before = order->before[order->stack[--order->top]];
        if (before == TRACE_NO)
            continue;
        see(order, before, since);
        for (uint32_t i = needs->need_begin[before]; i < needs->need_begin[before + 1]; i++) {
            const uint32_t *members = check_needs_members(needs, needs->needs[i], &single, &count);
            while (count-- > 0)
                see(order, members[count], since);
        }
    }
    return order->seen[first] == order->question;
}

/* ---- plans ---- */

struct taker { /* of any tag */
    uint32_t rank, comm;
    int32_t peer;
};

static int by_taker(const void *a, const void *b)
{
    const struct taker *x = a, *y = b;
    COMPARE(comm);
    COMPARE(rank);
    COMPARE(peer);
    return 0;
}

/* Somebody may receive this send whatever its tag. */
static bool is_taken_by_any(const struct taker *takers, size_t count, const struct entry *send)
{
    struct taker anybody = {(uint32_t)send->peer, send->comm, TRACE_ANY};
    struct taker named = {(uint32_t)send->peer, send->comm, (int32_t)send->rank};
    return count && (bsearch(&anybody, takers, count, sizeof *takers, by_taker) ||
                     bsearch(&named, takers, count, sizeof *takers, by_taker));
}

static size_t find_takers(const struct entry *entries, size_t count, struct taker *takers)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (entries[i].class == CLASS_RECEIVE && entries[i].tag == TRACE_ANY)
            takers[found++] = (struct taker){entries[i].rank, entries[i].comm, entries[i].peer};
    if (found)
        qsort(takers, found, sizeof *takers, by_taker);
    return found;
}

/* Neither can be told to come first. Of what the plan does not come to, nothing is known. */
static bool is_open(struct order *order, uint32_t first, uint32_t second)
{
    return order->when[second] != TRACE_NO && !comes_before(order, first, second);
}

/* The last operation of a thread on one of its channels. */
struct last {
    uint32_t thread, entry;
};

/* Of the group that is gone through: one for each channel of each thread, the newest last. */
struct lasts {
    struct last items[CHANNELS_MOST];
    size_t count;
    bool more; /* there was no room for all */
};

static void remember(const struct order *order, const struct entry *entries, size_t at,
                     struct lasts *lasts)
{
    const struct last own = {order->trace->ops[entries[at].op].form->thread, (uint32_t)at};
    size_t i = 0;
    while (i < lasts->count && (lasts->items[i].thread != own.thread ||
                                !same_channel(&entries[lasts->items[i].entry], &entries[at])))
        i++;
    lasts->more = lasts->more || i == CHANNELS_MOST;
    if (i == CHANNELS_MOST)
        i = 0; /* the oldest makes room */
    else if (i == lasts->count)
        lasts->count++;
    memmove(lasts->items + i, lasts->items + i + 1, (lasts->count - 1 - i) * sizeof *lasts->items);
    lasts->items[lasts->count - 1] = own;
}

static void tell_open(struct order *order, uint32_t other, uint32_t own, size_t told,
                      struct findings *findings)
{
    const struct trace *trace = order->trace;
    const char *code = are_alike(&trace->ops[other], &trace->ops[own]) ? "R002" : "R001";
    uint32_t first = other < own ? other : own, second = other ^ own ^ first;
    if (!check_at_place(findings, told, code, trace, first) && is_open(order, other, own))
        report(trace, first, second, findings);
}

/* What the plan has before it on channels that are its own, too, the nearest of each other thread: where nothing orders the
 * two, it is told. Where something does, what the thread did before is ordered as well. */
static void look_back(struct order *order, const struct entry *entries, size_t at, size_t told,
                      struct lasts *lasts, struct findings *findings)
{
    uint32_t looked[CHANNELS_MOST + 1] = {order->trace->ops[entries[at].op].form->thread};
    size_t looked_count = 1;
    if (at > 0 && !same_group(&entries[at - 1], &entries[at]))
        *lasts = (struct lasts){.count = 0};
    for (size_t i = lasts->count; i-- > 0;) {
        const struct entry *other = &entries[lasts->items[i].entry];
        bool again = false;
        for (size_t k = 0; k < looked_count && !again; k++)
            again = looked[k] == lasts->items[i].thread;
        if (again || !share_channel(other, &entries[at]))
            continue;
        looked[looked_count++] = lasts->items[i].thread;
        tell_open(order, other->op, entries[at].op, told, findings);
    }
    if (lasts->more)
        trace_gap(order->trace, "threads", 1,
                  "operations of threads that use more than 256 channels of one communicator");
    remember(order, entries, at, lasts);
}

static void check_plan_threads(const struct check_context *context, struct entry *entries,
                               size_t count, struct findings *findings)
{
    struct order order;
    size_t told = findings->count;
    struct taker *takers = check_new(count, sizeof *takers);
    size_t taker_count = find_takers(entries, count, takers);
    order_init(&order, context);
    for (size_t i = 0; i < count; i++) {
        entries[i].when = order.when[entries[i].op];
        entries[i].any_tag =
            entries[i].class == CLASS_SEND && is_taken_by_any(takers, taker_count, &entries[i]);
    }
    if (count)
        qsort(entries, count, sizeof *entries, by_time);
    struct lasts lasts = {.count = 0};
    for (size_t i = 0; i < count; i++)
        look_back(&order, entries, i, told, &lasts, findings);
    order_release(&order);
    free(takers);
}

/* Pairs of operations of two threads on one channel. */
static size_t count_shared(const struct trace *trace, struct entry *entries, size_t count)
{
    size_t shared = 0;
    if (count)
        qsort(entries, count, sizeof *entries, by_channel);
    for (size_t i = 1; i < count; i++)
        shared +=
            same_channel(&entries[i - 1], &entries[i]) &&
            trace->ops[entries[i - 1].op].form->thread != trace->ops[entries[i].op].form->thread;
    return shared;
}

void check_threads(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    size_t count = 0;
    if (!context->last_thread)
        return;
    struct entry *entries = check_new(trace->op_count, sizeof *entries);
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        enum op_class class = check_class(op);
        bool collective = class == CLASS_COLLECTIVE && check_group_of(context, i) != TRACE_NO;
        if (op->form->comm < trace->comm_count &&
            (collective || class == CLASS_SEND || class == CLASS_RECEIVE))
            entries[count++] = (struct entry){.rank = op->rank,
                                              .comm = op->form->comm,
                                              .class = (uint32_t) class,
                                              .op = i,
                                              .peer = collective ? 0 : op->peer,
                                              .tag = collective ? 0 : op->tag};
    }
    if (trace->outcome == OUTCOME_IMPORTED)
        check_plan_threads(context, entries, count, findings);
    else
        trace_gap(trace, "threads", count_shared(trace, entries, count),
                  "pairs of operations of two threads on one channel, taken in the order seen");
    free(entries);
}
