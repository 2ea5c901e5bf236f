/* The entry points of collectives: each operation checks and fills a call once, and a macro makes its six forms from that (blocking,
 * nonblocking, persistent; int and large counts). */
#include "sim/collective_data.h"
#include "sim/error.h"
#include "sim/point.h"

#include <string.h>

#define COUNTS(array) _Generic((array), const int *: (struct sim_counts){(const int *)(const void *)(array), NULL}, \
                               default: (struct sim_counts){NULL, (const MPI_Count *)(const void *)(array)})

/* --- checks ----------------------------------------------------------------------------------------------------------------- */

static int begin(struct sim_collective_call *call, const struct sim_collective_kind *kind, MPI_Comm handle)
{
    memset(call, 0, sizeof *call);
    call->kind = kind;
    struct sim_rank *rank = sim_point_caller(kind->name);
    if (!rank)
        return MPI_ERR_OTHER;
    call->comm = sim_comm_get(rank, handle);
    if (call->comm && call->comm->context->remote)
        return sim_error_raise(handle, MPI_ERR_UNSUPPORTED_OPERATION, kind->name, "collectives on intercommunicators are not provided");
    if (call->comm)
        return MPI_SUCCESS;
    return sim_error_raise(MPI_COMM_NULL, MPI_ERR_COMM, kind->name, "communicator is %s",
                           handle == MPI_COMM_NULL ? "MPI_COMM_NULL" : "not a valid handle of this rank");
}

static int fail(const struct sim_collective_call *call, int error, const char *sentence)
{
    return sim_error_raise(sim_comm_handle(call->comm), error, call->kind->name, "%s", sentence);
}

static int use_root(struct sim_collective_call *call, int root)
{
    call->root = root;
    if (root >= 0 && root < call->comm->size)
        return MPI_SUCCESS;
    return sim_error_raise(sim_comm_handle(call->comm), MPI_ERR_ROOT, call->kind->name, "root %d is not in a communicator of %d ranks",
                           root, call->comm->size);
}

static int use_type(struct sim_collective_call *call, struct sim_side *side, MPI_Datatype type)
{
    side->type = sim_datatype_get(type);
    if (!side->type)
        return fail(call, MPI_ERR_TYPE, type == MPI_DATATYPE_NULL ? "datatype is MPI_DATATYPE_NULL" : "datatype is not a valid handle");
    if (!side->type->committed)
        return fail(call, MPI_ERR_TYPE, "datatype has not been committed: call MPI_Type_commit first");
    return MPI_SUCCESS;
}

