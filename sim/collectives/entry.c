/* The entry points of collectives: each operation checks and fills a call once, and a macro makes
 * its six forms from that (blocking, nonblocking, persistent; int and large counts). */
#include "sim/collectives/data.h"
#include "sim/collectives/forms.h"
#include "sim/worlds/error.h"

/* ---- one function per operation: checks the arguments and fills the call ---- */

static int fill_barrier(struct sim_collective_call *call, MPI_Comm comm)
{
    return sim_call_begin(call, &sim_barrier, comm);
}

static int begin_rooted(struct sim_collective_call *call, const struct sim_collective_kind *kind,
                        int root, MPI_Comm comm)
{
    int error = sim_call_begin(call, kind, comm);
    return error ? error : sim_call_root(call, root);
}

static int fill_bcast(struct sim_collective_call *call, void *buffer, MPI_Count count,
                      MPI_Datatype type, int root, MPI_Comm comm)
{
    int error = begin_rooted(call, &sim_bcast, root, comm);
    if (error || !(sim_call_is_root(call) || sim_call_is_member(call)))
        return error;
    return sim_call_buffer(call, &call->send, buffer, count, type);
}

/* A send buffer that may be MPI_IN_PLACE, which has no meaning between two groups. */
static int use_in_place(struct sim_collective_call *call, const void *sendbuf)
{
    call->in_place = sendbuf == MPI_IN_PLACE;
    if (call->in_place && sim_call_is_intercomm(call))
        return sim_call_fail(call, MPI_ERR_BUFFER,
                             "MPI_IN_PLACE is not allowed on an intercommunicator");
    return MPI_SUCCESS;
}

/* Send side of gathers; MPI_IN_PLACE counts at the root only (or everywhere, root < 0). */
static int use_contribution(struct sim_collective_call *call, const void *buffer, MPI_Count count,
                            MPI_Datatype type, bool may_be_in_place)
{
    if (buffer == MPI_IN_PLACE && may_be_in_place && !sim_call_is_intercomm(call)) {
        call->in_place = true;
        return MPI_SUCCESS;
    }
    return sim_call_buffer(call, &call->send, buffer, count, type);
}

static int fill_gather(struct sim_collective_call *call, const void *sendbuf, MPI_Count sendcount,
                       MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                       MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    int error = begin_rooted(call, &sim_gather, root, comm);
    if (!error && sim_call_is_member(call))
        error = use_contribution(call, sendbuf, sendcount, sendtype, sim_call_is_root(call));
    if (!error && sim_call_is_root(call))
        error = sim_call_buffer(call, &call->receive, recvbuf, recvcount, recvtype);
    return error;
}

static int fill_gatherv(struct sim_collective_call *call, const void *sendbuf, MPI_Count sendcount,
                        MPI_Datatype sendtype, void *recvbuf, struct sim_counts counts,
                        struct sim_counts displacements, MPI_Datatype recvtype, int root,
                        MPI_Comm comm)
{
    int error = begin_rooted(call, &sim_gatherv, root, comm);
    if (!error && sim_call_is_member(call))
        error = use_contribution(call, sendbuf, sendcount, sendtype, sim_call_is_root(call));
    if (error || !sim_call_is_root(call))
        return error;
    error =
        sim_call_vector(call, &call->receive, recvbuf, counts, displacements, sim_call_peers(call));
    return error ? error : sim_call_type(call, &call->receive, recvtype);
}

static int use_result(struct sim_collective_call *call, void *buffer, MPI_Count count,
                      MPI_Datatype type)
{
    if (sim_call_is_intercomm(call))
        return MPI_SUCCESS; /* the root's own group gets nothing */
    if (buffer == MPI_IN_PLACE) {
        call->in_place = true;
        return MPI_SUCCESS;
    }
    return sim_call_buffer(call, &call->receive, buffer, count, type);
}

static int fill_scatter(struct sim_collective_call *call, const void *sendbuf, MPI_Count sendcount,
                        MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                        MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    int error = begin_rooted(call, &sim_scatter, root, comm);
    if (error || !(sim_call_is_root(call) || sim_call_is_member(call)))
        return error;
    if (!sim_call_is_root(call))
        return sim_call_buffer(call, &call->receive, recvbuf, recvcount, recvtype);
    error = sim_call_buffer(call, &call->send, sendbuf, sendcount, sendtype);
    return error ? error : use_result(call, recvbuf, recvcount, recvtype);
}

