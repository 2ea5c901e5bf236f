/* Half C, half Fortran: handles pass from one to the other. */
#include <mpi.h>
#include <stdio.h>

void part(int comm, int mine, int *result);

int main(int argc, char **argv)
{
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    part(MPI_Comm_c2f(MPI_COMM_WORLD), 0, &sum);
    part(MPI_Comm_c2f(MPI_COMM_WORLD), rank + 1, &sum);
    if (rank == 0 && MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD &&
        MPI_Type_f2c(MPI_Type_c2f(MPI_INT)) == MPI_INT)
        printf("sum %d of %d\n", sum, size);
    MPI_Finalize();
    return 0;
}
