/* about: MINLOC and MAXLOC, differentiated
 * ranks: 1,2,3
 * expect: ok
 * variant: maxloc; arguments: maxloc
 *
 * The value's part is that of MIN and MAX; the index has no derivative. Every rank compares the
 * index it was told with a serial search. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    int where[3];
    struct diff_call call = {.kind = DIFF_ALLREDUCE,
                             .x = square,
                             .comm = MPI_COMM_WORLD,
                             .op = argc > 1 ? MPI_MAXLOC : MPI_MINLOC,
                             .index_out = where};
    struct diff_tensor *y = diff_collective(&call);
    for (int i = 0; i < 3; i++) {
        int best = 0;
        for (int r = 1; r < op.size; r++) {
            double one = 0.6 + 0.17 * i - 0.11 * r, least = 0.6 + 0.17 * i - 0.11 * best;
            if (argc > 1 ? one * one > least * least : one * one < least * least)
                best = r;
        }
        if (where[i] != best)
            return 1;
    }

    return op_end(&op, y);
}
