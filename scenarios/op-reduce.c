/* about: Reduce to the last rank, differentiated
 * ranks: 1,2,3
 * expect: ok
 * variant: avg; arguments: avg
 * variant: prod; arguments: prod
 * variant: max; arguments: max
 *
 * Only the root has a result; the adjoint of a sum broadcasts the root's cotangent. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    MPI_Op reduction = op_named(argc, argv);
    struct diff_tensor *y = diff_reduce(square, reduction, op.size - 1, MPI_COMM_WORLD);

    return op_end(&op, y);
}
