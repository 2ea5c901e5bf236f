/* Collectives and failures: see failures.h. */
#include "sim/collectives/failures.h"

#include "sim/communicators/failures.h"

int sim_collective_first_lost(const struct sim_collective *collective)
{
    int rank = 0;
    while (rank < collective->size &&
           (collective->calls[rank] || !sim_context_member_failed(collective->context, rank)))
        rank++;
    return rank;
}

/* Whether it waits for one that will not come. */
static bool waits_in_vain(const struct sim_collective *collective, int rank, int lost)
{
    bool any = lost < collective->size;
    int root = collective->first_root;
    if (collective->context->world->options.strict_collectives)
        return any;
    switch (collective->kind->synchronisation) {
    case SIM_NEEDS_ALL:
    case SIM_TO_ROOT:
        return any;
    case SIM_PREFIX:
        return lost < rank;
    case SIM_FROM_ROOT:
        break;
    }
    bool root_lost =
        !collective->calls[root] && sim_context_member_failed(collective->context, root);
    return rank == root ? any : collective->broken || root_lost;
}

int sim_collective_error_of(const struct sim_collective *collective, int rank, int lost)
{
    if (collective->context->revoked)
        return MPIX_ERR_REVOKED;
    bool ends =
        sim_comm_tolerates(collective->calls[rank]->comm) && waits_in_vain(collective, rank, lost);
    return ends ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS;
}
