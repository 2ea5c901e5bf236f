/* about: Exscan, differentiated
 * ranks: 1,2,3
 * expect: ok
 * variant: prod; arguments: prod
 * variant: max; arguments: max
 *
 * Rank i's value is in the results of the ranks after it. Rank 0's result is undefined in MPI and
 * zero here: it has no influence. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    MPI_Op reduction = op_named(argc, argv);
    struct diff_tensor *y = diff_exscan(square, reduction, MPI_COMM_WORLD);

    return op_end(&op, y);
}
