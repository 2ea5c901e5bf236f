/* about: a shorter message than the buffer, and a receive from MPI_PROC_NULL, differentiated
 * ranks: 1,2,5
 * expect: ok
 *
 * Where the message ends the buffer keeps its old values, whose cotangent passes through; a
 * receive from nobody leaves all of them. */
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

    int next = rank + 1 < size ? rank + 1 : MPI_PROC_NULL,
        previous = rank ? rank - 1 : MPI_PROC_NULL;
    struct diff_tensor *handle = diff_irecv(square, previous, 1, MPI_COMM_WORLD);
    diff_send(diff_slice(x, 0, 2), next, 1, MPI_COMM_WORLD);
    struct diff_tensor *y = diff_wait(handle);

    size_t count = diff_count(y);
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, &count, weight_values);
    diff_backward(diff_dot(y, weights)); /* J is the sum over ranks */
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
