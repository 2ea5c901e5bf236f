/* about: Reduce_scatter_block, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * Every rank's block of the sum goes to its rank; the adjoint is an allgather of the blocks'
 * cotangents. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 2 * op.size), *square = diff_mul(x, x);

    struct diff_tensor *y = diff_reduce_scatter_block(square, MPI_SUM, MPI_COMM_WORLD);

    return op_end(&op, y);
}
