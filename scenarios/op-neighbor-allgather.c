/* about: Neighbor_allgather on a directed graph, differentiated
 * ranks: 1,2,5
 * expect: ok
 *
 * Rank r's values go to r + 1 and r + 2. The adjoint is the same operation on the graph with
 * every edge turned round. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    MPI_Comm graph = op_graph(&op);
    struct diff_tensor *y = diff_neighbor_allgather(square, graph);

    op_backward(&op, y);
    MPI_Comm_free(&graph);
    MPI_Finalize();
    return 0;
}
