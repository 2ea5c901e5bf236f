#include <mpi.h>
#include <stdio.h>
/* a send is cancelled; whether that succeeded is told to the receiver, which receives the message only if it was not */
int main(int c, char **v)
{
    int r, f = 0, x = 7;
    MPI_Request q;
    MPI_Status s;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    if (r == 0) {
        MPI_Isend(&x, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &q);
        MPI_Cancel(&q);
        MPI_Wait(&q, &s);
        MPI_Test_cancelled(&s, &f);
        MPI_Send(&f, 1, MPI_INT, 1, 123, MPI_COMM_WORLD);
    } else if (r == 1) {
        MPI_Recv(&f, 1, MPI_INT, 0, 123, MPI_COMM_WORLD, &s);
        if (!f)
            MPI_Recv(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &s);
        printf("cancelled %d\n", f);
    }
    MPI_Finalize();
}
