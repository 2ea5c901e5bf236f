/* about: Waitany and Test, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * Which request completes first is the machine's choice; the gradients do not depend on it. */
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

    struct diff_tensor *handles[3] = {diff_irecv(x, (rank + size - 1) % size, 1, MPI_COMM_WORLD),
                                      diff_irecv(x, (rank + 1) % size, 2, MPI_COMM_WORLD),
                                      diff_isend(square, (rank + 1) % size, 1, MPI_COMM_WORLD)};
    struct diff_tensor *last = diff_isend(x, (rank + size - 1) % size, 2, MPI_COMM_WORLD);
    struct diff_tensor *y = square, *got;
    size_t which;
    while ((got = diff_waitany(3, handles, &which)) != NULL)
        if (which < 2)
            y = diff_add(y, diff_scale(got, 2.0 + (double)which));
    while (!diff_test(last))
        ;

    size_t count = diff_count(y);
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, &count, weight_values);
    diff_backward(diff_dot(y, weights)); /* J is the sum over ranks */
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
