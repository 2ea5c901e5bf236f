#include <mpi.h>
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    int a = 1, b;
    MPI_Request r;
    MPI_Isendrecv(&a, 1, MPI_INT, 0, 0, &b, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Finalize();
}
