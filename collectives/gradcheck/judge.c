/* The verdict over one row of the gradient check: a difference, at a kink two. */
#include "collectives/gradcheck/internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gradcheck_row *gradcheck_row_add(struct gradcheck_result *result)
{
    if (result->row_count == result->row_room) {
        size_t room = result->row_room ? 2 * result->row_room : 64;
        struct gradcheck_row *larger = realloc(result->rows, room * sizeof *larger);
        if (!larger)
            return NULL;
        result->rows = larger;
        result->row_room = room;
    }
    struct gradcheck_row *row = &result->rows[result->row_count++];
    *row = (struct gradcheck_row){0};
    return row;
}

/* Steps larger than the first one see the slope only of what is close to linear; of what is
 * bounded they see nothing, and that is no slope of zero. */
static bool is_far(const struct judged *judged, struct difference numeric)
{
    return numeric.step > fabs(judged->step);
}

/* Resolved: at least three digits of the value are seen, or where the value is a true zero three
 * digits of what its input's other values are. */
static bool is_resolved(const struct judged *judged, struct difference numeric)
{
    double size = fmax(fabs(judged->analytic), fabs(numeric.value));
    if (!isfinite(numeric.value) || !isfinite(numeric.tolerance))
        return false;
    if (is_far(judged, numeric))
        size = fabs(numeric.value);
    if (numeric.tolerance <= 1e-3 * size)
        return true;
    bool zero = fabs(judged->analytic) <= 1e-13 * judged->scale;
    return zero && !is_far(judged, numeric) && fabs(numeric.value) <= numeric.tolerance &&
           numeric.tolerance <= 1e-3 * judged->scale;
}

static bool agrees(const struct judged *judged, struct difference numeric)
{
    return fabs(judged->analytic - numeric.value) <= numeric.tolerance;
}

/* A number of full precision, over as much as a long product may lose of it. */
#define UNDERFLOW (DBL_MIN * 0x1p64)

void gradcheck_verdict(struct gradcheck_row *row, const struct judged *judged,
                       struct difference numeric, const char *doubt)
{
    struct trace_gradient *check = &row->check;
    double size = fmax(fabs(judged->analytic), fabs(numeric.value));
    check->step = numeric.step;
    check->analytic = judged->analytic;
    check->numeric = numeric.value;
    check->error = fabs(judged->analytic - numeric.value);
    check->tolerance = numeric.tolerance;
    check->relative = size > 0 ? check->error / size : 0;
    /* What is no number is wrong, whatever an oracle can see. */
    if (!doubt && size < UNDERFLOW && !(check->error <= check->tolerance))
        doubt = "noise"; /* numbers that small have lost their digits on the way */
    check->undecided = isfinite(judged->analytic) ? doubt : NULL;
    check->ok = !check->undecided && check->error <= check->tolerance;
    row->order = numeric.order;
    row->evaluations += numeric.evaluations;
}

static struct difference measured(const struct judged *judged, double step)
{
    struct difference numeric =
        difference_central(judged->function, judged->context, step, judged->noise);
    numeric.tolerance = judged->factor * (numeric.tolerance + judged->slack);
    return numeric;
}

/* What was measured with steps of different sizes, each far from the others. */
enum { CENTERS_MAX = 16 };
struct centers {
    struct difference numeric[CENTERS_MAX];
    size_t count;
};

/* Resolved, and something else; from far away only what is grossly so. */
static bool contradicts(const struct judged *judged, struct difference numeric)
{
    double error = fabs(judged->analytic - numeric.value);
    if (!is_resolved(judged, numeric) || agrees(judged, numeric))
        return false;
    return !is_far(judged, numeric) ||
           error > 0.1 * fmax(fabs(judged->analytic), fabs(numeric.value));
}

