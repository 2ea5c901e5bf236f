/* about: Bcast from the middle rank, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * Every rank's copy counts: the root's gradient is the sum of all cotangents, the other ranks'
 * values are overwritten and get zero. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    struct diff_tensor *y = diff_bcast(square, op.size / 2, MPI_COMM_WORLD);

    return op_end(&op, y);
}
