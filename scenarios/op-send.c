/* about: Send in every mode along a chain, differentiated
 * ranks: 1,2,5
 * expect: ok
 *
 * The cotangent of what was received goes back to its sender. A rank that receives nothing keeps
 * its own values. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    static char room[4096];
    MPI_Buffer_attach(room, sizeof room);
    struct diff_tensor *y = square;
    if (op.rank > 0)
        y = diff_mul(diff_recv(x, op.rank - 1, 3, MPI_COMM_WORLD), x);
    if (op.rank + 1 < op.size && op.rank % 3 == 0)
        diff_send(y, op.rank + 1, 3, MPI_COMM_WORLD);
    else if (op.rank + 1 < op.size && op.rank % 3 == 1)
        diff_ssend(y, op.rank + 1, 3, MPI_COMM_WORLD);
    else if (op.rank + 1 < op.size)
        diff_bsend(y, op.rank + 1, 3, MPI_COMM_WORLD);

    op_backward(&op, y);
    void *detached;
    int detached_size;
    MPI_Buffer_detach(&detached, &detached_size);
    MPI_Finalize();
    return 0;
}
