/* Messages: Send in its four modes, Recv, their nonblocking forms and Wait, with their adjoints.
 *
 * A message carries x from the sender into the front of the receiver's buffer; what is behind it
 * stays. Adjoint: the receiver sends the front of its cotangent back and the sender adds it. The
 * buffer's old front was overwritten, so its cotangent is 0 there; the tail's passes through.
 *
 * Nonblocking: Wait's adjoint starts the message back, the adjoint of Isend or Irecv completes it.
 */
#include "collectives/message.h"

#include "collectives/layout.h"
#include "collectives/message_parts.h"
#include "collectives/mutant.h"
#include "traces/recorder.h"

#include <string.h>

struct message {
    int peer, tag; /* as given: wildcards and MPI_PROC_NULL included */
    enum send_mode mode;
    size_t received; /* values that arrived */
    struct diff_request *request;
    struct diff_persistent *persistent;
    MPI_Message *matched; /* by a probe; NULL for an ordinary receive */
};

static bool is_nobody(int peer)
{
    return peer == MPI_PROC_NULL;
}

/* The far end as matched, on the adjoint channel: where tangents go, and cotangents come from or go
 * to. */
static struct far_end same_way(const struct diff_node *node)
{
    const struct key_link *link = &node->links[0];
    return (struct far_end){channel_adjoint(node->channel), link->peer, link->tag};
}

static struct far_end way_back(const struct diff_node *node)
{
    struct far_end end = same_way(node);
    if (node->tape->state->mutant == MUTANT_TAG_OFFSET) {
        const struct message *message = node->extra;
        end = (struct far_end){node->channel, node->links[0].peer, message->tag + 10};
    }
    return end;
}

static struct diff_node *message_begin(const struct diff_operation *operation,
                                       struct diff_tensor *x, struct far_end end,
                                       enum send_mode mode)
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
    if (!is_nobody(message->peer))
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
    if (!is_nobody(message->peer))
        x_bar[0] = message_recv(tensor_room_like(node->inputs[0]), way_back(node));
}

static void send_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                         struct diff_tensor **y_dot)
{
    const struct message *message = node->extra;
    if (is_nobody(message->peer))
        return;
    y_dot[0] =
        message_send(cotangent_or_zeros(x_dot[0], node->inputs[0]), same_way(node), SEND_STANDARD);
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
static void arrival_note(struct diff_node *node, struct message *message, const MPI_Status *status)
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
    if (!is_nobody(status.MPI_SOURCE))
        arrival_note(node, message, &status);
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
    if (!is_nobody(message->peer)) {
        struct diff_tensor *whole = cotangent_or_zeros(y_bar[0], node->outputs[0]);
        message_send(message_front(whole, message->received), way_back(node), SEND_STANDARD);
    }
    x_bar[0] = message_tail(y_bar[0], message->received);
}

static void recv_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                         struct diff_tensor **y_dot)
{
    const struct message *message = node->extra;
    y_dot[0] = x_dot[0];
    if (is_nobody(message->peer))
        return;
    y_dot[0] = message_recv(cotangent_or_zeros(x_dot[0], node->inputs[0]), same_way(node));
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
    if (!is_nobody(message->peer))
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
    if (!is_nobody(message->peer))
        adjoint->parts[0] = message_irecv(tensor_room_like(node->inputs[0]), way_back(node));
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
    if (!is_nobody(message->peer))
        arrival_note(start, message, status);
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
    if (is_nobody(message->peer))
        return;
    struct diff_tensor *whole = cotangent_or_zeros(adjoint->y_bar, message->request->result);
    adjoint->parts[0] =
        message_isend(message_front(whole, message->received), way_back(node), SEND_STANDARD);
}

static void irecv_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                          struct diff_tensor **x_bar)
{
    const struct message *message = node->extra;
    struct diff_request *adjoint = request_launched(node, y_bar[0]);
    if (adjoint->parts[0])
        message_wait(adjoint->parts[0]);
    x_bar[0] = message_tail(adjoint->y_bar, message->received);
}

static void irecv_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                          struct diff_tensor **y_dot)
{
    const struct message *message = node->extra;
    struct far_end end = {channel_adjoint(node->channel), message->peer, message->tag};
    if (node->links[0].used) /* a wildcard's source is known by now */
        end = same_way(node);
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
    if (!request->complete)
        MPI_Wait(request->at, &status);
    if (!request->complete && request->arrived)
        request->arrived(request, &status);
    request->complete = true;
}

