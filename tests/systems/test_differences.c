/* Numerical derivatives and the noise of a function, against the textbook: the tableau's entries are here the values at 0 of the
 * polynomials in h^2 through its quotients, written down as Lagrange did; differences of sixth order are sums with
 * binomials. Of random functions, steps and noise, with points that cannot be computed, every field of the answer is
 * compared, and the derivative itself lies within the tolerance. */
#include "collectives/gradcheck/difference.h"
#include "tests/dice.h"
#include "tests/tap.h"

#include <math.h>

enum { CASES = 3000, LEVELS = 6, SHAPES = 6, POINTS = 11 };

struct function {
    int shape;
    double scale, point, noise, beyond; /* no number beyond, on both sides */
    double below;                       /* nor closer than this, on both sides */
    double rounded;                     /* offsets become multiples of it */
    int evaluations;
};

static double value_at(const struct function *f, double t)
{
    double x = f->point + t * f->scale;
    switch (f->shape) {
    case 0:
        return sin(x);
    case 1:
        return exp(x);
    case 2:
        return x * x * x;
    case 3:
        return 1 / (x * x + 1);
    case 4:
        return 3 * t + 1;
    default:
        return fabs(t) + x; /* a kink */
    }
}

static double slope_of(const struct function *f, int sign)
{
    double x = f->point;
    switch (f->shape) {
    case 0:
        return f->scale * cos(x);
    case 1:
        return f->scale * exp(x);
    case 2:
        return f->scale * 3 * x * x;
    case 3:
        return f->scale * -2 * x / ((x * x + 1) * (x * x + 1));
    case 4:
        return 3;
    default:
        return f->scale + sign;
    }
}

/* Between -1 and 1, the same for the same offset. */
static double jitter(double t)
{
    uint64_t bits;
    memcpy(&bits, &t, sizeof bits);
    return (double)(dice_next(&bits) >> 11) * 0x1p-52 - 1;
}

static double noisy_at(const struct function *f, double t)
{
    if (t != 0 && (fabs(t) > f->beyond || fabs(t) < f->below))
        return NAN;
    return value_at(f, t) + f->noise * jitter(t);
}

static double change_of(void *context, double *up, double *down)
{
    struct function *f = context;
    f->evaluations += 2;
    if (f->rounded > 0) {
        *up = rint(*up / f->rounded) * f->rounded;
        *down = rint(*down / f->rounded) * f->rounded;
    }
    return noisy_at(f, *up) - noisy_at(f, *down);
}

/* ---- the textbook ---- */

/* At 0, the polynomial through (h_i^2, quotients[i]) for i of from .. to. */
static double at_zero(const double *steps, const double *quotients, int from, int to)
{
    double sum = 0;
    for (int i = from; i <= to; i++) {
        double weight = 1;
        for (int k = from; k <= to; k++)
            if (k != i)
                weight *= steps[k] * steps[k] / (steps[k] * steps[k] - steps[i] * steps[i]);
        sum += weight * quotients[i];
    }
    return sum;
}

static double noise_over(double noise, double step)
{
    return noise * 4 / step;
}

static struct difference central(struct function *f, double step, double noise)
{
    struct difference best = {.value = NAN, .tolerance = INFINITY};
    double steps[LEVELS], quotients[LEVELS];
    int first = 0;
    for (int level = 0; level < LEVELS; level++) {
        steps[level] = ldexp(fabs(step), -level);
        double up = steps[level], down = -steps[level];
        double change = change_of(f, &up, &down);
        quotients[level] = change / (up - down);
        best.evaluations = 2 * (level + 1);
        if (!isfinite(quotients[level]))
            first = level + 1;
        double noisy = noise_over(noise, steps[level]), before = best.tolerance;
        for (int from = level - 1; from >= first; from--) {
            double value = at_zero(steps, quotients, from, level);
            double closer = fabs(value - at_zero(steps, quotients, from + 1, level));
            double farther = fabs(value - at_zero(steps, quotients, from, level - 1));
            double tolerance = (closer > farther ? closer : farther) + noisy;
            if (tolerance < best.tolerance) {
                best.value = value;
                best.tolerance = tolerance;
                best.rounding = noisy;
                best.step = steps[level];
            }
        }
        int seen = level - first; /* so many before this one */
        if (seen >= 2 && best.order == 0) {
            double change_now = fabs(quotients[level] - quotients[level - 1]);
            double change_before = fabs(quotients[level - 1] - quotients[level - 2]);
            best.order = change_now > 2 * noisy ? log2(change_before / change_now) : 0;
        }
        bool exact = best.tolerance <= 2 * noisy || best.tolerance <= 1e-14 * fabs(best.value);
        bool worse = seen >= 3 && best.tolerance >= before;
        if (seen >= 1 && (exact || worse))
            return best;
    }
    return best;
}

