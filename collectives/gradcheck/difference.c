/* Numerical derivatives: see difference.h. */
#include "collectives/gradcheck/difference.h"

#include <math.h>

enum { LEVELS_MAX = 6, POINTS = 11 };

/* Rounding of the difference quotient and of the function's own computation. */
static double rounding(double noise, double step)
{
    return 4 * noise / step;
}

struct tableau {
    double entries[LEVELS_MAX][LEVELS_MAX];
    int first; /* levels before it could not be computed */
};

/* Extrapolates the newest level by all before it; errors fall with the square of the step. */
static void level_extrapolate(struct tableau *table, int level, double noise, double step,
                              struct difference *best)
{
    double power = 1;
    for (int j = 1; j <= level - table->first; j++) {
        double *now = &table->entries[level][j], left = table->entries[level][j - 1];
        double above = table->entries[level - 1][j - 1];
        power *= 4;
        *now = left + (left - above) / (power - 1);
        double noisy = rounding(noise, step);
        double tolerance = fmax(fabs(*now - left), fabs(*now - above)) + noisy;
        if (tolerance < best->tolerance) {
            best->tolerance = tolerance;
            best->rounding = noisy;
            best->value = *now;
            best->step = step;
        }
    }
}

static double order_seen(const struct tableau *table, int level, double noise, double step)
{
    double before = fabs(table->entries[level - 2][0] - table->entries[level - 1][0]);
    double after = fabs(table->entries[level - 1][0] - table->entries[level][0]);
    return after > 2 * rounding(noise, step) ? log2(before / after) : 0;
}

struct difference difference_central(difference_function *function, void *context, double step,
                                     double noise)
{
    struct difference best = {.value = NAN, .tolerance = INFINITY};
    struct tableau table = {.first = 0};
    step = fabs(step);
    for (int level = 0; level < LEVELS_MAX; level++, step /= 2) {
        double up = step, down = -step, change = function(context, &up, &down);
        table.entries[level][0] = change / (up - down);
        best.evaluations += 2;
        if (!isfinite(table.entries[level][0]))
            table.first = level + 1;
        if (level <= table.first)
            continue;
        double before = best.tolerance;
        level_extrapolate(&table, level, noise, step, &best);
        if (level >= table.first + 2 && best.order == 0)
            best.order = order_seen(&table, level, noise, step);
        if (best.tolerance <= 2 * rounding(noise, step) ||
            best.tolerance <= 1e-14 * fabs(best.value))
            break;
        if (level >= table.first + 3 && !(best.tolerance < before))
            break; /* smaller steps only add noise */
    }
    return best;
}

static double one_sided(difference_function *function, void *context, double step)
{
    double near = step / 2, far = step, none = 0;
    double half = function(context, &near, &none), full = function(context, &far, &none);
    /* Second order, like the central one; the offsets may no longer be one half and one. */
    return (half * (far / near) - full * (near / far)) / (far - near);
}

struct difference difference_one_sided(difference_function *function, void *context, double step,
                                       double noise, int sign)
{
    struct difference best = {.value = NAN, .tolerance = INFINITY};
    double before = NAN;
    step = fabs(step);
    for (int level = 0; level < LEVELS_MAX; level++, step /= 2) {
        double now = one_sided(function, context, sign * step);
        double value = (4 * now - before) / 3;
        double noisy = rounding(noise, step), tolerance = fabs(value - now) + noisy;
        best.evaluations += 2;
        before = now;
        if (!(tolerance < best.tolerance))
            continue;
        best = (struct difference){.step = step,
                                   .value = value,
                                   .tolerance = tolerance,
                                   .rounding = noisy,
                                   .evaluations = best.evaluations};
        if (tolerance <= 2 * noisy || tolerance <= 1e-9 * fabs(value))
            break;
    }
    return best;
}

/* Root mean square of the differences of sixth order, by the one that independent errors of size 1
 * would have; rounded values that repeat hide it from lower orders, not from all. No number where a point has
 * none. */
static double noise_at(difference_function *function, void *context, double spacing)
{
    double table[POINTS], gamma = 1, largest = 0;
    for (int i = 0; i < POINTS; i++) {
        double up = (i - POINTS / 2) * spacing, none = 0;
        table[i] = i == POINTS / 2 ? 0 : function(context, &up, &none);
        if (!isfinite(table[i]))
            return NAN;
    }
    for (int order = 1; order <= 6; order++) {
        double squares = 0;
        gamma *= 0.5 * order / (2 * order - 1);
        for (int i = 0; i < POINTS - order; i++) {
            table[i] = table[i + 1] - table[i];
            squares += table[i] * table[i];
        }
        if (order >= 5)
            largest = fmax(largest, sqrt(gamma * squares / (POINTS - order)));
    }
    return largest;
}

double difference_noise(difference_function *function, void *context, double spacing)
{
    double far = noise_at(function, context, 8 * spacing);
    for (int closer = 0; closer < 4; closer++, spacing /= 64) {
        double near = noise_at(function, context, spacing);
        if (far <= 5 * near)
            return fmax(near, far);
        far = noise_at(function, context, spacing / 8);
        if (near <= 5 * far)
            return fmax(near, far);
    }
    return 0;
}
