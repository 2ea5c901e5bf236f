/* about: an adjoint message with tag + 10 on the forward communicator meets a forward message that has that tag
 * ranks: 2
 * options: --mutant tag-offset
 * expect: R005 G001
 * variant: apart; options: --order program; expect: OK
 *
 * Rank 1 still owes a late message with tag 17 when the backward pass of a message with tag 7 begins. Adjoint traffic on
 * a communicator of its own cannot be mistaken for it. */
#include <diff.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double values[2] = {0.5 + rank, 1.5}, statistics[2] = {0.25, 4.0};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    if (rank == 0) {
        diff_send(x, 1, 7, MPI_COMM_WORLD);
        diff_backward(diff_dot(x, x));
        MPI_Recv(statistics, 2, MPI_DOUBLE, 1, 17, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        struct diff_tensor *received = diff_recv(diff_neg(x), 0, 7, MPI_COMM_WORLD);
        MPI_Request request;
        MPI_Isend(statistics, 2, MPI_DOUBLE, 0, 17, MPI_COMM_WORLD, &request);
        diff_backward(diff_dot(received, received));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
