/* about: two nonblocking allreduces for which the ranks wait in different orders
 * ranks: 2,4,18
 * options: --mutant wait-order
 * expect: R002 G001
 * variant: initiation; options: --order program; expect: OK
 *
 * MPI orders collectives by their start, so waiting in any order is right. Adjoints that start at the adjoint of the wait
 * inherit the order of the waits instead, and cross. Started in the reverse of the order of initiation they do not. */
#include <diff.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double first[2] = {0.5 + rank, 1.5}, second[2] = {2.0, 0.25 * rank}, weights[2] = {1.0 + rank, -2.0};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, first);
    struct diff_tensor *y = diff_input(tape, "y", DIFF_DOUBLE, 1, (size_t[]){2}, second);
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){2}, weights);
    struct diff_tensor *a = diff_iallreduce(x, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *b = diff_iallreduce(y, MPI_SUM, MPI_COMM_WORLD), *x_sum, *y_sum;
    if (rank == 0) {
        x_sum = diff_wait(a);
        y_sum = diff_wait(b);
    } else {
        y_sum = diff_wait(b);
        x_sum = diff_wait(a);
    }
    diff_backward(diff_add(diff_dot(x_sum, w), diff_scale(diff_dot(y_sum, y_sum), 3)));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
