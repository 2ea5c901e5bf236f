/* about: persistent messages started three times, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * Every start is a message of its own on the tape. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    struct diff_persistent *out =
        diff_send_init(op.tape, DIFF_DOUBLE, 3, op_after(&op, 1), 5, MPI_COMM_WORLD);
    struct diff_persistent *in =
        diff_recv_init(op.tape, DIFF_DOUBLE, 3, op_before(&op, 1), 5, MPI_COMM_WORLD);
    struct diff_tensor *y = square;
    for (int step = 0; step < 3; step++) {
        struct diff_tensor *handles[2] = {diff_start(in, x), diff_start(out, y)}, *results[2];
        diff_waitall(2, handles, results);
        y = diff_mul(results[0], x);
    }
    diff_persistent_free(out);
    diff_persistent_free(in);

    return op_end(&op, y);
}
