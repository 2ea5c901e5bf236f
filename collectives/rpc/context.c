/* The container of contexts, and their release: see context.h. */
#include "collectives/rpc/context.h"

#include "collectives/backward.h"
#include "collectives/probe.h"
#include "collectives/rpc/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rpc_context *context_find(const struct rpc_worker *worker, uint64_t id)
{
    struct rpc_context *context = worker->contexts;
    while (context && context->id != id)
        context = context->next;
    return context;
}

static struct rpc_context *context_make(struct rpc_worker *worker, uint64_t id, enum dist_mode mode)
{
    struct rpc_context *context = rpc_take(sizeof *context);
    *context = (struct rpc_context){.next = worker->contexts, .id = id, .mode = mode};
    context->known = rpc_take((size_t)worker->count * sizeof *context->known);
    worker->contexts = context;
    char text[32];
    rpc_event(worker, "context c=%s mode=%d", id_text(id, text), (int)mode);
    return context;
}

struct rpc_context *context_get_or_make(struct rpc_worker *worker, uint64_t id, enum dist_mode mode)
{
    struct rpc_context *context = context_find(worker, id);
    if (context || id_set_has(&worker->tombstones, id) ||
        (worker->peers[id_worker(id)].dead && id_worker(id) != worker->me))
        return context;
    return context_make(worker, id, mode);
}

void context_free(struct rpc_worker *worker, struct rpc_context *context)
{
    if (context->task) { /* its rank has ended in the middle of a pass */
        context->task->holders = 1;
        task_drop(context->task);
    }
    struct rpc_context **link = &worker->contexts;
    while (*link != context)
        link = &(*link)->next;
    *link = context->next;
    if (worker->current == context->id)
        worker->current = 0;
    for (size_t i = 0; i < context->send_count; i++) {
        free(context->sends[i]->tensors);
        free(context->sends[i]);
    }
    for (size_t i = 0; i < context->recv_count; i++)
        context->recvs[i]->context = NULL; /* tensors may outlive it */
    free(context->sends);
    free(context->recvs);
    free(context->gradients);
    free(context->known);
    free(context->ended);
    id_set_release(&context->marked);
    free(context);
}

void context_forget(struct rpc_worker *worker, struct rpc_context *context)
{
    char text[32];
    if (context->task)
        task_fail(worker, context->task, "its context was released during the pass");
    if (context->task)
        task_abandon(worker, context->task);
    rpc_event(worker, "forget c=%s", id_text(context->id, text));
    context_free(worker, context);
}

/* ---- gradients ---- */

struct rpc_total {
    struct rpc_total *next;
    struct diff_tensor *leaf, *sum;
};

static uint64_t gradient_hash(const struct diff_tensor *sum)
{
    return sum ? tensor_hash(sum, 1) : 0;
}

static struct rpc_gradient *gradient_entry(struct rpc_context *context,
                                           const struct diff_tensor *leaf)
{
    for (size_t i = 0; i < context->gradient_count; i++)
        if (context->gradients[i].leaf == leaf)
            return &context->gradients[i];
    return NULL;
}

static struct diff_tensor *sum_of(struct diff_tensor *sum, struct diff_tensor *more)
{
    if (!sum)
        return more;
    /* A new tensor: the old sum may have to come back, and people may hold it. */
    struct diff_tensor *result = tensor_new_like(sum);
    memcpy(result->storage->data, sum->storage->data, sum->count * diff_type_size(sum->type));
    tensor_accumulate(result, more);
    return result;
}

void gradient_accumulate(struct rpc_worker *worker, struct rpc_context *context, uint64_t pass,
                         struct diff_tensor *leaf, struct diff_tensor *gradient)
{
    struct rpc_context *into = context;
    if (worker->mutant == RPC_MUTANT_CONTEXTS_MIXED)
        while (into->next)
            into = into->next;
    struct rpc_gradient *entry = gradient_entry(into, leaf);
    if (!entry) {
        into->gradients = rpc_grow(into->gradients, into->gradient_count, &into->gradient_room,
                                   sizeof *into->gradients);
        entry = &into->gradients[into->gradient_count++];
        *entry = (struct rpc_gradient){.leaf = leaf};
    }
    entry->before = entry->sum;
    entry->pass = pass;
    entry->sum = sum_of(entry->sum, gradient);
    char id[32], number[32];
    rpc_event(worker, "leaf c=%s p=%s leaf=%zx before=%llx after=%llx", id_text(context->id, id),
              id_text(pass, number), (size_t)(entry - into->gradients),
              (unsigned long long)gradient_hash(entry->before),
              (unsigned long long)gradient_hash(entry->sum));
}

