/* What collectives share: see collective.h. */
#include "collectives/collective.h"

#include "collectives/message.h"
#include "collectives/mutant.h"
#include "collectives/trace_node.h"
#include "traces/recorder.h"

#include <stdlib.h>
#include <string.h>

MPI_Op collective_mpi_op(MPI_Op op)
{
    return op == DIFF_AVG ? MPI_SUM : op;
}

bool collective_op_is_linear(MPI_Op op)
{
    return op == MPI_SUM || op == DIFF_AVG;
}

static const struct diff_user_op *user_op_find(const struct diff_state *state, MPI_Op op)
{
    const struct diff_user_op *known = state->user_ops;
    while (known && known->op != op)
        known = known->next;
    return known;
}

static const char *refusal(const struct diff_tensor *x, MPI_Op op)
{
    if (collective_op_is_linear(op) || op == MPI_PROD)
        return NULL;
    if (op == MPI_MAX || op == MPI_MIN || op == MPI_MINLOC || op == MPI_MAXLOC)
        return diff_type_is_complex(x->type) ? "complex numbers have no order" : NULL;
    if (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR || op == MPI_BAND || op == MPI_BOR ||
        op == MPI_BXOR)
        return "logical and bitwise operations have no derivative";
    return user_op_find(x->tape->state, op)
               ? NULL
               : "the operation has no registered derivative: call diff_op_register";
}

void collective_op_check(struct diff_tensor *x, MPI_Op op, const char *name)
{
    const char *reason = refusal(x, op);
    if (reason)
        state_fail(x->tape->state, "M009", "%s: %s", name, reason);
}

void diff_op_register(MPI_Op op, const struct diff_op_rules *rules)
{
    struct diff_state *state = state_get();
    struct diff_user_op *entry = calloc(1, sizeof *entry);
    if (!entry)
        state_fail(state, "X002", "the differentiable library ran out of memory");
    *entry = (struct diff_user_op){.next = state->user_ops, .op = op, .rules = *rules};
    state->user_ops = entry;
}

/* ---- forward ---- */

static void average(const struct collective *collective, struct diff_tensor *y)
{
    double factor = 1.0 / collective->channel->size;
    size_t parts = y->count * diff_type_parts(y->type);
    REAL_SWITCH(diff_type_real(y->type), {
        T *values = y->storage->data;
        for (size_t i = 0; i < parts; i++)
            values[i] *= (T)factor;
    })
}

static void collective_arrived(struct diff_request *request, const MPI_Status *status)
{
    (void)status;
    const struct collective *collective = request->start->extra;
    if (collective->op == DIFF_AVG)
        average(collective, request->result);
}

void collective_forward(struct diff_node *node)
{
    struct collective *collective = node->extra;
    struct diff_tensor *x = node->inputs[0];
    struct diff_tensor *y =
        collective->nonblocking ? collective->request->result : node->outputs[0];
    const void *send = collective->in_place ? MPI_IN_PLACE : x->storage->data;
    node_collective(node);
    trace_place(node);
    if (collective->nonblocking) {
        collective->rule->call(collective, send, y->storage->data, &collective->request->mpi);
        return;
    }
    collective->rule->call(collective, send, y->storage->data, NULL);
    if (collective->op == DIFF_AVG)
        average(collective, y);
}

static struct diff_tensor *result_make(struct diff_node *node, struct collective *collective,
                                       struct diff_tensor *x)
{
    if (!collective->in_place) {
        bool same = collective->result_count == x->count;
        return same ? tensor_new_like(x)
                    : tensor_new_flat(node->tape, collective->type, collective->result_count);
    }
    collective->saved = tensor_new_like(x);
    memcpy(collective->saved->storage->data, x->storage->data, x->count * diff_type_size(x->type));
    x->storage->version++;
    struct diff_tensor *y = tensor_new(node->tape, x->type, 0, NULL);
    *y = *tensor_view(x, 1, &x->count);
    return y;
}

struct diff_tensor *collective_issue(const struct collective *spec, struct diff_tensor *x)
{
    const struct collective_rule *rule = spec->rule;
    const struct diff_operation *operation =
        spec->nonblocking ? &rule->nonblocking : &rule->blocking;
    struct diff_node *node = node_begin(operation, 1, &x);
    struct collective *collective = node_take(node, sizeof *collective);
    *collective = *spec;
    collective->type = x->type;
    node->extra = collective;
    node->channel = spec->channel;
    struct diff_tensor *y = result_make(node, collective, x);
    if (spec->nonblocking) {
        struct diff_request *request = request_new(x->tape, node);
        request->result = y;
        request->buffer = x;
        request->arrived = collective_arrived;
        collective->request = request;
        y = tensor_handle(x->tape, request);
    }
    node_output(node, y);
    node_run(node);
    return y;
}

/* ---- adjoint ---- */

struct collective collective_for_adjoint(const struct diff_node *node,
                                         const struct collective_rule *rule)
{
    const struct collective *collective = node->extra;
    struct collective spec = {.rule = rule,
                              .channel = channel_adjoint(node->channel),
                              .op = MPI_SUM,
                              .root = collective->root,
                              .nonblocking = collective->nonblocking,
                              .count = collective->count};
    return spec;
}

struct diff_tensor *collective_part(struct diff_tensor *part)
{
    return part && part->type == DIFF_HANDLE ? message_wait(part) : part;
}

struct diff_tensor *collective_y_bar(const struct diff_node *node,
                                     const struct diff_request *adjoint)
{
    const struct collective *collective = node->extra;
    const struct diff_tensor *y =
        collective->nonblocking ? collective->request->result : node->outputs[0];
    return cotangent_or_zeros(adjoint->y_bar, y);
}

void collective_launch(struct diff_node *node, struct diff_request *adjoint)
{
    const struct collective *collective = node->extra;
    collective->rule->launch(node, adjoint);
}

static struct diff_tensor *finished(struct diff_node *node, struct diff_request *adjoint)
{
    const struct collective *collective = node->extra;
    struct diff_tensor *x_bar = collective->rule->finish(node, adjoint);
    return x_bar ? local_shaped_like(x_bar, node->inputs[0]) : NULL;
}

void collective_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                        struct diff_tensor **x_bar)
{
    struct diff_request adjoint = {.start = node, .y_bar = y_bar[0]};
    collective_launch(node, &adjoint);
    x_bar[0] = finished(node, &adjoint);
}

void collective_adjoint_started(struct diff_node *node, struct diff_tensor *const *y_bar,
                                struct diff_tensor **x_bar)
{
    x_bar[0] = finished(node, request_launched(node, y_bar[0]));
}

void collective_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                        struct diff_tensor **y_dot)
{
    const struct collective *collective = node->extra;
    y_dot[0] = collective->rule->tangent(node, cotangent_or_zeros(x_dot[0], node->inputs[0]));
}
