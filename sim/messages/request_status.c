/* Request_get_status for several requests: looks, and leaves the requests as they are. */
#include "sim/messages/point.h"
#include "sim/messages/status.h"
#include "sim/worlds/error.h"

/* Answers for one handle. */
enum look { EMPTY, PENDING, DONE }; /* EMPTY: null or inactive */

static enum look look_at(struct sim_rank *rank, MPI_Request handle, struct sim_request **request)
{
    *request = handle == MPI_REQUEST_NULL ? NULL : sim_request_get(rank, handle);
    if (!*request || (*request)->state == SIM_INACTIVE)
        return EMPTY;
    return sim_request_done(*request) ? DONE : PENDING;
}

static int check(struct sim_rank *rank, int count, const MPI_Request *handles, const char *function)
{
    if (count < 0)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ARG, function,
                               "count of requests is %d: it must not be negative", count);
    int missing = count ? sim_point_output(handles, "array_of_requests", function) : MPI_SUCCESS;
    if (missing)
        return missing;
    for (int i = 0; i < count; i++)
        if (handles[i] != MPI_REQUEST_NULL && !sim_request_get(rank, handles[i]))
            return sim_error_raise(MPI_COMM_NULL, MPI_ERR_REQUEST, function,
                                   "request %d is not a live request of this rank", i);
    return MPI_SUCCESS;
}

/* The program may read the buffer of what it is told is done. */
static void fill(struct sim_request *request, enum look look, MPI_Status *status)
{
    if (look == DONE)
        sim_request_fill(request);
    if (status == MPI_STATUS_IGNORE)
        return;
    if (look == DONE)
        sim_request_status(request, status);
    else
        sim_status_set_empty(status);
    status->MPI_ERROR = look == DONE ? request->error : MPI_SUCCESS;
}

/* In the monitor. What these calls see is answered as it comes: an exploration says so. */
static void enter(struct sim_rank *rank)
{
    sim_world_enter(rank->world);
    sim_rank_unsure(rank);
    if (rank->world->exploring)
        rank->world->chooser.log.gaps |= SIM_GAP_POLLS;
}

static MPI_Status *status_at(MPI_Status *statuses, int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

int PMPI_Request_get_status_all(int count, const MPI_Request handles[], int *flag,
                                MPI_Status statuses[])
{
    struct sim_rank *rank = sim_point_caller("Request_get_status_all");
    int error = rank ? check(rank, count, handles, "Request_get_status_all") : MPI_ERR_OTHER;
    error = error ? error : sim_point_output(flag, "flag", "Request_get_status_all");
    if (error)
        return error;
    struct sim_request *request;
    enter(rank);
    *flag = 1;
    for (int i = 0; i < count; i++)
        *flag &= look_at(rank, handles[i], &request) != PENDING;
    for (int i = 0; *flag && i < count; i++) {
        enum look look = look_at(rank, handles[i], &request);
        fill(request, look, status_at(statuses, i));
    }
    if (!*flag)
        sim_rank_poll_failed(rank);
    sim_world_leave(rank->world);
    return MPI_SUCCESS;
}

int PMPI_Request_get_status_any(int count, const MPI_Request handles[], int *index, int *flag,
                                MPI_Status *status)
{
    struct sim_rank *rank = sim_point_caller("Request_get_status_any");
    int error = rank ? check(rank, count, handles, "Request_get_status_any") : MPI_ERR_OTHER;
    error = error ? error : sim_point_output(index, "index", "Request_get_status_any");
    error = error ? error : sim_point_output(flag, "flag", "Request_get_status_any");
    if (error)
        return error;
    struct sim_request *request = NULL;
    enum look look = EMPTY;
    bool pending = false;
    *index = MPI_UNDEFINED;
    enter(rank);
    for (int i = 0; i < count && *index == MPI_UNDEFINED; i++) {
        look = look_at(rank, handles[i], &request);
        pending |= look == PENDING;
        *index = look == DONE ? i : MPI_UNDEFINED;
    }
    *flag = *index != MPI_UNDEFINED || !pending;
    if (*flag)
        fill(request, *index == MPI_UNDEFINED ? EMPTY : DONE, status);
    else
        sim_rank_poll_failed(rank);
    sim_world_leave(rank->world);
    return MPI_SUCCESS;
}

int PMPI_Request_get_status_some(int count, const MPI_Request handles[], int *done, int indices[],
                                 MPI_Status statuses[])
{
    struct sim_rank *rank = sim_point_caller("Request_get_status_some");
    int error = rank ? check(rank, count, handles, "Request_get_status_some") : MPI_ERR_OTHER;
    error = error ? error
                  : sim_point_output(count ? (const void *)indices : done, "array_of_indices",
                                     "Request_get_status_some");
    error = error ? error : sim_point_output(done, "outcount", "Request_get_status_some");
    if (error)
        return error;
    struct sim_request *request;
    bool pending = false;
    *done = 0;
    enter(rank);
    for (int i = 0; i < count; i++) {
        enum look look = look_at(rank, handles[i], &request);
        pending |= look == PENDING;
        if (look != DONE)
            continue;
        fill(request, look, status_at(statuses, *done));
        indices[(*done)++] = i;
    }
    if (!*done && pending)
        sim_rank_poll_failed(rank);
    else if (!*done)
        *done = MPI_UNDEFINED;
    sim_world_leave(rank->world);
    return MPI_SUCCESS;
}
