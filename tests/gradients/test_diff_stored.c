/* Values as 16 bits store them: against the nearest of all 65,536 numbers that the standard's formula
 * (float16) and the machine's own floats (bfloat16) give; and differentiated. */
#include "tests/dice.h"
#include "tests/diff_world.h"

#include <complex.h>
#include <math.h>
#include <server.h>
#include <string.h>

enum { FINITE_MAX = 0x7f80, VALUES = 5000 };

/* The finite numbers that are not negative, in rising order, and what would come next. */
struct numbers {
    enum diff_half half;
    const char *coder;
    size_t count;
    double of[FINITE_MAX + 1];
};

static struct numbers float16 = {.half = DIFF_FLOAT16, .coder = "float16", .count = 0x7c00};
static struct numbers bfloat16 = {.half = DIFF_BFLOAT16, .coder = "bfloat16", .count = 0x7f80};
static const struct numbers *numbers;
static enum diff_type type;
static int wrong;

static void numbers_fill(void)
{
    for (unsigned i = 0; i <= float16.count; i++)
        float16.of[i] = i < 1024 ? i * 0x1p-24 : (1024 + i % 1024) * pow(2, (int)(i / 1024) - 25);
    for (uint32_t i = 0; i < bfloat16.count; i++) {
        uint32_t bits = i << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        bfloat16.of[i] = value;
    }
    bfloat16.of[bfloat16.count] = 0x1p128;
}

static double nearest(const struct numbers *all, double value)
{
    double magnitude = fabs(value);
    size_t low = 0, high = all->count;
    if (isnan(value))
        return NAN;
    if (magnitude >= all->of[high])
        return copysign(INFINITY, value);
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        *(all->of[middle] <= magnitude ? &low : &high) = middle;
    }
    double below = magnitude - all->of[low], above = all->of[high] - magnitude;
    size_t at = below < above || (below == above && low % 2 == 0) ? low : high;
    return copysign(at == all->count ? INFINITY : all->of[at], value);
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

/* All numbers, the middles between them and what lies beside those; then anything. */
static double value_at(const struct numbers *all, size_t i, uint64_t *dice)
{
    size_t at = i / 5;
    double sign = i % 2 ? -1 : 1;
    if (at < all->count) {
        double middle = all->of[at] + (all->of[at + 1] - all->of[at]) / 2;
        const double cases[] = {all->of[at], middle, nextafter(middle, 0),
                                nextafter(middle, INFINITY), middle * (1 - 1e-9)};
        return sign * cases[i % 5];
    }
    double fraction = (double)dice_below(dice, 1000000) / 1e6;
    return sign * ldexp(fraction, (int)dice_below(dice, 300) - 150);
}

static void stored_values(int rank, int ranks)
{
    (void)rank, (void)ranks;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    uint64_t dice = 16;
    struct server_coder coder;
    size_t shape[] = {VALUES}, all = 5 * numbers->count + 20000;
    wrong = !server_coder_parse(numbers->coder, &coder);
    for (size_t first = 0; first < all; first += VALUES) {
        double values[VALUES + 3], decoded[VALUES];
        unsigned char bytes[2 * VALUES];
        for (size_t i = 0; i < VALUES; i++)
            values[i] = value_at(numbers, first + i, &dice);
        values[0] = first ? values[0] : NAN;
        values[1] = first ? values[1] : -INFINITY;
        struct diff_tensor *x = diff_constant(tape, DIFF_DOUBLE, 1, shape, values);
        const double *y = diff_values(diff_stored(x, numbers->half));
        size_t size = coder.encode(&coder, values, VALUES, 0, bytes);
        wrong += !coder.decode(&coder, bytes, size, decoded, VALUES);
        for (size_t i = 0; i < VALUES; i++) {
            double expected = nearest(numbers, values[i]);
            wrong += !same(y[i], expected) || !same(decoded[i], expected);
        }
        diff_tape_clear(tape);
    }
    diff_tape_free(tape);
}

