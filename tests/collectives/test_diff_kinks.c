/* Gradients at points without a derivative, several at a time: right subgradients pass whatever the
 * signs of their weights, and wrong ones are noticed and named. */
#include "tests/diff_world.h"

#include <math.h>
#include <string.h>

enum { N = 4, RANKS = 3 };

struct here {
    struct diff_tape *tape;
    struct diff_tensor *x, *w;
    int rank;
};

static struct here begin(double first)
{
    struct here here;
    size_t shape[] = {N};
    MPI_Comm_rank(MPI_COMM_WORLD, &here.rank);
    here.tape = diff_tape_new(MPI_COMM_WORLD);
    double values[N] = {first}, weights[N] = {1, here.rank - 2.0, 3, -0.5};
    here.x = diff_input(here.tape, "x", DIFF_DOUBLE, 1, shape, values);
    here.w = diff_constant(here.tape, DIFF_DOUBLE, 1, shape, weights);
    return here;
}

static void end(struct here *here, struct diff_tensor *y)
{
    diff_backward(diff_dot(diff_reshape(y, 1, (size_t[]){N}), here->w));
    diff_tape_free(here->tape);
}

static void relu_of_zeros(void)
{
    struct here here = begin(0);
    end(&here, diff_relu(here.x));
}

/* A layer without a bias on an input that is zero in places. */
static void layer(void)
{
    struct here here = begin(1);
    size_t square[] = {2, 2};
    struct diff_tensor *m =
        diff_constant(here.tape, DIFF_DOUBLE, 2, square, (double[]){0, 1, 2, -1});
    end(&here, diff_relu(diff_matmul(diff_reshape(here.x, 2, square), m)));
}

static void maximum_all_tied(void)
{
    struct here here = begin(1);
    end(&here, diff_allreduce(here.x, MPI_MAX, MPI_COMM_WORLD));
}

static void running_minimum_and_maximum(void)
{
    struct here here = begin(1);
    end(&here, diff_add(diff_scan(here.x, MPI_MIN, MPI_COMM_WORLD),
                        diff_allreduce(here.x, MPI_MAX, MPI_COMM_WORLD)));
}

static void relu_of_minimum(void)
{
    struct here here = begin(0);
    end(&here, diff_relu(diff_scan(here.x, MPI_MIN, MPI_COMM_WORLD)));
}

/* J is smooth here, with slope 1, and backward says 0: no operation is to blame. */
static void two_halves(void)
{
    struct here here = begin(0);
    end(&here, diff_sub(diff_relu(here.x), diff_relu(diff_neg(here.x))));
}

/* A kink beside an adjoint that is wrong. */
static void scaled(void)
{
    struct here here = begin(0.5);
    end(&here, diff_add(diff_relu(here.x), diff_scale(here.x, 3)));
}

/* How long a vector is depends on the input: below it there is one element, here very many. */
static void as_long_as_its_input(void)
{
    enum { MANY = 1 << 20 };
    static double weights[MANY] = {1}; /* what is more is worth nothing: J is x */
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){1}, (double[]){1});
    size_t count = diff_scalar(x) < 1 ? 1 : MANY;
    struct diff_tensor *many = diff_constant(tape, DIFF_DOUBLE, 1, &count, weights);
    diff_backward(diff_sum(diff_scale_by(many, x)));
    diff_tape_free(tape);
}

/* ---- values and derivatives where something changes, as diff.h states them ---- */

static struct diff_tensor *cubed(struct diff_tensor *x)
{
    return diff_power(x, 3);
}

static struct diff_tensor *to_the_first(struct diff_tensor *x)
{
    return diff_power(x, 1);
}

static struct diff_tensor *inverse(struct diff_tensor *x)
{
    return diff_power(x, -1);
}