static int fill_scatterv(struct sim_collective_call *call, const void *sendbuf,
                         struct sim_counts counts, struct sim_counts displacements,
                         MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                         MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    int error = begin_rooted(call, &sim_scatterv, root, comm);
    if (error || !(sim_call_is_root(call) || sim_call_is_member(call)))
        return error;
    if (!sim_call_is_root(call))
        return sim_call_buffer(call, &call->receive, recvbuf, recvcount, recvtype);
    error =
        sim_call_vector(call, &call->send, sendbuf, counts, displacements, sim_call_peers(call));
    if (!error)
        error = sim_call_type(call, &call->send, sendtype);
    return error ? error : use_result(call, recvbuf, recvcount, recvtype);
}

/* allgather and alltoall */
static int fill_plain(struct sim_collective_call *call, const struct sim_collective_kind *kind,
                      const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                      void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    int error = sim_call_begin(call, kind, comm);
    if (!error)
        error = use_contribution(call, sendbuf, sendcount, sendtype, true);
    return error ? error : sim_call_buffer(call, &call->receive, recvbuf, recvcount, recvtype);
}

static int fill_allgatherv(struct sim_collective_call *call, const void *sendbuf,
                           MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                           struct sim_counts counts, struct sim_counts displacements,
                           MPI_Datatype recvtype, MPI_Comm comm)
{
    int error = sim_call_begin(call, &sim_allgatherv, comm);
    if (!error)
        error = use_contribution(call, sendbuf, sendcount, sendtype, true);
    if (!error)
        error = sim_call_vector(call, &call->receive, recvbuf, counts, displacements,
                                sim_call_peers(call));
    return error ? error : sim_call_type(call, &call->receive, recvtype);
}

static int fill_alltoallv(struct sim_collective_call *call, const void *sendbuf,
                          struct sim_counts sendcounts, struct sim_counts senddispls,
                          MPI_Datatype sendtype, void *recvbuf, struct sim_counts recvcounts,
                          struct sim_counts recvdispls, MPI_Datatype recvtype, MPI_Comm comm)
{
    int error = sim_call_begin(call, &sim_alltoallv, comm);
    if (!error)
        error = use_in_place(call, sendbuf);
    if (!error && !call->in_place)
        error = sim_call_vector(call, &call->send, sendbuf, sendcounts, senddispls,
                                sim_call_peers(call));
    if (!error && !call->in_place)
        error = sim_call_type(call, &call->send, sendtype);
    if (!error)
        error = sim_call_vector(call, &call->receive, recvbuf, recvcounts, recvdispls,
                                sim_call_peers(call));
    return error ? error : sim_call_type(call, &call->receive, recvtype);
}

static int fill_alltoallw(struct sim_collective_call *call, const void *sendbuf,
                          struct sim_counts sendcounts, struct sim_counts senddispls,
                          const MPI_Datatype *sendtypes, void *recvbuf,
                          struct sim_counts recvcounts, struct sim_counts recvdispls,
                          const MPI_Datatype *recvtypes, MPI_Comm comm)
{
    int error = sim_call_begin(call, &sim_alltoallw, comm);
    if (!error)
        error = use_in_place(call, sendbuf);
    if (!error && !call->in_place)
        error = sim_call_vector(call, &call->send, sendbuf, sendcounts, senddispls,
                                sim_call_peers(call));
    if (!error && !call->in_place)
        error = sim_call_types(call, &call->send, sendtypes, sim_call_peers(call));
    if (!error)
        error = sim_call_vector(call, &call->receive, recvbuf, recvcounts, recvdispls,
                                sim_call_peers(call));
    return error ? error : sim_call_types(call, &call->receive, recvtypes, sim_call_peers(call));
}

