/* When a smaller step may overrule the first one: only with a tolerance far below the error in
 * question. Each row judges slopes of functions whose noise is known, at the borders of the rule.
 */
#include "collectives/gradcheck/internal.h"
#include "tests/tap.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- families ---- */

/* One slope to each side of a point `at`, a jump there, and something smooth. */
struct corner {
    double left, right, jump, at, curve;
};

static double corner_at(const struct corner *corner, double t)
{
    double x = t - corner->at;
    return (x < 0 ? corner->left : corner->right) * x + (x > 0 ? corner->jump : 0) +
           corner->curve * sin(t);
}

static double corner_change(void *context, double *up, double *down)
{
    return corner_at(context, *up) - corner_at(context, *down);
}

static struct gradcheck_row corner_judged(struct corner corner, double analytic, int ties)
{
    struct gradcheck_row row = {.check.method = "central"};
    struct judged judged = {.function = corner_change,
                            .context = &corner,
                            .analytic = analytic,
                            .step = 0x1p-5,
                            .noise = 1e-15,
                            .centers_max = SIZE_MAX,
                            .ties_max = ties,
                            .scale = 1,
                            .factor = 1};
    gradcheck_judge(&judged, &row);
    return row;
}

/* Whether `x` of the way from one slope to the other is what some ranks that are tied may take. */
static bool is_share(double x, int ties)
{
    for (int parts = 1; parts <= ties; parts++)
        if (fabs(x * parts - rint(x * parts)) < 1e-9)
            return true;
    return false;
}

/* Of two slopes the gradient is one, or the share of each of some ranks; any other between is nobody's to judge, and
 * what lies outside is wrong. */
static void corners(void)
{
    static const double slopes[][2] = {{0, 1}, {1, -2}, {-3, -1}, {5, 2}, {1e-3, 2e-3}, {-1, 1}};
    unsigned wrong = 0, otherwise = 0;
    for (size_t s = 0; s < sizeof slopes / sizeof *slopes; s++)
        for (int ties = 1; ties <= 8; ties++)
            for (int k = -60; k <= 180; k += 4) { /* in parts of 120 */
                double low = fmin(slopes[s][0], slopes[s][1]),
                       high = fmax(slopes[s][0], slopes[s][1]);
                double x = k / 120.0, analytic = low + (high - low) * x;
                struct corner corner = {slopes[s][0], slopes[s][1], 0, 0, 0};
                struct gradcheck_row row = corner_judged(corner, analytic, ties);
                bool ok = (x > -1e-9 && x < 1 + 1e-9) && (is_share(x, ties) || k == 60);
                bool between = x > 0 && x < 1 && !ok;
                wrong += row.check.ok != ok;
                wrong += between != (row.check.undecided && !strcmp(row.check.undecided, "kink"));
                otherwise += k != 60 && strcmp(row.check.method, "one-sided") != 0;
                wrong += fabs(row.check.analytic - analytic) > 0;
                double nearest = x < 0 ? low : x > 1 ? high : analytic;
                wrong += fabs(row.check.numeric - nearest) > 1e-6 * (high - low);
                wrong += fabs(row.check.error - fabs(analytic - nearest)) > 1e-6 * (high - low);
            }
    tap_is_int(wrong, 0, "at a corner: its slopes and the shares of them, nothing outside");
    tap_is_int(otherwise, 0, "each is judged to both sides, but for the middle");
}

/* However near the corner is, or how curved the rest: the slope at the point itself is right, and no other. */
static void corners_nearby(void)
{
    unsigned wrong = 0, told = 0, unjust = 0, cases = 0;
    for (int k = 1; k <= 24; k++)
        for (int side = -1; side <= 1; side += 2)
            for (int curve = 0; curve < 3; curve++) {
                struct corner corner = {1, 3, 0, side * ldexp(0.7, -k), curve};
                double slope = (side > 0 ? 1 : 3) + corner.curve;
                struct gradcheck_row right = corner_judged(corner, slope, 2);
                struct gradcheck_row other = corner_judged(corner, slope + 7, 2);
                unjust += !right.check.ok && !right.check.undecided;
                wrong += other.check.ok;
                told += !other.check.undecided;
                cases++;
            }
    tap_is_int(unjust, 0, "beside a corner a right slope is never called wrong");
    tap_is_int(wrong, 0, "and one that neither side has never right");
    tap_ok(told * 10 >= cases * 9, "but wrong (%u of %u)", told, cases);
}

