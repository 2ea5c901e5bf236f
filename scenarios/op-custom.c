/* about: an operation of the program's own, differentiated
 * ranks: 1,2,3
 * expect: ok
 * variant: wrong; arguments: wrong; ranks: 2,3; expect: G001
 *
 * Forward, vector-Jacobian product and Jacobian-vector product are the program's; the wrong
 * variant forgets a factor in the second. */
#include "op.h"

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

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3);

    double factor = argc > 1 ? 1 : 2;
    struct diff_tensor *y =
        diff_allreduce(diff_custom(x, &rules, &factor), MPI_SUM, MPI_COMM_WORLD);

    return op_end(&op, y);
}
