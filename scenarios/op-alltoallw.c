/* about: Alltoallw with a strided datatype on the receiving side, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * Every block has a datatype and a place of its own. Gaps keep what the buffer held, so that its
 * cotangent passes through them. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    op_ranks_check(&op);
    struct diff_tensor *x = op_input(&op, 2 * op.size), *square = diff_mul(x, x);

    MPI_Datatype strided, types[OP_RANKS], plain[OP_RANKS];
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &strided); /* two values, a gap between them */
    MPI_Type_commit(&strided);
    int ones[OP_RANKS], twos[OP_RANKS], send[OP_RANKS], receive[OP_RANKS];
    for (int r = 0; r < op.size; r++) {
        types[r] = strided;
        plain[r] = MPI_DOUBLE;
        ones[r] = 1;
        twos[r] = 2;
        send[r] = 2 * r * (int)sizeof(double);
        receive[r] = 4 * r * (int)sizeof(double);
    }
    struct diff_tensor *buffer = op_variable(&op, "buffer", 4 * op.size, 0.25, 0.1);
    struct diff_call call = {.kind = DIFF_ALLTOALLW,
                             .x = square,
                             .comm = MPI_COMM_WORLD,
                             .send_counts = twos,
                             .send_displacements = send,
                             .send_types = plain,
                             .receive_counts = ones,
                             .receive_displacements = receive,
                             .receive_types = types,
                             .into = buffer};
    struct diff_tensor *y = diff_collective(&call);
    MPI_Type_free(&strided);

    return op_end(&op, y);
}
