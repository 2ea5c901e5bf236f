/* about: Barrier between two uses, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * Its adjoint is a Barrier: in program order the backward pass synchronises where the forward
 * pass did. */
#include <diff.h>
#include <mpi.h>

enum { ROOM = 8 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double values[ROOM], weight_values[ROOM];
    for (int i = 0; i < ROOM; i++) {
        values[i] = 0.6 + 0.17 * i - 0.11 * rank;
        weight_values[i] = 1 + 0.5 * rank - 0.3 * i;
    }
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){3}, values);
    struct diff_tensor *square = diff_mul(x, x);

    struct diff_tensor *sum = diff_allreduce(square, MPI_SUM, MPI_COMM_WORLD);
    diff_barrier(tape, MPI_COMM_WORLD);
    struct diff_tensor *y = diff_bcast(sum, 0, MPI_COMM_WORLD);

    size_t count = diff_count(y);
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, &count, weight_values);
    diff_backward(diff_dot(y, weights)); /* J is the sum over ranks */
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
