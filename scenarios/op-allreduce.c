/* about: Allreduce of every operation, differentiated
 * ranks: 1,2,3
 * expect: ok
 * variant: avg; arguments: avg
 * variant: prod; arguments: prod
 * variant: max; arguments: max
 * variant: min; arguments: min
 * variant: identity; options: --mutant identity; ranks: 2,3; expect: G001
 * variant: mean; options: --mutant mean; ranks: 2,3; expect: G001
 * variant: avg-factor; arguments: avg; options: --mutant avg-factor; ranks: 2,3; expect: G001
 * variant: max-again; arguments: max; options: --mutant max-again; ranks: 2,3; expect: G001
 * variant: op-dropped; arguments: prod; options: --mutant op-dropped; ranks: 2,3; expect: G001
 *
 * Each rank's copy of the result is a value of its own, so the adjoint of a sum is again a sum of
 * all ranks' cotangents. PROD gives every factor the product of the others, never by division;
 * MAX and MIN give all of it to the lowest rank that attains them. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    MPI_Op reduction = op_named(argc, argv);
    struct diff_tensor *y = diff_allreduce(square, reduction, MPI_COMM_WORLD);

    return op_end(&op, y);
}
