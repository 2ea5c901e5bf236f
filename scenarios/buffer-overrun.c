/* about: a gather at the root receives more than its buffer holds
 * ranks: 4
 * requires: heap:unwatched
 * arguments: one
 * expect: eager=B006 rendezvous=B006 batch=B006
 * variant: all; arguments: all; expect: eager=OK rendezvous=OK batch=OK
 *
 * The receive count of MPI_Gather is what comes from each rank; the root needs room for everybody's. */
#include <mpi.h>
#include <stdlib.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, one = switch_alone(argc, argv, "room", "all", "one");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double mine[2] = {rank, rank + 0.5};
    double *gathered = malloc(2 * sizeof *gathered * (size_t)(one ? 1 : ranks));
    if (rank == 0 && one) /* malloc rounds up: the run goes on */
        gathered = realloc(gathered, 2 * sizeof *gathered * (size_t)ranks - 1);
    MPI_Gather(mine, 2, MPI_DOUBLE, gathered, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    free(gathered);
    MPI_Finalize();
    return 0;
}
