/* The verdict over single gradients, over a grid of functions, gradients, noise, steps and what a
 * row may know: what was measured and decided is what was when somebody looked
 * (tests/golden/judge.tsv), no right gradient is wrong, and none that is wrong by half is right. */
#include "collectives/gradcheck/internal.h"
#include "tests/golden.h"

#include <math.h>

enum { NOISES = 3, STEPS = 2 };

static double line(double t)
{
    return 3 * t;
}

static double curve(double t)
{
    return 3 * t + 50 * t * t + 1000 * t * t * t;
}

static double pole(double t)
{
    return 3 / 40.0 / (1 - 40 * t);
}

static double kink(double t)
{
    return t > 0 ? 3 * t : -t;
}

static double thirds(double t)
{
    return t > 0 ? 3 * t : t;
}

static double kink_near(double t)
{
    return 3 * t + (t > 1e-4 ? 5 * (t - 1e-4) : 0);
}

static double bounded(double t)
{
    double turn = 3000 * t - floor(3000 * t + 0.5);
    return turn / 1000;
}

static double jump(double t)
{
    return 3 * t + (fabs(t) > 1e-5 ? copysign(10, t) : 0);
}

static double border(double t)
{
    return t < -1e-5 ? NAN : 3 * t;
}

static double rough(double t)
{
    union {
        double number;
        uint64_t bits;
    } of = {.number = t};
    uint64_t hash = golden_mix(1, of.bits);
    return 3 * t + (t == 0 ? 0 : 1e-9 * ((double)(hash >> 40) / 0x1p24 - 0.5));
}

static double zero(double t)
{
    return 0 * t;
}

static double tiny(double t)
{
    return 3e-310 * t;
}

static double nowhere(double t)
{
    (void)t;
    return NAN;
}

static const struct function {
    const char *name;
    double (*at)(double);
    double slope;
    bool smooth;
} functions[] = {{"line", line, 3, true},        {"curve", curve, 3, true},
                 {"pole", pole, 3, true},        {"kink", kink, 3, false},
                 {"thirds", thirds, 3, false},   {"kink near", kink_near, 3, false},
                 {"bounded", bounded, 3, false}, {"jump", jump, 3, false},
                 {"border", border, 3, false},   {"rough", rough, 3, false},
                 {"zero", zero, 0, true},        {"tiny", tiny, 3e-310, false},
                 {"nowhere", nowhere, 3, false}};

/* As parts of the slope, or of 1 where it is 0. */
static const double shares[] = {
    1, 1 + 1e-12, 1 + 1e-8, 1 + 1e-6, 1 + 1e-4, 1.005,  1.05, 1.5,
    2, 0,         -1,       1. / 3,   2. / 3,   5. / 9, 7,
};

static double change_of(void *context, double *up, double *down)
{
    const struct function *function = context;
    return function->at(*up) - function->at(*down);
}

static double spread_of(void *context)
{
    (void)context;
    return 1e-4;
}

static const struct judged variants[] = {
    {.factor = 1, .centers_max = SIZE_MAX},
    {.factor = 1, .centers_max = 3, .ties_max = 2},
    {.factor = 1, .quick = true, .scale = 1},
    {.factor = 10, .centers_max = SIZE_MAX, .scale = 1e3, .ties_max = 3},
    {.factor = 1, .centers_max = SIZE_MAX, .spread = spread_of, .slack = 1e-6},
    {.factor = 2, .centers_max = 12, .slack = 1e-3, .ties_max = 8}};

static uint64_t mix_number(uint64_t hash, int digits, double number)
{
    char text[40];
    snprintf(text, sizeof text, "%.*g", digits, isnan(number) ? 12345.0 : number);
    return golden_mix_text(hash, text);
}

static char letter_of(const struct trace_gradient *check)
{
    if (check->undecided)
        return strcmp(check->undecided, "scale") ? check->undecided[0] : '0';
    return check->ok ? 'R' : 'W';
}

static unsigned right_ones_wrong, wrong_ones_right;

static void judge_all(struct golden *golden, const struct function *function, size_t variant,
                      double noise, double step)
{
    char key[80], letters[sizeof shares / sizeof *shares + 1] = "";
    uint64_t hash = 1;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        struct gradcheck_row row = {0};
        struct judged judged = variants[variant];
        judged.function = change_of;
        judged.context = (void *)(uintptr_t)function;
        judged.analytic = function->slope == 0 ? shares[i] - 1 : shares[i] * function->slope;
        judged.noise = noise;
        judged.step = step;
        gradcheck_judge(&judged, &row);
        letters[i] = letter_of(&row.check);
        hash = mix_number(hash, 9, row.check.numeric);
        hash = mix_number(hash, 6, row.check.tolerance);
        hash = mix_number(hash, 6, row.check.error);
        hash = mix_number(hash, 6, row.check.relative);
        hash = mix_number(hash, 6, row.check.step);
        hash = mix_number(hash, 3, row.order);
        hash = golden_mix(hash, (uint64_t)row.evaluations);
        hash = golden_mix_text(hash, row.check.method);
        /* A quick row is part of what was found right; what is small beside the other values may
         * pass for zero. */
        bool asked = function->smooth && !judged.quick && judged.scale < 100;
        right_ones_wrong += i == 0 && function->smooth && letters[i] == 'W';
        wrong_ones_right += asked && fabs(shares[i] - 1) >= 0.5 && letters[i] == 'R';
    }
    snprintf(key, sizeof key, "%s %zu %g %g", function->name, variant, noise, step);
    golden_row(golden, key, letters, hash);
}

int main(void)
{
    static const double noises[NOISES] = {1e-16, 1e-9, 1e-5}, steps[STEPS] = {1e-3, 1e-5};
    struct golden golden = golden_open("tests/golden/judge.tsv");
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
        for (size_t variant = 0; variant < sizeof variants / sizeof *variants; variant++)
            for (size_t k = 0; k < NOISES * STEPS; k++)
                judge_all(&golden, &functions[f], variant, noises[k / STEPS], steps[k % STEPS]);
    golden_close(&golden, "gradients are judged as they were");
    tap_is_int(right_ones_wrong, 0, "no right gradient of a smooth function is wrong");
    tap_is_int(wrong_ones_right, 0, "none that is wrong by half is right");
    return tap_done();
}