/* Where the value jumps at the point no slope is seen. */
static void jumps(void)
{
    unsigned accepted = 0, accused = 0;
    for (int k = 0; k < 12; k++)
        for (int slope = -2; slope <= 2; slope++) {
            struct corner corner = {slope, slope, ldexp(1, -k), 0, 0};
            struct gradcheck_row row = corner_judged(corner, slope, 2);
            accused += !row.check.ok && !row.check.undecided;
            accepted += corner_judged(corner, slope + 1000.0, 2).check.ok;
        }
    tap_is_int(accused, 0, "at a jump a gradient that does not see it is not accused");
    tap_is_int(accepted, 0, "and no steep one taken");
}

/* A line of which only multiples of `quantum` are left, and what its gradient is at points beside it. */
struct stairs {
    double slope, quantum, offset, spread;
};

static double stairs_change(void *context, double *up, double *down)
{
    const struct stairs *stairs = context;
    double high = stairs->slope * *up + stairs->offset,
           low = stairs->slope * *down + stairs->offset;
    if (stairs->quantum > 0)
        return (rint(high / stairs->quantum) - rint(low / stairs->quantum)) * stairs->quantum;
    return high - low;
}

static double stairs_spread(void *context)
{
    return ((const struct stairs *)context)->spread;
}

static struct gradcheck_row stairs_judged(struct stairs stairs, double analytic)
{
    struct gradcheck_row row = {.check.method = "central"};
    struct judged judged = {.function = stairs_change,
                            .context = &stairs,
                            .analytic = analytic,
                            .step = 0x1p-5,
                            .noise = 1e-15,
                            .centers_max = SIZE_MAX,
                            .ties_max = 2,
                            .factor = 1,
                            .scale = fabs(analytic),
                            .stairs_asked = true,
                            .spread = stairs_spread};
    gradcheck_judge(&judged, &row);
    return row;
}

/* A value that lost its digits stays as it is and jumps: that the gradient of what was meant is another one is no error of it. Where nothing jumps,
 * it is, whatever else is asked. */
static void lost_digits(void)
{
    unsigned accused = 0, accepted = 0, excused = 0, right = 0, cases = 0;
    for (int slope = 1; slope <= 5; slope += 2)
        for (int k = -14; k <= 30; k++)
            for (int offset = -3; offset <= 3; offset++) {
                double quantum = ldexp(0x1p-5, k);
                struct stairs stairs = {slope, quantum, 0.13 * offset * quantum, 0};
                struct gradcheck_row row = stairs_judged(stairs, slope);
                accused += !row.check.ok && !row.check.undecided;
                right += row.check.ok;
                accepted += stairs_judged(stairs, slope * 1000.0).check.ok;
                cases++;
            }
    for (int slope = -4; slope <= 4; slope++)
        for (int k = -9; k <= 9; k++) {
            struct stairs line = {slope, 0, 0, 0};
            struct gradcheck_row row = stairs_judged(line, slope + ldexp(1, k));
            excused += row.check.ok || row.check.undecided;
        }
    tap_is_int(accused, 0, "stairs accuse nobody (%u of %u right)", right, cases);
    tap_is_int(accepted, 0, "nor do they take what is much too steep");
    tap_is_int(excused, 0, "and a line is none");
}

