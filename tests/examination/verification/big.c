#include <mpi.h>
#include <stdlib.h>
int main(int c, char **v)
{
    int r;
    MPI_Request q;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    int n = 100000;
    double *a = calloc(n, 8), *b = calloc(n, 8);
    MPI_Iallreduce(a, b, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &q);
    if (r == 0)
        for (int i = 0; i < n; i++) {
            a[i] = 3;
            b[i] = 5;
        }
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Finalize();
}
