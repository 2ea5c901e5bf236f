/* about: Scatter from the last rank, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * The adjoint gathers the parts' cotangents at the root. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 2 * op.size), *square = diff_mul(x, x);

    struct diff_tensor *y = diff_scatter(square, 2, op.size - 1, MPI_COMM_WORLD);

    return op_end(&op, y);
}