/* Why nothing was resolved: of what was closest to it. */
static const char *doubt_of(const struct judged *judged, const struct centers *centers,
                            struct difference *closest)
{
    *closest = centers->numeric[0];
    for (size_t i = 1; i < centers->count; i++)
        if (centers->numeric[i].tolerance < closest->tolerance)
            *closest = centers->numeric[i];
    if (!isfinite(closest->tolerance) || !isfinite(closest->value))
        return "unfinished";
    if (judged->analytic == 0 && fabs(closest->value) <= closest->tolerance && judged->scale == 0)
        return "scale";
    return closest->rounding > 0.1 * closest->tolerance ? "noise" : "kink";
}

/* Closer by the gradient is seen to be right, or zero, and what the large step saw is many times
 * farther off than that may err: there another branch runs. Where something close by contradicts,
 * far more certainly. */
static bool is_elsewhere(const struct judged *judged, const struct centers *centers,
                         const struct difference *far)
{
    double question = fabs(judged->analytic - far->value), least = INFINITY;
    bool denied = false;
    for (size_t i = 0; i < centers->count && is_far(judged, *far); i++) {
        const struct difference *near = &centers->numeric[i];
        if (near->step < far->step && agrees(judged, *near))
            least = fmin(least, near->tolerance);
        denied = denied || (!is_far(judged, *near) && contradicts(judged, *near));
    }
    return least <= (denied ? 1e-3 : 0.05) * question;
}

/* The best of those that are resolved and contradict, if another one confirms it. */
static const struct difference *contradiction(const struct judged *judged,
                                              const struct centers *centers)
{
    const struct difference *best = NULL;
    for (size_t i = 0; i < centers->count; i++) {
        const struct difference *one = &centers->numeric[i];
        bool confirmed = false;
        if (!contradicts(judged, *one) || is_elsewhere(judged, centers, one))
            continue;
        for (size_t k = 0; k < centers->count; k++) {
            const struct difference *two = &centers->numeric[k];
            confirmed =
                confirmed || (k != i && contradicts(judged, *two) &&
                              fabs(one->value - two->value) <= one->tolerance + two->tolerance);
        }
        if (confirmed && (!best || one->tolerance < best->tolerance))
            best = one;
    }
    return best;
}

/* A large step agrees, and a smaller one that sees more does not: what lies between the two, not the
 * gradient, may have made it agree. */
static bool is_denied(const struct judged *judged, const struct centers *centers,
                      const struct difference *far)
{
    for (size_t i = 0; i < centers->count && is_far(judged, *far); i++) {
        const struct difference *near = &centers->numeric[i];
        if (near->step < far->step && near->tolerance < far->tolerance &&
            is_resolved(judged, *near) && !agrees(judged, *near))
            return true;
    }
    return false;
}

/* The best of those that agree; a larger step that contradicts is overruled only by what is far
 * more certain than what was in question: a kink, or the border of the domain, lay within it. */
static const struct difference *agreement(const struct judged *judged,
                                          const struct centers *centers)
{
    const struct difference *best = NULL;
    double question = INFINITY;
    for (size_t i = 0; i < centers->count; i++) {
        const struct difference *one = &centers->numeric[i];
        if (!is_resolved(judged, *one))
            continue;
        if (contradicts(judged, *one))
            question = fmin(question, fabs(one->value - judged->analytic));
        else if (agrees(judged, *one) && !is_denied(judged, centers, one) &&
                 (!best || one->tolerance < best->tolerance))
            best = one;
    }
    return best && best->tolerance <= 0.05 * question ? best : NULL;
}

/* One step's estimate of its own error may be too small by chance: two that agree are believed, and
 * one only where no further step is left. */
static bool agree_twice(const struct judged *judged, const struct centers *centers)
{
    size_t count = 0;
    for (size_t i = 0; i < centers->count; i++)
        count += is_resolved(judged, centers->numeric[i]) && agrees(judged, centers->numeric[i]) &&
                 !is_denied(judged, centers, &centers->numeric[i]);
    return count >= 2 && agreement(judged, centers);
}

/* Steps of all sizes, from the middle outwards: small ones for kinks and for functions that turn
 * quickly, large ones against rounding. */
