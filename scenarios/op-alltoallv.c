/* about: Alltoallv with blocks that overlap where they are sent, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * The adjoint swaps counts and displacements of the two sides and adds up where blocks
 * overlapped. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    op_ranks_check(&op);
    struct diff_tensor *x = op_input(&op, op.size + 2), *square = diff_mul(x, x);

    int counts[OP_RANKS], send[OP_RANKS], receive[OP_RANKS];
    for (int r = 0; r < op.size; r++) {
        counts[r] = 1 + (op.rank + r) % 2;
        send[r] = r;
        receive[r] = r ? receive[r - 1] + counts[r - 1] : 0;
    }
    struct diff_tensor *y =
        diff_alltoallv(square, counts, send, NULL, counts, receive, MPI_COMM_WORLD);

    return op_end(&op, y);
}
