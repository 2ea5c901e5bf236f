/* Sends and receives: arguments, blocking and nonblocking forms. Matching is in mailbox.c. */
#include "sim/messages/point.h"
#include "recorder/recorder.h"
#include "sim/memory/pending.h"

#include "sim/messages/batch.h"
#include "sim/messages/bsend.h"
#include "sim/messages/failures.h"
#include "sim/messages/mailbox.h"
#include "sim/messages/status.h"
#include "sim/worlds/error.h"

static int check_buffer(const struct sim_point *point, struct sim_request *request,
                        struct sim_comm *comm)
{
    MPI_Comm handle = point->comm;
    if (point->count < 0)
        return sim_error_raise(handle, MPI_ERR_COUNT, point->function,
                               "count is %lld: it must not be negative", (long long)point->count);
    const struct sim_datatype *type = sim_datatype_get(point->type);
    if (!type)
        return sim_error_raise(handle, MPI_ERR_TYPE, point->function,
                               point->type == MPI_DATATYPE_NULL ? "datatype is MPI_DATATYPE_NULL"
                                                                : "datatype is not a valid handle");
    if (!type->committed)
        return sim_error_raise(handle, MPI_ERR_TYPE, point->function,
                               "datatype has not been committed: call MPI_Type_commit first");
    if (!point->buffer && point->count && type->size && type->true_lb == 0 && type->contiguous)
        return sim_error_raise(handle, MPI_ERR_BUFFER, point->function,
                               "buffer is NULL with a count of %lld", (long long)point->count);
    if (point->buffer == MPI_IN_PLACE)
        return sim_error_raise(handle, MPI_ERR_BUFFER, point->function,
                               "MPI_IN_PLACE is for collectives only");
    request->owner = comm->owner;
    request->comm = comm;
    request->context = comm->context;
    request->type = type;
    request->buffer = (void *)(uintptr_t)point->buffer;
    request->count = (size_t)point->count;
    request->peer = point->peer;
    request->tag = point->tag;
    return MPI_SUCCESS;
}

int sim_point_output(const void *output, const char *what, const char *function)
{
    return output ? MPI_SUCCESS
                  : sim_error_raise(MPI_COMM_NULL, MPI_ERR_ARG, function, "%s is NULL", what);
}

static int peer_count(const struct sim_comm *comm)
{
    return sim_context_peers(comm->context)->size;
}

int sim_point_send_check(const struct sim_point *point, struct sim_request *request,
                         enum sim_send_mode mode)
{
    struct sim_rank *rank = sim_point_caller(point->function);
    if (!rank)
        return MPI_ERR_OTHER;
    struct sim_comm *comm = sim_comm_get(rank, point->comm);
    if (!comm)
        return sim_comm_refuse(point->comm, point->function);
    int error = check_buffer(point, request, comm);
    if (error)
        return error;
    if ((unsigned)point->peer >= (unsigned)peer_count(comm) && point->peer != MPI_PROC_NULL)
        return sim_error_raise(point->comm, MPI_ERR_RANK, point->function,
                               "destination %d is not in a communicator of %d ranks", point->peer,
                               peer_count(comm));
    if ((unsigned)point->tag > SIM_TAG_LIMIT)
        return sim_error_raise(point->comm, MPI_ERR_TAG, point->function,
                               "tag %d is not between 0 and %d", point->tag, SIM_TAG_LIMIT);
    request->kind = SIM_REQUEST_SEND;
    request->mode = (uint8_t)mode;
    request->state = SIM_POSTED;
    return MPI_SUCCESS;
}

static const char no_any_source[] =
    "source is MPI_ANY_SOURCE, though the communicator's hint mpi_assert_no_any_source promises "
    "that no receive says so";
static const char no_any_tag[] = "tag is MPI_ANY_TAG, though the communicator's hint "
                                 "mpi_assert_no_any_tag promises that no receive says so";

