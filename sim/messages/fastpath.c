/* The short way of blocking sends, receives and both at once: what most programs do most of the
 * time, with nothing that only others need.
 *
 * A message goes from buffer to buffer where its receive is posted already, is put aside where
 * nothing is posted, and a receive finds what waits for it or waits itself; contiguous data, a
 * named source. Everything that the program or another rank can see (order of matching, logical
 * time, who becomes ready when) is as in point.c and mailbox.c.
 *
 * Rules:
 *  1. Only for ranks to whom sim_rank_plain applies.
 *  2. Whatever is not as above, and whatever is refused, goes the long way, which says why: nothing
 *     has been changed by then.
 *  3. A receive that waits is a request like any other; any sender may complete it. */
#include "sim/messages/mailbox.h"
#include "sim/messages/point.h"
#include "sim/messages/status.h"
#include "sim/worlds/error.h"

#include <string.h>

/* In each of the calls all that is planned is in registers. */
#define INLINE static inline __attribute__((always_inline))

/* The caller's communicator, if this way is open to the caller and `peer` is in it. */
INLINE struct sim_comm *usable_comm(struct sim_rank *rank, MPI_Comm handle, int peer)
{
    struct sim_comm *comm = rank && rank->plain ? sim_comm_get(rank, handle) : NULL;
    return comm && (unsigned)peer < (unsigned)sim_context_peers(comm->context)->size ? comm : NULL;
}

/* The type, if buffer and count are allowed and that many elements of it are bytes in a row. */
INLINE const struct sim_datatype *usable_type(MPI_Datatype handle, const void *buffer, int count)
{
    const struct sim_datatype *type = sim_datatype_get(handle);
    bool usable = type && type->contiguous && type->committed && count >= 0 && buffer &&
                  buffer != MPI_IN_PLACE;
    return usable ? type : NULL;
}

/* The channel of a source of which this box has known before; NULL also where it takes a search. */
INLINE struct sim_channel *known_channel(struct sim_mailbox *mailbox, int source)
{
    struct sim_channel *channel =
        mailbox->channels
            ? &mailbox->channels[(uint32_t)source * SIM_CHANNEL_FACTOR & mailbox->mask]
            : &mailbox->one;
    return mailbox->used && channel->source == source ? channel : NULL;
}

INLINE void copy_bytes(void *to, const void *from, size_t bytes)
{
    if (bytes == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else if (bytes)
        memcpy(to, from, bytes);
}

/* ---- sends ---- */

/* A send that can be done at once: handed to the first receive posted in its channel, or put aside
 * there. */
struct outgoing {
    struct sim_comm *comm;
    struct sim_mailbox *mailbox;
    struct sim_channel *channel;
    const void *data;
    size_t bytes;
    int tag;
};

INLINE bool takes(const struct sim_request *receive, int tag, size_t bytes)
{
    return receive->tag == tag && receive->on_stack && receive->type->contiguous &&
           bytes <= receive->type->size * receive->count;
}

INLINE bool may_put_aside(const struct sim_world *world, const struct sim_mailbox *mailbox,
                          size_t bytes)
{
    return world->options.send_model == SIM_SEND_EAGER && bytes <= world->options.eager_limit &&
           !mailbox->prober;
}

/* False: this send goes the long way. */
INLINE bool send_plan(struct outgoing *out, const void *buffer, int count, MPI_Datatype handle,
                      int peer, int tag, MPI_Comm comm_handle)
{
    struct sim_rank *rank = sim_current_rank;
    out->comm = usable_comm(rank, comm_handle, peer);
    const struct sim_datatype *type = usable_type(handle, buffer, count);
    if (!out->comm || !type || (unsigned)tag > SIM_TAG_LIMIT)
        return false;
    out->mailbox = &sim_context_peers(out->comm->context)->mailboxes[peer];
    out->channel = known_channel(out->mailbox, out->comm->rank);
    out->data = buffer;
    out->bytes = type->size * (size_t)count;
    out->tag = tag;
    if (!out->channel || out->mailbox->any_first)
        return false;
    return out->channel->posted_first ? takes(out->channel->posted_first, tag, out->bytes)
                                      : may_put_aside(rank->world, out->mailbox, out->bytes);
}

INLINE void transfer_match(const struct outgoing *out, struct sim_request *receive)
{
    struct sim_channel *channel = out->channel;
    channel->sent++;
    channel->posted_first = receive->next;
    receive->source_matched = out->comm->rank;
    receive->tag_matched = out->tag;
    receive->bytes = out->bytes;
    copy_bytes(receive->buffer, out->data, out->bytes);
    receive->state = SIM_COMPLETE;
    struct sim_rank *waiter = receive->waiter;
    receive->waiter = NULL;
    if (waiter && waiter->state == SIM_BLOCKED)
        sim_rank_wake(waiter);
}

INLINE void send_now(const struct outgoing *out)
{
    if (out->channel->posted_first)
        transfer_match(out, out->channel->posted_first);
    else
        sim_mailbox_enqueue_unexpected(out->mailbox, out->channel, out->comm, out->tag, out->data,
                                       out->bytes);
}

/* ---- receives ---- */

/* A receive that takes what is first in its channel, or waits there: nothing has come. */
struct incoming {
    struct sim_comm *comm;
    struct sim_mailbox *mailbox;
    struct sim_channel *channel;
    const struct sim_datatype *type;
    void *buffer;
    size_t count;
    int peer, tag;
};

INLINE bool may_take(const struct incoming *in, const struct sim_message *message)
{
    return (in->tag == message->tag || in->tag == MPI_ANY_TAG) && !message->sender &&
           !message->buffered_by && message->bytes <= in->type->size * in->count;
}

/* False: this receive goes the long way. */
INLINE bool receive_plan(struct incoming *in, void *buffer, int count, MPI_Datatype handle,
                         int peer, int tag, MPI_Comm comm_handle)
{
    in->comm = usable_comm(sim_current_rank, comm_handle, peer);
    in->type = usable_type(handle, buffer, count);
    if (!in->comm || !in->type ||
        ((unsigned)tag > SIM_TAG_LIMIT && (tag != MPI_ANY_TAG || in->comm->no_any_tag)))
        return false;
    in->mailbox = &in->comm->context->mailboxes[in->comm->rank];
    in->channel = known_channel(in->mailbox, peer);
    in->buffer = buffer;
    in->count = (size_t)count;
    in->peer = peer;
    in->tag = tag;
    return in->channel && (!in->channel->first || may_take(in, in->channel->first));
}

INLINE void fill_status(MPI_Status *status, int source, int tag, size_t bytes)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    sim_status_set_bytes(status, bytes);
    sim_status_set_cancelled(status, false);
}

