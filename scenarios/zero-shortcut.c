/* about: a rank skips the adjoint of an allreduce because its own cotangent is zero
 * ranks: 2,4,18
 * options: --mutant zero-shortcut
 * expect: D001
 * variant: always; options: --order program; expect: OK
 *
 * A zero adds nothing to the sum, but the others wait for it. */
#include <diff.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double values[2] = {0.5 + rank, 1.5}, weights[2] = {1.0 - (rank == 1), -2.0 + 2.0 * (rank == 1)};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){2}, weights);
    struct diff_tensor *sum = diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD);
    diff_backward(diff_dot(sum, w));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
