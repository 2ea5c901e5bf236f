/* about: Neighbor_alltoallv with an empty block, differentiated
 * ranks: 1,2,5
 * expect: ok
 *
 * One value goes to r + 1, none or two to r + 2. The adjoint is the same operation on the graph
 * with every edge turned round. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    MPI_Comm graph = op_graph(&op);
    int out[2] = {1, op.rank % 2 ? 2 : 0}, in[2] = {1, op_before(&op, 2) % 2 ? 2 : 0};
    struct diff_call call = {.kind = DIFF_NEIGHBOR_ALLTOALLV,
                             .x = diff_slice(square, 0, (size_t)(out[0] + out[1])),
                             .comm = graph,
                             .send_counts = out,
                             .receive_counts = in};
    struct diff_tensor *y = diff_collective(&call);

    op_backward(&op, y);
    MPI_Comm_free(&graph);
    MPI_Finalize();
    return 0;
}
