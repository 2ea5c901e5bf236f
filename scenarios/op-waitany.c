/* about: Waitany and Test, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * Which request completes first is the machine's choice; the gradients do not depend on it. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    struct diff_tensor *handles[3] = {diff_irecv(x, op_before(&op, 1), 1, MPI_COMM_WORLD),
                                      diff_irecv(x, op_after(&op, 1), 2, MPI_COMM_WORLD),
                                      diff_isend(square, op_after(&op, 1), 1, MPI_COMM_WORLD)};
    struct diff_tensor *last = diff_isend(x, op_before(&op, 1), 2, MPI_COMM_WORLD);
    struct diff_tensor *y = square, *got;
    size_t which;
    while ((got = diff_waitany(3, handles, &which)) != NULL)
        if (which < 2)
            y = diff_add(y, diff_scale(got, 2.0 + (double)which));
    while (!diff_test(last))
        ;

    return op_end(&op, y);
}
