/* The calls that make and free error handlers, those on handlers of communicators, and what an unsupported function raises. */
#include "recorder/recorder.h"
#include "sim/communicators/comm.h"
#include "sim/interface/unsupported.h"
#include "sim/worlds/error.h"
#include "sim/worlds/open_handles.h"
#include "sim/worlds/rank_lock.h"

#include <stdio.h>

int sim_error_unsupported(const char *name)
{
    char sentence[200];
    snprintf(sentence, sizeof sentence,
             "%s is not provided by this simulator; keep it out of what is checked ('simrun doctor "
             "--unsupported' names all such)",
             name);
    record_refusal("U001", sim_libc_call_site(), "%s", sentence);
    return sim_error_raise_mismatch(MPI_COMM_NULL, MPI_ERR_UNSUPPORTED_OPERATION, name + 4,
                                    sentence);
}

static int make(enum sim_errhandler_kind kind, const char *name,
                MPI_Comm_errhandler_function *function, MPI_Errhandler *handle)
{
    if (!function)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ARG, name, "the function is NULL");
    *handle = sim_errhandler_new(kind, function);
    if (*handle == MPI_ERRHANDLER_NULL)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_NO_MEM, name, "out of memory");
    sim_open_handles_add(SIM_LIVE_ERRHANDLER, (uint64_t)(uintptr_t)*handle);
    return MPI_SUCCESS;
}

int PMPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function, MPI_Errhandler *handle)
{
    return make(SIM_ERRHANDLER_COMM, "Comm_create_errhandler", function, handle);
}

int PMPI_Win_create_errhandler(MPI_Win_errhandler_function *function, MPI_Errhandler *handle)
{
    return make(SIM_ERRHANDLER_WIN, "Win_create_errhandler",
                (MPI_Comm_errhandler_function *)(void (*)(void))function, handle);
}

int PMPI_Session_create_errhandler(MPI_Session_errhandler_function *function,
                                   MPI_Errhandler *handle)
{
    return make(SIM_ERRHANDLER_SESSION, "Session_create_errhandler",
                (MPI_Comm_errhandler_function *)(void (*)(void))function, handle);
}

int PMPI_Errhandler_free(MPI_Errhandler *handle)
{
    if (!sim_errhandler_valid(*handle))
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ERRHANDLER, "Errhandler_free",
                               "not a valid error handler");
    sim_open_handles_remove(SIM_LIVE_ERRHANDLER, (uint64_t)(uintptr_t)*handle);
    sim_errhandler_release(*handle);
    *handle = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

int PMPI_Comm_set_errhandler(MPI_Comm handle, MPI_Errhandler handler)
{
    WITH_RANK_LOCK;
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_set_errhandler", &error);
    if (!comm)
        return error;
    const char *unfit =
        sim_errhandler_unfit(handler, comm->window ? SIM_ERRHANDLER_WIN : SIM_ERRHANDLER_COMM);
    if (unfit)
        return sim_error_raise(handle, MPI_ERR_ERRHANDLER, "Comm_set_errhandler", "%s", unfit);
    sim_errhandler_retain(handler);
    sim_errhandler_release(comm->errhandler);
    comm->errhandler = handler;
    comm->errhandler_set = true;
    return MPI_SUCCESS;
}

int PMPI_Comm_get_errhandler(MPI_Comm handle, MPI_Errhandler *handler)
{
    WITH_RANK_LOCK;
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_get_errhandler", &error);
    if (!comm)
        return error;
    sim_errhandler_retain(comm->errhandler);
    *handler = comm->errhandler;
    if (sim_errhandler_made(*handler)) /* one more to free */
        sim_open_handles_add(SIM_LIVE_ERRHANDLER, (uint64_t)(uintptr_t)*handler);
    return MPI_SUCCESS;
}

int PMPI_Comm_call_errhandler(MPI_Comm handle, int error_code)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_call_errhandler", &error);
    if (!comm)
        return error;
    sim_error_called(handle, error_code, "Comm_call_errhandler");
    return MPI_SUCCESS;
}
