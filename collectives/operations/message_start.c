/* Nonblocking messages: Isend in its four modes, Irecv and Wait, with their adjoints.
 *
 * Wait's adjoint starts the message back, the adjoint of Isend or Irecv completes it; in program
 * order a send back completes when the pass ends (message.c has the reason). */
#include "collectives/operations/message_internal.h"
#include "collectives/tape/layout.h"

#include <string.h>

/* ---- isend ---- */

static struct diff_request *request_begin(struct diff_node *node, bool is_send)
{
    struct message *message = node->extra;
    struct diff_request *request = request_new(node->tape, node);
    request->is_send = is_send;
    request->buffer = node->inputs[0];
    message->request = request;
    return request;
}

static void isend_forward(struct diff_node *node)
{
    struct message *message = node->extra;
    const struct diff_tensor *x = node->inputs[0];
    int count = message_elements(x);
    MPI_Datatype type = diff_type_mpi(x->type);
    MPI_Comm comm = node->channel->comm;
    MPI_Request *request = message->request->at;
    if (!message_to_nobody(message->peer))
        node_message(node, 0, KEY_SEND, message->peer, message->tag);
    if (message->persistent) {
        memcpy(message->persistent->buffer, x->storage->data, x->count * diff_type_size(x->type));
        MPI_Start(request);
    } else if (message->mode == SEND_SYNCHRONOUS)
        MPI_Issend(x->storage->data, count, type, message->peer, message->tag, comm, request);
    else if (message->mode == SEND_BUFFERED)
        MPI_Ibsend(x->storage->data, count, type, message->peer, message->tag, comm, request);
    else if (message->mode == SEND_READY)
        MPI_Irsend(x->storage->data, count, type, message->peer, message->tag, comm, request);
    else
        MPI_Isend(x->storage->data, count, type, message->peer, message->tag, comm, request);
}

static void isend_launch(struct diff_node *node, struct diff_request *adjoint)
{
    const struct message *message = node->extra;
    if (!message_to_nobody(message->peer))
        adjoint->parts[0] =
            message_irecv(tensor_room_like(node->inputs[0]), message_way_back(node));
}

static void isend_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                          struct diff_tensor **x_bar)
{
    struct diff_request *adjoint = request_launched(node, y_bar[0]);
    if (adjoint->parts[0])
        x_bar[0] = message_wait(adjoint->parts[0]);
}

static void isend_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                          struct diff_tensor **y_dot)
{
    const struct message *message = node->extra;
    struct far_end end = {channel_adjoint(node->channel), message->peer, message->tag};
    y_dot[0] = message_isend(cotangent_or_zeros(x_dot[0], node->inputs[0]), end, SEND_STANDARD);
}

static const struct diff_operation isend_operations[] = {
    {.name = "Isend",
     .kind = OP_ISEND,
     .communicates = true,
     .forward = isend_forward,
     .adjoint = isend_adjoint,
     .tangent = isend_tangent,
     .launch = isend_launch},
    {.name = "Issend",
     .kind = OP_ISSEND,
     .communicates = true,
     .forward = isend_forward,
     .adjoint = isend_adjoint,
     .tangent = isend_tangent,
     .launch = isend_launch},
    {.name = "Ibsend",
     .kind = OP_IBSEND,
     .communicates = true,
     .forward = isend_forward,
     .adjoint = isend_adjoint,
     .tangent = isend_tangent,
     .launch = isend_launch},
    {.name = "Irsend",
     .kind = OP_IRSEND,
     .communicates = true,
     .forward = isend_forward,
     .adjoint = isend_adjoint,
     .tangent = isend_tangent,
     .launch = isend_launch},
};

static void persistent_use(struct diff_request *request, struct diff_persistent *persistent)
{
    struct message *message = request->start->extra;
    message->persistent = persistent;
    if (persistent)
        request->at = &persistent->request;
}

static struct diff_tensor *isend_with(struct diff_tensor *x, struct far_end to, enum send_mode mode,
                                      struct diff_persistent *persistent)
{
    struct diff_node *node = message_begin(&isend_operations[mode], x, to, mode);
    struct diff_request *request = request_begin(node, true);
    persistent_use(request, persistent);
    struct diff_tensor *handle = node_output(node, tensor_handle(x->tape, request));
    node_run(node);
    return handle;
}

struct diff_tensor *message_isend(struct diff_tensor *x, struct far_end to, enum send_mode mode)
{
    return isend_with(x, to, mode, NULL);
}

/* ---- irecv ---- */

static void message_arrived(struct diff_request *request, const MPI_Status *status)
{
    struct diff_node *start = request->start;
    struct message *message = start->extra;
    if (!message_to_nobody(message->peer))
        message_arrival_note(start, message, status);
    if (message->persistent)
        memcpy(request->result->storage->data, message->persistent->buffer,
               message->received * diff_type_size(request->result->type));
    message_tail_keep(request->buffer, request->result, message->received);
}

