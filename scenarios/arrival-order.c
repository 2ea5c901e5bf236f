/* about: a result that depends on the order of arrival, so that every run has a gradient of its own
 * ranks: 3,4
 * options: --repeat 8
 * expect: G007 R003
 * variant: order; options: --repeat 8 --vary order; expect: R003
 * variant: once; options: --no-gradients; expect: R003
 *
 * Rank 0 weighs what it receives by when it came. The adjoint is right: it is the derivative of what that run computed,
 * and differences taken in the same order of arrival agree with it on every element. (The verdict was G001 while
 * differences met another order than the backward pass had: they measured another function.) What is wrong is told by
 * R003, and by repetitions: where the choices vary, gradients differ by their own size; where only the order of sums
 * does, by rounding.
 */
#include <diff.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double values[2] = {0.5 + rank, 1.5 - 0.3 * rank};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_tensor *y = diff_allreduce(diff_mul(x, x), MPI_SUM, MPI_COMM_WORLD);
    if (rank > 0)
        diff_send(x, 0, 1, MPI_COMM_WORLD);
    for (int i = 1; rank == 0 && i < size; i++)
        y = diff_add(diff_scale(y, 2), diff_recv(x, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD));
    diff_backward(diff_sum(y));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