static void sizes_try(struct judged *judged, struct centers *centers, struct gradcheck_row *row)
{
    static const int shifts[] = {-6, 5, -11, 10, -16, 15, -21, 20, -26, -31, 30, 40};
    size_t most = sizeof shifts / sizeof *shifts;
    if (judged->centers_max < most)
        most = judged->centers_max;
    double noise =
        difference_noise(judged->function, judged->context, ldexp(fabs(judged->step), -10));
    judged->noise = fmax(judged->noise, noise);
    row->evaluations += 20;
    centers->numeric[0] = measured(judged, judged->step);
    centers->count = 1;
    for (size_t i = 0; i < most; i++) {
        struct difference *now = &centers->numeric[centers->count++];
        *now = measured(judged, ldexp(judged->step, shifts[i]));
        row->evaluations += now->evaluations;
        if (agree_twice(judged, centers) && i % 2)
            return;
        if (i >= 4 && contradiction(judged, centers))
            return;
    }
}

int gradcheck_ties_most(const struct gradcheck *check)
{
    int ranks = check->base.ranks;
    return ranks < 2 ? 2 : ranks > 8 ? 8 : ranks;
}

/* What conventions take at a kink: the slope to one side, the middle, or the share of each of some
 * ranks that are tied. Any other number between may be a subgradient of several kinks, or wrong. */
static bool is_convention(const struct judged *judged, double low, double high, double slack)
{
    for (int parts = 1; parts <= judged->ties_max; parts++)
        for (int part = 0; part <= parts; part++)
            if (fabs(judged->analytic - (low + (high - low) * part / parts)) <= slack)
                return true;
    return false;
}

/* The slopes to both sides of the point. */
struct sides {
    struct difference up, down;
    double slack, bend; /* of both; how they differ */
};

static struct sides sides_measured(const struct judged *judged, double step,
                                   struct gradcheck_row *row)
{
    struct sides sides;
    sides.up = difference_one_sided(judged->function, judged->context, step, judged->noise, 1);
    sides.down = difference_one_sided(judged->function, judged->context, step, judged->noise, -1);
    sides.slack = judged->factor * (sides.up.tolerance + sides.down.tolerance + judged->slack);
    sides.bend = fabs(sides.up.value - sides.down.value);
    row->evaluations += sides.up.evaluations + sides.down.evaluations;
    return sides;
}

/* Seen as clearly as `share` says. */
static bool bends(const struct sides *sides, double share)
{
    return sides->bend > 2 * sides->slack && sides->slack <= share * sides->bend;
}

/* At a kink the slopes to both sides differ and the gradient must lie between them. */
static bool kink_decides(const struct judged *judged, struct gradcheck_row *row)
{
    struct sides sides = sides_measured(judged, ldexp(judged->step, -8), row);
    if (!bends(&sides, 1e-2))
        return false;
    double low = fmin(sides.up.value, sides.down.value);
    double high = fmax(sides.up.value, sides.down.value);
    struct difference nearest = sides.up;
    nearest.tolerance = sides.slack;
    nearest.value = judged->analytic < low    ? low
                    : judged->analytic > high ? high
                                              : judged->analytic;
    nearest.evaluations = 0;
    bool between = nearest.value == judged->analytic &&
                   !is_convention(judged, low, high, fmin(sides.slack, 1e-3 * sides.bend));
    gradcheck_verdict(row, judged, nearest, between ? "kink" : NULL);
    row->check.method = "one-sided";
    return true;
}

/* Where noise hides a kink from small steps, larger ones see it: the bend, which would shrink with
 * the step where the function is smooth, stays. Where they begin is not known so sharply that the
 * slopes themselves decide; whoever is called wrong there, by no more than some kinks at once may
 * explain, is asked about as at a kink. */
