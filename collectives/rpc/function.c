/* Send and receive functions, and tensors on their way between workers: see context.h. */
#include "collectives/rpc/context.h"
#include "collectives/rpc/needed.h"

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
    node_tangent_missing(node, "diff_jvp: tangents do not travel with remote calls; differentiate "
                               "backward by dist_backward");
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
    for (size_t i = 0; i < count; i++)
        needing += tensors[i]->requires_gradient;
    if (!needing)
        return 0;
    struct rpc_send *send = rpc_take(sizeof *send);
    *send = (struct rpc_send){.message = id_make(worker->me, ++worker->message_counter),
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
              id_text(send->message, message), to, needing,
              (unsigned long long)tensors_hash(send->count, send->tensors), what);
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
              id_text(recv->message, message), recv->from, recv->count,
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

void tensors_put(struct rpc_worker *worker, struct rpc_context *context, int to, const char *what,
                 size_t count, struct diff_tensor *const *tensors, struct wire *wire)
{
    uint64_t message = context ? send_record(worker, context, to, what, count, tensors) : 0;
    if (context)
        context->known[to] = true;
    wire_put(wire, count);
    for (size_t i = 0; i < count; i++) {
        wire_put(wire, message && tensors[i]->requires_gradient);
        wire_put_tensor(wire, tensors[i]);
    }
    wire_put(wire, message);
    if (!message)
        return;
    struct id_set lineage = {0};
    if (context->mode == DIST_SMART_LINEAGE) {
        lineage_collect(count, tensors, &lineage);
        id_set_add(&lineage, message);
    }
    id_set_put(&lineage, wire);
    id_set_release(&lineage);
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

struct diff_tensor **tensors_get(struct rpc_worker *worker, struct rpc_context *context, int from,
                                 struct wire *wire, size_t *count)
{
    *count = (size_t)wire_get(wire);
    if (*count > wire->size)
        worker_misuse(worker, "a remote call arrived damaged");
    struct arena *arena = &worker->tape->arena;
    struct diff_tensor **tensors = arena_take_zeroed(arena, (*count + 1) * sizeof *tensors);
    struct diff_tensor **needing = arena_take_zeroed(arena, (*count + 1) * sizeof *needing);
    size_t needing_count = 0;
    for (size_t i = 0; i < *count; i++) {
        bool needs = wire_get(wire) != 0;
        tensors[i] = wire_get_tensor(wire, worker->tape);
        if (needs)
            needing[needing_count++] = tensors[i];
    }
    if (worker->mutant == RPC_MUTANT_VALUE_CHANGED && needing_count && needing[0]->count)
        ((unsigned char *)needing[0]->storage->data)[0] ^= 1;
    uint64_t message = wire_get(wire);
    if (!message)
        return tensors;
    if (context) {
        context->known[from] = true;
        lineage_keep(worker, recv_record(worker, context, message, from, needing_count, needing),
                     wire);
    } else {
        size_t size;
        wire_get_bytes(wire, &size);
    }
    return tensors;
}
