#include <mpi.h>
int main(int c, char **v)
{
    int r, s = 1, t = 0;
    MPI_Request q[2];
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Iallreduce(&s, &t, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q[0]);
    MPI_Iallreduce(&s, &t, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    MPI_Finalize();
}
