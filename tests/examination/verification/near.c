#include <mpi.h>
#include <stdlib.h>
int main(int c, char **v)
{
    int r, x = 1, y = 0, k = atoi(v[1]);
    MPI_Comm d;
    MPI_Request q;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm_dup(MPI_COMM_WORLD, &d);
    if (k == 1) { /* tags differ */
        if (r == 0)
            MPI_Send(&x, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        else
            MPI_Recv(&y, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (k == 2) { /* communicators differ */
        if (r == 0)
            MPI_Send(&x, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        else
            MPI_Recv(&y, 1, MPI_INT, 0, 5, d, MPI_STATUS_IGNORE);
    }
    if (k == 3) { /* blocking collective on different communicators */
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, r ? d : MPI_COMM_WORLD);
    }
    if (k == 4) { /* nonblocking collective on different communicators */
        MPI_Iallreduce(&x, &y, 1, MPI_INT, MPI_SUM, r ? d : MPI_COMM_WORLD, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&d);
    MPI_Finalize();
    return 0;
}
