/* about: nonblocking messages, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * The adjoint of a receive's wait sends the cotangent back, that of a send's wait receives it;
 * the adjoints of the starts complete them. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    struct diff_tensor *handles[2] = {diff_irecv(x, op_before(&op, 1), 7, MPI_COMM_WORLD),
                                      diff_isend(square, op_after(&op, 1), 7, MPI_COMM_WORLD)};
    struct diff_tensor *results[2];
    diff_waitall(2, handles, results);
    struct diff_tensor *y = diff_mul(results[0], x);

    return op_end(&op, y);
}