struct diff_tensor *dist_gradient(uint64_t id, const struct diff_tensor *leaf)
{
    struct rpc_worker *worker = worker_get("dist_gradient");
    struct rpc_context *context = context_find(worker, id);
    struct rpc_gradient *entry = context ? gradient_entry(context, leaf) : NULL;
    return entry ? entry->sum : NULL;
}

size_t dist_gradients(uint64_t id, struct diff_tensor **leaves, size_t limit)
{
    struct rpc_context *context = context_find(worker_get("dist_gradients"), id);
    size_t count = 0;
    for (size_t i = 0; context && i < context->gradient_count; i++) {
        if (!context->gradients[i].sum)
            continue;
        if (count < limit)
            leaves[count] = context->gradients[i].leaf;
        count++;
    }
    return count;
}

/* The gradient check compares the sum over all passes with the sum of all roots: what a context
 * holds is added up when it goes. */
static void totals_add(struct rpc_worker *worker, const struct rpc_context *context)
{
    for (size_t i = 0; i < context->gradient_count; i++) {
        struct rpc_gradient *entry = &context->gradients[i];
        if (entry->leaf->input == SIZE_MAX || !entry->sum)
            continue;
        struct rpc_total *total = worker->totals;
        while (total && total->leaf != entry->leaf)
            total = total->next;
        if (!total) {
            total = arena_take_zeroed(&worker->tape->arena, sizeof *total);
            total->leaf = entry->leaf;
            total->next = worker->totals;
            worker->totals = total;
        }
        total->sum = sum_of(total->sum, entry->sum);
    }
}

void totals_report(struct rpc_worker *worker)
{
    for (struct rpc_context *context = worker->contexts; context; context = context->next)
        totals_add(worker, context);
    for (struct diff_tensor *x = worker->tape->retained; x; x = x->next_retained) {
        struct rpc_total *total = worker->totals;
        while (total && total->leaf != x)
            total = total->next;
        if (x->input != SIZE_MAX)
            probe_keep_gradient(worker->state, x->input, x->type, x->count,
                                total ? total->sum->storage->data : NULL);
    }
}

/* ---- passes that ended ---- */

bool pass_has_ended(const struct rpc_context *context, uint64_t pass)
{
    for (size_t i = 0; i < context->ended_count; i++)
        if (context->ended[i].root == id_worker(pass))
            return id_counter(pass) <= context->ended[i].counter;
    return false;
}

void pass_note_end(struct rpc_context *context, uint64_t pass)
{
    for (size_t i = 0; i < context->ended_count; i++)
        if (context->ended[i].root == id_worker(pass)) {
            if (context->ended[i].counter < id_counter(pass))
                context->ended[i].counter = id_counter(pass);
            return;
        }
    context->ended = rpc_grow(context->ended, context->ended_count, &context->ended_room,
                              sizeof *context->ended);
    context->ended[context->ended_count++] = (struct rpc_ended){id_worker(pass), id_counter(pass)};
}

/* ---- release ---- */

/* What everybody who knows a context must do: done here first, then asked of the others; the answer
 * waits for theirs. */
struct flood {
    struct flood *next;
    struct rpc_worker *worker;
    int to; /* who asked, -1: the user here */
    uint64_t request, context;
    enum rpc_kind kind;
    size_t open;
    bool failed, over;
    char error[300];
};

/* On the tape: a rank may end while one is under way. */
static struct flood *flood_new(struct rpc_worker *worker, enum rpc_kind kind, uint64_t context)
{
    struct flood *flood = arena_take_zeroed(&worker->tape->arena, sizeof *flood);
    *flood = (struct flood){
        .next = worker->floods, .worker = worker, .to = -1, .context = context, .kind = kind};
    worker->floods = flood;
    return flood;
}

static void flood_end(struct flood *flood)
{
    struct flood **link = &flood->worker->floods;
    while (*link != flood)
        link = &(*link)->next;
    *link = flood->next;
    flood->over = true;
    if (flood->to < 0)
        return;
    if (flood->failed)
        answer_error(flood->worker, flood->to, flood->kind + 1, flood->request, flood->context,
                     flood->error);
    else
        answer_ok(flood->worker, flood->to, flood->kind + 1, flood->request, flood->context);
}

