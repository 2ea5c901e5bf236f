/* The end of contexts and of failed passes, told to everybody who knows the context: see context.h.
 */
#include "collectives/systems/rpc/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Ends what is under way in it, then frees it. */
static void context_forget(struct rpc_worker *worker, struct rpc_context *context)
{
    char text[32];
    if (context->task)
        task_fail(worker, context->task, "its context was released during the pass");
    if (context->task)
        task_abandon(worker, context->task);
    rpc_event(worker, "forget c=%s", id_text(context->id, text));
    context_free(worker, context);
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

/* Gradients that a failed pass recorded are not sends that a later one waits for. */
static void sends_forget(struct rpc_context *context, uint64_t pass)
{
    size_t kept = 0;
    for (size_t i = 0; i < context->send_count; i++) {
        if (context->sends[i]->pass != pass) {
            context->sends[kept++] = context->sends[i];
            continue;
        }
        free(context->sends[i]->tensors);
        free(context->sends[i]);
    }
    context->send_count = kept;
}

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
    sends_forget(context, pass);
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
    int originator = id_worker(worker, context->id);
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
        int originator = id_worker(worker, context->id);
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
