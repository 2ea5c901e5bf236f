/* Hints of communicators: kept and given back, none changes what the machine does. Who promises to
 * receive from no wildcard is held to it (point.c); of other promises coverage says that nobody
 * looks. */
#include "recorder/recorder.h"
#include "sim/communicators/comm.h"
#include "sim/communicators/info.h"
#include "sim/worlds/error.h"
#include "sim/worlds/open_handles.h"
#include "sim/worlds/rank_lock.h"

int sim_info_check(MPI_Comm handle, MPI_Info info, const char *function)
{
    if (sim_info_handle_valid(info))
        return MPI_SUCCESS;
    return sim_error_raise(handle, MPI_ERR_INFO, function, "info is not a valid handle");
}

void sim_comm_hints(struct sim_comm *comm)
{
    const struct sim_info *hints = sim_info_from_handle(comm->info);
    comm->no_any_source = sim_info_says(hints, "mpi_assert_no_any_source", "true");
    comm->no_any_tag = sim_info_says(hints, "mpi_assert_no_any_tag", "true");
}

void sim_comm_hints_told(MPI_Info info)
{
    const struct sim_info *hints = sim_info_from_handle(info);
    if (sim_info_says(hints, "mpi_assert_exact_length", "true"))
        record_gap("run", 1,
                   "promises by hints of communicators (mpi_assert_exact_length): whether messages "
                   "are as long as the buffers that receive them");
    if (sim_info_says(hints, "mpi_assert_allow_overtaking", "true"))
        record_gap("run", 1,
                   "messages that overtake each other, which mpi_assert_allow_overtaking allows");
}

/* Gives the program a copy of `hints`, empty when there are none. */
static int hand_out(MPI_Comm handle, const struct sim_info *hints, const char *function,
                    MPI_Info *used)
{
    struct sim_info *copy = hints ? sim_info_copy(hints) : sim_info_new();
    if (!copy)
        return sim_error_raise(handle, MPI_ERR_NO_MEM, function, "out of memory");
    *used = (MPI_Info)(void *)copy;
    sim_open_handles_add(SIM_LIVE_INFO, (uint64_t)(uintptr_t)copy);
    return MPI_SUCCESS;
}

int PMPI_Comm_set_info(MPI_Comm handle, MPI_Info info)
{
    WITH_RANK_LOCK;
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_set_info", &error);
    if (comm)
        error = sim_info_check(handle, info, "Comm_set_info");
    const struct sim_info *given = error ? NULL : sim_info_from_handle(info);
    if (error || !given)
        return error;
    sim_comm_hints_told(info);
    struct sim_info *kept = sim_info_from_handle(comm->info);
    if (!kept) {
        kept = sim_info_new();
        comm->info = (MPI_Info)(void *)kept;
    }
    for (int i = 0; kept && i < given->count; i++)
        if (!sim_info_set(kept, given->entries[i].key, given->entries[i].value))
            kept = NULL;
    sim_comm_hints(comm);
    return kept ? MPI_SUCCESS
                : sim_error_raise(handle, MPI_ERR_NO_MEM, "Comm_set_info", "out of memory");
}

int PMPI_Comm_get_info(MPI_Comm handle, MPI_Info *used)
{
    WITH_RANK_LOCK;
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_get_info", &error);
    return comm ? hand_out(handle, sim_info_from_handle(comm->info), "Comm_get_info", used) : error;
}

int PMPI_Abi_get_info(MPI_Info *info)
{
    WITH_RANK_LOCK;
    return hand_out(MPI_COMM_NULL, NULL, "Abi_get_info", info);
}

/* Nothing is known of the hardware below a rank. */
int PMPI_Get_hw_resource_info(MPI_Info *info)
{
    WITH_RANK_LOCK;
    return hand_out(MPI_COMM_NULL, NULL, "Get_hw_resource_info", info);
}
