/* about: Allgatherv with unequal and empty parts, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * The adjoint is a Reduce_scatter with the same counts. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    op_ranks_check(&op);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    int counts[OP_RANKS];
    for (int r = 0; r < op.size; r++)
        counts[r] = (r + 1) % 3;
    struct diff_tensor *mine = diff_slice(square, 0, (size_t)counts[op.rank]);
    struct diff_tensor *y = diff_allgatherv(mine, NULL, counts, NULL, MPI_COMM_WORLD);

    return op_end(&op, y);
}
