/* about: two ranks receive from each other before either sends; the others compute and finish
 * ranks: 2,4,16
 * expect: D001 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, got = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank < 2) {
        MPI_Recv(&got, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&rank, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD);
    } else {
        double sum = 0;
        for (int i = 1; i < 1000 * rank; i++)
            sum += 1.0 / i;
        printf("rank %d: %.3f\n", rank, sum);
    }
    MPI_Finalize();
    return 0;
}
