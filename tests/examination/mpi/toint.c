#include <mpi.h>
#include <stdio.h>
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm k;
    MPI_Comm_dup(MPI_COMM_SELF, &k);
    int n = MPI_Comm_toint(k);
    printf("toint %d, back %s\n", n, MPI_Comm_fromint(n) == k ? "same" : "other");
    MPI_Comm_free(&k);
    MPI_Finalize();
}