static void stored_floats(int rank, int ranks)
{
    (void)rank, (void)ranks;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    const float parts[] = {1.0009766f, -3.1415927f, 65519.f, 1e-8f};
    size_t four[] = {4}, two[] = {2};
    struct diff_tensor *x = diff_constant(tape, DIFF_FLOAT, 1, four, parts);
    struct diff_tensor *z = diff_constant(tape, DIFF_COMPLEX_FLOAT, 1, two, parts);
    const float *y = diff_values(diff_stored(x, numbers->half));
    const float *w = diff_values(diff_stored(z, numbers->half));
    wrong = diff_type_of(diff_stored(x, numbers->half)) != DIFF_FLOAT;
    for (size_t i = 0; i < 4; i++)
        wrong += y[i] != (float)nearest(numbers, parts[i]) || w[i] != y[i];
    diff_tape_free(tape);
}

/* ---- differentiated ---- */

enum { N = 4 };

static struct diff_tensor *input(struct diff_tape *tape)
{
    size_t shape[] = {N};
    double values[2 * N];
    float singles[2 * N];
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2 * N; i++)
        singles[i] = (float)(values[i] = 0.7 + 0.31 * i + 0.05 * rank);
    bool single = type == DIFF_FLOAT || type == DIFF_COMPLEX_FLOAT;
    return diff_input(tape, "x", type, 1, shape, single ? (void *)singles : (void *)values);
}

static void slightly_wrong(size_t count, const void *x, const void *y_bar, void *x_bar,
                           void *context)
{
    (void)x, (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)x_bar)[i] = 1.0001 * ((const double *)y_bar)[i];
}

static void copy(size_t count, const void *x, void *y, void *context)
{
    (void)context;
    memcpy(y, x, count * sizeof(double));
}

static void train(bool right)
{
    static const struct diff_custom_rules rules = {
        .name = "copy", .forward = copy, .vjp = slightly_wrong};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = input(tape);
    struct diff_tensor *weights = diff_stored(diff_mul(x, x), numbers->half);
    if (!right)
        weights = diff_custom(weights, &rules, NULL);
    struct diff_tensor *sum = diff_allreduce(weights, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *kept = diff_stored(diff_mul(sum, weights), numbers->half);
    diff_backward(diff_dot(kept, kept));
    diff_tape_free(tape);
}

static void train_right(void)
{
    train(true);
}

static void train_wrong(void)
{
    train(false);
}

int main(void)
{
    (void)checked_open("diff_stored");
    static const struct {
        enum diff_type type;
        const char *name;
    } types[] = {{DIFF_DOUBLE, "doubles"},
                 {DIFF_FLOAT, "floats"},
                 {DIFF_COMPLEX_DOUBLE, "complex doubles"},
                 {DIFF_COMPLEX_FLOAT, "complex floats"}};
    const struct numbers *both[] = {&float16, &bfloat16};
    static const int sizes[] = {1, 2, 4, 0};
    char text[4096];
    numbers_fill();
    for (int i = 0; i < 2; i++) {
        numbers = both[i];
        bool ran = world_try(world_options(1), stored_values).outcome == OUTCOME_FINISHED;
        tap_ok(ran && wrong == 0,
               "%s: every value becomes the nearest, of two the even one; the coder's, too",
               numbers->coder);
        ran = world_try(world_options(1), stored_floats).outcome == OUTCOME_FINISHED;
        tap_ok(ran && wrong == 0, "%s: of floats and of both parts of complex ones",
               numbers->coder);
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            type = types[t].type;
            text[0] = 0;
            tap_ok(diff_world_right(train_right, sizes, text, sizeof text),
                   "%s: gradients of %s through it are right %s", numbers->coder, types[t].name,
                   text);
        }
        type = DIFF_DOUBLE;
        struct gradcheck_result result = diff_world_check(train_wrong, 2, NULL);
        tap_ok(!result.base_failed && result.failed > 0,
               "%s: an adjoint that is off by 1e-4 is noticed behind the rounding", numbers->coder);
        gradcheck_release(&result);
    }
    checked_close();
    return tap_done();
}
