/* When a smaller step may overrule the first one: only with a tolerance far below the error in
 * question. Each row judges slopes of functions whose noise is known, at the borders of the rule.
 */
#include "collectives/gradcheck/internal.h"
#include "tests/tap.h"

#include <math.h>
#include <stdint.h>

/* 3 t, and a bump around 0 that only steps above its width see, or another slope there. */
struct function {
    double width, height, bend;
};

static double value_at(const struct function *function, double t)
{
    bool beyond = fabs(t) > function->width;
    return 3 * t + (beyond ? copysign(function->height, t) + function->bend * t : 0);
}

static double change_of(void *context, double *up, double *down)
{
    return value_at(context, *up) - value_at(context, *down);
}

static struct gradcheck_row judged(struct function *function, double analytic, double noise,
                                   double step)
{
    struct gradcheck_row row = {0};
    struct judged judged = {.function = change_of,
                            .context = function,
                            .analytic = analytic,
                            .step = step,
                            .noise = noise,
                            .centers_max = SIZE_MAX,
                            .factor = 1};
    gradcheck_judge(&judged, &row);
    return row;
}

/* A gradient wrong by 2^k tolerances of the first step: all smaller steps are so noisy that they
 * would accept it. */
static void noise_overrules_nothing(void)
{
    struct function line = {INFINITY, 0, 0};
    double step = 1e-3, noise = 1e-9;
    struct gradcheck_row right = judged(&line, 3, noise, step);
    double tolerance = right.check.tolerance;
    tap_ok(right.check.ok && tolerance > 0 && tolerance < 1e-3, "a right slope is right");
    for (int k = 1; k < 16; k++) {
        struct gradcheck_row row = judged(&line, 3 + ldexp(tolerance, k), noise, step);
        tap_ok(!row.check.ok, "a slope wrong by %d tolerances is not excused by a noisier step",
               1 << k);
    }
    tap_ok(!judged(&line, NAN, noise, step).check.ok, "a slope that is no number is wrong");
}

/* The first step meets what the function does elsewhere; a smaller one does not, and says so
 * sharply. */
static void smaller_step_may_be_right(void)
{
    struct function bumpy = {1e-5, 10, 0};
    struct gradcheck_row row = judged(&bumpy, 3, 1e-16, 1e-3);
    tap_ok(row.check.ok && fabs(row.check.numeric - 3) < 1e-3,
           "a smaller step that sees the slope alone decides");
    tap_ok(!judged(&bumpy, 4, 1e-16, 1e-3).check.ok, "and accepts no other slope");
}

/* Far away the slope is another one, seen to many digits; close by noise leaves a bit less than
 * three, which is more than enough to tell the two. */
static void another_branch(void)
{
    struct function bent = {0.05, 0, -2.5};
    struct gradcheck_row row = judged(&bent, 3, 5e-5, 1e-3);
    tap_ok(row.check.undecided && !row.check.ok, "what is seen from far away accuses nobody whom "
                                                 "noisy steps close by confirm");
    row = judged(&bent, 3.5, 5e-5, 1e-3);
    tap_ok(!row.check.undecided && !row.check.ok, "and where these do not, it is wrong");
}

/* What is added is what the type of the input makes of it, on the side asked for. */
static void offsets(void)
{
    double values[] = {1, -1e8, 3e-20};
    int wrong = 0;
    for (int type = 0; type < 2; type++)
        for (size_t i = 0; i < 3; i++)
            for (int k = 0; k < 60; k++) {
                struct probe_input input = {.type = type ? DIFF_FLOAT : DIFF_DOUBLE,
                                            .values = values};
                double step = ldexp(1, -k), up = gradcheck_offset(&input, i, step);
                double sum = values[i] + step;
                wrong += up != (type ? (double)(float)sum : sum) - values[i];
                wrong += gradcheck_offset(&input, i, -step) > 0;
            }
    tap_is_int(wrong, 0, "steps are rounded as the input's type has it");
}

int main(void)
{
    offsets();
    noise_overrules_nothing();
    smaller_step_may_be_right();
    another_branch();
    return tap_done();
}
