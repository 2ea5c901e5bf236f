/* about: Gather to the last rank, differentiated
 * ranks: 1,2,3
 * expect: ok
 * variant: gather-untaped; options: --mutant gather-untaped; ranks: 2,3; expect: G001
 *
 * The adjoint scatters the root's cotangent. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    struct diff_tensor *y = diff_gather(square, op.size - 1, MPI_COMM_WORLD);

    return op_end(&op, y);
}
