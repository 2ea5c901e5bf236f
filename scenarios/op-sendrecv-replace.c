/* about: Sendrecv_replace, differentiated
 * ranks: 1,2,5
 * expect: ok
 *
 * The values that were sent are gone; their cotangent comes back from where they went. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    struct diff_tensor *y =
        diff_sendrecv_replace(square, op_after(&op, 1), 3, op_before(&op, 1), 3, MPI_COMM_WORLD);

    return op_end(&op, y);
}
