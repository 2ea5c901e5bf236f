/* Messages: Send in its four modes and Recv, with their adjoints.
 *
 * A message carries x from the sender into the front of the receiver's buffer; what is behind it
 * stays. Adjoint: the receiver sends the front of its cotangent back and the sender adds it. The
 * buffer's old front was overwritten, so its cotangent is 0 there; the tail's passes through.
 *
 * In program order the way back holds nobody up: what the forward pass sent may have been buffered,
 * so that the receiver's adjoint, a send, must not wait for its receive. It completes when the pass
 * ends. In data order it is a plain send, whose waiting the program's joins must allow for. */
#include "collectives/arithmetic/local.h"
#include "collectives/experiment/mutant.h"
#include "collectives/operations/message_internal.h"

#include <string.h>

bool message_to_nobody(int peer)
{
    return peer == MPI_PROC_NULL;
}

/* The far end as matched, on the adjoint channel: where tangents go, and cotangents come from or go
 * to. */
struct far_end message_same_way(const struct diff_node *node)
{
    const struct key_link *link = &node->links[0];
    return (struct far_end){channel_adjoint(node->channel), link->peer, link->tag};
}

struct far_end message_way_back(const struct diff_node *node)
{
    struct far_end end = message_same_way(node);
    if (node->tape->state->mutant == MUTANT_TAG_OFFSET) {
        const struct message *message = node->extra;
        end = (struct far_end){node->channel, node->links[0].peer, message->tag + 10};
    }
    return end;
}

struct diff_node *message_begin(const struct diff_operation *operation, struct diff_tensor *x,
                                struct far_end end, enum send_mode mode)
{
    if (x->type == DIFF_HANDLE)
        state_fail(x->tape->state, "M009", "%s of a handle", operation->name);
    struct diff_node *node = node_begin(operation, 1, &x);
    struct message *message = node_take(node, sizeof *message);
    *message = (struct message){.peer = end.peer, .tag = end.tag, .mode = mode};
    node->extra = message;
    node->channel = end.channel;
    return node;
}

int message_elements(const struct diff_tensor *x)
{
    if (x->count > INT32_MAX)
        state_fail(x->tape->state, "M009", "a message of %zu values: at most 2^31 - 1", x->count);
    return (int)x->count;
}

/* ---- send ---- */

static void send_forward(struct diff_node *node)
{
    const struct message *message = node->extra;
    const struct diff_tensor *x = node->inputs[0];
    int count = message_elements(x);
    MPI_Datatype type = diff_type_mpi(x->type);
    MPI_Comm comm = node->channel->comm;
    if (!message_to_nobody(message->peer))
        node_message(node, 0, KEY_SEND, message->peer, message->tag);
    if (message->mode == SEND_SYNCHRONOUS)
        MPI_Ssend(x->storage->data, count, type, message->peer, message->tag, comm);
    else if (message->mode == SEND_BUFFERED)
        MPI_Bsend(x->storage->data, count, type, message->peer, message->tag, comm);
    else if (message->mode == SEND_READY)
        MPI_Rsend(x->storage->data, count, type, message->peer, message->tag, comm);
    else
        MPI_Send(x->storage->data, count, type, message->peer, message->tag, comm);
}

static void send_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                         struct diff_tensor **x_bar)
{
    (void)y_bar;
    const struct message *message = node->extra;
    if (!message_to_nobody(message->peer))
        x_bar[0] = message_recv(tensor_room_like(node->inputs[0]), message_way_back(node));
}

static void send_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                         struct diff_tensor **y_dot)
{
    const struct message *message = node->extra;
    if (message_to_nobody(message->peer))
        return;
    struct diff_tensor *dot = cotangent_or_zeros(x_dot[0], node->inputs[0]);
    if (message->mode == SEND_BUFFERED) /* as that one, it waits for nobody */
        message_complete_late(message_isend(dot, message_same_way(node), SEND_STANDARD));
    else
        y_dot[0] = message_send(dot, message_same_way(node), SEND_STANDARD);
}

static const struct diff_operation send_operations[] = {
    {.name = "Send",
     .kind = OP_SEND,
     .communicates = true,
     .forward = send_forward,
     .adjoint = send_adjoint,
     .tangent = send_tangent},
    {.name = "Ssend",
     .kind = OP_SSEND,
     .communicates = true,
     .forward = send_forward,
     .adjoint = send_adjoint,
     .tangent = send_tangent},
    {.name = "Bsend",
     .kind = OP_BSEND,
     .communicates = true,
     .forward = send_forward,
     .adjoint = send_adjoint,
     .tangent = send_tangent},
    {.name = "Rsend",
     .kind = OP_RSEND,
     .communicates = true,
     .forward = send_forward,
     .adjoint = send_adjoint,
     .tangent = send_tangent},
};

