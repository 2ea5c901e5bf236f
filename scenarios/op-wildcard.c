/* about: receives from anybody and matched probes, differentiated
 * ranks: 1,2
 * expect: ok
 * variant: several; ranks: 3..5; expect: R003
 *
 * Who sent a message is known only when it has come; the adjoint answers that rank. The sum over
 * the senders does not depend on their order. */
#include <diff.h>
#include <mpi.h>

enum { ROOM = 8 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double values[ROOM], weight_values[ROOM];
    for (int i = 0; i < ROOM; i++) {
        values[i] = 0.6 + 0.17 * i - 0.11 * rank;
        weight_values[i] = 1 + 0.5 * rank - 0.3 * i;
    }
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){3}, values);
    struct diff_tensor *square = diff_mul(x, x);

    struct diff_tensor *y = square;
    if (rank > 0)
        diff_send(square, 0, rank, MPI_COMM_WORLD);
    for (int i = 1; rank == 0 && i < size; i++) {
        struct diff_tensor *got;
        int source;
        if (i % 2) {
            got = diff_recv(x, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD);
        } else {
            MPI_Message message;
            MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            got = diff_mrecv(x, &message, MPI_COMM_WORLD);
        }
        diff_received(got, &source, NULL, NULL);
        y = diff_add(y, diff_scale(got, 1.0 + source));
    }

    size_t count = diff_count(y);
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, &count, weight_values);
    diff_backward(diff_dot(y, weights)); /* J is the sum over ranks */
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
