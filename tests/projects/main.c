/* Every rank adds rank + 1 twice through the library, with a barrier between, and the sums are
 * added up: N (N + 1). */
#include "counter.h"

#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    counter_add(rank + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    int mine = counter_add(rank + 1) + counter_calls - 2;
    MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %d of %d\n", sum, size);
    MPI_Finalize();
    return 0;
}