struct diff_tensor *message_send(struct diff_tensor *x, struct far_end to, enum send_mode mode)
{
    struct diff_node *node = message_begin(&send_operations[mode], x, to, mode);
    struct diff_tensor *y = node_output(node, tensor_new_flat(x->tape, x->type, 0));
    node_run(node);
    return y;
}

/* ---- receive ---- */

void message_tail_keep(const struct diff_tensor *buffer, struct diff_tensor *y, size_t received)
{
    size_t size = diff_type_size(y->type);
    const char *from = buffer->storage->data;
    char *to = y->storage->data;
    if (received < y->count && from)
        memcpy(to + received * size, from + received * size, (y->count - received) * size);
    else if (received < y->count)
        memset(to + received * size, 0, (y->count - received) * size);
}

/* What a completed receive tells: how much came, and from whom. */
void message_arrival_note(struct diff_node *node, struct message *message, const MPI_Status *status)
{
    int count = 0;
    MPI_Get_count(status, diff_type_mpi(node->inputs[0]->type), &count);
    message->received = count > 0 ? (size_t)count : 0;
    struct diff_tensor *y = message->request ? message->request->result : node->outputs[0];
    y->arrival = node;
    node_message(node, 0, KEY_RECEIVE, status->MPI_SOURCE, status->MPI_TAG);
}

static void recv_forward(struct diff_node *node)
{
    struct message *message = node->extra;
    struct diff_tensor *y = node->outputs[0];
    MPI_Status status;
    if (message->matched)
        MPI_Mrecv(y->storage->data, message_elements(y), diff_type_mpi(y->type), message->matched,
                  &status);
    else
        MPI_Recv(y->storage->data, message_elements(y), diff_type_mpi(y->type), message->peer,
                 message->tag, node->channel->comm, &status);
    if (!message_to_nobody(status.MPI_SOURCE))
        message_arrival_note(node, message, &status);
    else
        message->peer = MPI_PROC_NULL;
    message_tail_keep(node->inputs[0], y, message->received);
}

/* The front of a cotangent, which travels back. */
struct diff_tensor *message_front(struct diff_tensor *y_bar, size_t received)
{
    if (received == y_bar->count)
        return y_bar;
    return local_window(local_shaped(y_bar, 1, &y_bar->count), 0, received);
}

/* The tail, which belongs to the buffer's old content; NULL where there is none. */
struct diff_tensor *message_tail(struct diff_tensor *y_bar, size_t received)
{
    if (!y_bar || received == y_bar->count)
        return NULL;
    struct diff_tensor *flat = local_shaped(y_bar, 1, &y_bar->count);
    struct diff_tensor *tail = local_window(flat, received, y_bar->count - received);
    return local_shaped_like(local_pad(tail, received, y_bar->count), y_bar);
}

static void recv_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                         struct diff_tensor **x_bar)
{
    const struct message *message = node->extra;
    if (!message_to_nobody(message->peer)) {
        struct diff_tensor *whole = cotangent_or_zeros(y_bar[0], node->outputs[0]);
        struct diff_tensor *front = message_front(whole, message->received);
        if (node->tape->order == DIFF_ORDER_PROGRAM)
            message_complete_late(message_isend(front, message_way_back(node), SEND_STANDARD));
        else
            message_send(front, message_way_back(node), SEND_STANDARD);
    }
    x_bar[0] = message_tail(y_bar[0], message->received);
}

static void recv_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                         struct diff_tensor **y_dot)
{
    const struct message *message = node->extra;
    y_dot[0] = x_dot[0];
    if (message_to_nobody(message->peer))
        return;
    y_dot[0] = message_recv(cotangent_or_zeros(x_dot[0], node->inputs[0]), message_same_way(node));
}

static const struct diff_operation recv_operation = {.name = "Recv",
                                                     .kind = OP_RECV,
                                                     .communicates = true,
                                                     .forward = recv_forward,
                                                     .adjoint = recv_adjoint,
                                                     .tangent = recv_tangent};

struct diff_tensor *message_recv(struct diff_tensor *buffer, struct far_end from)
{
    struct diff_node *node = message_begin(&recv_operation, buffer, from, SEND_STANDARD);
    struct diff_tensor *y = node_output(node, tensor_new_like(buffer));
    node_run(node);
    return y;
}

struct diff_tensor *message_mrecv(struct diff_tensor *buffer, struct far_end from,
                                  MPI_Message *matched)
{
    struct diff_node *node = message_begin(&recv_operation, buffer, from, SEND_STANDARD);
    ((struct message *)node->extra)->matched = matched;
    struct diff_tensor *y = node_output(node, tensor_new_like(buffer));
    node_run(node);
    return y;
}
