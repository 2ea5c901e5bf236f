#include <mpi.h>
/* types differ: int sent, float received */
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    MPI_Request q;
    int r, a = 1;
    float b;
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Isendrecv(&a, 1, MPI_INT, 1 - r, 0, &b, 1, MPI_FLOAT, 1 - r, 0, MPI_COMM_WORLD, &q);
    MPI_Waitall(1, &q, MPI_STATUSES_IGNORE);
    MPI_Finalize();
}
