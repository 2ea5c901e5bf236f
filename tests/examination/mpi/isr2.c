#include <mpi.h>
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    MPI_Request q[2];
    int r, a = 1, b;
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    for (int i = 0; i < 2; i++)
        MPI_Isendrecv(&a, 1, MPI_INT, 1 - r, i, &b, 1, MPI_INT, 1 - r, i, MPI_COMM_WORLD, &q[i]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    MPI_Finalize();
}
