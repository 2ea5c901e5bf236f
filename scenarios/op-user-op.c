/* about: a reduction of the user's, differentiated
 * ranks: 1,2,5
 * expect: ok
 *
 * a + b + a b is associative and neither linear nor known to MPI: registered with its partial
 * derivatives it can be differentiated, twice if the second ones are there. */
#include <diff.h>
#include <mpi.h>

static void combine(enum diff_type type, size_t count, const void *a, const void *b, void *y)
{
    (void)type;
    const double *left = a, *right = b;
    for (size_t i = 0; i < count; i++)
        ((double *)y)[i] = left[i] + right[i] + left[i] * right[i];
}

static void partials(enum diff_type type, size_t count, const void *a, const void *b, void *by_a,
                     void *by_b)
{
    (void)type;
    for (size_t i = 0; by_a && i < count; i++)
        ((double *)by_a)[i] = 1 + ((const double *)b)[i];
    for (size_t i = 0; by_b && i < count; i++)
        ((double *)by_b)[i] = 1 + ((const double *)a)[i];
}

static void combine_mpi(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++)
        combine(DIFF_DOUBLE, 1, (double *)in + i, (double *)inout + i, (double *)inout + i);
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

    MPI_Op both;
    MPI_Op_create(combine_mpi, 1, &both);
    diff_op_register(both, &(struct diff_op_rules){combine, partials, NULL});
    struct diff_tensor *y = diff_allreduce(square, both, MPI_COMM_WORLD);

    size_t count = diff_count(y);
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, &count, weight_values);
    diff_backward(diff_dot(y, weights)); /* J is the sum over ranks */
    diff_tape_free(tape);
    MPI_Op_free(&both);
    MPI_Finalize();
    return 0;
}
