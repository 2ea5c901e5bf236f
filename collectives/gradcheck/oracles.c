/* The exact oracles of the gradient check: forward mode, and the complex step of marks. The tangent of
 * J along a direction is <gradient, direction> to rounding, whatever the program's curvature, noise
 * or scale. */
#include "collectives/gradcheck/internal.h"
#include "collectives/tape/tensor.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether each of the epoch's inputs is on a tape, or a mark with an imaginary part: other marks have
 * nothing to carry a tangent along, nor has what the program handed from one pass to the next. */
static bool carries(const struct gradcheck *check, uint32_t epoch)
{
    bool any = false;
    if (gradcheck_is_cut(&check->base, epoch))
        return false;
    for (int r = 0; r < check->base.ranks; r++)
        for (size_t i = 0; i < check->base.rows[r].input_count; i++) {
            const struct probe_input *input = &check->base.rows[r].inputs[i];
            if (input->epoch == epoch && input->marked && !input->steps)
                return false;
            any = any || input->epoch == epoch;
        }
    return any;
}

static bool steps(const struct gradcheck *check, uint32_t epoch)
{
    for (int r = 0; r < check->base.ranks; r++)
        for (size_t i = 0; i < check->base.rows[r].input_count; i++)
            if (check->base.rows[r].inputs[i].epoch == epoch && check->base.rows[r].inputs[i].steps)
                return true;
    return false;
}

bool gradcheck_tangent_along(struct gradcheck *check, const struct gradcheck_place *place,
                             const struct gradcheck_neighbour *near, double *tangent)
{
    struct diff_probe probe;
    if (!diff_probe_init(&probe, check->base.ranks))
        return false;
    probe.tangent = true;
    probe.pushes = place->pushes;
    probe.push_count = place->count;
    probe.shifts = near ? near->way.pushes : check->shift.pushes;
    probe.shift_count = near ? near->way.count : check->shift.count;
    probe.factor = near ? near->factor : 1;
    bool carried = gradcheck_world(check, &probe, place->worker);
    *tangent = 0;
    for (int r = 0; r < probe.ranks; r++) {
        const struct diff_probe_rank *row = &probe.rows[r];
        carried = carried && !row->tangent_missing;
        if (place->epoch < row->epoch_count) {
            const struct probe_objective *o = &row->objectives[place->epoch];
            for (size_t i = 0; i < o->term_count; i++)
                if (o->terms[i].pass >= place->first_pass)
                    *tangent += o->terms[i].tangent / (o->team.size ? o->team.size : 1);
        }
    }
    *tangent /= probe.factor;
    diff_probe_release(&probe);
    return carried;
}

/* By how much the defect of product and tangent changes where nothing but rounding does; negative:
 * it is not known. A wrong adjoint's defect stays. */
static double defect_spread(struct gradcheck *check, const struct gradcheck_place *place,
                            const struct gradcheck_direction *direction, double defect)
{
    const struct gradcheck_neighbour *near = gradcheck_nearby(check, GRADCHECK_NEAR, place->worker);
    double spread = -1;
    for (int i = 0; i < GRADCHECK_NEIGHBOURS; i++) {
        double tangent, size = 0;
        if (!near[i].well || !gradcheck_tangent_along(check, place, &near[i], &tangent))
            continue;
        double there = gradcheck_product(&near[i].probe, direction, &size) - tangent;
        spread = fmax(spread, fabs(there - defect));
    }
    return spread;
}

/* Few neighbours tell little of how rare a defect of so many times their spread is: of the cube of
 * its inverse. Up to here nobody is accused. */
enum { UNLIKELY = 256 };

