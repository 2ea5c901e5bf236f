/* Two steps of a ring, an allocation and a sum: what each fault does to it is known. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, sum, value, got = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    value = rank;
    for (int step = 0; step < 2; step++) {
        MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT,
                     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        value = got;
    }
    int *volatile memory = malloc(sizeof *memory);
    if (memory)
        *memory = value;
    int mine = memory ? *memory : 1000;
    free(memory);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d has %d of %d\n", rank, value, sum);
    MPI_Finalize();
}
