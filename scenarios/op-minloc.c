/* about: MINLOC and MAXLOC, differentiated
 * ranks: 1,2,3
 * expect: ok
 * variant: maxloc; arguments: maxloc
 *
 * The value's part is that of MIN and MAX; the index has no derivative. Every rank compares the
 * index it was told with a serial search. */
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

    int where[3];
    struct diff_call call = {.kind = DIFF_ALLREDUCE,
                             .x = square,
                             .comm = MPI_COMM_WORLD,
                             .op = argc > 1 ? MPI_MAXLOC : MPI_MINLOC,
                             .index_out = where};
    struct diff_tensor *y = diff_collective(&call);
    for (int i = 0; i < 3; i++) {
        int best = 0;
        for (int r = 1; r < size; r++) {
            double one = 0.6 + 0.17 * i - 0.11 * r, least = 0.6 + 0.17 * i - 0.11 * best;
            if (argc > 1 ? one * one > least * least : one * one < least * least)
                best = r;
        }
        if (where[i] != best)
            return 1;
    }

    size_t count = diff_count(y);
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, &count, weight_values);
    diff_backward(diff_dot(y, weights)); /* J is the sum over ranks */
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