bool gradcheck_tangent_judge(struct gradcheck *check, const struct gradcheck_place *place,
                             const struct gradcheck_direction *direction, double scale,
                             struct gradcheck_row *row)
{
    double tangent, size = 0;
    if (!gradcheck_tangent_along(check, place, NULL, &tangent))
        return false;
    double product = gradcheck_product(&check->base, direction, &size);
    double defect = product - tangent;
    struct judged judged = {.analytic = product};
    struct difference exact = {.value = tangent};
    exact.tolerance =
        check->options->tolerance_factor * 1024 * check->epsilon * (size + fabs(tangent));
    const char *doubt = NULL;
    row->check.method = steps(check, place->epoch) ? "complex" : "tangent";
    if (!isfinite(tangent) && isfinite(product))
        doubt = "unfinished";
    else if (isfinite(product) && !(fabs(defect) <= exact.tolerance)) {
        double spread = defect_spread(check, place, direction, defect);
        exact.tolerance += fmax(0, 8 * spread);
        if (fabs(defect) <= exact.tolerance &&
            !(exact.tolerance <= 1e-3 * fmax(fmax(size, fabs(tangent)), scale)))
            doubt = "noise";
        if (spread > 0 && fabs(defect) > exact.tolerance && fabs(defect) <= UNLIKELY * spread)
            doubt = "noise";
        /* Beside the input's other values both are rounding of a zero. */
        if (fmax(size, fabs(tangent)) <= 64 * check->epsilon * scale)
            doubt = "noise";
    }
    gradcheck_verdict(row, &judged, exact, doubt);
    if (size > 0)
        row->check.relative = row->check.error / fmax(size, fabs(tangent));
    return true;
}

/* The whole gradient along one random direction, and whether differences confirm that the tangents
 * are those of the program. */
bool gradcheck_tangent(struct gradcheck *check, uint32_t epoch)
{
    bool carried = false, trusted = false;
    struct gradcheck_direction direction =
        gradcheck_direction_new(&check->base, epoch, check->options->seed, SPREAD_RANDOM);
    struct gradcheck_row row = {.epoch = epoch};
    struct gradcheck_place place = {direction.pushes, direction.count, epoch, 0,
                                    gradcheck_first_pass(&check->base, epoch)};
    if (direction.pushes && direction.count > 0 && carries(check, epoch))
        carried = gradcheck_tangent_judge(check, &place, &direction, 0, &row);
    if (carried) {
        struct gradcheck_along along = {check, &direction, epoch, 0, place.first_pass};
        struct gradcheck_row confirmed = {.epoch = epoch};
        double size = 0;
        gradcheck_product(&check->base, &direction, &size);
        struct judged judged = {.function = gradcheck_along,
                                .context = &along,
                                .analytic = row.check.numeric,
                                .step = check->epsilon > 1e-10 ? 0x1p-3 : 0x1p-5,
                                .noise = check->noise[epoch],
                                .slack = 1024 * check->epsilon * size,
                                .scale = size,
                                .factor = check->options->tolerance_factor,
                                .centers_max = SIZE_MAX,
                                .ties_max = gradcheck_ties_most(check)};
        gradcheck_judge(&judged, &confirmed);
        /* Of several kinks at once the slopes of J tell nothing about a tangent. */
        trusted = confirmed.check.ok || confirmed.check.undecided ||
                  (confirmed.check.method && strcmp(confirmed.check.method, "one-sided") == 0);
        bool stairs = !trusted && gradcheck_on_stairs(check, epoch, &direction);
        check->stairs = check->stairs || stairs;
        trusted = trusted || stairs;
    }
    bool refuted = carried && !trusted && steps(check, epoch);
    check->result->step_refuted = check->result->step_refuted || refuted;
    struct gradcheck_row *added = carried && !refuted ? gradcheck_row_add(check->result) : NULL;
    if (added) {
        *added = row;
        added->check.rank = 0;
        added->check.index = -1;
        added->seed = check->options->seed;
        snprintf(added->name, sizeof added->name,
                 steps(check, epoch) ? "complex step" : "forward mode");
    }
    gradcheck_direction_release(&direction);
    return trusted;
}
