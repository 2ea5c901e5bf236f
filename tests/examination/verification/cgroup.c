#include <mpi.h>
int main(int c, char **v)
{
    int r;
    MPI_Group g;
    MPI_Comm d;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm_group(MPI_COMM_WORLD, &g);
    if (r == 0)
        MPI_Comm_create_group(MPI_COMM_WORLD, g, 0, &d); /* rank 1 never comes */
    MPI_Group_free(&g);
    MPI_Finalize();
    return 0;
}
