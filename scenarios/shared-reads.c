/* about: several operations under way read one buffer
 * ranks: 2,4
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: written; arguments: written; expect: eager=B002 rendezvous=B002 batch=B002
 *
 * A broadcast reads at its root and writes elsewhere; a reduction or a gather writes at its root
 * alone; a scatter in place leaves its root's buffer. Beside a pending send reading is right.
 * Written: rank 0 is no longer the root, and memory that its pending send reads is overwritten. */
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, values[4] = {1, 2, 3, 4}, parts[4], all[64];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ranks_at_most(size, (int)(sizeof all / (sizeof parts)));
    MPI_Request request = MPI_REQUEST_NULL;
    int root = switch_alone(argc, argv, "form", "read", "written") ? 1 : 0,
        collector = size - 1 - root;
    if (rank == 0)
        MPI_Isend(values, 4, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    MPI_Bcast(values, 4, MPI_INT, root, MPI_COMM_WORLD);
    MPI_Reduce(values, parts, 4, MPI_INT, MPI_SUM, collector, MPI_COMM_WORLD);
    MPI_Gather(values, 4, MPI_INT, all, 4, MPI_INT, collector, MPI_COMM_WORLD);
    MPI_Scatter(values, 1, MPI_INT, rank == 0 ? MPI_IN_PLACE : parts, 1, MPI_INT, 0,
                MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(parts, 4, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
