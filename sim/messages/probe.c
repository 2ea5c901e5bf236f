/* Probes: what is waiting, without or with (matched probes) taking it out of the box. */
#include "sim/memory/pending.h"
#include "sim/messages/deferred.h"
#include "sim/messages/failures.h"
#include "sim/messages/mailbox.h"
#include "sim/messages/point.h"
#include "sim/messages/status.h"
#include "sim/worlds/error.h"

static void message_status(const struct sim_message *message, MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = message ? message->source : MPI_PROC_NULL;
    status->MPI_TAG = message ? message->tag : MPI_ANY_TAG;
    sim_status_set_bytes(status, message ? message->bytes : 0);
    sim_status_set_cancelled(status, false);
}

enum probe_flags { BLOCKING = 1, TAKING = 2 };

/* The message it would get; `waits` until there is one. Where a receive that was posted before has
 * a claim on it, that is decided first, and the probe depends on it. */
static struct sim_message *look(struct sim_rank *rank, const struct sim_comm *comm,
                                const struct sim_point *point, bool waits)
{
    struct sim_context *context = comm->context;
    int owner = comm->rank;
    struct sim_mailbox *mailbox = &context->mailboxes[owner];
    bool claimed = false;
    if (point->peer == MPI_ANY_SOURCE)
        sim_world_order_matters(rank->world);
    struct sim_message *message =
        sim_mailbox_look(context, owner, point->peer, point->tag, &claimed);
    while (!message && waits) {
        if (rank->world->troubled && sim_comm_peer_error(comm, point->peer))
            break;
        mailbox->prober = rank;
        sim_rank_block(rank);
        message = sim_mailbox_look(context, owner, point->peer, point->tag, &claimed);
    }
    if (message && claimed && rank->world->exploring && mailbox->granted)
        sim_dependences_add(&rank->causes, mailbox->granted - 1);
    return message;
}

/* Where a message lies: a message knows its sender's side. */
static struct sim_context *receivers(const struct sim_message *message)
{
    return sim_context_peers(message->context);
}

/* In a world that explores. */
static void note_seen(struct sim_rank *rank, int owner, const struct sim_message *message)
{
    sim_dependences_join(&rank->causes, &rank->world->chooser.log.events[message->event].causes);
    sim_mailbox_know(receivers(message), owner, message->source, message->number);
}

/* Looks (or waits) for a message; *found NULL with `nobody` for MPI_PROC_NULL. */
static int probe(const struct sim_point *point, int flags, struct sim_message **found, bool *nobody,
                 MPI_Status *status)
{
    struct sim_comm *comm;
    int error = sim_point_probe_check(point, &comm);
    *found = NULL;
    *nobody = point->peer == MPI_PROC_NULL;
    if (error)
        return error;
    if (*nobody) {
        message_status(NULL, status);
        return MPI_SUCCESS;
    }
    struct sim_rank *rank = comm->owner;
    struct sim_context *context = comm->context;
    sim_world_enter(rank->world);
    struct sim_point named = *point; /* or not */
    size_t number = 0;
    int answer = 0;
    bool answered = !(flags & BLOCKING) && sim_request_answered(rank, SIM_ASKED_POLL, &answer);
    if (flags & BLOCKING && point->peer == MPI_ANY_SOURCE)
        named.peer = sim_request_sender(rank, &number);
    else if (answered && answer >= 0)
        named.peer = answer;
    bool delayed =
        flags & BLOCKING && named.peer == MPI_ANY_SOURCE && rank->world->options.delay_wildcards;
    struct sim_message *message;
    if (delayed)
        message = sim_deferred_probe(comm, point->tag, NULL);
    else if (rank->world->exploring && !(flags & BLOCKING))
        message = sim_deferred_iprobe(rank, context, comm->rank, point->peer, point->tag);
    else if (answered && answer < 0)
        message = NULL;
    else
        message = look(rank, comm, &named, answered || flags & BLOCKING);
    if (message && number)
        sim_request_sender_note(rank, number, message->source);
    if (!(flags & BLOCKING))
        sim_request_answer_note(rank, SIM_ASKED_POLL, message ? message->source : -1);
    if (message && rank->world->exploring)
        note_seen(rank, comm->rank, message);
    if (message) {
        message_status(message, status);
        if (flags & TAKING) {
            sim_mailbox_remove_message(context, comm->rank, message);
            message->magic = SIM_MAGIC_MESSAGE;
            message->taken_by = comm;
        }
    } else {
        if (rank->world->troubled)
            error = sim_comm_peer_error(comm, point->peer);
        sim_rank_poll_failed(rank);
    }
    sim_world_leave(rank->world);
    *found = message;
    return error ? sim_error_raise(point->comm, error, point->function, "%s",
                                   sim_failure_sentence(error))
                 : MPI_SUCCESS;
}

