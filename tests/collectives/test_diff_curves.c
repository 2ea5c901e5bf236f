/* What the gradient check measures for plots: error over step, Taylor's remainders, the map of
 * Jacobian blocks. */
#include "tests/diff_world.h"

#include <math.h>
#include <stdlib.h>

enum { N = 3, RANKS = 4 };

static void cube(size_t count, const void *x, void *y, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)y)[i] = pow(((const double *)x)[i], 3);
}

/* Off by a tenth on the rank that the context names. */
static void cube_vjp(size_t count, const void *x, const void *y_bar, void *x_bar, void *context)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double factor = rank == *(const int *)context ? 3.3 : 3;
    for (size_t i = 0; i < count; i++)
        ((double *)x_bar)[i] =
            factor * ((const double *)x)[i] * ((const double *)x)[i] * ((const double *)y_bar)[i];
}

static const struct diff_custom_rules rules = {.name = "cube", .forward = cube, .vjp = cube_vjp};
static const int nobody = -1, third = 2;

/* Every rank's loss depends on its left neighbor's cubes and, by half, on its own inputs. */
static void ring(const int *wrong_rank)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double values[N] = {0.8 + 0.3 * rank, -1.1, 0.4 * rank - 0.7};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){N}, values);
    struct diff_tensor *cubes = diff_custom(x, &rules, (void *)(uintptr_t)wrong_rank);
    struct diff_tensor *got =
        diff_sendrecv(cubes, (rank + 1) % size, 0, diff_zeros(tape, DIFF_DOUBLE, 1, (size_t[]){N}),
                      (rank + size - 1) % size, 0, MPI_COMM_WORLD);
    diff_backward(diff_sum(diff_add(got, diff_scale(x, 0.5))));
    diff_tape_free(tape);
}

static void right(void)
{
    ring(&nobody);
}

static void wrong_on_rank_2(void)
{
    ring(&third);
}

static void tied(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double values[N] = {2, rank, 2};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){N}, values);
    diff_backward(diff_scale(diff_sum(diff_allreduce(x, MPI_MAX, MPI_COMM_WORLD)), 1.0 + rank));
    diff_tape_free(tape);
}

static struct gradcheck_result curves_of(void (*body)(void), int ranks)
{
    struct gradcheck_options options = gradcheck_options_default();
    options.taylor = options.heat_map = options.sweep = true;
    return diff_world_check(body, ranks, &options);
}

static int cells_wrong(const struct gradcheck_result *result, int *row, int *column)
{
    int count = 0;
    for (int i = 0; result->heat_map && i < result->ranks * result->ranks; i++)
        if (!(result->heat_map[i] <= 1)) {
            count++;
            *row = i / result->ranks;
            *column = i % result->ranks;
        }
    return count;
}

static void test_right(void)
{
    struct gradcheck_result result = curves_of(right, RANKS);
    int row = -1, column = -1;
    tap_ok(result.heat_map && cells_wrong(&result, &row, &column) == 0,
           "every block of right gradients is right");
    tap_ok(fabs(result.taylor.orders[0] - 2) < 0.1, "the first remainder falls as h^2");
    tap_ok(fabs(result.taylor.orders[1] - 3) < 0.1, "the second as h^3");
    const struct gradcheck_sweep *sweep = &result.sweep;
    double least = INFINITY;
    for (size_t i = 0; i < sweep->count; i++)
        least = fmin(least, sweep->error[i]);
    tap_ok(sweep->count > 10 && sweep->error[0] > 100 * least &&
               sweep->error[sweep->count - 1] > 100 * least,
           "the error is least between large steps and tiny ones");
    gradcheck_release(&result);
}

static void test_wrong(void)
{
    struct gradcheck_result result = curves_of(wrong_on_rank_2, RANKS);
    int row = -1, column = -1;
    tap_is_int(cells_wrong(&result, &row, &column), 1, "one wrong adjoint spoils one block");
    tap_ok(row == 3 && column == 2, "that of its reader's loss by its inputs");
    tap_ok(fabs(result.taylor.orders[0] - 1) < 0.2, "the first remainder falls as h only");
    tap_ok(result.sweep.rank == 2 && result.sweep.error[20] > 0.01,
           "its error does not fall with the step");
    gradcheck_release(&result);
}

static void test_bounds(void)
{
    int row, column;
    struct gradcheck_result result = curves_of(tied, 3);
    tap_ok(result.failed == 0 && result.heat_map && cells_wrong(&result, &row, &column) == 0,
           "at a kink a subgradient is no wrong block");
    gradcheck_release(&result);
    result = curves_of(right, GRADCHECK_MAP_RANKS + 1);
    tap_ok(result.failed == 0 && !result.heat_map, "above %d ranks there is no map",
           GRADCHECK_MAP_RANKS);
    gradcheck_release(&result);
}

/* A world costs as much as it has values: the larger the input, the fewer elements. */
static void large(void)
{
    size_t count = 1 << 18;
    double *values = malloc(count * sizeof *values);
    for (size_t i = 0; values && i < count; i++)
        values[i] = 0.5 + (double)(i % 17);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, &count, values);
    free(values);
    diff_backward(diff_mean(x));
    diff_tape_free(tape);
}

static void test_large(void)
{
    struct gradcheck_result result = diff_world_check(large, 1, NULL);
    size_t elements = 0;
    for (size_t i = 0; i < result.row_count; i++)
        elements += result.rows[i].check.index >= 0;
    tap_is_int((int)elements, GRADCHECK_VALUES >> 18, "of 2^18 values 2^24 / 2^18 are looked at");
    tap_is_int((int)result.failed, 0, "and are right");
    gradcheck_release(&result);
}

int main(void)
{
    (void)checked_open("diff_curves");
    static void (*const tests[])(void) = {test_large, test_right, test_wrong, test_bounds};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (checked_takes())
            tests[i]();
    checked_close();
    return tap_done();
}
