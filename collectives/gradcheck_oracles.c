/* Further oracles of the gradient check: forward mode, Taylor's remainders, the map of rank pairs.
 */
#include "collectives/gradcheck_parts.h"
#include "collectives/tensor.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- forward mode: <gradient, v> = the tangent of J along v, to rounding ---- */

void gradcheck_tangent(struct gradcheck *check, uint32_t epoch)
{
    struct diff_probe probe;
    struct gradcheck_direction direction =
        gradcheck_direction_new(&check->base, epoch, check->options->seed + 99, SPREAD_RANDOM);
    if (!direction.pushes || direction.count == 0 || check->base.rows[0].inputs == NULL ||
        !diff_probe_init(&probe, check->base.ranks))
        goto done;
    probe.tangent = true;
    probe.pushes = direction.pushes;
    probe.push_count = direction.count;
    bool taped = true; /* marks have no tape to carry a tangent along */
    for (size_t i = 0; i < direction.count; i++)
        taped =
            taped &&
            !check->base.rows[direction.pushes[i].rank].inputs[direction.pushes[i].input].marked;
    bool carried = taped && gradcheck_world(check, &probe, 0);
    for (int r = 0; r < probe.ranks; r++)
        carried = carried && !probe.rows[r].tangent_missing;
    if (carried) {
        double tangent = 0, size = 0;
        double product = gradcheck_product(&check->base, &direction, &size);
        for (int r = 0; r < probe.ranks; r++)
            if (epoch < probe.rows[r].epoch_count) {
                const struct probe_objective *o = &probe.rows[r].objectives[epoch];
                tangent += o->tangent / (o->replicated ? probe.ranks : 1);
            }
        struct gradcheck_row *row = gradcheck_row_add(check->result);
        if (row) {
            struct difference exact = {.value = tangent,
                                       .tolerance = 4096 * check->epsilon *
                                                    (size + fabs(tangent) + check->noise[epoch])};
            row->check = (struct trace_gradient){.rank = 0, .index = -1, .method = "tangent"};
            snprintf(row->name, sizeof row->name, "forward mode");
            gradcheck_verdict(row, product, exact, check->options->tolerance_factor);
        }
    }
    diff_probe_release(&probe);
done:
    gradcheck_direction_release(&direction);
}

/* ---- Taylor ---- */

/* The slope of log2(value) over log2(step) where the values stand clear of the noise; 0 when they
 * do not. */
static double observed_order(const double *values, int count, double noise)
{
    double sum = 0;
    int pairs = 0;
    for (int i = 1; i < count; i++)
        if (values[i] > 64 * noise && values[i - 1] > 64 * noise) {
            sum += log2(values[i - 1] / values[i]);
            pairs++;
        }
    return pairs ? sum / pairs : 0;
}

void gradcheck_taylor(struct gradcheck *check, uint32_t epoch)
{
    enum { STEPS = 6 };
    struct gradcheck_direction direction =
        gradcheck_direction_new(&check->base, epoch, check->options->seed + 5, SPREAD_RANDOM);
    if (direction.pushes && direction.count > 0) {
        struct gradcheck_along place = {check, &direction, epoch, 0};
        double size = 0, slope = gradcheck_product(&check->base, &direction, &size);
        double first[STEPS], second[STEPS], none = 0;
        double here = gradcheck_along_objective(&place, &none);
        for (int i = 0; i < STEPS; i++) {
            double up = ldexp(1, -4 - i), down = -up;
            double above = gradcheck_along_objective(&place, &up);
            double below = gradcheck_along_objective(&place, &down);
            first[i] = fabs(above - here - up * slope);
            second[i] = fabs(above - below - 2 * up * slope);
        }
        check->result->taylor_orders[0] = observed_order(first, STEPS, check->noise[epoch]);
        check->result->taylor_orders[1] = observed_order(second, STEPS, check->noise[epoch]);
    }
    gradcheck_direction_release(&direction);
}

/* ---- the map of rank pairs: d l_s / d x_r against a backward pass of l_s alone ---- */

struct losses {
    struct gradcheck *check;
    uint32_t epoch;
    int ranks;
    double *above, *below, *coarse, *fine; /* [ranks] */
};

static bool slopes(struct losses *losses, struct probe_push push, double step, double *result)
{
    push.step = step;
    double up = gradcheck_evaluate(losses->check, &push, 1, losses->epoch, 0, losses->above);
    push.step = -step;
    double down = gradcheck_evaluate(losses->check, &push, 1, losses->epoch, 0, losses->below);
    for (int s = 0; s < losses->ranks; s++)
        result[s] = (losses->above[s] - losses->below[s]) / (2 * step);
    return isfinite(up) && isfinite(down);
}

static void element_map(struct losses *losses, const struct diff_probe *seeded, int rank,
                        size_t input, size_t part)
{
    struct gradcheck *check = losses->check;
    const struct probe_input *base = &check->base.rows[rank].inputs[input];
    struct probe_push push = {base->replicated ? -1 : rank, input, part, 0, NULL};
    double step = gradcheck_step(base, part, check->epsilon);
    bool well =
        slopes(losses, push, step, losses->coarse) && slopes(losses, push, step / 2, losses->fine);
    for (int s = 0; s < losses->ranks; s++) {
        const double *gradient = seeded[s].rows[rank].inputs[input].gradient;
        double value = (4 * losses->fine[s] - losses->coarse[s]) / 3;
        double tolerance = fabs(value - losses->fine[s]) + 16 * check->noise[losses->epoch] / step +
                           64 * check->epsilon * fabs(value);
        double ratio = fabs(value - (gradient ? gradient[part] : NAN)) / tolerance;
        double *cell = &check->result->heat_map[s * losses->ranks + rank];
        if (!well || !(ratio <= *cell))
            *cell = well && !isnan(ratio) ? ratio : INFINITY;
    }
}

void gradcheck_heat_map(struct gradcheck *check, uint32_t epoch)
{
    size_t ranks = (size_t)check->base.ranks, ready = 0;
    struct losses losses = {check, epoch, check->base.ranks, NULL, NULL, NULL, NULL};
    struct diff_probe *seeded = calloc(ranks, sizeof *seeded);
    double *memory = calloc(4 * ranks, sizeof *memory);
    bool well = seeded && memory;
    if (!check->result->heat_map)
        check->result->heat_map = calloc(ranks * ranks, sizeof(double));
    for (; well && ready < ranks; ready++) {
        well = diff_probe_init(&seeded[ready], check->base.ranks);
        seeded[ready].seed_rank = (int)ready;
        well = well && gradcheck_world(check, &seeded[ready], 0);
    }
    losses.above = memory;
    losses.below = well ? memory + ranks : NULL;
    losses.coarse = well ? memory + 2 * ranks : NULL;
    losses.fine = well ? memory + 3 * ranks : NULL;
    for (int r = 0; well && check->result->heat_map && r < check->base.ranks; r++)
        for (size_t i = 0; i < check->base.rows[r].input_count; i++) {
            const struct probe_input *input = &check->base.rows[r].inputs[i];
            for (size_t k = 0; k < input->count * diff_type_parts(input->type); k++)
                if (input->epoch == epoch)
                    element_map(&losses, seeded, r, i, k);
        }
    for (size_t s = 0; s < ready; s++)
        diff_probe_release(&seeded[s]);
    free(seeded);
    free(memory);
}
