#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int c, char **v)
{
    int r, n;
    long K = atol(v[1]);
    double x, s = 0;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (long i = 0; i < K; i++) {
        if (r == 0) {
            for (int j = 1; j < n; j++) {
                MPI_Recv(&x, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                s = s * 3 + x;
            }
        } else {
            x = r;
            MPI_Send(&x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        }
    }
    if (!r && atoi(v[2]))
        printf("%g\n", s);
    MPI_Finalize();
}
