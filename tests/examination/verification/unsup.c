#include <mpi.h>
int main(int c, char **v)
{
    int x = 0;
    MPI_Win w;
    MPI_Init(&c, &v);
    MPI_Win_create(&x, sizeof x, sizeof x, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_free(&w);
    MPI_Finalize();
    return 0;
}
