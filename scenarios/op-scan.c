/* about: Scan, differentiated
 * ranks: 1,2,3
 * expect: ok
 * variant: prod; arguments: prod
 * variant: max; arguments: max
 * variant: min; arguments: min
 *
 * Rank i's value is in the results of the ranks from i on: the adjoint of a sum adds up the
 * cotangents of all later ranks, its own included. */
#include <diff.h>
#include <mpi.h>
#include <string.h>

struct named {
    const char *name;
    MPI_Op op;
};

static MPI_Op op_named(const char *name)
{
    const struct named known[] = {{"sum", MPI_SUM},
                                  {"avg", DIFF_AVG},
                                  {"prod", MPI_PROD},
                                  {"max", MPI_MAX},
                                  {"min", MPI_MIN}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].op;
    return MPI_OP_NULL;
}

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

    MPI_Op op = op_named(argc > 1 ? argv[1] : "sum");
    struct diff_tensor *y = diff_scan(square, op, MPI_COMM_WORLD);

    size_t count = diff_count(y);
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, &count, weight_values);
    diff_backward(diff_dot(y, weights)); /* J is the sum over ranks */
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
