/* about: a broadcast whose result only rank 1 uses: the root's backward pass never comes to the adjoint
 * ranks: 2
 * options: --order data --strict
 * expect: D001 G003
 * variant: minimal; options: --order data; expect: D002 G003
 * variant: program; options: --order program; expect: OK
 *
 * In data order dead branches are pruned, on the root the broadcast is one: rank 1 reduces alone. Where collectives
 * synchronise it waits for ever. Where they synchronise only as far as the data flow forces, a reduction lets everybody
 * but its root go, and this root is who never comes: the run ends,
 * and the hang is one that may happen (D002). */
#include <diff.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double values[2] = {0.5 + rank, 1.5}, weights[2] = {1.0 + rank, -2.0};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){2}, weights);
    struct diff_tensor *y = diff_bcast(x, 0, MPI_COMM_WORLD);
    diff_backward(diff_dot(rank == 1 ? y : x, w));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
