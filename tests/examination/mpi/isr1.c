#include <mpi.h>
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    MPI_Request q;
    int r, a = 1, b;
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Isendrecv(&a, 1, MPI_INT, 1 - r, 0, &b, 1, MPI_INT, 1 - r, 0, MPI_COMM_WORLD,
                  &q); /* never waited for */
    MPI_Finalize();
}
