/* about: an allreduce whose input needs a gradient on rank 0 only
 * ranks: 2,4,18
 * options: --order data
 * expect: D001 G003
 * variant: program; options: --order program; expect: OK
 *
 * Whether an operation is part of the backward pass is decided on each rank by what it holds itself. For the others the
 * sum does not depend on anything that needs a gradient: they skip its adjoint, and rank 0 waits for them. */
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
    struct diff_tensor *sum = diff_allreduce(rank == 0 ? x : w, MPI_SUM, MPI_COMM_WORLD);
    diff_backward(diff_add(diff_dot(sum, w), diff_dot(x, w)));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
