/* about: Neighbor_alltoallw with a strided datatype, differentiated
 * ranks: 1,2,5
 * expect: ok
 *
 * Blocks are taken from every other value and arrive dense. The adjoint is the same operation on
 * the graph with every edge turned round. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 4), *square = diff_mul(x, x);

    MPI_Comm graph = op_graph(&op);
    MPI_Datatype strided;
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &strided);
    MPI_Type_commit(&strided);
    int ones[2] = {1, 1}, twos[2] = {2, 2};
    int out[2] = {0, sizeof(double)}, in[2] = {0, 2 * sizeof(double)};
    struct diff_call call = {.kind = DIFF_NEIGHBOR_ALLTOALLW,
                             .x = square,
                             .comm = graph,
                             .send_counts = ones,
                             .send_displacements = out,
                             .send_types = (MPI_Datatype[]){strided, strided},
                             .receive_counts = twos,
                             .receive_displacements = in,
                             .receive_types = (MPI_Datatype[]){MPI_DOUBLE, MPI_DOUBLE}};
    struct diff_tensor *y = diff_collective(&call);
    MPI_Type_free(&strided);

    op_backward(&op, y);
    MPI_Comm_free(&graph);
    MPI_Finalize();
    return 0;
}
