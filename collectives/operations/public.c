/* The collectives' functions of diff.h, each one call of the general form. */
#include "collectives/operations/collective.h"

#define CALL(...)                                                                                  \
    collective_at(&(struct diff_call){__VA_ARGS__}, __builtin_return_address(0), __func__)

struct diff_tensor *diff_barrier(struct diff_tape *tape, MPI_Comm comm)
{
    return CALL(.kind = DIFF_BARRIER, .x = tensor_new_flat(tape, DIFF_DOUBLE, 0), .comm = comm);
}

struct diff_tensor *diff_bcast(struct diff_tensor *x, int root, MPI_Comm comm)
{
    return CALL(.kind = DIFF_BCAST, .x = x, .root = root, .comm = comm);
}

struct diff_tensor *diff_reduce(struct diff_tensor *x, MPI_Op op, int root, MPI_Comm comm)
{
    return CALL(.kind = DIFF_REDUCE, .x = x, .op = op, .root = root, .comm = comm);
}

struct diff_tensor *diff_allreduce(struct diff_tensor *x, MPI_Op op, MPI_Comm comm)
{
    return CALL(.kind = DIFF_ALLREDUCE, .x = x, .op = op, .comm = comm);
}

struct diff_tensor *diff_gather(struct diff_tensor *x, int root, MPI_Comm comm)
{
    return CALL(.kind = DIFF_GATHER, .x = x, .root = root, .comm = comm);
}

struct diff_tensor *diff_scatter(struct diff_tensor *x, size_t count, int root, MPI_Comm comm)
{
    return CALL(.kind = DIFF_SCATTER, .x = x, .count = count, .root = root, .comm = comm);
}

struct diff_tensor *diff_allgather(struct diff_tensor *x, MPI_Comm comm)
{
    return CALL(.kind = DIFF_ALLGATHER, .x = x, .comm = comm);
}

struct diff_tensor *diff_reduce_scatter(struct diff_tensor *x, const int *counts, MPI_Op op,
                                        MPI_Comm comm)
{
    return CALL(.kind = DIFF_REDUCE_SCATTER, .x = x, .receive_counts = counts, .op = op,
                .comm = comm);
}

struct diff_tensor *diff_reduce_scatter_block(struct diff_tensor *x, MPI_Op op, MPI_Comm comm)
{
    return CALL(.kind = DIFF_REDUCE_SCATTER_BLOCK, .x = x, .op = op, .comm = comm);
}

struct diff_tensor *diff_alltoall(struct diff_tensor *x, MPI_Comm comm)
{
    return CALL(.kind = DIFF_ALLTOALL, .x = x, .comm = comm);
}

struct diff_tensor *diff_scan(struct diff_tensor *x, MPI_Op op, MPI_Comm comm)
{
    return CALL(.kind = DIFF_SCAN, .x = x, .op = op, .comm = comm);
}

struct diff_tensor *diff_exscan(struct diff_tensor *x, MPI_Op op, MPI_Comm comm)
{
    return CALL(.kind = DIFF_EXSCAN, .x = x, .op = op, .comm = comm);
}

struct diff_tensor *diff_neighbor_allgather(struct diff_tensor *x, MPI_Comm comm)
{
    return CALL(.kind = DIFF_NEIGHBOR_ALLGATHER, .x = x, .comm = comm);
}

struct diff_tensor *diff_neighbor_alltoall(struct diff_tensor *x, MPI_Comm comm)
{
    return CALL(.kind = DIFF_NEIGHBOR_ALLTOALL, .x = x, .comm = comm);
}

struct diff_tensor *diff_ibcast(struct diff_tensor *x, int root, MPI_Comm comm)
{
    return CALL(.kind = DIFF_BCAST, .x = x, .root = root, .comm = comm, .flags = DIFF_NONBLOCKING);
}

struct diff_tensor *diff_ireduce(struct diff_tensor *x, MPI_Op op, int root, MPI_Comm comm)
{
    return CALL(.kind = DIFF_REDUCE, .x = x, .op = op, .root = root, .comm = comm,
                .flags = DIFF_NONBLOCKING);
}

struct diff_tensor *diff_iallreduce(struct diff_tensor *x, MPI_Op op, MPI_Comm comm)
{
    return CALL(.kind = DIFF_ALLREDUCE, .x = x, .op = op, .comm = comm, .flags = DIFF_NONBLOCKING);
}

struct diff_tensor *diff_igather(struct diff_tensor *x, int root, MPI_Comm comm)
{
    return CALL(.kind = DIFF_GATHER, .x = x, .root = root, .comm = comm, .flags = DIFF_NONBLOCKING);
}

struct diff_tensor *diff_iscatter(struct diff_tensor *x, size_t count, int root, MPI_Comm comm)
{
    return CALL(.kind = DIFF_SCATTER, .x = x, .count = count, .root = root, .comm = comm,
                .flags = DIFF_NONBLOCKING);
}

struct diff_tensor *diff_iallgather(struct diff_tensor *x, MPI_Comm comm)
{
    return CALL(.kind = DIFF_ALLGATHER, .x = x, .comm = comm, .flags = DIFF_NONBLOCKING);
}

struct diff_tensor *diff_ialltoall(struct diff_tensor *x, MPI_Comm comm)
{
    return CALL(.kind = DIFF_ALLTOALL, .x = x, .comm = comm, .flags = DIFF_NONBLOCKING);
}

struct diff_tensor *diff_gatherv(struct diff_tensor *x, struct diff_tensor *into, const int *counts,
                                 const int *displacements, int root, MPI_Comm comm)
{
    return CALL(.kind = DIFF_GATHERV, .x = x, .into = into, .receive_counts = counts,
                .receive_displacements = displacements, .root = root, .comm = comm);
}

struct diff_tensor *diff_scatterv(struct diff_tensor *x, const int *counts,
                                  const int *displacements, size_t count, int root, MPI_Comm comm)
{
    return CALL(.kind = DIFF_SCATTERV, .x = x, .send_counts = counts,
                .send_displacements = displacements, .count = count, .root = root, .comm = comm);
}

struct diff_tensor *diff_allgatherv(struct diff_tensor *x, struct diff_tensor *into,
                                    const int *counts, const int *displacements, MPI_Comm comm)
{
    return CALL(.kind = DIFF_ALLGATHERV, .x = x, .into = into, .receive_counts = counts,
                .receive_displacements = displacements, .comm = comm);
}

struct diff_tensor *diff_alltoallv(struct diff_tensor *x, const int *send_counts,
                                   const int *send_displacements, struct diff_tensor *into,
                                   const int *receive_counts, const int *receive_displacements,
                                   MPI_Comm comm)
{
    return CALL(.kind = DIFF_ALLTOALLV, .x = x, .send_counts = send_counts,
                .send_displacements = send_displacements, .into = into,
                .receive_counts = receive_counts, .receive_displacements = receive_displacements,
                .comm = comm);
}
