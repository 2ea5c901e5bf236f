#include <mpi.h>
#include <stdio.h>
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Aint a = 1, b = 0;
    MPI_Offset o = 1, p;
    MPI_Count k = 1, l;
    int x = MPI_Allreduce(&a, &b, 1, MPI_AINT, MPI_LAND, MPI_COMM_WORLD),
        y = MPI_Allreduce(&o, &p, 1, MPI_OFFSET, MPI_LOR, MPI_COMM_WORLD),
        z = MPI_Allreduce(&k, &l, 1, MPI_COUNT, MPI_LXOR, MPI_COMM_WORLD);
    printf("%d %d %d\n", x, y, z);
    MPI_Finalize();
}
