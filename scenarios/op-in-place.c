/* about: collectives with MPI_IN_PLACE, differentiated
 * ranks: 1,2,5
 * expect: ok
 *
 * The buffer is both operand and result: its cotangent is replaced, not added to. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    op_ranks_check(&op);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    struct diff_call call = {.kind = DIFF_ALLREDUCE,
                             .x = square,
                             .comm = MPI_COMM_WORLD,
                             .op = MPI_PROD,
                             .flags = DIFF_IN_PLACE};
    struct diff_tensor *product = diff_collective(&call);
    call = (struct diff_call){
        .kind = DIFF_ALLTOALL,
        .x = diff_gather_rows(product, (size_t)op.size, (size_t[OP_RANKS]){0, 2, 1}),
        .comm = MPI_COMM_WORLD,
        .flags = DIFF_IN_PLACE};
    struct diff_tensor *y = diff_collective(&call);

    return op_end(&op, y);
}
