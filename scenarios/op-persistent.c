/* about: persistent messages started three times, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * Every start is a message of its own on the tape. */
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

    struct diff_persistent *out =
        diff_send_init(tape, DIFF_DOUBLE, 3, (rank + 1) % size, 5, MPI_COMM_WORLD);
    struct diff_persistent *in =
        diff_recv_init(tape, DIFF_DOUBLE, 3, (rank + size - 1) % size, 5, MPI_COMM_WORLD);
    struct diff_tensor *y = square;
    for (int step = 0; step < 3; step++) {
        struct diff_tensor *handles[2] = {diff_start(in, x), diff_start(out, y)}, *results[2];
        diff_waitall(2, handles, results);
        y = diff_mul(results[0], x);
    }
    diff_persistent_free(out);
    diff_persistent_free(in);

    size_t count = diff_count(y);
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, &count, weight_values);
    diff_backward(diff_dot(y, weights)); /* J is the sum over ranks */
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