INLINE void fill_request(struct sim_request *receive, const struct incoming *in)
{
    receive->kind = SIM_REQUEST_RECEIVE;
    receive->state = SIM_POSTED;
    receive->on_stack = true;
    receive->freed = receive->delayed = false;
    receive->peer = in->peer;
    receive->tag = in->tag;
    receive->type = in->type;
    receive->buffer = in->buffer;
    receive->count = in->count;
    receive->waiter = NULL;
    receive->error = MPI_SUCCESS;
    receive->owner = in->comm->owner;
    receive->comm = in->comm;
    receive->context = in->comm->context;
    receive->message = NULL;
    receive->batch = NULL;
    receive->partner = NULL;
    receive->noted = 0;
}

/* Takes what is there, whose status it fills in, or posts `receive`; true: that has to be waited
 * for. */
INLINE bool receive_now(struct sim_request *receive, const struct incoming *in, MPI_Status *status)
{
    struct sim_channel *channel = in->channel;
    struct sim_rank *rank = in->comm->owner;
    uint32_t number = rank->receives++;
    uint64_t order = in->mailbox->posts++;
    if (channel->first) {
        int tag = channel->first->tag;
        size_t bytes =
            sim_mailbox_dequeue_unexpected(in->mailbox, channel, rank->world, in->buffer);
        fill_status(status, in->peer, tag, bytes);
        return false;
    }
    fill_request(receive, in);
    receive->number = number;
    receive->order = order;
    receive->next = NULL;
    if (channel->posted_first)
        channel->posted_last->next = receive;
    else
        channel->posted_first = receive;
    channel->posted_last = receive;
    return true;
}

/* Returns the error it ended with. */
INLINE int receive_wait(struct sim_request *receive, MPI_Status *status)
{
    struct sim_rank *rank = receive->owner;
    while (receive->state != SIM_COMPLETE) {
        receive->waiter = rank;
        sim_rank_block_early(rank); /* by then the world may be wide */
    }
    sim_world_leave(rank->world);
    fill_status(status, receive->source_matched, receive->tag_matched, receive->bytes);
    return receive->error;
}

INLINE void give_way(struct sim_rank *rank)
{
    sim_rank_give_way(rank);
    sim_world_leave(rank->world); /* by then the world may be wide */
}

/* ---- the calls ---- */

INLINE void count_step(struct sim_world *world)
{
    world->steps++;
    world->changes++;
}

int PMPI_Send(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm)
{
    struct outgoing out;
    if (!send_plan(&out, buffer, count, type, peer, tag, comm))
        return sim_send_general(buffer, count, type, peer, tag, comm);
    count_step(out.comm->owner->world);
    send_now(&out);
    return MPI_SUCCESS;
}

int PMPI_Recv(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Status *status)
{
    struct incoming in;
    struct sim_request receive;
    if (!receive_plan(&in, buffer, count, type, peer, tag, comm))
        return sim_receive_long(buffer, count, type, peer, tag, comm, status);
    count_step(in.comm->owner->world);
    sim_rank_starts_end(in.comm->owner);
    if (!receive_now(&receive, &in, status)) {
        give_way(in.comm->owner);
        return MPI_SUCCESS;
    }
    if (!receive_wait(&receive, status))
        return MPI_SUCCESS;
    return sim_point_truncated(&(struct sim_point){"Recv", buffer, count, type, peer, tag, comm},
                               &receive);
}

/* The receive is posted first, as in sendrecv.c. A rank that sends to itself has one mailbox for
 * both, and what is planned for the send would not be true any more. */
int PMPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                  void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                  MPI_Comm comm, MPI_Status *status)
{
    struct outgoing out;
    struct incoming in;
    struct sim_request receive;
    if (!send_plan(&out, sendbuf, sendcount, sendtype, dest, sendtag, comm) ||
        !receive_plan(&in, recvbuf, recvcount, recvtype, source, recvtag, comm) ||
        out.mailbox == in.mailbox)
        return sim_sendrecv_long(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                                 recvtype, source, recvtag, comm, status);
    count_step(in.comm->owner->world);
    sim_rank_starts_end(in.comm->owner);
    bool waits = receive_now(&receive, &in, status);
    send_now(&out);
    if (!waits) {
        give_way(in.comm->owner);
        return MPI_SUCCESS;
    }
    if (!receive_wait(&receive, status))
        return MPI_SUCCESS;
    return sim_sendrecv_truncated(comm, "Sendrecv", &receive);
}
