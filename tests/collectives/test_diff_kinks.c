/* Gradients at points without a derivative, several at a time: right subgradients pass whatever the
 * signs of their weights, and wrong ones are noticed and named. */
#include "tests/diff_world.h"

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
    for (size_t part = 1; part <= parts; part++) {
        struct gradcheck_result result = checked(body, mutant, flip, part);
        wrong += result.failed > 0;
        named += strcmp(result.culprit.name, name) == 0;
        gradcheck_release(&result);
    }
    tap_ok(wrong == parts && named == parts, "%s: %zu of %zu noticed, %zu named", what, wrong,
           parts, named);
}

int main(void)
{
    tap_plan(9 + checked_open("diff_kinks"));
    gradients_are_right("relu of zeros with weights of both signs", relu_of_zeros, 1, 2, 3);
    gradients_are_right("a layer without bias", layer, 1, 3);
    gradients_are_right("a maximum all of whose elements are tied", maximum_all_tied, 1, 2, 3);
    gradients_are_right("minimum and maximum at once", running_minimum_and_maximum, 1, 2, 3, 5);
    gradients_are_right("relu of a running minimum", relu_of_minimum, 1, 2, 3);
    expect_named("the cotangent to all ties", maximum_all_tied, "all-ties", NULL, "Allreduce");
    expect_named("a wrong sign where all are tied", maximum_all_tied, NULL, "Allreduce",
                 "Allreduce");
    expect_named("a wrong sign beside a kink", scaled, NULL, "scale", "scale");
    struct gradcheck_result result = checked(two_halves, NULL, NULL, 0);
    tap_ok(result.failed > 0 && !result.culprit.found && strstr(result.culprit.text, "at a kink"),
           "a gradient that kinks make wrong is no operation's fault");
    gradcheck_release(&result);
    checked_close();
    return tap_done();
}
