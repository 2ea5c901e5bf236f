/* about: Barrier between two uses, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * Its adjoint is a Barrier: in program order the backward pass synchronises where the forward
 * pass did. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    struct diff_tensor *sum = diff_allreduce(square, MPI_SUM, MPI_COMM_WORLD);
    diff_barrier(op.tape, MPI_COMM_WORLD);
    struct diff_tensor *y = diff_bcast(sum, 0, MPI_COMM_WORLD);

    return op_end(&op, y);
}
