/* about: a ring with nonblocking messages and an allreduce, differentiated
 * ranks: 1..16
 * expect: ok
 *
 * Every rank sends to its right neighbor and receives from its left one. The two halves of the
 * exchange are nonblocking, so that the ring is safe without buffering, and so is its backward
 * pass. */
#include <diff.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    double values[3] = {0.3 + rank, 1.1 - 0.2 * rank, 0.7};
    double weight_values[3] = {1.0 + rank, 0.5, -0.25 * rank};

    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){3}, values);
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){3}, weight_values);
    struct diff_tensor *room = diff_zeros(tape, DIFF_DOUBLE, 1, (size_t[]){3});

    struct diff_tensor *sending = diff_isend(x, right, 7, MPI_COMM_WORLD);
    struct diff_tensor *receiving = diff_irecv(room, left, 7, MPI_COMM_WORLD);
    struct diff_tensor *from_left = diff_wait(receiving);
    diff_wait(sending);

    struct diff_tensor *product = diff_mul(x, from_left);
    struct diff_tensor *total = diff_allreduce(product, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *loss = diff_dot(diff_mul(total, x), weights);
    diff_backward(loss);

    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