static const struct point {
    const char *name;
    struct diff_tensor *(*function)(struct diff_tensor *);
    double x, y, slope;
} points[] = {{"exp", diff_exp, 0, 1, 1},
              {"exp", diff_exp, 1000, INFINITY, INFINITY},
              {"exp", diff_exp, -1000, 0, 0},
              {"log", diff_log, 1, 0, 1},
              {"log", diff_log, 0, -INFINITY, INFINITY},
              {"log", diff_log, -1, NAN, -1},
              {"tanh", diff_tanh, 0, 0, 1},
              {"tanh", diff_tanh, 400, 1, 0},
              {"tanh", diff_tanh, -400, -1, 0},
              {"sigmoid", diff_sigmoid, 0, 0.5, 0.25},
              {"sigmoid", diff_sigmoid, 800, 1, 0},
              {"sigmoid", diff_sigmoid, -800, 0, 0},
              {"relu", diff_relu, 2, 2, 1},
              {"relu", diff_relu, 0x1p-1074, 0x1p-1074, 1},
              {"relu", diff_relu, 0, 0, 0},
              {"relu", diff_relu, -0x1p-1074, 0, 0},
              {"relu", diff_relu, -2, 0, 0},
              {"relu", diff_relu, NAN, NAN, 0},
              {"relu", diff_relu, INFINITY, INFINITY, 1},
              {"sqrt", diff_sqrt, 4, 2, 0.25},
              {"sqrt", diff_sqrt, 0, 0, INFINITY},
              {"sin", diff_sin, 0, 0, 1},
              {"cos", diff_cos, 0, 1, 0},
              {"abs", diff_abs, 3, 3, 1},
              {"abs", diff_abs, -3, 3, -1},
              {"abs", diff_abs, 0, 0, 0},
              {"abs", diff_abs, -0x1p-1074, 0x1p-1074, -1},
              {"third power", cubed, -2, -8, 12},
              {"third power", cubed, 0, 0, 0},
              {"first power", to_the_first, -2, -2, 1},
              {"first power", to_the_first, 0, 0, 1},
              {"power of -1", inverse, 2, 0.5, -0.25},
              {"neg", diff_neg, 3, -3, -1}};
enum { POINTS = sizeof points / sizeof *points };
static double values_there[POINTS], slopes_there[POINTS];

static void values_at_points(void)
{
    for (size_t i = 0; i < POINTS; i++) {
        struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
        struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){1}, &points[i].x);
        struct diff_tensor *y = points[i].function(x);
        values_there[i] = diff_scalar(y);
        diff_backward(diff_sum(y));
        slopes_there[i] = *(const double *)diff_gradient(x);
        diff_tape_free(tape);
    }
}

static bool is_number(double is, double wanted)
{
    return isnan(wanted) ? isnan(is) : is == wanted;
}

static void expect_points(void)
{
    tap_is_int(diff_world_outcome(values_at_points, 1), OUTCOME_FINISHED, "points are computed");
    for (size_t i = 0; i < POINTS; i++) {
        tap_ok(is_number(values_there[i], points[i].y), "%s of %g is %g: %g", points[i].name,
               points[i].x, points[i].y, values_there[i]);
        tap_ok(is_number(slopes_there[i], points[i].slope), "and its slope there %g: %g",
               points[i].slope, slopes_there[i]);
    }
}

/* Pairs: less, equal, more, and none; of equal ones the first has the derivative. */
enum { PAIRS = 4 };
static double pairs_there[2][3][PAIRS];

static void values_of_pairs(void)
{
    const double a[PAIRS] = {1, 2, 3, -0.0}, b[PAIRS] = {2, 2, 2, 0.0};
    for (int minimum = 0; minimum < 2; minimum++) {
        struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
        struct diff_tensor *one = diff_input(tape, "a", DIFF_DOUBLE, 1, (size_t[]){PAIRS}, a);
        struct diff_tensor *other = diff_input(tape, "b", DIFF_DOUBLE, 1, (size_t[]){PAIRS}, b);
        struct diff_tensor *y = minimum ? diff_minimum(one, other) : diff_maximum(one, other);
        memcpy(pairs_there[minimum][0], diff_values(y), sizeof a);
        diff_backward(diff_sum(y));
        memcpy(pairs_there[minimum][1], diff_gradient(one), sizeof a);
        memcpy(pairs_there[minimum][2], diff_gradient(other), sizeof a);
        diff_tape_free(tape);
    }
}

