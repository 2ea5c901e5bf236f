/* Generalised requests: operations of the program's own that can be waited for like any other. */
#include "sim/messages/generalized.h"

#include "sim/libc/hooks.h"
#include "sim/messages/point.h"
#include "sim/messages/request.h"
#include "sim/messages/status.h"
#include "sim/worlds/error.h"

#include <assert.h>
#include <stdlib.h>

int PMPI_Grequest_start(MPI_Grequest_query_function *query,
                        MPI_Grequest_free_function *free_function,
                        MPI_Grequest_cancel_function *cancel, void *state, MPI_Request *handle)
{
    struct sim_rank *rank = sim_point_caller("Grequest_start");
    if (!rank)
        return MPI_ERR_OTHER;
    struct sim_general *general = malloc(sizeof *general);
    assert(general && "out of memory for a generalised request");
    *general = (struct sim_general){.query = query,
                                    .free = free_function,
                                    .cancel = cancel,
                                    .state = state,
                                    .site = sim_libc_call_site()};
    sim_world_enter(rank->world);
    general->next = rank->generals;
    general->link = &rank->generals;
    if (general->next)
        general->next->link = &general->next;
    rank->generals = general;
    struct sim_request *request = sim_request_new(rank, SIM_REQUEST_GENERAL);
    request->general = general;
    sim_world_leave(rank->world);
    *handle = (MPI_Request)(void *)request;
    return MPI_SUCCESS;
}

int PMPI_Grequest_complete(MPI_Request handle)
{
    struct sim_rank *rank = sim_point_caller("Grequest_complete");
    if (!rank)
        return MPI_ERR_OTHER;
    struct sim_request *request = sim_request_get(rank, handle);
    if (!request || request->kind != SIM_REQUEST_GENERAL || sim_request_done(request))
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_REQUEST, "Grequest_complete",
                               "request is not a pending generalised request");
    sim_world_enter(rank->world);
    sim_request_complete(request);
    sim_world_leave(rank->world);
    return MPI_SUCCESS;
}

/* Inside the monitor: it may set the status, but neither communicate nor jump away. */
static int call_query(const struct sim_general *general, MPI_Status *status)
{
    SIM_GUARDED rank = sim_current_rank;
    sim_guard_begin(rank, __builtin_frame_address(0), SIM_GUARD_REQUEST);
    int error = general->query(general->state, status);
    sim_guard_end(rank);
    return error;
}

/* The same, but also where no rank is left to accuse. */
static int call_free(const struct sim_general *general)
{
    SIM_GUARDED rank = sim_current_rank;
    if (!rank)
        return general->free(general->state);
    sim_guard_begin(rank, __builtin_frame_address(0), SIM_GUARD_REQUEST);
    int error = general->free(general->state);
    sim_guard_end(rank);
    return error;
}

int sim_general_finish(struct sim_request *request, MPI_Status *status)
{
    struct sim_general *general = request->general;
    MPI_Status own;
    MPI_Status *filled = status == MPI_STATUS_IGNORE ? &own : status;
    int error = general->query ? call_query(general, filled) : MPI_SUCCESS;
    int freed = sim_general_release(request);
    return error ? error : freed;
}

int sim_general_release(struct sim_request *request)
{
    struct sim_general *general = request->general;
    request->general = NULL;
    *general->link = general->next;
    if (general->next)
        general->next->link = general->link;
    int error = general->free ? call_free(general) : MPI_SUCCESS;
    free(general);
    return error;
}

void sim_general_cancel(struct sim_request *request)
{
    struct sim_general *general = request->general;
    SIM_CALLBACK callback = sim_callback_of(sim_current_rank, MPI_ERR_OTHER);
    if (general->cancel)
        general->cancel(general->state, sim_request_done(request));
    callback.rank = NULL;
}
