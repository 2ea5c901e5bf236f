/* MPI_Comm_disconnect: as MPI_Comm_free, but MPI may have it wait for all members, as Open MPI does. Here it does
 * where collectives are strict. */
#include "sim/collectives/collective.h"
#include "sim/communicators/comm.h"

static void nothing_moves(struct sim_collective *collective)
{
    (void)collective;
}

static const struct sim_collective_kind comm_disconnect = {.name = "Comm_disconnect",
                                                           .synchronisation = SIM_TO_ROOT,
                                                           .flow = SIM_TO_ROOT,
                                                           .execute = nothing_moves};

enum { NO_ROOT = -1 };

/* Where somebody has failed nobody can wait for all. */
static bool may_meet(const struct sim_comm *comm)
{
    struct sim_world *world = comm->owner->world;
    sim_world_enter(world);
    bool may = !comm->predefined && !world->troubled;
    sim_world_leave(world);
    return may;
}

static int meet(struct sim_comm *comm)
{
    struct sim_collective_call call = {.kind = &comm_disconnect, .comm = comm, .root = NO_ROOT};
    if (comm->context->remote) {
        call.comm = comm->bridge;
        comm->bridge->errhandler = comm->errhandler;
    }
    return sim_collective_run(&call);
}

int PMPI_Comm_disconnect(MPI_Comm *handle)
{
    int error;
    struct sim_comm *comm = sim_comm_check(*handle, "Comm_disconnect", &error);
    if (comm && may_meet(comm))
        error = meet(comm);
    return error ? error : sim_comm_free(handle, "Comm_disconnect");
}
