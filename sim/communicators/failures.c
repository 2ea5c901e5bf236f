/* Failed members: see failures.h. */
#include "sim/communicators/failures.h"

bool sim_comm_tolerates(const struct sim_comm *comm)
{
    const struct sim_comm *seen = comm->face ? comm->face : comm;
    return comm->owner->state <= SIM_BLOCKED && seen->errhandler != MPI_ERRORS_ARE_FATAL &&
           seen->errhandler != MPI_ERRORS_ABORT;
}

bool sim_context_member_failed(const struct sim_context *context, int rank)
{
    return context->world->ranks[sim_context_world_rank(context, rank)].failed;
}

static bool is_member(const struct sim_context *context, int world_rank)
{
    return sim_group_rank(context->group, world_rank) != MPI_UNDEFINED;
}

int sim_comm_failed(const struct sim_comm *comm, int *ranks, int room)
{
    const struct sim_context *context = comm->context;
    const struct sim_world *world = context->world;
    int found = 0;
    for (int i = 0; i < world->failed_count; i++) {
        int failed = world->failed[i];
        if (!is_member(context, failed) && !(context->remote && is_member(context->remote, failed)))
            continue;
        if (found < room)
            ranks[found] = failed;
        found++;
    }
    return found;
}

bool sim_comm_unacknowledged(const struct sim_comm *comm)
{
    return sim_comm_failed(comm, NULL, 0) > comm->acknowledged;
}

int sim_comm_peer_error(const struct sim_comm *comm, int peer)
{
    if (comm->context->revoked)
        return MPIX_ERR_REVOKED;
    if (!sim_comm_tolerates(comm))
        return MPI_SUCCESS;
    if (peer == MPI_ANY_SOURCE)
        return sim_comm_unacknowledged(comm) ? MPIX_ERR_PROC_FAILED_PENDING : MPI_SUCCESS;
    return sim_context_member_failed(sim_context_peers(comm->context), peer) ? MPIX_ERR_PROC_FAILED
                                                                             : MPI_SUCCESS;
}

void sim_rank_block_reconsidering(struct sim_rank *rank)
{
    rank->reconsiders = true;
    sim_rank_block(rank);
    rank->reconsiders = false;
}

void sim_world_troubled(struct sim_world *world)
{
    if (world->troubled)
        return;
    world->troubled = true;
    for (int i = 0; world->options.executor == SIM_FIBERS && i < world->size; i++)
        world->ranks[i].plain = false; /* it never is on threads, whose ranks read it unlocked */
}