int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    struct sim_message *message;
    bool nobody;
    return probe(&(struct sim_point){.function = "Probe", .peer = source, .tag = tag, .comm = comm},
                 BLOCKING, &message, &nobody, status);
}

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    struct sim_message *message;
    bool nobody;
    int error =
        probe(&(struct sim_point){.function = "Iprobe", .peer = source, .tag = tag, .comm = comm},
              0, &message, &nobody, status);
    *flag = message || nobody;
    return error;
}

/* The first message that fits, from anybody; NULL when the limit has passed. In the monitor. */
static struct sim_message *wait_patiently(struct sim_rank *rank, const struct sim_comm *comm,
                                          int tag, const struct sim_timeout *patience)
{
    struct sim_context *context = comm->context;
    struct sim_mailbox *mailbox = &context->mailboxes[comm->rank];
    sim_world_order_matters(rank->world);
    sim_rank_unsure(rank);
    if (rank->world->options.delay_wildcards)
        return sim_deferred_probe(comm, tag, patience);
    struct sim_message *message;
    while (!(message = sim_mailbox_find(context, comm->rank, MPI_ANY_SOURCE, tag)) &&
           !patience->passed) {
        mailbox->prober = rank;
        sim_rank_block(rank);
    }
    if (mailbox->prober == rank)
        mailbox->prober = NULL;
    return message;
}

int MPIX_Probe_patient(int tag, MPI_Comm handle, uint64_t ticks, int *flag, MPI_Status *status)
{
    struct sim_comm *comm;
    struct sim_timeout patience;
    int error = sim_point_probe_check(
        &(struct sim_point){
            .function = "Probe_patient", .peer = MPI_ANY_SOURCE, .tag = tag, .comm = handle},
        &comm);
    if (error)
        return error;
    struct sim_rank *rank = comm->owner;
    sim_world_enter(rank->world);
    sim_timeout_begin(&patience, rank, ticks);
    struct sim_message *message = wait_patiently(rank, comm, tag, &patience);
    sim_timeout_end(&patience);
    if (message && rank->world->exploring)
        note_seen(rank, comm->rank, message);
    if (message)
        message_status(message, status);
    sim_world_leave(rank->world);
    *flag = message != NULL;
    return MPI_SUCCESS;
}

static MPI_Message handle_of(struct sim_message *message, bool nobody)
{
    if (nobody)
        return MPI_MESSAGE_NO_PROC;
    return message ? (MPI_Message)(void *)message : MPI_MESSAGE_NULL;
}

int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *handle, MPI_Status *status)
{
    struct sim_message *message;
    bool nobody;
    int error =
        probe(&(struct sim_point){.function = "Mprobe", .peer = source, .tag = tag, .comm = comm},
              BLOCKING | TAKING, &message, &nobody, status);
    *handle = handle_of(message, nobody);
    return error;
}

int PMPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *handle,
                 MPI_Status *status)
{
    struct sim_message *message;
    bool nobody;
    int error =
        probe(&(struct sim_point){.function = "Improbe", .peer = source, .tag = tag, .comm = comm},
              TAKING, &message, &nobody, status);
    *flag = message || nobody;
    *handle = handle_of(message, nobody);
    return error;
}