static void flood_answered(struct rpc_future *future, struct wire *body, void *context)
{
    struct flood *flood = context;
    (void)body;
    /* Who has died knows nothing any more. */
    if (future->failed && !future->worker->peers[future->peer].dead) {
        flood->failed = true;
        snprintf(flood->error, sizeof flood->error, "%s", future->error);
    }
    if (--flood->open == 0)
        flood_end(flood);
}

static void flood_send(struct flood *flood, const bool *known, uint64_t pass)
{
    struct rpc_worker *worker = flood->worker;
    bool local = worker->mutant == RPC_MUTANT_RELEASE_LOCAL && flood->kind == RPC_RELEASE;
    flood->open = 1;
    for (int i = 0; i < worker->count; i++) {
        if (!known[i] || i == worker->me || i == flood->to || worker->peers[i].dead || local)
            continue;
        struct rpc_future *future = future_new(worker, i, flood->kind, flood->context);
        future->notify = flood_answered;
        future->notify_context = flood;
        flood->open++;
        struct wire *wire = packet_begin(worker);
        wire_put(wire, pass);
        wire_put(&future->again, pass);
        packet_send(worker, i, flood->kind, future->request, flood->context);
    }
    if (--flood->open == 0)
        flood_end(flood);
}

static bool flood_wait(struct flood *flood)
{
    struct rpc_worker *worker = flood->worker;
    while (!flood->over)
        if (!worker_serve(worker))
            futures_expire(worker);
    if (flood->failed)
        snprintf(worker->error, sizeof worker->error, "%s", flood->error);
    return !flood->failed;
}

static void release_here(struct flood *flood, struct rpc_context *context)
{
    struct rpc_worker *worker = flood->worker;
    bool *known = rpc_take((size_t)worker->count * sizeof *known);
    memcpy(known, context->known, (size_t)worker->count * sizeof *known);
    totals_add(worker, context);
    id_set_add(&worker->tombstones, context->id);
    context_forget(worker, context);
    flood_send(flood, known, 0);
    free(known);
}

bool dist_context_release(uint64_t id)
{
    struct rpc_worker *worker = worker_get("dist_context_release");
    ENTER(worker->state);
    char text[32];
    struct rpc_context *context = context_find(worker, id);
    bool good = true;
    if (context) {
        rpc_event(worker, "release c=%s", id_text(id, text));
        struct flood *flood = flood_new(worker, RPC_RELEASE, id);
        release_here(flood, context);
        good = flood_wait(flood);
        rpc_event(worker, "release-done c=%s ok=%d", id_text(id, text), good);
    }
    state_leave(worker->state);
    return good;
}

static struct flood *flood_asked(struct rpc_worker *worker, const struct rpc_packet *packet)
{
    struct flood *flood = flood_new(worker, packet->kind, packet->context);
    flood->to = packet->source;
    flood->request = packet->request;
    return flood;
}

/* Asked again by one who has lost patience: the answer will come. */
static bool is_asked_again(const struct rpc_worker *worker, const struct rpc_packet *packet)
{
    for (struct flood *flood = worker->floods; flood; flood = flood->next)
        if (flood->to == packet->source && flood->request == packet->request)
            return true;
    return false;
}

void release_handle(struct rpc_worker *worker, struct rpc_packet *packet)
{
    struct rpc_context *context = context_find(worker, packet->context);
    if (context) {
        release_here(flood_asked(worker, packet), context);
        return;
    }
    id_set_add(&worker->tombstones, packet->context);
    if (!is_asked_again(worker, packet))
        answer_ok(worker, packet->source, RPC_RELEASE_ANSWER, packet->request, packet->context);
}

/* ---- taking a failed pass back ---- */

static void rollback_here(struct flood *flood, struct rpc_context *context, uint64_t pass)
{
    struct rpc_worker *worker = flood->worker;
    bool known_before = context->rolled_back == pass;
    context->rolled_back = pass;
    pass_note_end(context, pass);
    if (context->task && context->task->pass == pass) {
        task_fail(worker, context->task, "the pass failed elsewhere");
        if (context->task)
            task_abandon(worker, context->task);
    }
    for (size_t i = 0; i < context->gradient_count; i++)
        if (context->gradients[i].pass == pass) {
            context->gradients[i].sum = context->gradients[i].before;
            context->gradients[i].pass = 0;
        }
    char id[32], number[32];
    rpc_event(worker, "rollback c=%s p=%s", id_text(context->id, id), id_text(pass, number));
    bool *none = rpc_take((size_t)worker->count * sizeof *none);
    flood_send(flood, known_before ? none : context->known, pass);
    free(none);
}

