/* about: nonblocking collectives, waited for in another order on every rank, differentiated
 * ranks: 1,2,3
 * expect: ok
 * variant: wait-order; options: --mutant wait-order; ranks: 2,3; expect: G001 R002
 *
 * The adjoints start in the reverse of the order of initiation, which is the same everywhere; the
 * order of the waits need not be. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    struct diff_tensor *sum = diff_iallreduce(square, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *all = diff_iallreduce(x, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *first, *second;
    if (op.rank % 2) {
        second = diff_wait(all);
        first = diff_wait(sum);
    } else {
        first = diff_wait(sum);
        second = diff_wait(all);
    }
    struct diff_tensor *y = diff_mul(first, second);

    return op_end(&op, y);
}
