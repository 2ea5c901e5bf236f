/* Send and receive functions, and tensors on their way between workers: see context.h. */
#include "collectives/systems/rpc/context.h"
#include "collectives/systems/rpc/needed.h"
#include "collectives/systems/rpc/tangent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void received_forward(struct diff_node *node)
{
    (void)node;
}

static void received_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                             struct diff_tensor **x_bar)
{
    (void)y_bar, (void)x_bar;
    node_fail(node, "M009", "diff_backward reaches a tensor of another worker: use dist_backward");
}

static void received_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                             struct diff_tensor **y_dot)
{
    (void)x_dot, (void)y_dot;
    node_tangent_missing(node, "diff_jvp: it carries tangents on this worker only; set them by "
                               "dist_tangent_set before the calls, they travel with them");
}

static const struct diff_operation received_operation = {.name = "received",
                                                         .kind = OP_COMPUTE,
                                                         .inputs_elsewhere = true,
                                                         .saves = SAVES_NOTHING,
                                                         .forward = received_forward,
                                                         .adjoint = received_adjoint,
                                                         .tangent = received_tangent};

struct origin { /* of one received tensor */
    struct rpc_recv *recv;
    size_t index;
};

struct rpc_recv *recv_of(const struct diff_tensor *x, size_t *index)
{
    if (!x->node || x->node->operation != &received_operation)
        return NULL;
    const struct origin *origin = x->node->extra;
    *index = origin->index;
    return origin->recv;
}

uint64_t tensor_hash(const struct diff_tensor *x, uint64_t hash)
{
    const unsigned char *bytes = x->storage->data;
    size_t size = x->count * diff_type_size(x->type);
    hash ^= 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t tensors_hash(size_t count, struct diff_tensor *const *tensors)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++)
        hash = tensor_hash(tensors[i], hash);
    return hash;
}

uint64_t send_record(struct rpc_worker *worker, struct rpc_context *context, int to,
                     const char *what, size_t count, struct diff_tensor *const *tensors)
{
    size_t needing = 0;
    for (size_t i = 0; i < count && !worker->state->no_grad; i++)
        needing += tensors[i]->requires_gradient;
    if (!needing)
        return 0;
    struct rpc_send *send = rpc_take(sizeof *send);
    *send = (struct rpc_send){.message = id_make(worker->rank, ++worker->numbers.messages),
                              .to = to,
                              .site = worker->state->site,
                              .count = needing};
    snprintf(send->what, sizeof send->what, "%s", what);
    send->tensors = rpc_take(needing * sizeof *send->tensors);
    for (size_t i = 0, k = 0; i < count; i++)
        if (tensors[i]->requires_gradient)
            send->tensors[k++] = tensors[i];
    context->sends =
        rpc_grow(context->sends, context->send_count, &context->send_room, sizeof *context->sends);
    context->sends[context->send_count++] = send;
    char id[32], message[32];
    rpc_event(worker, "send c=%s m=%s to=%d n=%zu h=%llx what=%s", id_text(context->id, id),
              id_text(send->message, message), worker->ranks[to], needing,
              (unsigned long long)tensors_hash(send->count, send->tensors), what);
    history_record(worker, context, "m", send->message, send->count, send->tensors);
    return send->message;
}

struct rpc_send *send_find(const struct rpc_context *context, uint64_t message)
{
    size_t low = 0, high = context->send_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (context->sends[middle]->message < message)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < context->send_count && context->sends[low]->message == message;
    return found ? context->sends[low] : NULL;
}

static void recv_event(const struct rpc_worker *worker, const struct rpc_recv *recv)
{
    char id[32], message[32];
    rpc_event(worker, "recv c=%s m=%s from=%d n=%zu h=%llx", id_text(recv->context->id, id),
              id_text(recv->message, message), worker->ranks[recv->from], recv->count,
              (unsigned long long)tensors_hash(recv->count, recv->tensors));
}

