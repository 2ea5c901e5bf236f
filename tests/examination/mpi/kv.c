#include <mpi.h>
#include <stdio.h>
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int k, k2;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &k, NULL);
    k2 = k;
    MPI_Comm_set_attr(MPI_COMM_SELF, k, NULL);
    printf("first free %d\n", MPI_Comm_free_keyval(&k));
    printf("second free (attribute still set) %d\n", MPI_Comm_free_keyval(&k2));
    MPI_Finalize();
}
