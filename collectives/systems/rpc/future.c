/* Requests and their answers: see worker.h. */
#include "collectives/systems/rpc/worker.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RELEASE_RETRIES = 3 };

struct rpc_future *future_new(struct rpc_worker *worker, int peer, enum rpc_kind kind,
                              uint64_t context)
{
    struct rpc_future *future = rpc_take(sizeof *future);
    *future = (struct rpc_future){.next = worker->futures,
                                  .next_of_all = worker->all_futures,
                                  .worker = worker,
                                  .request = ++worker->requests,
                                  .context = context,
                                  .peer = peer,
                                  .kind = kind,
                                  .no_grad = worker->state->no_grad,
                                  .retries = kind == RPC_RELEASE ? RELEASE_RETRIES : 0};
    worker->futures = future;
    worker->all_futures = future;
    return future;
}

static void unlink_open(struct rpc_future *future)
{
    struct rpc_future **link = &future->worker->futures;
    while (*link && *link != future)
        link = &(*link)->next;
    if (*link)
        *link = future->next;
}

void future_free(struct rpc_future *future)
{
    if (!future)
        return;
    unlink_open(future);
    struct rpc_future **link = &future->worker->all_futures;
    while (*link != future)
        link = &(*link)->next_of_all;
    *link = future->next_of_all;
    free(future->error);
    free(future->results);
    free(future->bytes);
    wire_release(&future->again);
    free(future);
}

static void finish(struct rpc_future *future, struct wire *body)
{
    unlink_open(future);
    future->done = true;
    if (future->notify)
        future->notify(future, body, future->notify_context);
    if (!future->public)
        future_free(future);
}

void future_fail(struct rpc_future *future, const char *format, ...)
{
    char text[1000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    future->failed = true;
    future->error = rpc_text(text);
    finish(future, NULL);
}

static struct rpc_future *future_find(const struct rpc_worker *worker, uint64_t request, int peer)
{
    for (struct rpc_future *future = worker->futures; future; future = future->next)
        if (future->request == request && future->peer == peer)
            return future;
    return NULL;
}

void future_answer(struct rpc_worker *worker, struct rpc_packet *packet)
{
    struct rpc_future *future = future_find(worker, packet->request, packet->source);
    if (!future || packet->kind != future->kind + 1u)
        return; /* it was given up */
    if (wire_get(&packet->body) != 0) {
        future_fail(future, "%s", wire_get_text(&packet->body));
        return;
    }
    if (packet->kind == RPC_REPLY)
        call_results_take(worker, future, &packet->body);
    finish(future, &packet->body);
}

void future_wait(struct rpc_future *future)
{
    struct rpc_worker *worker = future->worker;
    while (!future->done)
        if (!worker_serve(worker))
            futures_expire(worker);
}

static void ask_again(struct rpc_worker *worker, struct rpc_future *future)
{
    future->retries--;
    struct wire *wire = packet_begin(worker);
    memcpy(wire_add(wire, future->again.size), future->again.data, future->again.size);
    rpc_event(worker, "retry kind=%s to=%d", rpc_kind_names[future->kind],
              worker->ranks[future->peer]);
    packet_send(worker, future->peer, future->kind, future->request, future->context);
}

void futures_expire(struct rpc_worker *worker)
{
    struct rpc_future *open[64];
    size_t count = 0;
    for (struct rpc_future *future = worker->futures; future && count < 64; future = future->next)
        open[count++] = future;
    for (size_t i = 0; i < count; i++) {
        bool alive = false; /* failing one may have freed another */
        for (struct rpc_future *future = worker->futures; future; future = future->next)
            alive = alive || future == open[i];
        if (!alive)
            continue;
        if (open[i]->retries)
            ask_again(worker, open[i]);
        else
            future_fail(open[i], "worker %d did not answer a %s within %u polls", open[i]->peer,
                        rpc_kind_names[open[i]->kind], worker->patience);
    }
}

void futures_peer_died(struct rpc_worker *worker, int peer)
{
    for (struct rpc_future *future = worker->futures; future;) {
        if (future->peer != peer && !worker->dead) {
            future = future->next;
            continue;
        }
        if (worker->dead)
            future_fail(future, "worker %d, which asked, has died", worker->me);
        else
            future_fail(future, "worker %d died before it answered a %s", peer,
                        rpc_kind_names[future->kind]);
        future = worker->futures; /* others may be gone, too */
    }
}

void answer_ok(struct rpc_worker *worker, int to, enum rpc_kind kind, uint64_t request,
               uint64_t context)
{
    wire_put(packet_begin(worker), 0);
    packet_send(worker, to, kind, request, context);
}

void answer_error(struct rpc_worker *worker, int to, enum rpc_kind kind, uint64_t request,
                  uint64_t context, const char *error)
{
    struct wire *wire = packet_begin(worker);
    wire_put(wire, 1);
    wire_put_text(wire, error);
    packet_send(worker, to, kind, request, context);
}

/* ---- the user's ---- */

bool rpc_wait(struct rpc_future *future)
{
    ENTER(future->worker->state);
    future_wait(future);
    state_leave(future->worker->state);
    return !future->failed;
}

const char *rpc_error(const struct rpc_future *future)
{
    return future->error;
}

static void must_have_results(const struct rpc_future *future, const char *function)
{
    if (!future->done)
        worker_misuse(future->worker, "%s of a call that was not waited for", function);
    if (future->failed)
        worker_misuse(future->worker, "%s of a call that failed: %s", function, future->error);
}

size_t rpc_result_count(const struct rpc_future *future)
{
    must_have_results(future, "rpc_result_count");
    return future->result_count;
}

struct diff_tensor *rpc_result(const struct rpc_future *future, size_t index)
{
    must_have_results(future, "rpc_result");
    if (index >= future->result_count)
        worker_misuse(future->worker, "rpc_result %zu of a call with %zu results", index,
                      future->result_count);
    return future->results[index];
}

const void *rpc_result_bytes(const struct rpc_future *future, size_t *size)
{
    must_have_results(future, "rpc_result_bytes");
    *size = future->size;
    return future->bytes;
}

void rpc_future_free(struct rpc_future *future)
{
    if (!future)
        return;
    if (!future->done)
        worker_misuse(future->worker, "rpc_future_free of a call that was not waited for");
    future_free(future);
}