/* Both buffers of a reduction that leaves its result with everybody. */
static int use_reduction(struct sim_collective_call *call, const void *sendbuf, void *recvbuf,
                         MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    int error = sim_call_buffer(call, &call->receive, recvbuf, count, type);
    if (!error)
        error = use_in_place(call, sendbuf);
    if (error)
        return error;
    call->send = call->receive; /* same count, same type */
    if (!call->in_place) {
        call->send.buffer = (void *)(uintptr_t)sendbuf;
        if (count && sendbuf == recvbuf)
            return sim_error_raise_overlap(sim_comm_handle(call->comm),
                                           sim_call_name(call, (char[SIM_NAME_MAX]){0}));
        if (count && !sendbuf && call->send.type->size && call->send.type->contiguous)
            return sim_call_fail(call, MPI_ERR_BUFFER,
                                 "buffer is NULL though its count is not zero");
    }
    return sim_call_op(call, op, type);
}

static int fill_reduce(struct sim_collective_call *call, const void *sendbuf, void *recvbuf,
                       MPI_Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    int error = begin_rooted(call, &sim_reduce, root, comm);
    if (error)
        return error;
    if (!sim_call_is_root(call) && !sim_call_is_member(call))
        return MPI_SUCCESS;
    if (sim_call_is_root(call) && !sim_call_is_intercomm(call))
        return use_reduction(call, sendbuf, recvbuf, count, type, op);
    if (sim_call_is_root(call))
        error = sim_call_buffer(call, &call->receive, recvbuf, count, type);
    else
        error = sim_call_buffer(call, &call->send, sendbuf, count, type);
    if (error)
        return error;
    return sim_call_op(call, op, type);
}

/* allreduce, scan and reduce_scatter_block */
static int fill_reduction(struct sim_collective_call *call, const struct sim_collective_kind *kind,
                          const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type,
                          MPI_Op op, MPI_Comm comm)
{
    int error = sim_call_begin(call, kind, comm);
    return error ? error : use_reduction(call, sendbuf, recvbuf, count, type, op);
}

static int fill_exscan(struct sim_collective_call *call, const void *sendbuf, void *recvbuf,
                       MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    int error = sim_call_begin(call, &sim_exscan, comm);
    if (error || call->comm->rank || sendbuf == MPI_IN_PLACE)
        return error ? error : use_reduction(call, sendbuf, recvbuf, count, type, op);
    error = sim_call_buffer(call, &call->send, sendbuf, count,
                            type); /* rank 0's receive buffer is not significant */
    return error ? error : sim_call_op(call, op, type);
}

static int fill_reduce_scatter(struct sim_collective_call *call, const void *sendbuf, void *recvbuf,
                               struct sim_counts counts, MPI_Datatype type, MPI_Op op,
                               MPI_Comm comm)
{
    int error = sim_call_begin(call, &sim_reduce_scatter, comm);
    if (error)
        return error;
    const struct sim_comm *own = sim_call_is_intercomm(call) ? call->comm->face : call->comm;
    error = sim_call_vector(call, &call->send, sendbuf, counts, counts, own->size);
    if (error)
        return error;
    struct sim_counts kept = call->send.counts;
    call->send.vectored = false;
    error = use_reduction(call, sendbuf, recvbuf, (MPI_Count)sim_counts_at(counts, own->rank), type,
                          op);
    call->receive.vectored = true;
    call->receive.counts = kept;
    call->receive.displacements = (struct sim_counts){0};
    call->receive.kept = NULL;
    call->receive.arrays = own->size;
    return error;
}

/* ---- the six forms of each ---- */

#define P_BARRIER(count_t, displ_t) MPI_Comm comm
#define P_BCAST(count_t, displ_t)                                                                  \
    void *buffer, count_t count, MPI_Datatype type, int root, MPI_Comm comm
#define P_GATHER(count_t, displ_t)                                                                 \
    const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf,                  \
        count_t recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm
#define P_GATHERV(count_t, displ_t)                                                                \
    const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf,                  \
        const count_t recvcounts[], const displ_t displs[], MPI_Datatype recvtype, int root,       \
        MPI_Comm comm
#define P_SCATTERV(count_t, displ_t)                                                               \
    const void *sendbuf, const count_t sendcounts[], const displ_t displs[],                       \
        MPI_Datatype sendtype, void *recvbuf, count_t recvcount, MPI_Datatype recvtype, int root,  \
        MPI_Comm comm
