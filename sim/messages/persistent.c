/* Persistent requests: made once, started many times. */
#include "sim/memory/pending.h"
#include "sim/messages/bsend.h"
#include "sim/messages/mailbox.h"
#include "sim/messages/point.h"
#include "sim/worlds/error.h"
#include "sim/worlds/open_handles.h"

static int make(const struct sim_request *checked, MPI_Request *handle)
{
    struct sim_world *world = checked->owner->world;
    sim_world_enter(world);
    struct sim_request *request = sim_request_new_as(checked);
    request->persistent = true;
    request->state = SIM_INACTIVE;
    request->start = sim_point_start;
    sim_world_leave(world);
    *handle = (MPI_Request)(void *)request;
    sim_open_handles_add(SIM_LIVE_PERSISTENT, (uint64_t)(uintptr_t)request);
    return MPI_SUCCESS;
}

static int send_init(const struct sim_point *point, enum sim_send_mode mode, MPI_Request *handle)
{
    struct sim_request checked = {0};
    int error = sim_point_send_check(point, &checked, mode);
    return error ? error : make(&checked, handle);
}

static int receive_init(const struct sim_point *point, MPI_Request *handle)
{
    struct sim_request checked = {0};
    int error = sim_point_receive_check(point, &checked);
    return error ? error : make(&checked, handle);
}

#define SEND_INIT(name, mode)                                                                      \
    int PMPI_##name(const void *buf, int count, MPI_Datatype type, int dest, int tag,              \
                    MPI_Comm comm, MPI_Request *request)                                           \
    {                                                                                              \
        return send_init(&(struct sim_point){#name, buf, count, type, dest, tag, comm}, mode,      \
                         request);                                                                 \
    }                                                                                              \
    int PMPI_##name##_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag,    \
                        MPI_Comm comm, MPI_Request *request)                                       \
    {                                                                                              \
        return send_init(&(struct sim_point){#name, buf, count, type, dest, tag, comm}, mode,      \
                         request);                                                                 \
    }

SEND_INIT(Send_init, SIM_STANDARD)
SEND_INIT(Ssend_init, SIM_SYNCHRONOUS)
SEND_INIT(Bsend_init, SIM_BUFFERED)
SEND_INIT(Rsend_init, SIM_READY_MODE)

int PMPI_Recv_init(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    return receive_init(&(struct sim_point){"Recv_init", buf, count, type, source, tag, comm},
                        request);
}

int PMPI_Recv_init_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag,
                     MPI_Comm comm, MPI_Request *request)
{
    return receive_init(&(struct sim_point){"Recv_init", buf, count, type, source, tag, comm},
                        request);
}

/* What keeps a persistent send from starting, and its class: NULL for nothing. In the monitor. */
static const char *obstacle(const struct sim_request *request, int *class)
{
    *class = request->mode == SIM_BUFFERED ? MPI_ERR_BUFFER : MPI_ERR_OTHER;
    if (request->kind != SIM_REQUEST_SEND || request->peer == MPI_PROC_NULL)
        return NULL;
    if (request->mode == SIM_BUFFERED && !sim_bsend_has_room(request))
        return "the attached buffer has no room for this message";
    if (request->mode == SIM_READY_MODE &&
        !sim_mailbox_expects(sim_context_peers(request->context), request->peer,
                             request->comm->rank, request->tag))
        return "a ready send, but no receive for it is posted";
    return NULL;
}

static int start(MPI_Request handle, const char *function)
{
    struct sim_rank *rank = sim_point_caller(function);
    if (!rank)
        return MPI_ERR_OTHER;
    struct sim_request *request = sim_request_get(rank, handle);
    if (!request || !request->persistent)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_REQUEST, function,
                               "request is not a persistent request of this rank");
    sim_world_enter(rank->world);
    bool active = request->state != SIM_INACTIVE;
    int class;
    const char *complaint = active ? NULL : obstacle(request, &class);
    if (!active && !complaint) {
        request->state = SIM_POSTED;
        request->error = MPI_SUCCESS;
        request->partner = NULL;
        if (!request->partitioned)
            sim_request_pending(request, function);
        if (request->kind == SIM_REQUEST_SEND && request->mode == SIM_BUFFERED)
            sim_bsend_begin(rank);
        request->start(request);
        sim_rank_started(rank, request->kind == SIM_REQUEST_RECEIVE ? SIM_START_RECEIVE
                               : request->kind == SIM_REQUEST_SEND  ? SIM_START_SEND
                                                                    : SIM_START_COLLECTIVE);
    }
    sim_world_leave(rank->world);
    if (active)
        return sim_error_raise(sim_comm_handle(request->comm), MPI_ERR_REQUEST, function,
                               "the request is active: wait for it before starting it again");
    return complaint
               ? sim_error_raise(sim_comm_handle(request->comm), class, function, "%s", complaint)
               : MPI_SUCCESS;
}

int PMPI_Start(MPI_Request *request)
{
    return start(*request, "Start");
}

int PMPI_Startall(int count, MPI_Request *requests)
{
    if (count < 0)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_COUNT, "Startall",
                               "count is %d: it must not be negative", count);
    for (int i = 0; i < count; i++) {
        int error = start(requests[i], "Startall");
        if (error)
            return error;
    }
    return MPI_SUCCESS;
}
