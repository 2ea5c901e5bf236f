/* about: Alltoall, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * Its own adjoint: block j of rank i came from block i of rank j. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 2 * op.size), *square = diff_mul(x, x);

    struct diff_tensor *y = diff_alltoall(square, MPI_COMM_WORLD);

    return op_end(&op, y);
}