/* A receive for a message in hand. */
static int matched_receive(const char *function, void *buffer, MPI_Count count, MPI_Datatype type,
                           MPI_Message *handle, struct sim_request *receive)
{
    struct sim_rank *rank = sim_point_caller(function);
    if (!rank)
        return MPI_ERR_OTHER;
    struct sim_message *message = sim_handle_object((void *)*handle, SIM_MAGIC_MESSAGE);
    if (*handle != MPI_MESSAGE_NO_PROC && (!message || message->taken_by->owner != rank))
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_REQUEST, function, "message is %s",
                               *handle == MPI_MESSAGE_NULL ? "MPI_MESSAGE_NULL"
                                                           : "not a matched message of this rank");
    /* For the checks of buffer, count and type, and whose errors these are. */
    bool has_comm = message && message->taken_by->magic == SIM_MAGIC_COMM;
    MPI_Comm comm = has_comm ? sim_comm_handle(message->taken_by) : MPI_COMM_SELF;
    struct sim_point point = {function, buffer, count, type, MPI_PROC_NULL, 0, comm};
    int error = sim_point_receive_check(&point, receive);
    if (error)
        return error;
    if (message) {
        receive->context = receivers(message);
        receive->peer = message->source;
        receive->tag = message->tag;
    }
    return MPI_SUCCESS;
}

static void receive_message(struct sim_request *receive, MPI_Message *handle)
{
    if (*handle == MPI_MESSAGE_NO_PROC) {
        sim_point_complete_null(receive);
    } else {
        struct sim_message *message = (struct sim_message *)(void *)*handle;
        message->magic = SIM_MAGIC_FREED;
        receive->state = SIM_MATCHED;
        sim_message_deliver(message, receive);
    }
    *handle = MPI_MESSAGE_NULL;
}

static int mrecv(void *buffer, MPI_Count count, MPI_Datatype type, MPI_Message *handle,
                 MPI_Status *status)
{
    struct sim_request receive = {.on_stack = true};
    int error = matched_receive("Mrecv", buffer, count, type, handle, &receive);
    if (error)
        return error;
    struct sim_world *world = receive.owner->world;
    sim_world_enter(world);
    receive_message(&receive, handle);
    sim_request_wait(&receive);
    sim_world_leave(world);
    sim_request_status(&receive, status);
    if (!receive.error)
        return MPI_SUCCESS;
    return sim_error_raise(sim_comm_handle(receive.comm), MPI_ERR_TRUNCATE, "Mrecv",
                           "the message is longer than the receive buffer");
}

static int imrecv(void *buffer, MPI_Count count, MPI_Datatype type, MPI_Message *handle,
                  MPI_Request *request)
{
    struct sim_request checked = {0};
    int error = matched_receive("Imrecv", buffer, count, type, handle, &checked);
    if (error)
        return error;
    struct sim_world *world = checked.owner->world;
    sim_world_enter(world);
    struct sim_request *receive = sim_request_new_as(&checked);
    sim_request_pending(receive, "Imrecv");
    receive_message(receive, handle);
    sim_world_leave(world);
    *request = (MPI_Request)(void *)receive;
    return MPI_SUCCESS;
}

int PMPI_Mrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
    return mrecv(buffer, count, type, message, status);
}

int PMPI_Mrecv_c(void *buffer, MPI_Count count, MPI_Datatype type, MPI_Message *message,
                 MPI_Status *status)
{
    return mrecv(buffer, count, type, message, status);
}

int PMPI_Imrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message,
                MPI_Request *request)
{
    return imrecv(buffer, count, type, message, request);
}

int PMPI_Imrecv_c(void *buffer, MPI_Count count, MPI_Datatype type, MPI_Message *message,
                  MPI_Request *request)
{
    return imrecv(buffer, count, type, message, request);
}
