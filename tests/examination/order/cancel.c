#include <diff.h>
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int r, a = 0, c;
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    if (r == 0) {
        MPI_Request q;
        MPI_Status s;
        MPI_Irecv(&a, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &q);
        MPI_Cancel(&q);
        MPI_Wait(&q, &s);
        MPI_Test_cancelled(&s, &c);
        printf("cancelled %d\n", c);
        diff_mark_objective(c);
        if (c)
            MPI_Recv(&a, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else
        MPI_Send(&r, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
