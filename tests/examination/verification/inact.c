#include <mpi.h>
int main(int c, char **v)
{
    int r, x = 1, y = 0;
    MPI_Request s, q;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Send_init(&x, 1, MPI_INT, 1 - r, 0, MPI_COMM_WORLD, &s);
    MPI_Irecv(&y, 1, MPI_INT, 1 - r, 0, MPI_COMM_WORLD, &q); /* MPI_Start(&s) is missing */
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Request_free(&s);
    MPI_Finalize();
    return 0;
}
