/* about: reductions on halves with permuted ranks, differentiated
 * ranks: 1,2,5
 * expect: ok
 * variant: world; options: --mutant world; ranks: 2,4; expect: G001 R002
 * variant: root-world; options: --mutant root-world; ranks: 2,4; expect: G001
 *
 * A communicator's ranks are not the world's: roots and adjoints are those of the communicator,
 * also after the program has freed it. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, op.rank % 2, -op.rank, &half);
    struct diff_tensor *sum = diff_allreduce(square, MPI_SUM, half);
    struct diff_tensor *y = diff_bcast(diff_mul(sum, x), 0, half);
    MPI_Comm_free(&half);

    return op_end(&op, y);
}
