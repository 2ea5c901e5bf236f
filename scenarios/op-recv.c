/* about: a shorter message than the buffer, and a receive from MPI_PROC_NULL, differentiated
 * ranks: 1,2,5
 * expect: ok
 *
 * Where the message ends the buffer keeps its old values, whose cotangent passes through; a
 * receive from nobody leaves all of them. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    int next = op.rank + 1 < op.size ? op.rank + 1 : MPI_PROC_NULL,
        previous = op.rank ? op.rank - 1 : MPI_PROC_NULL;
    struct diff_tensor *handle = diff_irecv(square, previous, 1, MPI_COMM_WORLD);
    diff_send(diff_slice(x, 0, 2), next, 1, MPI_COMM_WORLD);
    struct diff_tensor *y = diff_wait(handle);

    return op_end(&op, y);
}