int sim_point_probe_check(const struct sim_point *point, struct sim_comm **result)
{
    struct sim_rank *rank = sim_point_caller(point->function);
    if (!rank)
        return MPI_ERR_OTHER;
    struct sim_comm *comm = sim_comm_get(rank, point->comm);
    if (!comm)
        return sim_comm_refuse(point->comm, point->function);
    if ((unsigned)point->peer >= (unsigned)peer_count(comm) && point->peer != MPI_PROC_NULL &&
        point->peer != MPI_ANY_SOURCE)
        return sim_error_raise(point->comm, MPI_ERR_RANK, point->function,
                               "source %d is not in a communicator of %d ranks", point->peer,
                               peer_count(comm));
    if ((unsigned)point->tag > SIM_TAG_LIMIT && point->tag != MPI_ANY_TAG)
        return sim_error_raise(point->comm, MPI_ERR_TAG, point->function,
                               "tag %d is neither between 0 and %d nor MPI_ANY_TAG", point->tag,
                               SIM_TAG_LIMIT);
    if (comm->no_any_source && point->peer == MPI_ANY_SOURCE)
        return sim_error_raise(point->comm, MPI_ERR_RANK, point->function, "%s", no_any_source);
    if (comm->no_any_tag && point->tag == MPI_ANY_TAG)
        return sim_error_raise(point->comm, MPI_ERR_TAG, point->function, "%s", no_any_tag);
    *result = comm;
    return MPI_SUCCESS;
}

int sim_point_receive_check(const struct sim_point *point, struct sim_request *request)
{
    struct sim_comm *comm;
    int error = sim_point_probe_check(point, &comm);
    if (!error)
        error = check_buffer(point, request, comm);
    if (error)
        return error;
    if (!sim_datatype_receivable(request->type, request->count))
        return sim_error_raise(point->comm, MPI_ERR_TYPE, point->function,
                               "elements of the datatype overlap: nothing can be received there");
    request->kind = SIM_REQUEST_RECEIVE;
    request->state = SIM_POSTED;
    request->noted = 0;
    return MPI_SUCCESS;
}

/* Whether a send's data may be copied aside, so that it completes before it is matched. */
static bool may_buffer(const struct sim_request *send)
{
    const struct sim_world_options *options = &send->owner->world->options;
    switch ((enum sim_send_mode)send->mode) {
    case SIM_BUFFERED:
        return true;
    case SIM_SYNCHRONOUS:
        return false;
    case SIM_STANDARD:
    case SIM_READY_MODE:
        break;
    }
    return options->send_model == SIM_SEND_EAGER &&
           send->type->size * send->count <= options->eager_limit;
}

static bool in_batch(const struct sim_request *request)
{
    return request->owner->world->options.send_model == SIM_SEND_BATCH &&
           !(request->kind == SIM_REQUEST_SEND && request->mode == SIM_BUFFERED);
}

static void start_send(struct sim_request *send)
{
    if (send->owner->world->troubled && sim_send_refused(send))
        return;
    if (in_batch(send))
        sim_batch_add(send->owner, send);
    struct sim_context *peers = sim_context_peers(send->context);
    bool done =
        send->owner->world->options.fault_count
            ? send->owner->world->rooms->send_lossy(peers, send->peer, send, may_buffer(send))
            : sim_mailbox_send(peers, send->peer, send, may_buffer(send));
    if (done && !sim_request_done(send))
        sim_request_complete(send);
}

void sim_point_complete_null(struct sim_request *request)
{
    request->source_matched = MPI_PROC_NULL;
    request->tag_matched = MPI_ANY_TAG;
    request->bytes = 0;
    sim_request_complete(request);
}

enum { LATE_MAX = 1000 /* turns that others have first; some may poll for ever */ };

/* The rank might be slow: what others do before they need its receive, they do first. */
static void come_late(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    for (int turn = 0; turn < LATE_MAX && world->ready_head && !world->threaded; turn++)
        world->executor->yield(rank);
}

static void start_receive(struct sim_request *receive)
{
    if (receive->peer == MPI_PROC_NULL) {
        sim_point_complete_null(receive);
        return;
    }
    if (receive->owner->world->options.late_rank == receive->owner->id + 1)
        come_late(receive->owner);
    bool again = receive->persistent && receive->from_any;
    if (receive->peer == MPI_ANY_SOURCE || again) {
        sim_world_order_matters(receive->owner->world);
        receive->from_any = true;
        receive->peer = sim_request_sender(receive->owner, &receive->noted);
    }
    bool troubled = receive->owner->world->troubled;
    if (troubled && sim_receive_refused(receive))
        return;
    if (in_batch(receive))
        sim_batch_add(receive->owner, receive);
    sim_mailbox_post(receive->context, receive->comm->rank, receive);
    if (troubled)
        sim_receive_reconsider(receive);
}

