/* two independent faults: a wrong hand-written gradient on rank 0, and a send buffer overwritten in an unrelated exchange */
#include <diff.h>
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double values[2] = {1.0 + rank, 2.0}, w[2] = {0.5, -1};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){2}, w);
    struct diff_tensor *y = diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD);
    diff_backward(diff_dot(y, weights));
    diff_tape_free(tape);
    if (argc > 1) { /* unrelated: receive buffer written while pending */
        int got = 0, mine = rank;
        MPI_Request r;
        MPI_Irecv(&got, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &r);
        got = 7;
        MPI_Send(&mine, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
