#include <mpi.h>
#include <stdlib.h>
int main(int c, char **v)
{
    int r, x = 1, y = 0, k = atoi(v[1]);
    MPI_Request q;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    if (r == 0) {
        if (k == 1)
            MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (k == 2)
            MPI_Reduce(&x, &y, 1, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
        if (k == 3) {
            MPI_Ireduce(&x, &y, 1, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD, &q);
            MPI_Wait(&q, MPI_STATUS_IGNORE);
        }
        if (k == 4) {
            MPI_Iallreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q);
            MPI_Wait(&q, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
