/* about: rank 0 sends and forgets the send; rank 1 squares what it received
 * ranks: 2
 * options: --order data
 * expect: eager=G001+G004 rendezvous=D001 batch=D001
 * variant: program; options: --order program; expect: OK
 *
 * No loss of rank 0 reaches its send, so the receive of the cotangent is pruned. Rank 1 sends the cotangent all the same:
 * with buffering it is lost and the gradient is wrong, without it the rank waits for ever. */
#include <diff.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double values[2] = {0.5 + rank, 1.5}, weights[2] = {1.0 + rank, -2.0};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){2}, weights);
    if (rank == 0) {
        diff_send(x, 1, 0, MPI_COMM_WORLD);
        diff_backward(diff_dot(x, w));
    } else {
        struct diff_tensor *received = diff_recv(diff_neg(x), 0, 0, MPI_COMM_WORLD);
        diff_backward(diff_dot(diff_mul(received, received), w));
    }
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
