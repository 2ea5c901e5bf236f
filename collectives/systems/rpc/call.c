/* Calls: registered functions, arguments on their way, handlers and their answers. */
#include "collectives/systems/rpc/call.h"

#include "recorder/recorder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- registered functions ---- */

void rpc_register(const char *name, rpc_function *function)
{
    struct rpc_worker *worker = worker_get("rpc_register");
    struct rpc_named *named = rpc_take(sizeof *named);
    *named = (struct rpc_named){worker->functions, name, function};
    worker->functions = named;
}

static rpc_function *function_find(const struct rpc_worker *worker, const char *name)
{
    for (struct rpc_named *named = worker->functions; named; named = named->next)
        if (strcmp(named->name, name) == 0)
            return named->function;
    return NULL;
}

/* ---- asking ---- */

static void worker_number_check(const struct rpc_worker *worker, int to, const char *name)
{
    if (to < 0 || to >= worker->count)
        worker_misuse(worker, "call of %s on worker %d: there are workers 0..%d", name, to,
                      worker->count - 1);
}

struct rpc_future *call_start(struct rpc_worker *worker, int to, const char *name, uint64_t keep,
                              const struct rpc_arguments *arguments)
{
    worker_number_check(worker, to, name);
    struct rpc_context *context = context_find(worker, worker->current);
    uint64_t id = context ? context->id : 0;
    struct rpc_future *future = future_new(worker, to, RPC_CALL, id);
    future->public = true;
    if (worker->dead || worker->peers[to].dead) {
        future_fail(future, "worker %d has died", worker->dead ? worker->me : to);
        return future;
    }
    struct wire *wire = packet_begin(worker);
    wire_put_text(wire, name);
    wire_put(wire, keep);
    wire_put(wire, context ? (uint64_t)context->mode : 0);
    tensors_put(worker, context, to, name, arguments->count, arguments->tensors, wire);
    wire_put_bytes(wire, arguments->bytes, arguments->size);
    wire_put(wire, arguments->reference_count);
    for (size_t i = 0; i < arguments->reference_count; i++)
        reference_put(worker, arguments->references[i], to, wire);
    packet_send(worker, to, RPC_CALL, future->request, id);
    return future;
}

struct rpc_future *rpc_async_with(int to, const char *name, const struct rpc_arguments *arguments)
{
    struct rpc_worker *worker = worker_get("rpc_async");
    ENTER(worker->state);
    struct rpc_future *future = call_start(worker, to, name, 0, arguments);
    state_leave(worker->state);
    return future;
}

struct rpc_future *rpc_async(int to, const char *name, size_t count,
                             struct diff_tensor *const *tensors)
{
    struct rpc_worker *worker = worker_get("rpc_async");
    ENTER(worker->state);
    struct rpc_future *future = call_start(
        worker, to, name, 0, &(struct rpc_arguments){.count = count, .tensors = tensors});
    state_leave(worker->state);
    return future;
}

struct rpc_future *rpc_sync(int to, const char *name, size_t count,
                            struct diff_tensor *const *tensors)
{
    struct rpc_worker *worker = worker_get("rpc_sync");
    ENTER(worker->state);
    struct rpc_future *future = call_start(
        worker, to, name, 0, &(struct rpc_arguments){.count = count, .tensors = tensors});
    future_wait(future);
    state_leave(worker->state);
    return future;
}

void call_results_take(struct rpc_worker *worker, struct rpc_future *future, struct wire *body)
{
    struct rpc_context *context = context_find(worker, future->context);
    char id[32];
    if (future->context && !context)
        rpc_event(worker, "refuse c=%s", id_text(future->context, id));
    int no_grad = worker->state->no_grad;
    worker->state->no_grad = future->no_grad;
    struct diff_tensor **tensors =
        tensors_get(worker, context, future->peer, body, &future->result_count);
    worker->state->no_grad = no_grad;
    future->results = rpc_take(future->result_count * sizeof *tensors);
    memcpy(future->results, tensors, future->result_count * sizeof *tensors);
    size_t size;
    const void *bytes = wire_get_bytes(body, &size);
    future->bytes = rpc_take(size);
    future->size = size;
    if (size)
        memcpy(future->bytes, bytes, size);
}

/* ---- answering ---- */

static void call_answer_error(struct rpc_call *call, const char *error)
{
    char text[800];
    snprintf(text, sizeof text, "Error on Node %d: %s", call->worker->me, error);
    answer_error(call->worker, call->from, RPC_REPLY, call->request, call->context, text);
    call->answered = true;
}

static void call_answer(struct rpc_call *call, size_t count, struct diff_tensor *const *tensors,
                        const void *bytes, size_t size)
{
    struct rpc_worker *worker = call->worker;
    struct rpc_context *context = context_find(worker, call->context);
    if (call->context && !context) {
        call_answer_error(call, "the context was released during the call");
        return;
    }
    struct wire *wire = packet_begin(worker);
    char what[96];
    snprintf(what, sizeof what, "answer-of-%s", call->name);
    wire_put(wire, 0);
    tensors_put(worker, context, call->from, what, count, tensors, wire);
    wire_put_bytes(wire, bytes, size);
    packet_send(worker, call->from, RPC_REPLY, call->request, call->context);
    call->answered = true;
}