void sim_point_start(struct sim_request *request)
{
    if (request->kind == SIM_REQUEST_RECEIVE)
        start_receive(request);
    else if (request->peer == MPI_PROC_NULL)
        sim_point_complete_null(request);
    else
        start_send(request);
}

static int refuse_unready(const struct sim_point *point)
{
    return sim_error_raise(point->comm, MPI_ERR_OTHER, point->function,
                           "a ready send to %d with tag %d, but no receive for it is posted there",
                           point->peer, point->tag);
}

static bool is_unready(const struct sim_request *send)
{
    return send->mode == SIM_READY_MODE &&
           !sim_mailbox_expects(sim_context_peers(send->context), send->peer, send->comm->rank,
                                send->tag);
}

/* Ready mode and the attached buffer are checked under the monitor; the error is raised outside it.
 */
enum start_result { STARTED, UNREADY, NO_BUFFER };

static enum start_result start_checked(struct sim_request *send)
{
    if (is_unready(send))
        return UNREADY;
    if (send->mode == SIM_BUFFERED && !sim_bsend_has_room(send))
        return NO_BUFFER;
    if (send->mode == SIM_BUFFERED)
        sim_bsend_begin(send->owner);
    start_send(send);
    return STARTED;
}

static int start_error(const struct sim_point *point, enum start_result result)
{
    if (result == UNREADY)
        return refuse_unready(point);
    return sim_error_raise(point->comm, MPI_ERR_BUFFER, point->function,
                           "the attached buffer has no room for this message: attach a larger one "
                           "with MPI_Buffer_attach");
}

static int send_blocking(const struct sim_point *point, enum sim_send_mode mode)
{
    struct sim_request send;
    send.on_stack = true;
    send.waiter = NULL;
    send.freed = send.delayed = false;
    send.batch = NULL;
    send.partner = NULL;
    send.message = NULL;
    send.error = MPI_SUCCESS;
    int error = sim_point_send_check(point, &send, mode);
    if (error || point->peer == MPI_PROC_NULL)
        return error;
    struct sim_world *world = send.owner->world;
    sim_world_enter(world);
    enum start_result result = start_checked(&send);
    if (result == STARTED && !sim_request_done(&send))
        sim_request_wait(&send);
    sim_world_leave(world);
    if (result != STARTED)
        return start_error(point, result);
    return send.error ? sim_error_raise(point->comm, send.error, point->function, "%s",
                                        sim_failure_sentence(send.error))
                      : MPI_SUCCESS;
}

static int send_nonblocking(const struct sim_point *point, enum sim_send_mode mode,
                            MPI_Request *handle)
{
    struct sim_request checked = {0};
    int error = sim_point_send_check(point, &checked, mode);
    if (error)
        return error;
    struct sim_world *world = checked.owner->world;
    sim_world_enter(world);
    struct sim_request *send = sim_request_new_as(&checked);
    enum start_result result = STARTED;
    sim_request_pending(send, point->function);
    if (point->peer == MPI_PROC_NULL)
        sim_point_complete_null(send);
    else
        result = start_checked(send);
    if (result != STARTED) {
        sim_pending_end(send->owner, send);
        sim_request_delete(send);
    } else {
        sim_rank_started(send->owner, SIM_START_SEND);
    }
    sim_world_leave(world);
    if (result != STARTED)
        return start_error(point, result);
    *handle = (MPI_Request)(void *)send;
    return MPI_SUCCESS;
}

int sim_point_truncated(const struct sim_point *point, const struct sim_request *receive)
{
    const char *failure = sim_failure_sentence(receive->error);
    if (failure)
        return sim_error_raise(point->comm, receive->error, point->function, "%s", failure);
    record_met(point->comm, receive->source_matched, receive->tag_matched);
    return sim_error_raise(
        point->comm, MPI_ERR_TRUNCATE, point->function,
        "the message from %d with tag %d is longer than the %zu bytes of the receive buffer",
        receive->source_matched, receive->tag_matched, receive->type->size * receive->count);
}

