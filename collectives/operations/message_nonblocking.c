/* Sendrecv and persistent messages. */
#include "collectives/experiment/mutant.h"
#include "collectives/operations/collective.h"
#include "collectives/operations/message.h"
#include "collectives/operations/message_internal.h"
#include "collectives/tape/layout.h"

#include <stdlib.h>
#include <string.h>

/* ---- Sendrecv ----
 * y's front is what came from `source` with `receive_tag`; x went to `destination` with `send_tag`.
 * Adjoint: the same with ranks *and* tags swapped. */

struct exchange {
    int destination, send_tag, source, receive_tag;
    size_t received;
    bool replace;
};

static struct diff_tensor *exchange_on(struct diff_channel *channel, struct diff_tensor *x,
                                       struct diff_tensor *buffer, const struct exchange *rule);

static void exchange_forward(struct diff_node *node)
{
    struct exchange *rule = node->extra;
    const struct diff_tensor *x = node->inputs[0];
    struct diff_tensor *y = node->outputs[0];
    MPI_Datatype type = diff_type_mpi(y->type);
    MPI_Comm comm = node->channel->comm;
    MPI_Status status;
    if (rule->destination != MPI_PROC_NULL)
        node_message(node, 0, KEY_SEND, rule->destination, rule->send_tag);
    if (rule->replace) {
        memcpy(y->storage->data, x->storage->data, x->count * diff_type_size(x->type));
        MPI_Sendrecv_replace(y->storage->data, message_elements(y), type, rule->destination,
                             rule->send_tag, rule->source, rule->receive_tag, comm, &status);
    } else {
        MPI_Sendrecv(x->storage->data, message_elements(x), type, rule->destination, rule->send_tag,
                     y->storage->data, message_elements(y), type, rule->source, rule->receive_tag,
                     comm, &status);
    }
    if (rule->source != MPI_PROC_NULL) {
        int count = 0;
        MPI_Get_count(&status, type, &count);
        rule->received = (size_t)count;
        node_message(node, 1, KEY_RECEIVE, status.MPI_SOURCE, status.MPI_TAG);
    }
    message_tail_keep(node->inputs[1], y, rule->received);
}

/* The rule with wildcards replaced by what matched. */
static struct exchange exchange_matched(const struct diff_node *node)
{
    struct exchange rule = *(const struct exchange *)node->extra;
    if (rule.source != MPI_PROC_NULL) {
        rule.source = node->links[1].peer;
        rule.receive_tag = node->links[1].tag;
    } else if (rule.receive_tag == MPI_ANY_TAG) {
        rule.receive_tag = 0; /* the way back sends to nobody, with a tag */
    }
    rule.replace = false;
    return rule;
}

static void exchange_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                             struct diff_tensor **x_bar)
{
    struct exchange forward = exchange_matched(node);
    struct exchange back = {.destination = forward.source,
                            .send_tag = forward.receive_tag,
                            .source = forward.destination,
                            .receive_tag = forward.send_tag};
    if (node->tape->state->mutant == MUTANT_SENDRECV_TAGS) {
        back.send_tag = forward.send_tag;
        back.receive_tag = forward.receive_tag;
    }
    struct diff_tensor *bar = cotangent_or_zeros(y_bar[0], node->outputs[0]);
    x_bar[0] = exchange_on(channel_adjoint(node->channel), message_front(bar, forward.received),
                           tensor_room_like(node->inputs[0]), &back);
    x_bar[1] = message_tail(y_bar[0], forward.received);
}

static void exchange_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                             struct diff_tensor **y_dot)
{
    struct exchange rule = exchange_matched(node);
    y_dot[0] =
        exchange_on(channel_adjoint(node->channel), cotangent_or_zeros(x_dot[0], node->inputs[0]),
                    cotangent_or_zeros(x_dot[1], node->inputs[1]), &rule);
}

static const struct diff_operation exchange_operation = {.name = "Sendrecv",
                                                         .kind = OP_SEND,
                                                         .communicates = true,
                                                         .forward = exchange_forward,
                                                         .adjoint = exchange_adjoint,
                                                         .tangent = exchange_tangent};

