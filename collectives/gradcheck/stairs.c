/* Objectives that are stairs: where a value has lost most of its digits on the way (x + 2^50 - 2^50),
 * J stays as it is for a while, jumps, and stays again. Differences within one step see a slope that
 * is exact, and not the one that was meant.
 *
 * Told from a gradient that is wrong: going away from the point to both sides, the first thing that
 * differs from the slope that was measured is a jump, however closely one looks; and these two jumps,
 * by the distance between them, are about as steep as what is missing. Several stairs at once, each
 * with a height of its own, make that a matter of size only. */
#include "collectives/gradcheck/internal.h"

#include <math.h>

struct jump {
    double at, height;
};

/* J at a distance less what the measured slope makes of it. */
static double excess(const struct judged *judged, double slope, double *at)
{
    double none = 0, change = judged->function(judged->context, at, &none);
    return change - slope * *at;
}

/* The first jump on one side; false where there is none. */
static bool jump_find(const struct judged *judged, double slope, double step, struct jump *jump)
{
    double missing = fabs(judged->analytic - slope), near = 0, far = step, below = 0, above = 0;
    for (int i = 0;; i++, near = far, below = above, far *= 2) {
        double at = far;
        above = excess(judged, slope, &at);
        if (i > 50 || !isfinite(above))
            return false;
        if (fabs(above) > 0.25 * missing * fabs(at))
            break;
    }
    double whole = fabs(above - below);
    for (int i = 0; i < 45; i++) {
        double middle = near + (far - near) / 2, at = middle, there = excess(judged, slope, &at);
        bool first = fabs(there - below) >= fabs(above - there);
        if (!isfinite(there))
            return false;
        *(first ? &far : &near) = middle;
        *(first ? &above : &below) = there;
    }
    *jump = (struct jump){far, above - below};
    return fabs(jump->height) >= 0.25 * whole;
}

bool gradcheck_stairs(const struct judged *judged, struct difference measured)
{
    struct jump up, down;
    double step = fabs(measured.step), slope = measured.value;
    if (step > fabs(judged->step)) { /* seen from far away: what is it close by? */
        step = ldexp(fabs(judged->step), -16);
        double right = step, left = -step;
        slope = judged->function(judged->context, &right, &left);
        slope /= right - left;
    }
    if (!jump_find(judged, slope, step, &up) || !jump_find(judged, slope, -step, &down))
        return false;
    double steep = (fabs(up.height) + fabs(down.height)) / 2 / (up.at - down.at);
    double share = steep / fabs(judged->analytic - slope);
    return share > 0x1p-6 && share < 0x1p6;
}
