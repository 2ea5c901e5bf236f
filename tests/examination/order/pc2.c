#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int r;
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    double a = 1, b = 10, sa = 0, sb = 0;
    MPI_Request q[2];
    MPI_Allreduce_init(&a, &sa, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
    MPI_Bcast_init(&b, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &q[1]);
    if (r == 0) {
        MPI_Start(&q[0]);
        MPI_Start(&q[1]);
    } else {
        MPI_Start(&q[1]);
        MPI_Start(&q[0]);
    }
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    printf("rank %d: %g %g (want 2 20)\n", r, sa, sb);
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
    MPI_Finalize();
    return 0;
}