static void wait_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                         struct diff_tensor **x_bar)
{
    x_bar[0] = request_adjoint(node->inputs[0]->request->start, y_bar[0]);
}

static void wait_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                         struct diff_tensor **y_dot)
{
    (void)node;
    bool started = x_dot[0] && x_dot[0]->type == DIFF_HANDLE;
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

/* ---- public ---- */

static struct far_end far_end_find(struct diff_tensor *x, int peer, int tag, MPI_Comm comm)
{
    return (struct far_end){channel_find(x->tape, comm, false), peer, tag};
}

static struct diff_tensor *send_at(struct diff_tensor *x, int peer, int tag, MPI_Comm comm,
                                   enum send_mode mode, const void *site)
{
    state_enter(x->tape->state, site);
    struct diff_tensor *y = message_send(x, far_end_find(x, peer, tag, comm), mode);
    state_leave(x->tape->state);
    return y;
}

static struct diff_tensor *isend_at(struct diff_tensor *x, int peer, int tag, MPI_Comm comm,
                                    enum send_mode mode, const void *site)
{
    state_enter(x->tape->state, site);
    struct diff_tensor *handle = message_isend(x, far_end_find(x, peer, tag, comm), mode);
    state_leave(x->tape->state);
    return handle;
}

struct diff_tensor *diff_send(struct diff_tensor *x, int destination, int tag, MPI_Comm comm)
{
    return send_at(x, destination, tag, comm, SEND_STANDARD, __builtin_return_address(0));
}

struct diff_tensor *diff_ssend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm)
{
    return send_at(x, destination, tag, comm, SEND_SYNCHRONOUS, __builtin_return_address(0));
}

struct diff_tensor *diff_bsend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm)
{
    return send_at(x, destination, tag, comm, SEND_BUFFERED, __builtin_return_address(0));
}

struct diff_tensor *diff_rsend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm)
{
    return send_at(x, destination, tag, comm, SEND_READY, __builtin_return_address(0));
}

struct diff_tensor *diff_isend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm)
{
    return isend_at(x, destination, tag, comm, SEND_STANDARD, __builtin_return_address(0));
}

struct diff_tensor *diff_issend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm)
{
    return isend_at(x, destination, tag, comm, SEND_SYNCHRONOUS, __builtin_return_address(0));
}

struct diff_tensor *diff_ibsend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm)
{
    return isend_at(x, destination, tag, comm, SEND_BUFFERED, __builtin_return_address(0));
}

struct diff_tensor *diff_irsend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm)
{
    return isend_at(x, destination, tag, comm, SEND_READY, __builtin_return_address(0));
}

struct diff_tensor *diff_recv(struct diff_tensor *buffer, int source, int tag, MPI_Comm comm)
{
    ENTER(buffer->tape->state);
    struct diff_tensor *y = message_recv(buffer, far_end_find(buffer, source, tag, comm));
    state_leave(buffer->tape->state);
    return y;
}

struct diff_tensor *diff_mrecv(struct diff_tensor *buffer, MPI_Message *matched, MPI_Comm comm)
{
    ENTER(buffer->tape->state);
    struct far_end from = far_end_find(buffer, MPI_ANY_SOURCE, MPI_ANY_TAG, comm);
    struct diff_node *node = message_begin(&recv_operation, buffer, from, SEND_STANDARD);
    ((struct message *)node->extra)->matched = matched;
    struct diff_tensor *y = node_output(node, tensor_new_like(buffer));
    node_run(node);
    state_leave(buffer->tape->state);
    return y;
}

struct diff_tensor *diff_irecv(struct diff_tensor *buffer, int source, int tag, MPI_Comm comm)
{
    ENTER(buffer->tape->state);
    struct diff_tensor *y = message_irecv(buffer, far_end_find(buffer, source, tag, comm));
    state_leave(buffer->tape->state);
    return y;
}

struct diff_tensor *diff_wait(struct diff_tensor *handle)
{
    ENTER(handle->tape->state);
    struct diff_tensor *y = message_wait(handle);
    state_leave(handle->tape->state);
    return y;
}

void diff_received(const struct diff_tensor *result, int *source, int *tag, size_t *count)
{
    const struct diff_node *node = result->arrival;
    const struct message *message = node ? node->extra : NULL;
    bool known = message && node->links[0].used;
    if (source)
        *source = known ? node->links[0].peer : MPI_PROC_NULL;
    if (tag)
        *tag = known ? node->links[0].tag : MPI_ANY_TAG;
    if (count)
        *count = known ? message->received : 0;
}