static void expect_pairs(void)
{
    static const double wanted[2][3][PAIRS] = {{{2, 2, 3, 0}, {0, 1, 1, 1}, {1, 0, 0, 0}},
                                               {{1, 2, 2, 0}, {1, 1, 0, 1}, {0, 0, 1, 0}}};
    int right = 0;
    tap_is_int(diff_world_outcome(values_of_pairs, 1), OUTCOME_FINISHED, "pairs are computed");
    for (int minimum = 0; minimum < 2; minimum++)
        for (int what = 0; what < 3; what++)
            for (int i = 0; i < PAIRS; i++)
                right += pairs_there[minimum][what][i] == wanted[minimum][what][i];
    tap_is_int(right, 2 * 3 * PAIRS, "of two equal ones the first has the derivative");
}

static struct gradcheck_result checked(void (*body)(void), const char *mutant, const char *flip,
                                       size_t part)
{
    struct gradcheck_options options = gradcheck_options_default();
    options.mutant = mutant;
    options.flip_name = flip;
    options.flip_part = part;
    return diff_world_check(body, RANKS, &options);
}

static void expect_named(const char *what, void (*body)(void), const char *mutant, const char *flip,
                         const char *name)
{
    size_t wrong = 0, named = 0, parts = flip ? N : 1;
    if (!checked_takes()) {
        tap_skip(1, "of another part: %s", what);
        return;
    }
    for (size_t part = 1; part <= parts; part++) {
        struct gradcheck_result result = checked(body, mutant, flip, part);
        wrong += result.failed > 0;
        named += strcmp(result.culprit.name, name) == 0;
        gradcheck_release(&result);
    }
    tap_ok(wrong == parts && named == parts, "%s: %zu of %zu noticed, %zu named", what, wrong,
           parts, named);
}

static void expect_nobody(void)
{
    if (!checked_takes()) {
        tap_skip(1, "of another part");
        return;
    }
    struct gradcheck_result result = checked(two_halves, NULL, NULL, 0);
    tap_ok(result.failed > 0 && !result.culprit.found && strstr(result.culprit.text, "at a kink"),
           "a gradient that kinks make wrong is no operation's fault");
    gradcheck_release(&result);
}

static void expect_length(void)
{
    if (!checked_takes()) {
        tap_skip(1, "of another part");
        return;
    }
    struct gradcheck_options options = gradcheck_options_default();
    options.flip_name = "scale_by";
    options.flip_part = 1;
    struct gradcheck_result result = diff_world_check(as_long_as_its_input, 1, &options);
    tap_ok(result.failed > 0 && !result.culprit.found &&
               strstr(result.culprit.text, "runs other operations"),
           "nor is one named where a little away from the inputs vectors have another length");
    gradcheck_release(&result);
}

int main(void)
{
    tap_plan(13 + 2 * POINTS + checked_open("diff_kinks"));
    gradients_are_right("relu of zeros with weights of both signs", relu_of_zeros, 1, 2, 3);
    gradients_are_right("a layer without bias", layer, 1, 3);
    gradients_are_right("a maximum all of whose elements are tied", maximum_all_tied, 1, 2, 3);
    gradients_are_right("minimum and maximum at once", running_minimum_and_maximum, 1, 2, 3, 5);
    gradients_are_right("relu of a running minimum", relu_of_minimum, 1, 2, 3);
    expect_named("the cotangent to all ties", maximum_all_tied, "all-ties", NULL, "Allreduce");
    expect_named("a wrong sign where all are tied", maximum_all_tied, NULL, "Allreduce",
                 "Allreduce");
    expect_named("a wrong sign beside a kink", scaled, NULL, "scale", "scale");
    expect_nobody();
    checked_close();
    expect_length();
    expect_points();
    expect_pairs();
    return tap_done();
}
