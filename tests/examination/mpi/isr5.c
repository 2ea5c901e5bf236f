#include <mpi.h>
/* must hang where sends wait: both ranks Send first, the other message is received by an Isendrecv started later */
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    MPI_Request q;
    int r, a = 1, b;
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Send(&a, 1, MPI_INT, 1 - r, 0, MPI_COMM_WORLD);
    MPI_Isendrecv(&a, 1, MPI_INT, MPI_PROC_NULL, 0, &b, 1, MPI_INT, 1 - r, 0, MPI_COMM_WORLD, &q);
    MPI_Waitall(1, &q, MPI_STATUSES_IGNORE);
    MPI_Finalize();
}
