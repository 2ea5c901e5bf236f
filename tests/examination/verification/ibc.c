#include <mpi.h>
int main(int c, char **v)
{
    int r, s = 1;
    MPI_Request q;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Ibcast(&s, 1, MPI_INT, 0, MPI_COMM_WORLD, &q);
    s = r + 5;
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Finalize();
}
