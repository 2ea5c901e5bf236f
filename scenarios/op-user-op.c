/* about: a reduction of the user's, differentiated
 * ranks: 1,2,5
 * expect: ok
 *
 * a + b + a b is associative and neither linear nor known to MPI: registered with its partial
 * derivatives it can be differentiated, twice if the second ones are there. */
#include "op.h"

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

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    MPI_Op both;
    MPI_Op_create(combine_mpi, 1, &both);
    diff_op_register(both, &(struct diff_op_rules){combine, partials, NULL});
    struct diff_tensor *y = diff_allreduce(square, both, MPI_COMM_WORLD);

    op_backward(&op, y);
    MPI_Op_free(&both);
    MPI_Finalize();
    return 0;
}
