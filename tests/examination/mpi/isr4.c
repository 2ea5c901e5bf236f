#include <mpi.h>
/* rank 0: Send then Recv, rank 1: Isendrecv finished first: only the rendezvous model needs the receive half */
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    MPI_Request q;
    int r, a = 1, b;
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    if (r == 0) {
        MPI_Send(&a, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&b, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (r == 1) {
        MPI_Isendrecv(&a, 1, MPI_INT, 0, 0, &b, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &q);
        MPI_Waitall(1, &q, MPI_STATUSES_IGNORE);
    }
    MPI_Finalize();
}
