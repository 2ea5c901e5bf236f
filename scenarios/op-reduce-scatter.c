/* about: Reduce_scatter with unequal and empty parts, differentiated
 * ranks: 1,2,3
 * expect: ok
 * variant: avg; arguments: avg
 * variant: prod; arguments: prod
 * variant: max; arguments: max
 *
 * Rank r gets the sum of everybody's part r; the adjoint gathers the parts' cotangents to all
 * ranks. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    op_ranks_check(&op);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    int counts[OP_RANKS], total = 0;
    for (int r = 0; r < op.size; r++)
        total += counts[r] = (r + 1) % 3;
    struct diff_tensor *all =
        diff_gather_rows(square, (size_t)total, (size_t[OP_RANKS]){0, 1, 2, 1});
    MPI_Op reduction = op_named(argc, argv);
    struct diff_tensor *y = diff_reduce_scatter(all, counts, reduction, MPI_COMM_WORLD);

    return op_end(&op, y);
}