static void answer_once(struct rpc_call *call, const char *function)
{
    if (call->answered)
        worker_misuse(call->worker, "%s: the call of %s was answered before", function, call->name);
}

void rpc_reply(struct rpc_call *call, size_t count, struct diff_tensor *const *tensors)
{
    ENTER(call->worker->state);
    answer_once(call, "rpc_reply");
    if (call->keep) {
        reference_keep(call->worker, call->keep, count, tensors);
        call->kept = true;
        call_answer(call, 0, NULL, NULL, 0);
    } else {
        call_answer(call, count, tensors, NULL, 0);
    }
    state_leave(call->worker->state);
}

void rpc_reply_bytes(struct rpc_call *call, const void *bytes, size_t size)
{
    ENTER(call->worker->state);
    answer_once(call, "rpc_reply_bytes");
    call_answer(call, 0, NULL, bytes, size);
    state_leave(call->worker->state);
}

void rpc_fail(struct rpc_call *call, const char *format, ...)
{
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ENTER(call->worker->state);
    answer_once(call, "rpc_fail");
    if (call->keep)
        reference_keep_error(call->worker, call->keep, text);
    call_answer_error(call, text);
    state_leave(call->worker->state);
}

/* The user's function runs as if it had been called from its rank's program: its own public calls
 * have their own sites, what it computes is recorded, and its current context is the caller's. */
static void handler_run(struct rpc_call *call, rpc_function *function)
{
    struct rpc_worker *worker = call->worker;
    struct diff_state *state = worker->state;
    struct rpc_call *outer = worker->call;
    uint64_t current = worker->current;
    int depth = state->depth, no_grad = state->no_grad;
    const void *site = state->site;
    worker->call = call;
    worker->current = call->context;
    state->depth = state->no_grad = 0;
    function(call);
    if (!call->answered && !call->deferred)
        rpc_reply(call, 0, NULL);
    state->depth = depth;
    state->no_grad = no_grad;
    state->site = site;
    worker->call = outer;
    /* Somebody may have released it meanwhile. */
    worker->current = context_find(worker, current) ? current : 0;
}

/* Recorded, whatever this worker's program waits in. */
static void arguments_take(struct rpc_call *call, struct rpc_context *context, struct wire *body)
{
    struct diff_state *state = call->worker->state;
    int no_grad = state->no_grad;
    state->no_grad = 0;
    call->arguments = tensors_get(call->worker, context, call->from, body, &call->argument_count);
    state->no_grad = no_grad;
    const void *bytes = wire_get_bytes(body, &call->size);
    call->bytes = rpc_take(call->size);
    if (call->size)
        memcpy(call->bytes, bytes, call->size);
    call->reference_count = (size_t)wire_get(body);
    if (call->reference_count > body->size)
        worker_misuse(call->worker, "a remote call arrived damaged");
    call->references = rpc_take(call->reference_count * sizeof *call->references);
    for (size_t i = 0; i < call->reference_count; i++)
        call->references[i] = reference_get(call->worker, body);
}

void call_handle(struct rpc_worker *worker, struct rpc_packet *packet)
{
    struct rpc_call call = {.worker = worker,
                            .from = packet->source,
                            .request = packet->request,
                            .context = packet->context};
    snprintf(call.name, sizeof call.name, "%s", wire_get_text(&packet->body));
    call.keep = wire_get(&packet->body);
    enum dist_mode mode = (enum dist_mode)wire_get(&packet->body);
    struct rpc_context *context =
        packet->context ? context_get_or_make(worker, packet->context, mode) : NULL;
    char error[200], id[32];
    rpc_function *function = function_find(worker, call.name);
    if (packet->context && !context)
        snprintf(error, sizeof error, "context %s has been released", id_text(packet->context, id));
    else if (!function)
        snprintf(error, sizeof error, "no function is registered as '%s'", call.name);
    else
        error[0] = 0;
    if (error[0]) {
        rpc_event(worker, "refuse c=%s", id_text(packet->context, id));
        if (call.keep)
            reference_keep_error(worker, call.keep, error);
        call_answer_error(&call, error);
        return;
    }
    if (context)
        context->known[packet->source] = true;
    arguments_take(&call, context, &packet->body);
    handler_run(&call, function);
    free(call.bytes);
    free(call.references);
}

/* ---- inside a registered function ---- */

int rpc_caller(const struct rpc_call *call)
{
    return call->from;
}

size_t rpc_argument_count(const struct rpc_call *call)
{
    return call->argument_count;
}

struct diff_tensor *rpc_argument(const struct rpc_call *call, size_t index)
{
    if (index >= call->argument_count)
        worker_misuse(call->worker, "%s asks for argument %zu of %zu", call->name, index,
                      call->argument_count);
    return call->arguments[index];
}

const void *rpc_argument_bytes(const struct rpc_call *call, size_t *size)
{
    *size = call->size;
    return call->bytes;
}

struct rpc_reference *rpc_argument_reference(const struct rpc_call *call, size_t index)
{
    if (index >= call->reference_count)
        worker_misuse(call->worker, "%s asks for reference %zu of %zu", call->name, index,
                      call->reference_count);
    return call->references[index];
}
