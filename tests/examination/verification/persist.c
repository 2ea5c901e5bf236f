#include <mpi.h>
int main(int c, char **v)
{
    int r, x = 1;
    MPI_Request s;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Send_init(&x, 1, MPI_INT, 1 - r, 0, MPI_COMM_WORLD, &s); /* never freed */
    MPI_Finalize();
    return 0;
}
