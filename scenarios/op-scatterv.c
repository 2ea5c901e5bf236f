/* about: Scatterv with overlapping parts, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * Two ranks read the same values of the root: their cotangents add up there. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    op_ranks_check(&op);
    struct diff_tensor *x = op_input(&op, op.size + 1), *square = diff_mul(x, x);

    int counts[OP_RANKS], begins[OP_RANKS];
    for (int r = 0; r < op.size; r++) {
        counts[r] = 2;
        begins[r] = r;
    }
    struct diff_tensor *y = diff_scatterv(square, counts, begins, 2, 0, MPI_COMM_WORLD);

    return op_end(&op, y);
}