struct rpc_recv *recv_record(struct rpc_worker *worker, struct rpc_context *context,
                             uint64_t message, int from, size_t count, struct diff_tensor **tensors)
{
    struct arena *arena = &worker->tape->arena;
    struct rpc_recv *recv = arena_take_zeroed(arena, sizeof *recv);
    *recv = (struct rpc_recv){.context = context, .message = message, .from = from};
    recv->tensors = arena_take_zeroed(arena, count * sizeof *recv->tensors);
    recv->count = count;
    for (size_t i = 0; i < count; i++) {
        struct diff_node *node = node_begin(&received_operation, 1, &worker->anchor);
        struct origin *origin = node_take(node, sizeof *origin);
        *origin = (struct origin){recv, i};
        node->extra = origin;
        recv->tensors[i] = node_output(node, tensors[i]);
        node_run(node);
    }
    context->recvs =
        rpc_grow(context->recvs, context->recv_count, &context->recv_room, sizeof *context->recvs);
    context->recvs[context->recv_count++] = recv;
    recv_event(worker, recv);
    if (worker->mutant == RPC_MUTANT_RECV_TWICE)
        recv_event(worker, recv);
    return recv;
}

/* ---- on the way ---- */

/* What a message says of a tensor. */
enum { MARK_NEEDS = 1, MARK_TANGENT = 2 };

/* Tensors and the tangents that travel behind them. */
struct cargo {
    struct diff_tensor **tangents; /* NULL: none */
    struct diff_tensor **all;      /* in the order of the message */
    size_t total;
};

static struct cargo cargo_new(struct rpc_worker *worker, struct rpc_context *context, size_t count,
                              struct diff_tensor *const *tensors)
{
    struct arena *arena = &worker->tape->arena;
    struct cargo cargo = {.tangents = arena_take_zeroed(arena, (count + 1) * sizeof *tensors),
                          .all = arena_take(arena, (2 * count + 1) * sizeof *tensors)};
    tangents_find(worker, context, count, tensors, cargo.tangents);
    for (size_t i = 0; i < count; i++) {
        cargo.all[cargo.total++] = tensors[i];
        if (cargo.tangents[i])
            cargo.all[cargo.total++] = cargo.tangents[i];
    }
    return cargo;
}

static void cargo_put(const struct cargo *cargo, bool recorded, size_t count,
                      struct diff_tensor *const *tensors, struct wire *wire)
{
    for (size_t i = 0; i < count; i++) {
        struct diff_tensor *tangent = cargo->tangents ? cargo->tangents[i] : NULL;
        bool needs = recorded && tensors[i]->requires_gradient;
        wire_put(wire, (needs ? MARK_NEEDS : 0u) | (tangent ? MARK_TANGENT : 0u));
        wire_put_tensor(wire, tensors[i]);
        if (!tangent)
            continue;
        wire_put(wire, recorded && tangent->requires_gradient ? MARK_NEEDS : 0u);
        wire_put_tensor(wire, tangent);
    }
}

static void tensors_check(const struct rpc_worker *worker, const char *what, size_t count,
                          struct diff_tensor *const *tensors)
{
    for (size_t i = 0; i < count; i++)
        if (tensors[i]->tape != worker->tape || tensors[i]->type == DIFF_HANDLE)
            worker_misuse(worker, "tensor %zu of %s %s", i, what,
                          tensors[i]->type == DIFF_HANDLE
                              ? "is a handle: wait for it first"
                              : "lives on another tape: those that travel live on rpc_tape()");
}