/* The slope at 0 of the parabola through 0, h/2 and h; two of them make a better one. */
static struct difference one_sided(struct function *f, double step, double noise, int sign)
{
    struct difference best = {.value = NAN, .tolerance = INFINITY};
    double before = NAN;
    for (int level = 0; level < LEVELS; level++) {
        double h = sign * ldexp(fabs(step), -level), middle = h / 2, far = h, zero = 0;
        double one = change_of(f, &middle, &zero), two = change_of(f, &far, &zero);
        double first = one / middle, second = (two - one) / (far - middle);
        double slope = first - middle * (second - first) / far; /* by Newton's differences */
        double value = slope + (slope - before) / 3;
        double noisy = noise_over(noise, fabs(h));
        double tolerance = fabs(value - slope) + noisy;
        best.evaluations += 2;
        before = slope;
        if (!(tolerance < best.tolerance))
            continue;
        best.step = fabs(h);
        best.value = value;
        best.tolerance = tolerance;
        best.rounding = noisy;
        if (tolerance <= 2 * noisy || tolerance <= 1e-9 * fabs(value))
            break;
    }
    return best;
}

static double factorial(int n)
{
    return n ? n * factorial(n - 1) : 1;
}

/* Errors of size 1 make a difference of order n as large as the root of (2n)!/n!^2 on average. */
static double size_of_order(const double *values, int order)
{
    double squares = 0;
    int count = POINTS - order;
    for (int i = 0; i < count; i++) {
        double sum = 0;
        for (int k = 0; k <= order; k++)
            sum += (k % 2 ? -1 : 1) * factorial(order) / factorial(k) / factorial(order - k) *
                   values[i + k];
        squares += sum * sum;
    }
    return sqrt(squares / count * factorial(order) * factorial(order) / factorial(2 * order));
}

static double noise_seen(struct function *f, double spacing)
{
    double values[POINTS];
    for (int i = 0; i < POINTS; i++) {
        double up = (i - 5) * spacing, zero = 0;
        values[i] = i == 5 ? 0 : change_of(f, &up, &zero);
        if (isnan(values[i]))
            return NAN;
    }
    double five = size_of_order(values, 5), six = size_of_order(values, 6);
    return six > five ? six : five;
}

/* The first spacing, of 8, 1, 1/8 and so on, at which it has not become five times less. */
static double noise_of(struct function *f, double spacing)
{
    double before = noise_seen(f, spacing * 8);
    for (int k = 0; k < 8; k++, spacing /= 8) {
        double now = noise_seen(f, spacing);
        if (isfinite(now) && before <= 5 * now)
            return before > now ? before : now;
        before = now;
    }
    return 0;
}

/* ---- random functions ---- */

static double between(uint64_t *dice, double low, double high)
{
    return low + (high - low) * (double)dice_below(dice, 1 << 20) / (1 << 20);
}

static struct function function_draw(uint64_t *dice, double step)
{
    struct function f = {.shape = (int)dice_below(dice, SHAPES),
                         .scale = between(dice, 0.5, 2),
                         .point = between(dice, -1.5, 1.5),
                         .beyond = INFINITY};
    if (dice_below(dice, 3) == 0)
        f.beyond = fabs(step) / (1 << dice_below(dice, 6)) * 1.1;
    if (dice_below(dice, 20) == 0)
        f.below = fabs(step) / (1 << dice_below(dice, 5)) / 1.1;
    return f;
}

static bool is_near(double one, double other, double size)
{
    return (isnan(one) && isnan(other)) || one == other || fabs(one - other) <= 1e-7 * size;
}

/* Order and tolerance are differences themselves: by their own sizes as long as these are no rounding. */
static bool is_same(const struct difference *one, const struct difference *other)
{
    double size = fabs(other->value) + 1e-3;
    return one->evaluations == other->evaluations && one->step == other->step &&
           is_near(one->value, other->value, size) &&
           is_near(one->tolerance, other->tolerance, other->tolerance + 1e-6 * size) &&
           is_near(one->rounding, other->rounding, other->rounding) &&
           is_near(one->order, other->order, 1e4);
}

struct tally {
    unsigned wrong, first, untrue, undecided, exact, smaller, ordered, second;
};

