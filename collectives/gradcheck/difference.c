/* Numerical derivatives: see difference.h. */
#include "collectives/gradcheck/difference.h"

#include <float.h>
#include <math.h>

enum { LEVELS_MAX = 6, POINTS_MAX = 16 };

static double central(difference_function *function, void *context, double step)
{
    double up = step, down = -step;
    double above = function(context, &up), below = function(context, &down);
    return (above - below) / (up - down);
}

static double one_sided(difference_function *function, void *context, double step)
{
    double near = step / 2, far = step, none = 0;
    double at = function(context, &none), half = function(context, &near),
           full = function(context, &far);
    return (4 * half - 3 * at - full) / (far - none); /* second order, like the central one */
}

/* Rounding of the difference quotient and of the loss's own computation. */
static double rounding(double noise, double step)
{
    return 4 * noise / step;
}

/* Extrapolates level by level; `table` holds the plain quotients. */
static struct difference extrapolate(double (*quotient)(difference_function *, void *, double),
                                     difference_function *function, void *context, double step,
                                     double noise, int sign, int cost)
{
    struct difference best = {.value = NAN, .tolerance = INFINITY};
    double table[LEVELS_MAX];
    double smallest = fabs(step);
    for (int level = 0; level < LEVELS_MAX; level++, smallest /= 2) {
        table[level] = quotient(function, context, sign * smallest);
        best.evaluations += cost;
        if (level == 0)
            continue;
        double value = (4 * table[level] - table[level - 1]) / 3;
        double change = fabs(value - table[level]);
        double tolerance = change + rounding(noise, smallest);
        if (tolerance < best.tolerance) {
            best.tolerance = tolerance;
            best.value = value;
            best.step = smallest;
        }
        if (level >= 2) {
            double before = fabs(table[level - 2] - table[level - 1]);
            double after = fabs(table[level - 1] - table[level]);
            best.order = after > 2 * rounding(noise, smallest) ? log2(before / after) : best.order;
        }
        if (change <= rounding(noise, smallest) || change <= 1e-7 * fabs(value))
            break;
    }
    return best;
}

struct difference difference_central(difference_function *function, void *context, double step,
                                     double noise)
{
    return extrapolate(central, function, context, step, noise, 1, 2);
}

struct difference difference_one_sided(difference_function *function, void *context, double step,
                                       double noise, int sign)
{
    return extrapolate(one_sided, function, context, step, noise, sign, 3);
}

double difference_noise_third(const double *values, int count)
{
    double squares = 0;
    for (int i = 0; i + 3 < count; i++) {
        double third = values[i + 3] - 3 * values[i + 2] + 3 * values[i + 1] - values[i];
        squares += third * third;
    }
    return sqrt(squares / 20 / (count - 3)); /* 20: the squares of 1, 3, 3, 1 */
}

double difference_noise(const double *values, int count)
{
    double table[POINTS_MAX], gamma = 1, best = INFINITY, largest = 0;
    for (int i = 0; i < count; i++) {
        table[i] = values[i];
        largest = fmax(largest, fabs(values[i]));
    }
    for (int order = 1; order < count - 1; order++) {
        double squares = 0;
        gamma *= 0.5 * order / (2 * order - 1);
        for (int i = 0; i < count - order; i++) {
            table[i] = table[i + 1] - table[i];
            squares += table[i] * table[i];
        }
        if (order >= 2)
            best = fmin(best, sqrt(gamma * squares / (count - order)));
    }
    return fmax(best, largest * DBL_EPSILON / 2);
}