uint64_t tensors_put(struct rpc_worker *worker, struct rpc_context *context, int to,
                     const char *what, size_t count, struct diff_tensor *const *tensors,
                     struct wire *wire)
{
    struct cargo cargo = {.total = count};
    tensors_check(worker, what, count, tensors);
    if (tangents_travel(worker, context) && !worker->state->no_grad)
        cargo = cargo_new(worker, context, count, tensors);
    uint64_t message = context ? send_record(worker, context, to, what, cargo.total,
                                             cargo.all ? cargo.all : tensors)
                               : 0;
    if (context)
        context->known[to] = true;
    wire_put(wire, count);
    wire_put(wire, context && context->tangents.own);
    cargo_put(&cargo, message != 0, count, tensors, wire);
    wire_put(wire, message);
    if (!message)
        return 0;
    struct id_set lineage = {0};
    if (context->mode == DIST_SMART_LINEAGE) {
        lineage_collect(cargo.total, cargo.all ? cargo.all : tensors, &lineage);
        id_set_add(&lineage, message);
    }
    id_set_put(&lineage, wire);
    id_set_release(&lineage);
    return message;
}

/* The sum of the arena's: the set lives as long as the tensors. */
static void lineage_keep(struct rpc_worker *worker, struct rpc_recv *recv, struct wire *wire)
{
    struct id_set set = {0};
    id_set_get(&set, wire);
    if (set.count) {
        recv->lineage.ids = arena_take(&worker->tape->arena, set.count * sizeof *recv->lineage.ids);
        memcpy(recv->lineage.ids, set.ids, set.count * sizeof *set.ids);
        recv->lineage.count = set.count;
    }
    id_set_release(&set);
}

/* A message's tensors as they are read. */
struct unloading {
    struct diff_tensor **tensors, **tangents, **needing;
    size_t needing_count;
};

static uint64_t unload_one(struct rpc_worker *worker, struct wire *wire,
                           struct unloading *unloading, struct diff_tensor **x)
{
    uint64_t marks = wire_get(wire);
    *x = wire_get_tensor(wire, worker->tape);
    if (marks & MARK_NEEDS)
        unloading->needing[unloading->needing_count++] = *x;
    return marks;
}

static struct unloading unload(struct rpc_worker *worker, size_t count, struct wire *wire)
{
    struct arena *arena = &worker->tape->arena;
    struct unloading unloading = {
        .tensors = arena_take_zeroed(arena, (count + 1) * sizeof *unloading.tensors),
        .tangents = arena_take_zeroed(arena, (count + 1) * sizeof *unloading.tangents),
        .needing = arena_take_zeroed(arena, (2 * count + 1) * sizeof *unloading.needing)};
    for (size_t i = 0; i < count; i++)
        if (unload_one(worker, wire, &unloading, &unloading.tensors[i]) & MARK_TANGENT)
            unload_one(worker, wire, &unloading, &unloading.tangents[i]);
    return unloading;
}

struct diff_tensor **tensors_get(struct rpc_worker *worker, struct rpc_context *context, int from,
                                 struct wire *wire, size_t *count)
{
    *count = (size_t)wire_get(wire);
    bool own = wire_get(wire) != 0;
    if (*count > wire->size)
        worker_misuse(worker, "a remote call arrived damaged");
    struct unloading unloading = unload(worker, *count, wire);
    struct diff_tensor **needing = unloading.needing;
    if (worker->mutant == RPC_MUTANT_VALUE_CHANGED && unloading.needing_count && needing[0]->count)
        ((unsigned char *)needing[0]->storage->data)[0] ^= 1;
    if (own && context)
        tangents_own(worker, context);
    uint64_t message = wire_get(wire);
    if (!message)
        return unloading.tensors;
    if (!context) {
        size_t size;
        wire_get_bytes(wire, &size);
        return unloading.tensors;
    }
    context->known[from] = true;
    lineage_keep(worker,
                 recv_record(worker, context, message, from, unloading.needing_count, needing),
                 wire);
    for (size_t i = 0; i < *count; i++)
        if (unloading.tangents[i])
            tangent_arrive(worker, context, unloading.tensors[i], unloading.tangents[i]);
    return unloading.tensors;
}