#define P_ALLTOALLW(count_t, displ_t)                                                              \
    const void *sendbuf, const count_t sendcounts[], const displ_t sdispls[],                      \
        const MPI_Datatype sendtypes[], void *recvbuf, const count_t recvcounts[],                 \
        const displ_t rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm
#define P_REDUCE(count_t, displ_t)                                                                 \
    const void *sendbuf, void *recvbuf, count_t count, MPI_Datatype type, MPI_Op op, int root,     \
        MPI_Comm comm
#define P_ALLREDUCE(count_t, displ_t)                                                              \
    const void *sendbuf, void *recvbuf, count_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm
#define P_REDUCE_SCATTER(count_t, displ_t)                                                         \
    const void *sendbuf, void *recvbuf, const count_t recvcounts[], MPI_Datatype type, MPI_Op op,  \
        MPI_Comm comm

FORMS_AS(sim_barrier_long, Barrier, Ibarrier, P_BARRIER, fill_barrier(&call, comm))
WIDE_FORMS(Bcast, Ibcast, P_BCAST, fill_bcast(&call, buffer, count, type, root, comm))
WIDE_FORMS(Gather, Igather, P_GATHER,
           fill_gather(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                       comm))
WIDE_FORMS(Gatherv, Igatherv, P_GATHERV,
           fill_gatherv(&call, sendbuf, sendcount, sendtype, recvbuf, COUNTS(recvcounts),
                        COUNTS(displs), recvtype, root, comm))
WIDE_FORMS(Scatter, Iscatter, P_GATHER,
           fill_scatter(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                        comm))
WIDE_FORMS(Scatterv, Iscatterv, P_SCATTERV,
           fill_scatterv(&call, sendbuf, COUNTS(sendcounts), COUNTS(displs), sendtype, recvbuf,
                         recvcount, recvtype, root, comm))
WIDE_FORMS(Allgather, Iallgather, P_ALLGATHER,
           fill_plain(&call, &sim_allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                      recvtype, comm))
WIDE_FORMS(Allgatherv, Iallgatherv, P_ALLGATHERV,
           fill_allgatherv(&call, sendbuf, sendcount, sendtype, recvbuf, COUNTS(recvcounts),
                           COUNTS(displs), recvtype, comm))
WIDE_FORMS(Alltoall, Ialltoall, P_ALLGATHER,
           fill_plain(&call, &sim_alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                      recvtype, comm))
WIDE_FORMS(Alltoallv, Ialltoallv, P_ALLTOALLV,
           fill_alltoallv(&call, sendbuf, COUNTS(sendcounts), COUNTS(sdispls), sendtype, recvbuf,
                          COUNTS(recvcounts), COUNTS(rdispls), recvtype, comm))
WIDE_FORMS(Alltoallw, Ialltoallw, P_ALLTOALLW,
           fill_alltoallw(&call, sendbuf, COUNTS(sendcounts), COUNTS(sdispls), sendtypes, recvbuf,
                          COUNTS(recvcounts), COUNTS(rdispls), recvtypes, comm))
WIDE_FORMS(Reduce, Ireduce, P_REDUCE,
           fill_reduce(&call, sendbuf, recvbuf, count, type, op, root, comm))
WIDE_FORMS_AS(sim_allreduce_long, Allreduce, Iallreduce, P_ALLREDUCE,
              fill_reduction(&call, &sim_allreduce, sendbuf, recvbuf, count, type, op, comm))
WIDE_FORMS(Scan, Iscan, P_ALLREDUCE,
           fill_reduction(&call, &sim_scan, sendbuf, recvbuf, count, type, op, comm))
WIDE_FORMS(Exscan, Iexscan, P_ALLREDUCE,
           fill_exscan(&call, sendbuf, recvbuf, count, type, op, comm))
WIDE_FORMS(Reduce_scatter_block, Ireduce_scatter_block, P_ALLREDUCE,
           fill_reduction(&call, &sim_reduce_scatter_block, sendbuf, recvbuf, count, type, op,
                          comm))
WIDE_FORMS(Reduce_scatter, Ireduce_scatter, P_REDUCE_SCATTER,
           fill_reduce_scatter(&call, sendbuf, recvbuf, COUNTS(recvcounts), type, op, comm))
