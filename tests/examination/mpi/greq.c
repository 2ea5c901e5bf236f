#include <mpi.h>
static int q(void *x, MPI_Status *s)
{
    MPI_Status_set_elements(s, MPI_INT, 0);
    MPI_Status_set_cancelled(s, 0);
    return 0;
}
static int f(void *x)
{
    return 0;
}
static int k(void *x, int c)
{
    return 0;
}
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    MPI_Request r;
    MPI_Status s;
    MPI_Grequest_start(q, f, k, 0, &r);
    MPI_Grequest_complete(r);
    MPI_Wait(&r, &s);
    MPI_Finalize();
}
