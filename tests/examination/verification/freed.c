#include <mpi.h>
int main(int c, char **v)
{
    int r, x = 1, y = 0;
    MPI_Request q;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Isend(&x, 1, MPI_INT, 1 - r, 0, MPI_COMM_WORLD, &q);
    MPI_Request_free(&q);
    x = 99; /* the send may still be under way */
    MPI_Recv(&y, 1, MPI_INT, 1 - r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
