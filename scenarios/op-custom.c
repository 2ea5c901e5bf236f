/* about: an operation of the program's own, differentiated
 * ranks: 1,2,3
 * expect: ok
 * variant: wrong; arguments: wrong; ranks: 2,3; expect: G001
 *
 * Forward, vector-Jacobian product and Jacobian-vector product are the program's; the wrong
 * variant forgets a factor in the second. */
#include <diff.h>
#include <mpi.h>

static void forward(size_t count, const void *x, void *y, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)y)[i] = ((const double *)x)[i] * ((const double *)x)[i];
}

static void vjp(size_t count, const void *x, const void *y_bar, void *x_bar, void *context)
{
    for (size_t i = 0; i < count; i++)
        ((double *)x_bar)[i] =
            *(double *)context * ((const double *)x)[i] * ((const double *)y_bar)[i];
}

static void jvp(size_t count, const void *x, const void *x_dot, void *y_dot, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)y_dot)[i] = 2 * ((const double *)x)[i] * ((const double *)x_dot)[i];
}

static const struct diff_custom_rules rules = {
    .name = "square", .forward = forward, .vjp = vjp, .jvp = jvp};

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

    double factor = argc > 1 ? 1 : 2;
    struct diff_tensor *y =
        diff_allreduce(diff_custom(x, &rules, &factor), MPI_SUM, MPI_COMM_WORLD);

    size_t count = diff_count(y);
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, &count, weight_values);
    diff_backward(diff_dot(y, weights)); /* J is the sum over ranks */
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