static void irecv_forward(struct diff_node *node)
{
    struct message *message = node->extra;
    struct diff_tensor *y = message->request->result;
    if (message->persistent)
        MPI_Start(message->request->at);
    else
        MPI_Irecv(y->storage->data, message_elements(y), diff_type_mpi(y->type), message->peer,
                  message->tag, node->channel->comm, message->request->at);
}

static void irecv_launch(struct diff_node *node, struct diff_request *adjoint)
{
    const struct message *message = node->extra;
    if (message_to_nobody(message->peer))
        return;
    struct diff_tensor *whole = cotangent_or_zeros(adjoint->y_bar, message->request->result);
    adjoint->parts[0] = message_isend(message_front(whole, message->received),
                                      message_way_back(node), SEND_STANDARD);
}

static void send_back_complete(const struct diff_node *node, struct diff_tensor *handle)
{
    if (node->tape->order == DIFF_ORDER_PROGRAM)
        message_complete_late(handle);
    else
        message_wait(handle);
}

static void irecv_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                          struct diff_tensor **x_bar)
{
    const struct message *message = node->extra;
    struct diff_request *adjoint = request_launched(node, y_bar[0]);
    if (adjoint->parts[0])
        send_back_complete(node, adjoint->parts[0]);
    x_bar[0] = message_tail(adjoint->y_bar, message->received);
}

static void irecv_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                          struct diff_tensor **y_dot)
{
    const struct message *message = node->extra;
    struct far_end end = {channel_adjoint(node->channel), message->peer, message->tag};
    if (node->links[0].used) /* a wildcard's source is known by now */
        end = message_same_way(node);
    y_dot[0] = message_irecv(cotangent_or_zeros(x_dot[0], node->inputs[0]), end);
}

static const struct diff_operation irecv_operation = {.name = "Irecv",
                                                      .kind = OP_IRECV,
                                                      .communicates = true,
                                                      .forward = irecv_forward,
                                                      .adjoint = irecv_adjoint,
                                                      .tangent = irecv_tangent,
                                                      .launch = irecv_launch};

static struct diff_tensor *irecv_with(struct diff_tensor *buffer, struct far_end from,
                                      struct diff_persistent *persistent)
{
    struct diff_node *node = message_begin(&irecv_operation, buffer, from, SEND_STANDARD);
    struct diff_request *request = request_begin(node, false);
    persistent_use(request, persistent);
    request->result = tensor_new_like(buffer);
    request->arrived = message_arrived;
    struct diff_tensor *handle = node_output(node, tensor_handle(buffer->tape, request));
    node_run(node);
    return handle;
}

struct diff_tensor *message_irecv(struct diff_tensor *buffer, struct far_end from)
{
    return irecv_with(buffer, from, NULL);
}

struct diff_tensor *message_start(struct diff_persistent *persistent, struct diff_tensor *x)
{
    return persistent->sends ? isend_with(x, persistent->end, SEND_STANDARD, persistent)
                             : irecv_with(x, persistent->end, persistent);
}

/* ---- wait ---- */

static void wait_forward(struct diff_node *node)
{
    struct diff_request *request = node->inputs[0]->request;
    MPI_Status status;
    if (request->complete)
        return;
    MPI_Wait(request->at, &status);
    if (request->arrived)
        request->arrived(request, &status);
}

static void wait_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                         struct diff_tensor **x_bar)
{
    x_bar[0] = request_adjoint(node->inputs[0]->request->start, y_bar[0]);
}

static void wait_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                         struct diff_tensor **y_dot)
{
    const struct diff_request *request = node->inputs[0]->request;
    const struct message *message = request->is_send ? request->start->extra : NULL;
    bool started = x_dot[0] && x_dot[0]->type == DIFF_HANDLE;
    if (started && message && message->mode == SEND_BUFFERED)
        message_complete_late(x_dot[0]);
    else
        y_dot[0] = started ? message_wait(x_dot[0]) : x_dot[0];
}

static const struct diff_operation wait_operation = {.name = "Wait",
                                                     .kind = OP_WAIT,
                                                     .communicates = true,
                                                     .forward = wait_forward,
                                                     .adjoint = wait_adjoint,
                                                     .tangent = wait_tangent};

struct diff_tensor *message_wait(struct diff_tensor *handle)
{
    struct diff_request *request = request_take(handle, "diff_wait");
    struct diff_node *node = node_begin(&wait_operation, 1, &handle);
    struct diff_tensor *result = request->result;
    if (!result)
        result = tensor_new_flat(handle->tape, request->buffer->type, 0);
    node_output(node, result);
    node_run(node);
    if (request->layout)
        result = layout_put(result, request->layout, request->into);
    return result;
}

void message_complete_late(struct diff_tensor *handle)
{
    request_complete_late(handle, message_wait);
}
