/* Messages and failures: see failures.h. */
#include "sim/messages/failures.h"

#include "sim/messages/mailbox.h"

#include <assert.h>

static void complete_with(struct sim_request *request, int error)
{
    request->error = error;
    request->bytes = 0;
    if (request->kind == SIM_REQUEST_RECEIVE) {
        request->source_matched = MPI_ANY_SOURCE; /* nobody's */
        request->tag_matched = MPI_ANY_TAG;
    }
    sim_request_complete(request);
}

bool sim_send_refused(struct sim_request *send)
{
    int error = sim_comm_peer_error(send->comm, send->peer);
    if (error)
        complete_with(send, error);
    return error != MPI_SUCCESS;
}

bool sim_receive_refused(struct sim_request *receive)
{
    if (receive->comm->context->revoked)
        complete_with(receive, MPIX_ERR_REVOKED);
    return receive->comm->context->revoked;
}

/* What a posted receive ends with now, MPI_SUCCESS: it goes on waiting. */
static int error_of(const struct sim_request *receive)
{
    if (receive->state != SIM_POSTED || receive->partner || !receive->comm)
        return MPI_SUCCESS;
    int error = sim_comm_peer_error(receive->comm, receive->peer);
    if (error == MPI_SUCCESS || error == MPIX_ERR_REVOKED)
        return error;
    /* A delayed receive has not taken yet what is there for it. */
    if (receive->delayed &&
        sim_mailbox_find(receive->context, receive->comm->rank, receive->peer, receive->tag))
        return MPI_SUCCESS;
    /* One on a stack is no part. */
    bool waits_within = receive->on_stack || receive->whole;
    return error == MPIX_ERR_PROC_FAILED || waits_within ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS;
}

void sim_receive_reconsider(struct sim_request *receive)
{
    int error = error_of(receive);
    if (error && sim_mailbox_cancel_receive(receive->context, receive->comm->rank, receive))
        complete_with(receive, error);
}

static void wake(struct sim_rank *rank)
{
    if (rank && rank->state <= SIM_BLOCKED && sim_rank_waits(rank))
        sim_rank_wake(rank);
}

/* The first posted receive of a box that must end; NULL: none. Who waits for one that stands back is
 * woken. */
static struct sim_request *ending(struct sim_request *first)
{
    for (struct sim_request *at = first; at; at = at->next) {
        if (error_of(at))
            return at;
        if (sim_request_stands_back(at) && at->waiter) {
            struct sim_rank *waiter = at->waiter;
            at->waiter = NULL;
            wake(waiter);
        }
    }
    return NULL;
}

static struct sim_request *ending_in(const struct sim_mailbox *mailbox)
{
    struct sim_request *found = ending(mailbox->any_first);
    if (!mailbox->channels)
        return found || !mailbox->used ? found : ending(mailbox->one.posted_first);
    for (uint32_t i = 0; !found && i <= mailbox->mask; i++)
        if (mailbox->channels[i].source != -1)
            found = ending(mailbox->channels[i].posted_first);
    return found;
}

/* Of the receives posted in a box, and of whoever probes it. */
static void reconsider_box(struct sim_mailbox *mailbox)
{
    struct sim_request *receive;
    while ((receive = ending_in(mailbox)) != NULL)
        sim_receive_reconsider(receive);
    struct sim_rank *prober = mailbox->prober;
    mailbox->prober = NULL;
    wake(prober);
}

/* Sends that wait to be matched in the box of context rank `rank`. */
static void refuse_waiting(struct sim_context *context, int rank)
{
    struct sim_message *later;
    for (struct sim_message *at = context->mailboxes[rank].oldest; at; at = later) {
        struct sim_request *send = at->sender;
        later = at->later;
        int error = send && send->state == SIM_POSTED ? sim_comm_peer_error(send->comm, send->peer)
                                                      : MPI_SUCCESS;
        if (error && sim_mailbox_cancel_send(context, rank, send))
            complete_with(send, error);
    }
}

void sim_mailboxes_member_failed(struct sim_context *context, int rank)
{
    struct sim_context *peers = sim_context_peers(context);
    refuse_waiting(context, rank);
    for (int i = 0; i < peers->size; i++)
        reconsider_box(&peers->mailboxes[i]);
    for (int i = 0; context != peers && i < context->size; i++)
        reconsider_box(&context->mailboxes[i]); /* those that receive from any source */
}

void sim_mailboxes_revoked(struct sim_context *context)
{
    for (int i = 0; i < context->size; i++) {
        refuse_waiting(context, i);
        reconsider_box(&context->mailboxes[i]);
    }
}

const char *sim_failure_sentence(int error)
{
    switch (error) {
    case MPIX_ERR_PROC_FAILED:
        return "a process that takes part has failed";
    case MPIX_ERR_PROC_FAILED_PENDING:
        return "a process that may have been the sender has failed, and nobody has acknowledged it";
    case MPIX_ERR_REVOKED:
        return "the communicator has been revoked";
    default:
        return NULL;
    }
}
