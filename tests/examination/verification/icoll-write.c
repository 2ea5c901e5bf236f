#include <mpi.h>
int main(int c, char **v)
{
    int r, x = 1, y = 0;
    MPI_Request q;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Iallreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q);
    if (r == 0)
        y = 5; /* the result is not there yet */
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
