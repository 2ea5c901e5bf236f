#include <mpi.h>
#include <stdio.h>
int main(int c, char **v)
{
    int r, x, y, sx = 0, sy = 0;
    MPI_Request q[2];
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    x = 1;
    y = 100; /* same kind, count, type: silently crossed */
    MPI_Allreduce_init(&x, &sx, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
    MPI_Allreduce_init(&y, &sy, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &q[1]);
    MPI_Start(&q[r % 2]);
    MPI_Start(&q[1 - r % 2]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    printf("rank %d: %d %d (2 200 expected)\n", r, sx, sy);
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
    MPI_Finalize();
}
