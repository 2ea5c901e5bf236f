/* Neighbourhood collectives: every member exchanges with its neighbours of the communicator's
 * topology, in the order of communicators/topology.h. Everybody waits for everybody. */
#include "sim/collectives/forms.h"
#include "sim/communicators/topology.h"

#include <string.h>

/* ---- moving ---- */

/* Fills each incoming block of a member from what its source sends along the edge. */
static void receive_all(struct sim_collective *collective, int rank, bool to_each)
{
    const struct sim_topology *topology = collective->context->topology;
    struct sim_collective_call *call = collective->calls[rank];
    for (int k = 0; k < sim_topology_in_count(topology, rank); k++) {
        int source = sim_topology_source(topology, rank, k);
        if (source == MPI_PROC_NULL)
            continue;
        int slot = sim_topology_source_slot(topology, rank, k);
        if (slot < 0) {
            call->error = MPI_ERR_TOPOLOGY;
            continue;
        }
        const struct sim_side *side = &collective->calls[source]->send;
        struct sim_block from = to_each ? sim_side_block(side, slot) : sim_side_whole(side);
        sim_block_move(collective, source, from, rank, sim_side_block(&call->receive, k));
    }
}

static void allgather_execute(struct sim_collective *collective)
{
    for (int r = 0; r < collective->size; r++)
        receive_all(collective, r, false);
}

static void alltoall_execute(struct sim_collective *collective)
{
    for (int r = 0; r < collective->size; r++)
        receive_all(collective, r, true);
}

#define KIND(variable, text, executes, ...)                                                        \
    static const struct sim_collective_kind variable = {.name = text,                              \
                                                        .synchronisation = SIM_NEEDS_ALL,          \
                                                        .neighborly = true,                        \
                                                        .execute = executes,                       \
                                                        __VA_ARGS__}

KIND(neighbor_allgather, "Neighbor_allgather", allgather_execute, .receives_each = true);
KIND(neighbor_allgatherv, "Neighbor_allgatherv", allgather_execute, .receives_each = true);
KIND(neighbor_alltoall, "Neighbor_alltoall", alltoall_execute, .sends_each = true,
     .receives_each = true);
KIND(neighbor_alltoallv, "Neighbor_alltoallv", alltoall_execute, .sends_each = true,
     .receives_each = true);
KIND(neighbor_alltoallw, "Neighbor_alltoallw", alltoall_execute, .sends_each = true,
     .receives_each = true);

/* ---- checking ---- */

struct arrays { /* of a v- or w-form */
    struct sim_counts counts, displacements;
};

static int begin(struct sim_collective_call *call, const struct sim_collective_kind *kind,
                 MPI_Comm comm)
{
    int error = sim_call_begin(call, kind, comm);
    if (error || call->comm->context->topology)
        return error;
    return sim_call_fail(call, MPI_ERR_TOPOLOGY, "communicator has no virtual topology");
}

int sim_call_neighbors(const struct sim_collective_call *call, bool receives)
{
    const struct sim_topology *topology = call->comm->context->topology;
    return receives ? sim_topology_in_count(topology, call->comm->rank)
                    : sim_topology_out_count(topology, call->comm->rank);
}

static int in_count(const struct sim_collective_call *call)
{
    return sim_call_neighbors(call, true);
}

static int out_count(const struct sim_collective_call *call)
{
    return sim_call_neighbors(call, false);
}