static int receive_blocking(const struct sim_point *point, MPI_Status *status)
{
    struct sim_request receive;
    receive.on_stack = true;
    receive.waiter = NULL;
    receive.freed = receive.delayed = receive.persistent = false;
    receive.batch = NULL;
    receive.partner = NULL;
    receive.message = NULL;
    receive.error = MPI_SUCCESS;
    int error = sim_point_receive_check(point, &receive);
    if (error)
        return error;
    struct sim_world *world = receive.owner->world;
    sim_world_enter(world);
    start_receive(&receive);
    sim_rank_starts_end(receive.owner);
    if (sim_request_done(&receive))
        sim_rank_give_way(receive.owner);
    else
        sim_request_wait(&receive);
    sim_world_leave(world);
    sim_request_status(&receive, status);
    return receive.error ? sim_point_truncated(point, &receive) : MPI_SUCCESS;
}

static int receive_nonblocking(const struct sim_point *point, MPI_Request *handle)
{
    struct sim_request checked = {0};
    int error = sim_point_receive_check(point, &checked);
    if (error)
        return error;
    struct sim_world *world = checked.owner->world;
    sim_world_enter(world);
    struct sim_request *receive = sim_request_new_as(&checked);
    sim_request_pending(receive, point->function);
    start_receive(receive);
    sim_rank_started(receive->owner, SIM_START_RECEIVE);
    sim_world_leave(world);
    *handle = (MPI_Request)(void *)receive;
    return MPI_SUCCESS;
}

/* The entry points: one row per send, each in its int and its large-count form. */
#define SEND(name, mode)                                                                           \
    int PMPI_##name(const void *buf, int count, MPI_Datatype type, int dest, int tag,              \
                    MPI_Comm comm)                                                                 \
    {                                                                                              \
        return send_blocking(&(struct sim_point){#name, buf, count, type, dest, tag, comm}, mode); \
    }                                                                                              \
    int PMPI_##name##_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag,    \
                        MPI_Comm comm)                                                             \
    {                                                                                              \
        return send_blocking(&(struct sim_point){#name, buf, count, type, dest, tag, comm}, mode); \
    }

#define ISEND(name, mode)                                                                          \
    int PMPI_##name(const void *buf, int count, MPI_Datatype type, int dest, int tag,              \
                    MPI_Comm comm, MPI_Request *request)                                           \
    {                                                                                              \
        return send_nonblocking(&(struct sim_point){#name, buf, count, type, dest, tag, comm},     \
                                mode, request);                                                    \
    }                                                                                              \
    int PMPI_##name##_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag,    \
                        MPI_Comm comm, MPI_Request *request)                                       \
    {                                                                                              \
        return send_nonblocking(&(struct sim_point){#name, buf, count, type, dest, tag, comm},     \
                                mode, request);                                                    \
    }

int sim_send_general(const void *buffer, int count, MPI_Datatype type, int peer, int tag,
                     MPI_Comm comm)
{
    return send_blocking(&(struct sim_point){"Send", buffer, count, type, peer, tag, comm},
                         SIM_STANDARD);
}

int PMPI_Send_c(const void *buffer, MPI_Count count, MPI_Datatype type, int peer, int tag,
                MPI_Comm comm)
{
    return send_blocking(&(struct sim_point){"Send", buffer, count, type, peer, tag, comm},
                         SIM_STANDARD);
}

SEND(Ssend, SIM_SYNCHRONOUS)
SEND(Bsend, SIM_BUFFERED)
SEND(Rsend, SIM_READY_MODE)
ISEND(Isend, SIM_STANDARD)
ISEND(Issend, SIM_SYNCHRONOUS)
ISEND(Ibsend, SIM_BUFFERED)
ISEND(Irsend, SIM_READY_MODE)

int sim_receive_long(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                     MPI_Status *status)
{
    return receive_blocking(&(struct sim_point){"Recv", buffer, count, type, peer, tag, comm},
                            status);
}

int PMPI_Recv_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                MPI_Status *status)
{
    return receive_blocking(&(struct sim_point){"Recv", buf, count, type, source, tag, comm},
                            status);
}

int PMPI_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    return receive_nonblocking(&(struct sim_point){"Irecv", buf, count, type, source, tag, comm},
                               request);
}

int PMPI_Irecv_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                 MPI_Request *request)
{
    return receive_nonblocking(&(struct sim_point){"Irecv", buf, count, type, source, tag, comm},
                               request);
}