void context_rollback(struct rpc_worker *worker, uint64_t id, uint64_t pass)
{
    struct rpc_context *context = context_find(worker, id);
    if (!context)
        return;
    char error[sizeof worker->error];
    snprintf(error, sizeof error, "%s", worker->error);
    struct flood *flood = flood_new(worker, RPC_ROLLBACK, id);
    rollback_here(flood, context, pass);
    flood_wait(flood);
    snprintf(worker->error, sizeof worker->error, "%s", error);
}

void rollback_handle(struct rpc_worker *worker, struct rpc_packet *packet)
{
    uint64_t pass = wire_get(&packet->body);
    struct rpc_context *context = context_find(worker, packet->context);
    if (context)
        rollback_here(flood_asked(worker, packet), context, pass);
    else
        answer_ok(worker, packet->source, RPC_ROLLBACK_ANSWER, packet->request, packet->context);
}

/* ---- deaths ---- */

/* Who heard of the context from the one that died is known to nobody else now: it tells the
 * originator, who will release it, or has. */
static void join_send(struct rpc_worker *worker, const struct rpc_context *context)
{
    int originator = id_worker(context->id);
    struct rpc_future *future = future_new(worker, originator, RPC_JOIN, context->id);
    packet_begin(worker);
    packet_send(worker, originator, RPC_JOIN, future->request, context->id);
}

void join_handle(struct rpc_worker *worker, struct rpc_packet *packet)
{
    struct rpc_context *context = context_find(worker, packet->context);
    if (context) {
        context->known[packet->source] = true;
        answer_ok(worker, packet->source, RPC_JOIN_ANSWER, packet->request, packet->context);
        return;
    }
    struct rpc_future *future = future_new(worker, packet->source, RPC_RELEASE, packet->context);
    wire_put(packet_begin(worker), 0);
    wire_put(&future->again, 0);
    packet_send(worker, packet->source, RPC_RELEASE, future->request, packet->context);
    answer_ok(worker, packet->source, RPC_JOIN_ANSWER, packet->request, packet->context);
}

/* A context whose originator is gone will never be released by anybody. */
void contexts_peer_died(struct rpc_worker *worker, int peer)
{
    for (struct rpc_context *context = worker->contexts, *next; context; context = next) {
        next = context->next;
        int originator = id_worker(context->id);
        if (context->task)
            task_peer_died(worker, context->task, peer);
        if (originator != peer && !worker->end) {
            if (originator != worker->me && context->known[peer] && !worker->peers[originator].dead)
                join_send(worker, context);
            continue;
        }
        id_set_add(&worker->tombstones, context->id);
        context_forget(worker, context);
        next = worker->contexts; /* answers may have changed the list */
    }
}

/* ---- the user's ---- */

uint64_t dist_context_new(enum dist_mode mode)
{
    struct rpc_worker *worker = worker_get("dist_context_new");
    ENTER(worker->state);
    char text[32];
    if (worker->current)
        worker_misuse(worker, "dist_context_new while context %s is current: leave it first",
                      id_text(worker->current, text));
    uint64_t id = id_make(worker->me, ++worker->context_counter);
    if (worker->mutant == RPC_MUTANT_ID_REUSED)
        worker->message_counter = 0;
    struct rpc_context *context = context_make(worker, id, mode);
    worker->current = context->id;
    state_leave(worker->state);
    return id;
}

void dist_context_enter(uint64_t id)
{
    struct rpc_worker *worker = worker_get("dist_context_enter");
    char text[32];
    if (worker->current)
        worker_misuse(worker, "dist_context_enter while context %s is current: leave it first",
                      id_text(worker->current, text));
    if (!context_find(worker, id))
        worker_misuse(worker, "dist_context_enter of context %s, which is not known here",
                      id_text(id, text));
    worker->current = id;
}

void dist_context_leave(void)
{
    worker_get("dist_context_leave")->current = 0;
}

uint64_t dist_context_current(void)
{
    return worker_get("dist_context_current")->current;
}

bool dist_context_known(uint64_t id)
{
    return context_find(worker_get("dist_context_known"), id) != NULL;
}

size_t dist_contexts(void)
{
    size_t count = 0;
    for (struct rpc_context *c = worker_get("dist_contexts")->contexts; c; c = c->next)
        count++;
    return count;
}
