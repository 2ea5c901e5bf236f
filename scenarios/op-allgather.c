/* about: Allgather, differentiated
 * ranks: 1,2,3
 * expect: ok
 * variant: allgather-root; options: --mutant allgather-root; ranks: 2,3; expect: G001
 * variant: own-slice; options: --mutant own-slice; ranks: 2,3; expect: G001
 * variant: slice-first; options: --mutant slice-first; ranks: 2,3; expect: G001
 *
 * Every rank reads every part: the adjoint reduces before it takes its part, which a
 * Reduce_scatter does. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    struct diff_tensor *y = diff_allgather(square, MPI_COMM_WORLD);

    return op_end(&op, y);
}
