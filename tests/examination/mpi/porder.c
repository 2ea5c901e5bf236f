#include <mpi.h>
#include <stdio.h>
int main(int c, char **v)
{
    int r, a = -1;
    MPI_Request q[2];
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Bcast_init(&a, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &q[1]);
    if (r == 0)
        a = 42;
    MPI_Start(&q[r == 0 ? 0 : 1]);
    MPI_Start(
        &q[r == 0 ? 1 : 0]); /* MPI-4 6.13: may be started in any order, different on each rank */
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    printf("rank %d a=%d\n", r, a);
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
    MPI_Finalize();
}