static void compare(uint64_t seed, struct tally *tally)
{
    uint64_t dice = seed;
    double step = between(&dice, 0.02, 1) * (dice_below(&dice, 2) ? 1 : -1);
    double noise = dice_below(&dice, 8) ? pow(10, between(&dice, -8, -2)) : 0;
    struct function f = function_draw(&dice, step), own = f, other = f;
    if (noise == 0 && f.shape != 4) /* what is left of exact arithmetic is rounding */
        noise = 1e-9;
    f.noise = dice_below(&dice, 2) ? noise : 0;
    f.rounded = dice_below(&dice, 4) ? 0 : fabs(step) / 200;
    if (f.shape == 4) { /* exact in a few bits */
        step = ldexp(1, -(int)dice_below(&dice, 4));
        f.noise = f.rounded = 0;
    }
    own = other = f;
    struct difference seen, expected;
    int sign = dice_below(&dice, 2) ? 1 : -1;
    bool sided = dice_below(&dice, 3) == 0;
    if (sided) {
        seen = difference_one_sided(change_of, &own, step, noise, sign);
        expected = one_sided(&other, step, noise, sign);
    } else {
        seen = difference_central(change_of, &own, step, noise);
        expected = central(&other, step, noise);
    }
    bool wrong =
        !is_same(&seen, &expected) || own.evaluations != (sided ? 2 : 1) * seen.evaluations;
    tally->wrong += wrong;
    tally->first = wrong && !tally->first ? (unsigned)seed : tally->first;
    if (wrong && tally->wrong < 4)
        printf("# %llu: shape %d, %s: step %g %g, value %.12g %.12g, tolerance %g %g, rounding %g "
               "%g, order %g %g, %d %d\n",
               (unsigned long long)seed, f.shape, sided ? "one-sided" : "central", seen.step,
               expected.step, seen.value, expected.value, seen.tolerance, expected.tolerance,
               seen.rounding, expected.rounding, seen.order, expected.order, seen.evaluations,
               expected.evaluations);
    tally->undecided += isfinite(seen.tolerance) ? 0 : 1;
    tally->exact += seen.tolerance <= 1e-14;
    tally->smaller += seen.step < fabs(step) / 4;
    tally->ordered += seen.order != 0;
    tally->second += fabs(seen.order - 2) < 0.5;
    if ((f.shape < 5 || sided) && isfinite(seen.tolerance) && f.rounded == 0)
        tally->untrue += fabs(seen.value - slope_of(&f, sign)) > 2 * seen.tolerance;
}

static void random_functions(void)
{
    struct tally tally = {0};
    for (uint64_t seed = 1; seed <= CASES; seed++)
        compare(seed, &tally);
    tap_is_int(tally.wrong, 0, "every field is what the textbook gives");
    tap_is_int(tally.first, 0, "in the first function that differs");
    tap_ok(tally.untrue <= CASES / 100,
           "the derivative lies within twice the tolerance (not %u times)", tally.untrue);
    tap_ok(tally.undecided > 20 && tally.exact > 20 && tally.smaller > 200 && tally.ordered > 200 &&
               tally.second > 100,
           "some are undecided (%u), exact (%u), of small steps (%u), of an order (%u), the second "
           "(%u)",
           tally.undecided, tally.exact, tally.smaller, tally.ordered, tally.second);
}

static void random_noise(void)
{
    unsigned wrong = 0, first = 0, none = 0, far = 0, noisy = 0;
    for (uint64_t seed = 1; seed <= CASES / 5; seed++) {
        uint64_t dice = seed * 31;
        double spacing = pow(10, between(&dice, -6, -1));
        struct function f = function_draw(&dice, spacing * 40);
        f.noise = dice_below(&dice, 3) ? pow(10, between(&dice, -12, -3)) : 0;
        struct function own = f, other = f;
        double seen = difference_noise(change_of, &own, spacing);
        double expected = noise_of(&other, spacing);
        bool differs = !is_near(seen, expected, expected) && fabs(seen - expected) > 1e-14;
        differs = differs || own.evaluations != other.evaluations;
        differs = differs && (seen > 1e-14 || expected > 1e-14); /* what is left of rounding */
        wrong += differs;
        if (differs && wrong < 4)
            printf("# %llu: shape %d, noise %g at %g: %g, not %g; %d, not %d\n",
                   (unsigned long long)seed, f.shape, f.noise, spacing, seen, expected,
                   own.evaluations, other.evaluations);
        first = differs && !first ? (unsigned)seed : first;
        none += seen == 0;
        noisy += f.noise > 0 && seen > 0;
        far += f.noise > 1e-10 && seen > 0 && !(seen > f.noise / 5 && seen < f.noise * 30);
    }
    tap_is_int(wrong, 0, "noise is what high differences show");
    tap_is_int(first, 0, "in the first function that differs");
    tap_ok(far * 20 < noisy, "and about as large as it is (not of %u of %u functions)", far, noisy);
    tap_ok(none > 5 && noisy > 50, "some have none (%u), many some (%u)", none, noisy);
}

static void no_noise(void)
{
    struct function line = {.shape = 4, .scale = 1, .beyond = INFINITY};
    double seen = difference_noise(change_of, &line, 0x1p-10);
    tap_ok(seen == 0 && line.evaluations == 40, "a line has none, as two spacings show: %d points",
           line.evaluations / 2);
}

int main(void)
{
    no_noise();
    random_functions();
    random_noise();
    return tap_done();
}
