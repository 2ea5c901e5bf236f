#include <mpi.h>
#include <stdio.h>
/* one request started on one rank first, waited for, then the other: no overlap */
int main(int c, char **v)
{
    int r, x = 1, y = 100, sx = 0, sy = 0;
    MPI_Request q[2];
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Allreduce_init(&x, &sx, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
    MPI_Iallreduce(&y, &sy, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q[1]);
    MPI_Start(&q[0]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    /* MPI-4: initialisation and starts follow the order of collective calls; here persistent start differs relative to a nonblocking one */
    MPI_Request z;
    if (r) {
        MPI_Iallreduce(&y, &sy, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &z);
        MPI_Start(&q[0]);
    } else {
        MPI_Start(&q[0]);
        MPI_Iallreduce(&y, &sy, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &z);
    }
    MPI_Wait(&z, MPI_STATUS_IGNORE);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    printf("rank %d: %d %d (2 200 expected)\n", r, sx, sy);
    MPI_Request_free(&q[0]);
    MPI_Finalize();
}
