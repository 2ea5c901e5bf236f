/* The public functions of messages. */
#include "collectives/operations/message_internal.h"

static struct far_end far_end_find(struct diff_tensor *x, int peer, int tag, MPI_Comm comm)
{
    return (struct far_end){channel_find(x->tape, comm, false), peer, tag};
}

static struct diff_tensor *send_at(struct diff_tensor *x, int peer, int tag, MPI_Comm comm,
                                   enum send_mode mode, const void *site, const char *function)
{
    state_enter_function(x->tape->state, site, function);
    struct diff_tensor *y = message_send(x, far_end_find(x, peer, tag, comm), mode);
    state_leave(x->tape->state);
    return y;
}

static struct diff_tensor *isend_at(struct diff_tensor *x, int peer, int tag, MPI_Comm comm,
                                    enum send_mode mode, const void *site, const char *function)
{
    state_enter_function(x->tape->state, site, function);
    struct diff_tensor *handle = message_isend(x, far_end_find(x, peer, tag, comm), mode);
    state_leave(x->tape->state);
    return handle;
}

struct diff_tensor *diff_send(struct diff_tensor *x, int destination, int tag, MPI_Comm comm)
{
    return send_at(x, destination, tag, comm, SEND_STANDARD, __builtin_return_address(0), __func__);
}

struct diff_tensor *diff_ssend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm)
{
    return send_at(x, destination, tag, comm, SEND_SYNCHRONOUS, __builtin_return_address(0),
                   __func__);
}

struct diff_tensor *diff_bsend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm)
{
    return send_at(x, destination, tag, comm, SEND_BUFFERED, __builtin_return_address(0), __func__);
}

struct diff_tensor *diff_rsend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm)
{
    return send_at(x, destination, tag, comm, SEND_READY, __builtin_return_address(0), __func__);
}

struct diff_tensor *diff_isend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm)
{
    return isend_at(x, destination, tag, comm, SEND_STANDARD, __builtin_return_address(0),
                    __func__);
}

struct diff_tensor *diff_issend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm)
{
    return isend_at(x, destination, tag, comm, SEND_SYNCHRONOUS, __builtin_return_address(0),
                    __func__);
}

struct diff_tensor *diff_ibsend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm)
{
    return isend_at(x, destination, tag, comm, SEND_BUFFERED, __builtin_return_address(0),
                    __func__);
}

struct diff_tensor *diff_irsend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm)
{
    return isend_at(x, destination, tag, comm, SEND_READY, __builtin_return_address(0), __func__);
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
    struct diff_tensor *y = message_mrecv(buffer, from, matched);
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
