/* about: Neighbor_allgatherv on a directed graph, differentiated
 * ranks: 1,2,5
 * expect: ok
 *
 * Ranks give one value or two. The adjoint is the same operation on the graph with every edge
 * turned round. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    MPI_Comm graph = op_graph(&op);
    int counts[2] = {1 + op_before(&op, 1) % 2, 1 + op_before(&op, 2) % 2};
    struct diff_call call = {.kind = DIFF_NEIGHBOR_ALLGATHERV,
                             .x = diff_slice(square, 0, 1 + (size_t)op.rank % 2),
                             .comm = graph,
                             .receive_counts = counts};
    struct diff_tensor *y = diff_collective(&call);

    op_backward(&op, y);
    MPI_Comm_free(&graph);
    MPI_Finalize();
    return 0;
}
