/* about: a lossy coder around a message, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * Values are rounded to float on the way. The derivative goes straight through, and the check
 * holds the rounding fixed. */
#include "op.h"

static void to_float(enum diff_type type, size_t count, const void *x, void *y, void *context)
{
    (void)type, (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)y)[i] = (double)(float)((const double *)x)[i];
}

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    static const struct diff_coder coder = {.name = "float", .code = to_float};
    struct diff_tensor *y = diff_allreduce(diff_coded(square, &coder), MPI_SUM, MPI_COMM_WORLD);

    return op_end(&op, y);
}