static bool kink_is_hidden(const struct judged *judged, double error, struct gradcheck_row *row)
{
    struct sides wide = sides_measured(judged, judged->step, row);
    for (int k = -2; k >= -8; k -= 2) {
        struct sides close = sides_measured(judged, ldexp(judged->step, k), row);
        bool stays = fabs(wide.bend - close.bend) <= wide.slack + close.slack;
        bool closer = close.up.step < wide.up.step && close.down.step < wide.down.step;
        row->bends = row->bends || (closer && stays && wide.bend > 4 * wide.slack &&
                                    close.bend > 2 * close.slack);
        if (closer && stays && error <= 1.5 * wide.bend && bends(&wide, 0.1) && bends(&close, 0.1))
            return true;
        wide = close;
    }
    return false;
}

/* A wrong value stands far from what the program's own gradient is at points that rounding cannot
 * tell from this one. */
static bool rounding_explains(struct judged *judged, struct difference numeric)
{
    double spread = judged->spread ? judged->spread(judged->context) : 0;
    if (!(spread > 0))
        return false;
    numeric.tolerance += 8 * spread;
    judged->slack += 8 * spread;
    return fabs(judged->analytic - numeric.value) <= numeric.tolerance;
}

/* ---- stairs ----
 * Where a value has lost most of its digits on the way (x + 2^50 - 2^50),
 * J stays as it is for a while, jumps, and stays again. Differences within one step see a slope that
 * is exact, and not the one that was meant.
 *
 * Told from a gradient that is wrong: going away from the point to both sides, the first thing that
 * differs from the slope that was measured is a jump, however closely one looks; and these two jumps,
 * by the distance between them, are steep enough to be what is missing. */
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

static bool is_stairs(const struct judged *judged, struct difference measured)
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
    return steep > 0x1p-6 * fabs(judged->analytic - slope);
}

/* Whether J jumps at the point itself, as where two are equally near and one is taken: however small
 * the step, it changes by the same amount. Slopes are not seen there, and from far away it is another
 * function. */
static bool jumps_here(const struct judged *judged)
{
    double first = 0;
    for (int k = -24; k >= -30; k -= 3) {
        double up = ldexp(fabs(judged->step), k), down = -up;
        double change = judged->function(judged->context, &up, &down);
        if (k == -24)
            first = change;
        if (change == 0 || !(fabs(change - first) <= 1e-2 * fabs(first)))
            return false;
    }
    return true;
}

void gradcheck_judge(struct judged *judged, struct gradcheck_row *row)
{
    struct centers centers = {.count = 0};
    struct difference closest = measured(judged, judged->step);
    bool blurred = closest.rounding < 0.1 * closest.tolerance &&
                   closest.tolerance > 1e-7 * fabs(closest.value);
    if (judged->quick || (is_resolved(judged, closest) && agrees(judged, closest) && !blurred)) {
        gradcheck_verdict(row, judged, closest, NULL);
        return;
    }
    sizes_try(judged, &centers, row);
    const struct difference *right = agreement(judged, &centers);
    const struct difference *wrong = right ? NULL : contradiction(judged, &centers);
    if (right) {
        gradcheck_verdict(row, judged, *right, NULL);
        return;
    }
    if (kink_decides(judged, row))
        return;
    if (wrong && rounding_explains(judged, *wrong)) {
        closest = *wrong;
        closest.tolerance += judged->slack;
        gradcheck_verdict(row, judged, closest, is_resolved(judged, closest) ? NULL : "noise");
        return;
    }
    if (wrong) {
        bool hidden = kink_is_hidden(judged, fabs(judged->analytic - wrong->value), row);
        bool jump = !hidden && is_far(judged, *wrong) && jumps_here(judged);
        bool stairs = !hidden && !jump && judged->stairs_asked && is_stairs(judged, *wrong);
        gradcheck_verdict(row, judged, *wrong, hidden || jump ? "kink" : stairs ? "noise" : NULL);
        if (hidden)
            row->check.method = "one-sided";
        return;
    }
    const char *doubt = doubt_of(judged, &centers, &closest);
    gradcheck_verdict(row, judged, closest, doubt);
}