/* A side in blocks of different sizes; arrays may be NULL where there is no neighbour. */
static int use_arrays(struct sim_collective_call *call, struct sim_side *side, const void *buffer,
                      struct arrays arrays, int peers)
{
    if (buffer == MPI_IN_PLACE)
        return sim_call_fail(call, MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed here");
    if (!peers)
        return MPI_SUCCESS;
    return sim_call_vector(call, side, buffer, arrays.counts, arrays.displacements, peers);
}

static int fill_plain(struct sim_collective_call *call, const struct sim_collective_kind *kind,
                      const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                      void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    int error = begin(call, kind, comm);
    if (!error)
        error = sim_call_buffer(call, &call->send, out_count(call) ? sendbuf : "",
                                out_count(call) ? sendcount : 0, sendtype);
    return error ? error
                 : sim_call_buffer(call, &call->receive, in_count(call) ? recvbuf : "",
                                   in_count(call) ? recvcount : 0, recvtype);
}

static int fill_allgatherv(struct sim_collective_call *call, const void *sendbuf,
                           MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                           struct arrays receive, MPI_Datatype recvtype, MPI_Comm comm)
{
    int error = begin(call, &neighbor_allgatherv, comm);
    if (!error)
        error = sim_call_buffer(call, &call->send, sendbuf, sendcount, sendtype);
    if (!error)
        error = use_arrays(call, &call->receive, recvbuf, receive, in_count(call));
    return error ? error : sim_call_type(call, &call->receive, recvtype);
}

static int fill_alltoallv(struct sim_collective_call *call, const void *sendbuf, struct arrays send,
                          MPI_Datatype sendtype, void *recvbuf, struct arrays receive,
                          MPI_Datatype recvtype, MPI_Comm comm)
{
    int error = begin(call, &neighbor_alltoallv, comm);
    if (!error)
        error = use_arrays(call, &call->send, sendbuf, send, out_count(call));
    if (!error)
        error = sim_call_type(call, &call->send, sendtype);
    if (!error)
        error = use_arrays(call, &call->receive, recvbuf, receive, in_count(call));
    return error ? error : sim_call_type(call, &call->receive, recvtype);
}

static int fill_alltoallw(struct sim_collective_call *call, const void *sendbuf, struct arrays send,
                          const MPI_Datatype *sendtypes, void *recvbuf, struct arrays receive,
                          const MPI_Datatype *recvtypes, MPI_Comm comm)
{
    int error = begin(call, &neighbor_alltoallw, comm);
    if (!error)
        error = use_arrays(call, &call->send, sendbuf, send, out_count(call));
    if (!error && out_count(call))
        error = sim_call_types(call, &call->send, sendtypes, out_count(call));
    if (!error)
        error = use_arrays(call, &call->receive, recvbuf, receive, in_count(call));
    if (!error && in_count(call))
        error = sim_call_types(call, &call->receive, recvtypes, in_count(call));
    return error;
}

/* ---- entry points ---- */

#define ARRAYS(counts, displacements)                                                              \
    (struct arrays)                                                                                \
    {                                                                                              \
        COUNTS(counts), COUNTS(displacements)                                                      \
    }

#define P_ALLTOALLW(count_t, displ_t) /* displacements are addresses in every form */              \
    const void *sendbuf, const count_t sendcounts[], const MPI_Aint sdispls[],                     \
        const MPI_Datatype sendtypes[], void *recvbuf, const count_t recvcounts[],                 \
        const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm

WIDE_FORMS(Neighbor_allgather, Ineighbor_allgather, P_ALLGATHER,
           fill_plain(&call, &neighbor_allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                      recvtype, comm))
WIDE_FORMS(Neighbor_allgatherv, Ineighbor_allgatherv, P_ALLGATHERV,
           fill_allgatherv(&call, sendbuf, sendcount, sendtype, recvbuf, ARRAYS(recvcounts, displs),
                           recvtype, comm))
WIDE_FORMS(Neighbor_alltoall, Ineighbor_alltoall, P_ALLGATHER,
           fill_plain(&call, &neighbor_alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                      recvtype, comm))
WIDE_FORMS(Neighbor_alltoallv, Ineighbor_alltoallv, P_ALLTOALLV,
           fill_alltoallv(&call, sendbuf, ARRAYS(sendcounts, sdispls), sendtype, recvbuf,
                          ARRAYS(recvcounts, rdispls), recvtype, comm))
WIDE_FORMS(Neighbor_alltoallw, Ineighbor_alltoallw, P_ALLTOALLW,
           fill_alltoallw(&call, sendbuf, ARRAYS(sendcounts, sdispls), sendtypes, recvbuf,
                          ARRAYS(recvcounts, rdispls), recvtypes, comm))