/* What the gradient differs by at points beside this one it may be off, eight times, and no more. */
static void spreads(void)
{
    unsigned accused = 0, excused = 0;
    for (int k = -20; k <= -4; k++)
        for (int slope = 1; slope <= 3; slope++)
            for (int sign = -1; sign <= 1; sign += 2) {
                struct stairs line = {slope, 0, 0, ldexp(1, k)};
                double within = slope + sign * 7.9 * line.spread;
                double beyond = slope + sign * 8.6 * line.spread;
                struct gradcheck_row row = stairs_judged(line, within);
                accused += !row.check.ok && !row.check.undecided;
                row = stairs_judged(line, beyond);
                excused += row.check.ok || row.check.undecided;
            }
    tap_is_int(accused, 0, "off by less than rounding makes of the gradient itself is not accused");
    tap_is_int(excused, 0, "off by more is");
}

/* The row's answer from given numbers. */
static void verdicts(void)
{
    static const double numbers[] = {0, 1, -1, 1.5, 1e-300, 1e-290, 3e-280, 1e10, INFINITY, NAN};
    static const double tolerances[] = {0, 0.5, 0.49, 1e-301, 1e-285, 2, INFINITY, NAN};
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    unsigned wrong = 0;
    for (size_t a = 0; a < NUMBERS; a++)
        for (size_t n = 0; n < NUMBERS; n++)
            for (size_t t = 0; t < sizeof tolerances / sizeof *tolerances; t++)
                for (int doubted = 0; doubted < 2; doubted++) {
                    struct gradcheck_row row = {.evaluations = 5};
                    struct judged judged = {.analytic = numbers[a]};
                    struct difference numeric = {.step = 3,
                                                 .value = numbers[n],
                                                 .tolerance = tolerances[t],
                                                 .order = 2,
                                                 .evaluations = 7};
                    gradcheck_verdict(&row, &judged, numeric, doubted ? "kink" : NULL);
                    double error = fabs(numbers[a] - numbers[n]), own = fabs(numbers[a]);
                    double size =
                        own >= fabs(numbers[n]) || isnan(numbers[n]) ? own : fabs(numbers[n]);
                    size = isnan(own) ? fabs(numbers[n]) : size;
                    bool near = error <= tolerances[t], tiny = size < ldexp(1, -1022 + 64);
                    const char *doubt = doubted ? "kink" : tiny && !near ? "noise" : NULL;
                    if (!isfinite(numbers[a]))
                        doubt = NULL; /* that is wrong, whatever is seen */
                    wrong += row.check.ok != (!doubt && near);
                    wrong += doubt ? !row.check.undecided || strcmp(row.check.undecided, doubt) != 0
                                   : row.check.undecided != NULL;
                    wrong += row.evaluations != 12 || row.check.step != 3 || row.order != 2;
                    bool relative = size > 0 && isfinite(size);
                    wrong += relative && fabs(row.check.relative * size - error) > 1e-12 * error;
                    wrong += size == 0 && row.check.relative != 0;
                }
    tap_is_int(wrong, 0, "a row says what was measured, and what it means");
    for (int ranks = 0; ranks <= 12; ranks++) {
        struct gradcheck check = {.base.ranks = ranks};
        wrong += gradcheck_ties_most(&check) != (ranks <= 2 ? 2 : ranks >= 8 ? 8 : ranks);
    }
    struct gradcheck_result result = {0};
    for (size_t i = 0; i < 300; i++) {
        struct gradcheck_row *row = gradcheck_row_add(&result);
        wrong += row != &result.rows[i] || result.row_count != i + 1 || row->evaluations ||
                 row->check.ok || row->check.method || row->epoch;
        wrong += result.row_room < result.row_count || result.row_room > 64 + 2 * result.row_count;
        memset(row, 0x55, sizeof *row);
        row->epoch = (uint32_t)i;
    }
    for (size_t i = 0; i < 300; i++)
        wrong += result.rows[i].epoch != i;
    free(result.rows);
    tap_is_int(wrong, 0, "ties are of two ranks to eight; rows are new, and stay");
}

int main(void)
{
    corners();
    corners_nearby();
    jumps();
    lost_digits();
    spreads();
    verdicts();
    offsets();
    noise_overrules_nothing();
    smaller_step_may_be_right();
    another_branch();
    return tap_done();
}
