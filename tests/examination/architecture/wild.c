#include <mpi.h>
#include <stdlib.h>
/* rank 0 receives K*(n-1) messages from anybody, then a barrier each round */
int main(int c, char **v)
{
    int r, n;
    long K = atol(v[1]);
    double x = 0;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (long i = 0; i < K; i++) {
        if (r == 0) {
            for (int j = 1; j < n; j++)
                MPI_Recv(&x, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else
            MPI_Send(&x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        if (atoi(v[2]))
            MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
