/* about: Send in every mode along a chain, differentiated
 * ranks: 1,2,5
 * expect: ok
 *
 * The cotangent of what was received goes back to its sender. A rank that receives nothing keeps
 * its own values. */
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

    static char room[4096];
    MPI_Buffer_attach(room, sizeof room);
    struct diff_tensor *y = square;
    if (rank > 0)
        y = diff_mul(diff_recv(x, rank - 1, 3, MPI_COMM_WORLD), x);
    if (rank + 1 < size && rank % 3 == 0)
        diff_send(y, rank + 1, 3, MPI_COMM_WORLD);
    else if (rank + 1 < size && rank % 3 == 1)
        diff_ssend(y, rank + 1, 3, MPI_COMM_WORLD);
    else if (rank + 1 < size)
        diff_bsend(y, rank + 1, 3, MPI_COMM_WORLD);

    size_t count = diff_count(y);
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, &count, weight_values);
    diff_backward(diff_dot(y, weights)); /* J is the sum over ranks */
    diff_tape_free(tape);
    void *detached;
    int detached_size;
    MPI_Buffer_detach(&detached, &detached_size);
    MPI_Finalize();
    return 0;
}
