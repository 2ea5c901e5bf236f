/* about: two allreduces on two communicators over the same ranks, unordered in the backward pass
 * ranks: 2,4,18
 * options: --order data
 * expect: D002
 * variant: program; options: --order program; expect: OK
 *
 * Two ranks that choose differently wait for each other for ever: nothing crosses, everything hangs. */
#include <diff.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm other;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    double values[2] = {0.5 + rank, 1.5}, weights[2] = {1.0 + rank, -2.0};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){2}, weights);
    struct diff_tensor *a = diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *b = diff_allreduce(x, MPI_SUM, other);
    diff_backward(diff_add(diff_dot(a, w), diff_dot(diff_mul(b, b), w)));
    diff_tape_free(tape);
    MPI_Comm_free(&other);
    MPI_Finalize();
    return 0;
}
