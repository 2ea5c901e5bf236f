/* about: Gatherv with gaps in the buffer, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * What the root's buffer held before stays in the gaps, so its cotangent passes through there. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    op_ranks_check(&op);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    int counts[OP_RANKS], begins[OP_RANKS], next = 1;
    for (int r = 0; r < op.size; r++) {
        counts[r] = r % 3;
        begins[r] = next;
        next += counts[r] + 1;
    }
    struct diff_tensor *mine = diff_slice(square, 0, (size_t)counts[op.rank]);
    struct diff_tensor *buffer = op_variable(&op, "buffer", next, 0, 0.1);
    struct diff_tensor *y = diff_gatherv(mine, buffer, counts, begins, op.size - 1, MPI_COMM_WORLD);

    return op_end(&op, y);
}
