/* Numerical derivatives of a function of one number, with an estimate of their error.
 *
 * Central differences at h, h/2, h/4... are extrapolated to h = 0 in a tableau (Richardson's, to
 * any order) for as long as the estimate gets better. The tolerance comes from what was seen: how
 * the neighbours in the tableau differ, and the noise of the function over the step. A tolerance
 * that is not finite decides nothing. */
#ifndef COLLECTIVES_GRADCHECK_DIFFERENCE_H
#define COLLECTIVES_GRADCHECK_DIFFERENCE_H

/* The function's value at the point plus `up` less that at the point plus `down`: asked for
 * together, since a function that is a sum subtracts term by term before it adds. The offsets may
 * be replaced by what the precision of the argument made of them. NaN when it cannot be computed
 * there. */
typedef double difference_function(void *context, double *up, double *down);

struct difference {
    double step;      /* the smallest used */
    double value;     /* extrapolated */
    double tolerance; /* bound for |value - derivative| */
    double rounding;  /* the part of it that the noise makes */
    double order;     /* observed: 2 for a smooth function, 0 when unknown (exact, or one level) */
    int evaluations;
};

/* `step` is the first h, `noise` the function's absolute noise. */
struct difference difference_central(difference_function *function, void *context, double step,
                                     double noise);
/* One-sided slope for offsets in direction `sign` (+1, -1): for kinks. */
struct difference difference_one_sided(difference_function *function, void *context, double step,
                                       double noise, int sign);
/* The function's noise as points at a small `spacing` show it, or at smaller ones where it turns
 * quickly: high differences of a smooth function vanish there, and what is left is rounding. What
 * grows with every spacing is a kink: then 0. */
double difference_noise(difference_function *function, void *context, double spacing);

#endif
