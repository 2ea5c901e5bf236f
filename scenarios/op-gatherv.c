/* about: Gatherv with gaps in the buffer, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * What the root's buffer held before stays in the gaps, so its cotangent passes through there. */
#include <diff.h>
#include <mpi.h>
#include <stdio.h>

enum { RANKS = 64, ROOM = 4 * RANKS };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > RANKS) {
        fprintf(stderr, "this program is made for up to %d ranks\n", RANKS);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    double values[ROOM], weight_values[ROOM];
    for (int i = 0; i < ROOM; i++) {
        values[i] = 0.6 + 0.17 * i - 0.11 * rank;
        weight_values[i] = 1 + 0.5 * rank - 0.3 * i;
    }
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){3}, values);
    struct diff_tensor *square = diff_mul(x, x);

    int counts[RANKS], begins[RANKS], next = 1;
    for (int r = 0; r < size; r++) {
        counts[r] = r % 3;
        begins[r] = next;
        next += counts[r] + 1;
    }
    struct diff_tensor *mine = diff_slice(square, 0, (size_t)counts[rank]);
    double before[ROOM];
    for (int i = 0; i < ROOM; i++)
        before[i] = 0.1 * i;
    struct diff_tensor *buffer =
        diff_input(tape, "buffer", DIFF_DOUBLE, 1, (size_t[]){(size_t)next}, before);
    struct diff_tensor *y = diff_gatherv(mine, buffer, counts, begins, size - 1, MPI_COMM_WORLD);

    size_t count = diff_count(y);
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, &count, weight_values);
    diff_backward(diff_dot(y, weights)); /* J is the sum over ranks */
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
