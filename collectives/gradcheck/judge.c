/* The verdict over one row of the gradient check: a difference, at a kink two. */
#include "collectives/gradcheck/internal.h"

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

void gradcheck_verdict(struct gradcheck_row *row, double analytic, struct difference numeric,
                       double factor)
{
    struct trace_gradient *check = &row->check;
    double size = fmax(fabs(analytic), fabs(numeric.value));
    check->step = numeric.step;
    check->analytic = analytic;
    check->numeric = numeric.value;
    check->error = fabs(analytic - numeric.value);
    check->tolerance = factor * numeric.tolerance;
    check->relative = size > 0 ? check->error / size : 0;
    check->ok = check->error <= check->tolerance;
    row->order = numeric.order;
    row->evaluations += numeric.evaluations;
}

/* A row under judgement: the function along its element or direction. */
static struct difference measured(const struct judged *judged, double step)
{
    struct difference numeric =
        difference_central(judged->function, judged->context, step, judged->noise);
    numeric.tolerance += judged->slack;
    return numeric;
}

/* Near a kink, or near the border of the function's domain, a smaller step decides; it may only
 * overrule the first one when its own tolerance is far below what was in question. */
static bool smaller_step_decides(const struct judged *judged, struct gradcheck_row *row)
{
    double question = row->check.error;
    for (int shift = 6; shift <= 18; shift += 6) {
        struct gradcheck_row closer = *row;
        gradcheck_verdict(&closer, judged->analytic, measured(judged, ldexp(judged->step, -shift)),
                          judged->factor);
        row->evaluations = closer.evaluations;
        if (closer.check.ok && !(closer.check.tolerance > 0.05 * question)) {
            *row = closer;
            return true;
        }
    }
    return false;
}

/* At a kink the slopes to both sides differ and the gradient must lie between them. */
static void kink_decides(const struct judged *judged, struct gradcheck_row *row)
{
    double step = ldexp(judged->step, -8);
    struct difference up =
        difference_one_sided(judged->function, judged->context, step, judged->noise, 1);
    struct difference down =
        difference_one_sided(judged->function, judged->context, step, judged->noise, -1);
    double slack = up.tolerance + down.tolerance + judged->slack;
    row->evaluations += up.evaluations + down.evaluations;
    if (!(fabs(up.value - down.value) > 2 * slack))
        return;
    double low = fmin(up.value, down.value), high = fmax(up.value, down.value);
    struct difference nearest = up;
    nearest.tolerance = slack;
    nearest.value = judged->analytic < low    ? low
                    : judged->analytic > high ? high
                                              : judged->analytic;
    nearest.evaluations = 0;
    gradcheck_verdict(row, judged->analytic, nearest, judged->factor);
    row->check.method = "one-sided";
}

void gradcheck_judge(const struct judged *judged, struct gradcheck_row *row)
{
    gradcheck_verdict(row, judged->analytic, measured(judged, judged->step), judged->factor);
    if (!row->check.ok && !smaller_step_decides(judged, row))
        kink_decides(judged, row);
}