static struct diff_tensor *exchange_on(struct diff_channel *channel, struct diff_tensor *x,
                                       struct diff_tensor *buffer, const struct exchange *rule)
{
    if (x->type != buffer->type)
        state_fail(x->tape->state, "M009", "Sendrecv of %s into %s values", diff_type_name(x->type),
                   diff_type_name(buffer->type));
    struct diff_node *node =
        node_begin(&exchange_operation, 2, (struct diff_tensor *[]){x, buffer});
    struct exchange *own = node_take(node, sizeof *own);
    *own = *rule;
    node->extra = own;
    node->channel = channel;
    struct diff_tensor *y = node_output(node, tensor_new_like(buffer));
    node_run(node);
    return y;
}

struct diff_tensor *diff_sendrecv(struct diff_tensor *x, int destination, int send_tag,
                                  struct diff_tensor *buffer, int source, int receive_tag,
                                  MPI_Comm comm)
{
    ENTER(x->tape->state);
    struct exchange rule = {destination, send_tag, source, receive_tag, 0, false};
    struct diff_tensor *y = exchange_on(channel_find(x->tape, comm, false), x, buffer, &rule);
    state_leave(x->tape->state);
    return y;
}

struct diff_tensor *diff_sendrecv_replace(struct diff_tensor *x, int destination, int send_tag,
                                          int source, int receive_tag, MPI_Comm comm)
{
    ENTER(x->tape->state);
    struct exchange rule = {destination, send_tag, source, receive_tag, 0, true};
    struct diff_tensor *y = exchange_on(channel_find(x->tape, comm, false), x, x, &rule);
    state_leave(x->tape->state);
    return y;
}

/* ---- persistent ---- */

static struct diff_persistent *persistent_new(struct diff_tape *tape, enum diff_type type,
                                              size_t count, int peer, int tag, MPI_Comm comm,
                                              bool sends)
{
    struct diff_persistent *persistent = calloc(1, sizeof *persistent);
    void *buffer = malloc(count * diff_type_size(type) + 1);
    if (!persistent || !buffer)
        state_fail(tape->state, "X002", "the differentiable library ran out of memory");
    *persistent = (struct diff_persistent){.tape = tape,
                                           .type = type,
                                           .count = count,
                                           .buffer = buffer,
                                           .sends = sends,
                                           .end = {channel_find(tape, comm, false), peer, tag}};
    if (sends)
        MPI_Send_init(buffer, (int)count, diff_type_mpi(type), peer, tag, comm,
                      &persistent->request);
    else
        MPI_Recv_init(buffer, (int)count, diff_type_mpi(type), peer, tag, comm,
                      &persistent->request);
    return persistent;
}

struct diff_persistent *diff_send_init(struct diff_tape *tape, enum diff_type type, size_t count,
                                       int destination, int tag, MPI_Comm comm)
{
    ENTER(tape->state);
    struct diff_persistent *p = persistent_new(tape, type, count, destination, tag, comm, true);
    state_leave(tape->state);
    return p;
}

struct diff_persistent *diff_recv_init(struct diff_tape *tape, enum diff_type type, size_t count,
                                       int source, int tag, MPI_Comm comm)
{
    ENTER(tape->state);
    struct diff_persistent *p = persistent_new(tape, type, count, source, tag, comm, false);
    state_leave(tape->state);
    return p;
}

static struct diff_tensor *started(struct diff_persistent *persistent, struct diff_tensor *x,
                                   const char *function)
{
    if (x->type != persistent->type || x->count != persistent->count)
        state_fail(x->tape->state, "M009", "%s with %zu %s values on a request for %zu %s values",
                   function, x->count, diff_type_name(x->type), persistent->count,
                   diff_type_name(persistent->type));
    return persistent->collective ? collective_start(persistent, x) : message_start(persistent, x);
}

struct diff_tensor *diff_start(struct diff_persistent *persistent, struct diff_tensor *x)
{
    ENTER(x->tape->state);
    struct diff_tensor *handle = started(persistent, x, __func__);
    state_leave(x->tape->state);
    return handle;
}

void diff_startall(size_t count, struct diff_persistent *const *persistents,
                   struct diff_tensor *const *x, struct diff_tensor **handles)
{
    if (count == 0)
        return;
    struct diff_state *state = x[0]->tape->state;
    ENTER(state);
    for (size_t i = 0; i < count; i++)
        handles[i] = started(persistents[i], x[i], __func__);
    state_leave(state);
}

void diff_persistent_free(struct diff_persistent *persistent)
{
    if (!persistent)
        return;
    if (persistent->request != MPI_REQUEST_NULL)
        MPI_Request_free(&persistent->request);
    free(persistent->buffer);
    free(persistent);
}
