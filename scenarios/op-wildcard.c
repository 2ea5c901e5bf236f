/* about: receives from anybody and matched probes, differentiated
 * ranks: 1,2
 * expect: ok
 * variant: several; ranks: 3..5; expect: R003
 *
 * Who sent a message is known only when it has come; the adjoint answers that rank. The sum over
 * the senders does not depend on their order. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    struct diff_tensor *y = square;
    if (op.rank > 0)
        diff_send(square, 0, op.rank, MPI_COMM_WORLD);
    for (int i = 1; op.rank == 0 && i < op.size; i++) {
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

    return op_end(&op, y);
}
