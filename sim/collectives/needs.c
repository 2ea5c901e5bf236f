/* What a member of a collective waits for, against what it needs: see needs.h. */
#include "sim/collectives/needs.h"

#include "sim/communicators/topology.h"

static size_t bytes_of(struct sim_block block)
{
    return block.type ? block.count * block.type->size : 0;
}

static bool takes_from(const struct sim_collective_call *call, int peer)
{
    bool takes = call->receive.type || call->receive.typed;
    return takes && bytes_of(sim_side_block(&call->receive, peer)) > 0;
}

/* Of what a reduction or a broadcast moves; in place, it stands on the other side. */
static bool moves_anything(const struct sim_collective_call *call)
{
    return bytes_of(sim_side_whole(&call->send)) > 0 ||
           bytes_of(sim_side_whole(&call->receive)) > 0;
}

static bool takes_from_neighbor(const struct sim_collective *collective,
                                const struct sim_collective_call *call, int rank, int member)
{
    const struct sim_topology *topology = collective->context->topology;
    for (int k = 0; k < sim_topology_in_count(topology, rank); k++)
        if (sim_topology_source(topology, rank, k) == member && takes_from(call, k))
            return true;
    return false;
}

/* By the numbers that the call knows them by: its own one, and the other's. */
static bool needs_of_all(const struct sim_collective_call *call, int own, int other)
{
    const struct sim_collective_kind *kind = call->kind;
    if (!call->send.type && !call->receive.type) /* a barrier, or what makes something */
        return true;
    if (kind->reduces && kind->sends_each) /* its own share of the result */
        return takes_from(call, own);
    return kind->reduces ? moves_anything(call) : takes_from(call, other);
}

static bool needs_as_root(const struct sim_collective_call *call, int other)
{
    return call->kind->reduces ? moves_anything(call) : takes_from(call, other);
}

/* Between the groups of an intercommunicator: each has its own numbers. */
static bool needs_across(const struct sim_collective *collective, int rank, int member)
{
    const struct sim_collective_call *call = collective->calls[rank];
    int split = collective->context->first_side;
    int own = rank < split ? rank : rank - split, other = member < split ? member : member - split;
    if ((rank < split) == (member < split))
        return false;
    /* A root gives MPI_ROOT, the others of its group MPI_PROC_NULL. */
    if (call->kind->flow == SIM_FROM_ROOT)
        return call->root == other && moves_anything(call);
    if (call->kind->flow == SIM_TO_ROOT)
        return call->root == MPI_ROOT && needs_as_root(call, other);
    return needs_of_all(call, own, other);
}

/* Whether the member `rank`, which waits, needs what that other one brings. */
static bool needs(const struct sim_collective *collective, int rank, int member)
{
    const struct sim_collective_call *call = collective->calls[rank];
    const struct sim_collective_kind *kind = call->kind;
    if (sim_call_is_intercomm(call))
        return needs_across(collective, rank, member);
    if (kind->neighborly)
        return takes_from_neighbor(collective, call, rank, member);
    switch (kind->synchronisation) {
    case SIM_FROM_ROOT:
        return member == call->root && moves_anything(call);
    case SIM_TO_ROOT:
        return rank == call->root && needs_as_root(call, member);
    case SIM_PREFIX:
        return member < rank && moves_anything(call);
    case SIM_NEEDS_ALL:
        break;
    }
    return needs_of_all(call, rank, member);
}

void sim_collective_led_to(const struct sim_collective *collective, int rank,
                           struct sim_dependences *causes)
{
    bool all = collective->context->world->options.strict_collectives || collective->error;
    if (sim_dependences_hold(causes, &collective->causes))
        return;
    for (int member = 0; member < collective->size; member++)
        if (collective->calls[member] &&
            !sim_dependences_hold(causes, &collective->arrivals[member]) &&
            (all || needs(collective, rank, member)))
            sim_dependences_join(causes, &collective->arrivals[member]);
}

/* `missing` is the first member that has not come. */
static bool waits_needlessly(const struct sim_collective *collective, int rank, int missing)
{
    for (int member = missing; member < collective->size; member++)
        if (!collective->calls[member] && needs(collective, rank, member))
            return false;
    return true;
}

static bool anybody_waits_needlessly(const struct sim_collective *collective)
{
    int missing = 0;
    while (missing < collective->size && collective->calls[missing])
        missing++;
    for (int rank = 0; !collective->shortly && rank < collective->size; rank++) {
        const struct sim_collective_call *call = collective->calls[rank];
        if (call && !call->done && waits_needlessly(collective, rank, missing))
            return true;
    }
    return false;
}

bool sim_collectives_wait_needlessly(const struct sim_world *world)
{
    for (const struct sim_context *context = world->contexts; context; context = context->next)
        for (const struct sim_collective *at = context->first_collective; at; at = at->next)
            if (anybody_waits_needlessly(at))
                return true;
    return false;
}
