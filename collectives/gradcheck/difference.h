/* Numerical derivatives of a function of one number, with an estimate of their error.
 *
 * Central differences at h, h/2, h/4... are combined by Richardson's extrapolation until the
 * estimate stops getting better. The tolerance comes from what was seen: the change of the
 * extrapolated value, and the noise of the function over the step. */
#ifndef COLLECTIVES_GRADCHECK_DIFFERENCE_H
#define COLLECTIVES_GRADCHECK_DIFFERENCE_H

/* The function's value at the point plus `offset`; `offset` may be replaced by what the precision
 * of the argument made of it. NaN when it cannot be computed there. */
typedef double difference_function(void *context, double *offset);

struct difference {
    double step;      /* the smallest used */
    double value;     /* extrapolated */
    double tolerance; /* bound for |value - derivative| */
    double order;     /* observed: 2 for a smooth function, 0 when unknown (exact, or one level) */
    int evaluations;
};

/* `step` is the first h, `noise` the function's absolute noise, `scale` the size below which errors
 * do not matter times machine precision. */
struct difference difference_central(difference_function *function, void *context, double step,
                                     double noise);
/* One-sided slope for offsets in direction `sign` (+1, -1): for kinks. */
struct difference difference_one_sided(difference_function *function, void *context, double step,
                                       double noise, int sign);
/* Noise of `count` values taken at equal small distances (Hamming's difference table). */
double difference_noise(const double *values, int count);
/* The same by third differences alone: of more values, and more certain. */
double difference_noise_third(const double *values, int count);

#endif
