/* about: a broadcast from rank 0 and one from rank 1, unordered in the backward pass
 * ranks: 2,4,18
 * options: --order data
 * expect: R001
 * variant: program; options: --order program; expect: OK
 *
 * The adjoints are reductions to different roots: crossed, they do not fit. */
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
    struct diff_tensor *from_0 = diff_bcast(x, 0, MPI_COMM_WORLD);
    struct diff_tensor *from_1 = diff_bcast(x, 1, MPI_COMM_WORLD);
    diff_backward(diff_add(diff_dot(from_0, w), diff_dot(diff_mul(from_1, from_1), w)));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