static int use_buffer(struct sim_collective_call *call, struct sim_side *side, const void *buffer, MPI_Count count, MPI_Datatype type)
{
    side->buffer = (void *)(uintptr_t)buffer;
    side->count = (size_t)count;
    if (count < 0)
        return sim_error_raise(sim_comm_handle(call->comm), MPI_ERR_COUNT, call->kind->name,
                               "count is %lld: it must not be negative", (long long)count);
    int error = use_type(call, side, type);
    if (error)
        return error;
    if (buffer == MPI_IN_PLACE)
        return fail(call, MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed here");
    if (!buffer && count && side->type->size && side->type->contiguous)
        return fail(call, MPI_ERR_BUFFER, "buffer is NULL though its count is not zero");
    return MPI_SUCCESS;
}

static int use_vector(struct sim_collective_call *call, struct sim_side *side, const void *buffer, struct sim_counts counts,
                      struct sim_counts displacements)
{
    side->buffer = (void *)(uintptr_t)buffer;
    side->counts = counts;
    side->displacements = displacements;
    if (!counts.narrow && !counts.wide)
        return fail(call, MPI_ERR_ARG, "the array of counts is NULL");
    if (!displacements.narrow && !displacements.wide)
        return fail(call, MPI_ERR_ARG, "the array of displacements is NULL");
    for (int i = 0; i < call->comm->size; i++)
        if ((ptrdiff_t)sim_counts_at(counts, i) < 0)
            return sim_error_raise(sim_comm_handle(call->comm), MPI_ERR_COUNT, call->kind->name, "count %d is negative", i);
    return MPI_SUCCESS;
}

static int use_op(struct sim_collective_call *call, MPI_Op op, MPI_Datatype type)
{
    call->op = sim_op_get(op);
    if (!call->op)
        return fail(call, MPI_ERR_OP, op == MPI_OP_NULL ? "op is MPI_OP_NULL" : "op is not a valid handle");
    int error = sim_op_allowed(call->op, sim_datatype_get(type));
    return error ? fail(call, error, "this op is not defined for this datatype") : MPI_SUCCESS;
}

/* --- one function per operation: checks the arguments and fills the call ---------------------------------------------------- */

static int fill_barrier(struct sim_collective_call *call, MPI_Comm comm)
{
    return begin(call, &sim_barrier, comm);
}

static int fill_bcast(struct sim_collective_call *call, void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int error = begin(call, &sim_bcast, comm);
    if (!error)
        error = use_root(call, root);
    return error ? error : use_buffer(call, &call->send, buffer, count, type);
}

/* Send side of gathers; MPI_IN_PLACE counts at the root only (or everywhere, root < 0). */
static int use_contribution(struct sim_collective_call *call, const void *buffer, MPI_Count count, MPI_Datatype type, bool may_be_in_place)
{
    if (buffer == MPI_IN_PLACE && may_be_in_place) {
        call->in_place = true;
        return MPI_SUCCESS;
    }
    return use_buffer(call, &call->send, buffer, count, type);
}

static int fill_gather(struct sim_collective_call *call, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    int error = begin(call, &sim_gather, comm);
    if (!error)
        error = use_root(call, root);
    if (!error)
        error = use_contribution(call, sendbuf, sendcount, sendtype, call->comm->rank == root);
    if (!error && call->comm->rank == root)
        error = use_buffer(call, &call->receive, recvbuf, recvcount, recvtype);
    return error;
}

static int fill_gatherv(struct sim_collective_call *call, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                        struct sim_counts counts, struct sim_counts displacements, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    int error = begin(call, &sim_gatherv, comm);
    if (!error)
        error = use_root(call, root);
    if (!error)
        error = use_contribution(call, sendbuf, sendcount, sendtype, call->comm->rank == root);
    if (error || call->comm->rank != root)
        return error;
    error = use_vector(call, &call->receive, recvbuf, counts, displacements);
    return error ? error : use_type(call, &call->receive, recvtype);
}

static int use_result(struct sim_collective_call *call, void *buffer, MPI_Count count, MPI_Datatype type)
{
    if (buffer == MPI_IN_PLACE) {
        call->in_place = true;
        return MPI_SUCCESS;
    }
    return use_buffer(call, &call->receive, buffer, count, type);
}

static int fill_scatter(struct sim_collective_call *call, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                        MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    int error = begin(call, &sim_scatter, comm);
    if (!error)
        error = use_root(call, root);
    if (error)
        return error;
    if (call->comm->rank != root)
        return use_buffer(call, &call->receive, recvbuf, recvcount, recvtype);
    error = use_buffer(call, &call->send, sendbuf, sendcount, sendtype);
    return error ? error : use_result(call, recvbuf, recvcount, recvtype);
}

static int fill_scatterv(struct sim_collective_call *call, const void *sendbuf, struct sim_counts counts, struct sim_counts displacements,
                         MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    int error = begin(call, &sim_scatterv, comm);
    if (!error)
        error = use_root(call, root);
    if (error)
        return error;
    if (call->comm->rank != root)
        return use_buffer(call, &call->receive, recvbuf, recvcount, recvtype);
    error = use_vector(call, &call->send, sendbuf, counts, displacements);
    if (!error)
        error = use_type(call, &call->send, sendtype);
    return error ? error : use_result(call, recvbuf, recvcount, recvtype);
}

static int fill_allgather(struct sim_collective_call *call, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                          MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    int error = begin(call, &sim_allgather, comm);
    if (!error)
        error = use_contribution(call, sendbuf, sendcount, sendtype, true);
    return error ? error : use_buffer(call, &call->receive, recvbuf, recvcount, recvtype);
}

static int fill_allgatherv(struct sim_collective_call *call, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                           void *recvbuf, struct sim_counts counts, struct sim_counts displacements, MPI_Datatype recvtype, MPI_Comm comm)
{
    int error = begin(call, &sim_allgatherv, comm);
    if (!error)
        error = use_contribution(call, sendbuf, sendcount, sendtype, true);
    if (!error)
        error = use_vector(call, &call->receive, recvbuf, counts, displacements);
    return error ? error : use_type(call, &call->receive, recvtype);
}

static int fill_alltoall(struct sim_collective_call *call, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                         MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    int error = begin(call, &sim_alltoall, comm);
    if (!error)
        error = use_contribution(call, sendbuf, sendcount, sendtype, true);
    return error ? error : use_buffer(call, &call->receive, recvbuf, recvcount, recvtype);
}

static int fill_alltoallv(struct sim_collective_call *call, const void *sendbuf, struct sim_counts sendcounts, struct sim_counts senddispls,
                          MPI_Datatype sendtype, void *recvbuf, struct sim_counts recvcounts, struct sim_counts recvdispls,
                          MPI_Datatype recvtype, MPI_Comm comm)
{
    int error = begin(call, &sim_alltoallv, comm);
    call->in_place = sendbuf == MPI_IN_PLACE;
    if (!error && !call->in_place)
        error = use_vector(call, &call->send, sendbuf, sendcounts, senddispls);
    if (!error && !call->in_place)
        error = use_type(call, &call->send, sendtype);
    if (!error)
        error = use_vector(call, &call->receive, recvbuf, recvcounts, recvdispls);
    return error ? error : use_type(call, &call->receive, recvtype);
}

static int use_types(struct sim_collective_call *call, struct sim_side *side, const MPI_Datatype *types)
{
    side->types = types;
    if (!types)
        return fail(call, MPI_ERR_ARG, "the array of datatypes is NULL");
    for (int i = 0; i < call->comm->size; i++) {
        struct sim_side one = {0};
        int error = use_type(call, &one, types[i]);
        if (error)
            return error;
        side->type = one.type; /* any of them: sim_side_block looks up the right one */
    }
    return MPI_SUCCESS;
}

static int fill_alltoallw(struct sim_collective_call *call, const void *sendbuf, struct sim_counts sendcounts, struct sim_counts senddispls,
                          const MPI_Datatype *sendtypes, void *recvbuf, struct sim_counts recvcounts, struct sim_counts recvdispls,
                          const MPI_Datatype *recvtypes, MPI_Comm comm)
{
    int error = begin(call, &sim_alltoallw, comm);
    call->in_place = sendbuf == MPI_IN_PLACE;
    if (!error && !call->in_place)
        error = use_vector(call, &call->send, sendbuf, sendcounts, senddispls);
    if (!error && !call->in_place)
        error = use_types(call, &call->send, sendtypes);
    if (!error)
        error = use_vector(call, &call->receive, recvbuf, recvcounts, recvdispls);
    return error ? error : use_types(call, &call->receive, recvtypes);
}

/* Both buffers of a reduction that leaves its result with everybody. */
static int use_reduction(struct sim_collective_call *call, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    int error = use_contribution(call, sendbuf, count, type, true);
    if (!error)
        error = use_buffer(call, &call->receive, recvbuf, count, type);
    if (!error && call->in_place)
        call->send = call->receive;
    if (!error && count && sendbuf == recvbuf)
        error = fail(call, MPI_ERR_BUFFER, "send and receive buffer are the same: use MPI_IN_PLACE");
    return error ? error : use_op(call, op, type);
}

static int fill_reduce(struct sim_collective_call *call, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op,
                       int root, MPI_Comm comm)
{
    int error = begin(call, &sim_reduce, comm);
    if (!error)
        error = use_root(call, root);
    if (error)
        return error;
    if (call->comm->rank == root)
        return use_reduction(call, sendbuf, recvbuf, count, type, op);
    error = use_buffer(call, &call->send, sendbuf, count, type);
    return error ? error : use_op(call, op, type);
}

static int fill_allreduce(struct sim_collective_call *call, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type,
                          MPI_Op op, MPI_Comm comm)
{
    int error = begin(call, &sim_allreduce, comm);
    return error ? error : use_reduction(call, sendbuf, recvbuf, count, type, op);
}

static int fill_scan(struct sim_collective_call *call, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm)
{
    int error = begin(call, &sim_scan, comm);
    return error ? error : use_reduction(call, sendbuf, recvbuf, count, type, op);
}

static int fill_exscan(struct sim_collective_call *call, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm)
{
    int error = begin(call, &sim_exscan, comm);
    if (error || call->comm->rank || sendbuf == MPI_IN_PLACE)
        return error ? error : use_reduction(call, sendbuf, recvbuf, count, type, op);
    error = use_buffer(call, &call->send, sendbuf, count, type); /* rank 0's receive buffer is not significant */
    return error ? error : use_op(call, op, type);
}

static int fill_reduce_scatter_block(struct sim_collective_call *call, const void *sendbuf, void *recvbuf, MPI_Count count,
                                     MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    int error = begin(call, &sim_reduce_scatter_block, comm);
    return error ? error : use_reduction(call, sendbuf, recvbuf, count, type, op);
}

static int fill_reduce_scatter(struct sim_collective_call *call, const void *sendbuf, void *recvbuf, struct sim_counts counts,
                               MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    int error = begin(call, &sim_reduce_scatter, comm);
    if (!error)
        error = use_vector(call, &call->send, sendbuf, counts, counts);
    if (error)
        return error;
    struct sim_counts kept = call->send.counts;
    call->send.counts = call->send.displacements = (struct sim_counts){0};
    error = use_reduction(call, sendbuf, recvbuf, (MPI_Count)sim_counts_at(counts, call->comm->rank), type, op);
    call->receive.counts = kept;
    return error;
}

/* --- the six forms of each ---------------------------------------------------------------------------------------------------- */

#define FORMS(name, iname, PARAMETERS, CALL)                                                                                   \
    int PMPI_##name(PARAMETERS(int, int))                                                                                      \
    {                                                                                                                          \
        struct sim_collective_call call;                                                                                       \
        int error = CALL;                                                                                                      \
        return error ? error : sim_collective_run(&call);                                                                      \
    }                                                                                                                          \
    int PMPI_##iname(PARAMETERS(int, int), MPI_Request *request)                                                               \
    {                                                                                                                          \
        struct sim_collective_call call;                                                                                       \
        int error = CALL;                                                                                                      \
        return error ? error : sim_collective_start(&call, request);                                                           \
    }                                                                                                                          \
    int PMPI_##name##_init(PARAMETERS(int, int), MPI_Info info, MPI_Request *request)                                          \
    {                                                                                                                          \
        struct sim_collective_call call;                                                                                       \
        int error = CALL;                                                                                                      \
        (void)info;                                                                                                            \
        return error ? error : sim_collective_init(&call, request);                                                            \
    }

#define WIDE_FORMS(name, iname, PARAMETERS, CALL)                                                                              \
    FORMS(name, iname, PARAMETERS, CALL)                                                                                       \
    int PMPI_##name##_c(PARAMETERS(MPI_Count, MPI_Aint))                                                                       \
    {                                                                                                                          \
        struct sim_collective_call call;                                                                                       \
        int error = CALL;                                                                                                      \
        return error ? error : sim_collective_run(&call);                                                                      \
    }                                                                                                                          \
    int PMPI_##iname##_c(PARAMETERS(MPI_Count, MPI_Aint), MPI_Request *request)                                                \
    {                                                                                                                          \
        struct sim_collective_call call;                                                                                       \
        int error = CALL;                                                                                                      \
        return error ? error : sim_collective_start(&call, request);                                                           \
    }                                                                                                                          \
    int PMPI_##name##_init_c(PARAMETERS(MPI_Count, MPI_Aint), MPI_Info info, MPI_Request *request)                             \
    {                                                                                                                          \
        struct sim_collective_call call;                                                                                       \
        int error = CALL;                                                                                                      \
        (void)info;                                                                                                            \
        return error ? error : sim_collective_init(&call, request);                                                            \
    }

#define P_BARRIER(count_t, displ_t) MPI_Comm comm
#define P_BCAST(count_t, displ_t)   void *buffer, count_t count, MPI_Datatype type, int root, MPI_Comm comm
#define P_GATHER(count_t, displ_t)                                                                                             \
    const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, count_t recvcount, MPI_Datatype recvtype,    \
        int root, MPI_Comm comm
#define P_GATHERV(count_t, displ_t)                                                                                            \
    const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, const count_t recvcounts[],                  \
        const displ_t displs[], MPI_Datatype recvtype, int root, MPI_Comm comm
#define P_SCATTERV(count_t, displ_t)                                                                                           \
    const void *sendbuf, const count_t sendcounts[], const displ_t displs[], MPI_Datatype sendtype, void *recvbuf,             \
        count_t recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm
#define P_ALLGATHER(count_t, displ_t)                                                                                          \
    const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, count_t recvcount, MPI_Datatype recvtype,    \
        MPI_Comm comm
#define P_ALLGATHERV(count_t, displ_t)                                                                                         \
    const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, const count_t recvcounts[],                  \
        const displ_t displs[], MPI_Datatype recvtype, MPI_Comm comm
#define P_ALLTOALLV(count_t, displ_t)                                                                                          \
    const void *sendbuf, const count_t sendcounts[], const displ_t sdispls[], MPI_Datatype sendtype, void *recvbuf,            \
        const count_t recvcounts[], const displ_t rdispls[], MPI_Datatype recvtype, MPI_Comm comm
#define P_ALLTOALLW(count_t, displ_t)                                                                                          \
    const void *sendbuf, const count_t sendcounts[], const displ_t sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,   \
        const count_t recvcounts[], const displ_t rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm
#define P_REDUCE(count_t, displ_t)                                                                                             \
    const void *sendbuf, void *recvbuf, count_t count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm
#define P_ALLREDUCE(count_t, displ_t)                                                                                          \
    const void *sendbuf, void *recvbuf, count_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm
#define P_REDUCE_SCATTER(count_t, displ_t)                                                                                     \
    const void *sendbuf, void *recvbuf, const count_t recvcounts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm

FORMS(Barrier, Ibarrier, P_BARRIER, fill_barrier(&call, comm))
WIDE_FORMS(Bcast, Ibcast, P_BCAST, fill_bcast(&call, buffer, count, type, root, comm))
WIDE_FORMS(Gather, Igather, P_GATHER, fill_gather(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))
WIDE_FORMS(Gatherv, Igatherv, P_GATHERV,
           fill_gatherv(&call, sendbuf, sendcount, sendtype, recvbuf, COUNTS(recvcounts), COUNTS(displs), recvtype, root, comm))
WIDE_FORMS(Scatter, Iscatter, P_GATHER, fill_scatter(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))
WIDE_FORMS(Scatterv, Iscatterv, P_SCATTERV,
           fill_scatterv(&call, sendbuf, COUNTS(sendcounts), COUNTS(displs), sendtype, recvbuf, recvcount, recvtype, root, comm))
WIDE_FORMS(Allgather, Iallgather, P_ALLGATHER, fill_allgather(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
WIDE_FORMS(Allgatherv, Iallgatherv, P_ALLGATHERV,
           fill_allgatherv(&call, sendbuf, sendcount, sendtype, recvbuf, COUNTS(recvcounts), COUNTS(displs), recvtype, comm))
WIDE_FORMS(Alltoall, Ialltoall, P_ALLGATHER, fill_alltoall(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
WIDE_FORMS(Alltoallv, Ialltoallv, P_ALLTOALLV,
           fill_alltoallv(&call, sendbuf, COUNTS(sendcounts), COUNTS(sdispls), sendtype, recvbuf, COUNTS(recvcounts), COUNTS(rdispls),
                          recvtype, comm))
WIDE_FORMS(Alltoallw, Ialltoallw, P_ALLTOALLW,
           fill_alltoallw(&call, sendbuf, COUNTS(sendcounts), COUNTS(sdispls), sendtypes, recvbuf, COUNTS(recvcounts), COUNTS(rdispls),
                          recvtypes, comm))
WIDE_FORMS(Reduce, Ireduce, P_REDUCE, fill_reduce(&call, sendbuf, recvbuf, count, type, op, root, comm))
WIDE_FORMS(Allreduce, Iallreduce, P_ALLREDUCE, fill_allreduce(&call, sendbuf, recvbuf, count, type, op, comm))
WIDE_FORMS(Scan, Iscan, P_ALLREDUCE, fill_scan(&call, sendbuf, recvbuf, count, type, op, comm))
WIDE_FORMS(Exscan, Iexscan, P_ALLREDUCE, fill_exscan(&call, sendbuf, recvbuf, count, type, op, comm))
WIDE_FORMS(Reduce_scatter_block, Ireduce_scatter_block, P_ALLREDUCE, fill_reduce_scatter_block(&call, sendbuf, recvbuf, count, type, op, comm))
WIDE_FORMS(Reduce_scatter, Ireduce_scatter, P_REDUCE_SCATTER,
           fill_reduce_scatter(&call, sendbuf, recvbuf, COUNTS(recvcounts), type, op, comm))
