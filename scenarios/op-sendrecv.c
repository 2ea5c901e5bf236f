/* about: Sendrecv round a ring with a tag of its own on every edge, differentiated
 * ranks: 1,2,3
 * expect: ok
 * variant: sendrecv-tags; options: --mutant sendrecv-tags; ranks: 3,4; expect: D001
 *
 * The adjoint swaps the ranks and the tags: it sends the cotangent to where the values came from,
 * with the tag they came with. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    int right = op_after(&op, 1), left = op_before(&op, 1);
    struct diff_tensor *y = diff_sendrecv(square, right, op.rank, x, left, left, MPI_COMM_WORLD);

    return op_end(&op, y);
}
