/* What the gradient check measures for plots: the error over the step, Taylor's remainders, the map
 * of rank pairs. Their cost does not depend on the number of inputs. */
#include "collectives/gradcheck/internal.h"
#include "collectives/tape/tensor.h"
#include "recorder/recorder.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- error over step ---- */

/* The element that is furthest off by its tolerance. */
static const struct gradcheck_row *worst_element(const struct gradcheck_result *result)
{
    const struct gradcheck_row *worst = NULL;
    double most = -1;
    for (size_t i = 0; i < result->row_count; i++) {
        const struct trace_gradient *check = &result->rows[i].check;
        double ratio = check->tolerance > 0 ? check->error / check->tolerance : 0;
        if (check->index < 0 || !isfinite(check->analytic) || !(ratio > most))
            continue;
        worst = &result->rows[i];
        most = ratio;
    }
    return worst;
}

void gradcheck_sweep(struct gradcheck *check)
{
    const struct gradcheck_row *row = worst_element(check->result);
    if (!row)
        return;
    struct gradcheck_sweep *sweep = &check->result->sweep;
    int rank = (int)row->check.rank;
    const struct probe_input *input = &check->base.rows[rank].inputs[row->check.variable];
    struct probe_push push = {.rank = input->team.size ? -1 : rank,
                              .team = input->team.first,
                              .input = row->check.variable,
                              .part = (size_t)row->check.index};
    sweep->rank = rank;
    sweep->index = row->check.index;
    sweep->chosen = row->check.step;
    snprintf(sweep->name, sizeof sweep->name, "%s", row->name);
    for (int k = 0; k < GRADCHECK_POINTS; k++) {
        double up = gradcheck_offset(input, push.part, ldexp(1, -k));
        double down = gradcheck_offset(input, push.part, -ldexp(1, -k));
        if (!(up > 0 && down < 0))
            break; /* the precision of the input's type is spent */
        push.step = up;
        double above = gradcheck_evaluate(check, &push, 1, input->epoch, 0, NULL);
        push.step = down;
        double below = gradcheck_evaluate(check, &push, 1, input->epoch, 0, NULL);
        sweep->step[sweep->count] = up;
        sweep->error[sweep->count++] = fabs((above - below) / (up - down) - row->check.analytic);
    }
}

/* ---- Taylor ---- */

/* The slope of log2(value) over log2(step), steps halving, where the values stand clear of the
 * noise; 0 when they do not. */
static double observed_order(const double *values, size_t count, double noise)
{
    double sum = 0;
    int pairs = 0;
    for (size_t i = 1; i < count; i++)
        if (values[i] > 64 * noise && values[i - 1] > 64 * noise) {
            sum += log2(values[i - 1] / values[i]);
            pairs++;
        }
    return pairs ? sum / pairs : 0;
}

void gradcheck_taylor(struct gradcheck *check, uint32_t epoch)
{
    enum { STEPS = 8 };
    struct gradcheck_direction direction =
        gradcheck_direction_new(&check->base, epoch, check->options->seed + 5, SPREAD_RANDOM);
    struct gradcheck_taylor *taylor = &check->result->taylor;
    if (direction.pushes && direction.count > 0 && taylor->count == 0) {
        struct gradcheck_along place = {check, &direction, epoch, 0,
                                        gradcheck_first_pass(&check->base, epoch)};
        double size = 0, slope = gradcheck_product(&check->base, &direction, &size);
        for (int i = 0; i < STEPS; i++) {
            double up = ldexp(1, -4 - i), down = -up;
            double none = 0, above = gradcheck_along(&place, &up, &none);
            double both = gradcheck_along(&place, &up, &down);
            taylor->step[i] = up;
            taylor->first[i] = fabs(above - up * slope);
            taylor->second[i] = fabs(both - 2 * up * slope);
        }
        taylor->count = STEPS;
        taylor->orders[0] = observed_order(taylor->first, STEPS, check->noise[epoch]);
        taylor->orders[1] = observed_order(taylor->second, STEPS, check->noise[epoch]);
    }
    gradcheck_direction_release(&direction);
}

/* ---- the map of rank pairs: d l_s / d x_r against a backward pass of l_s alone ---- */

struct map {
    struct gradcheck *check;
    uint32_t epoch;
    int ranks;
    struct diff_probe *seeded; /* [ranks]: only that rank's loss was differentiated */
    double *losses;            /* 5 x ranks: at -1, -1/2, 0, 1/2, 1 steps */
};

/* Marks compute their gradients as they like, and one rank of a replicated loss alone is no
 * objective: both have no block of their own. */
static bool has_blocks(const struct gradcheck *check, uint32_t epoch)
{
    const struct diff_probe *base = &check->base;
    for (int r = 0; r < base->ranks; r++) {
        const struct diff_probe_rank *row = &base->rows[r];
        if (epoch < row->epoch_count && row->objectives[epoch].team.size > 0)
            return false;
        for (size_t i = 0; i < row->input_count; i++)
            if (row->inputs[i].epoch == epoch &&
                (row->inputs[i].marked || row->inputs[i].team.size > 0))
                return false;
    }
    return base->ranks <= GRADCHECK_MAP_RANKS;
}

static bool losses_measure(struct map *map, struct probe_push *pushes, size_t count, double step)
{
    bool well = true;
    for (int k = 0; k < 5; k++) {
        for (size_t i = 0; i < count; i++)
            pushes[i].step = (k - 2) * step / 2;
        well &= isfinite(gradcheck_evaluate(map->check, pushes, count, map->epoch, 0,
                                            map->losses + (size_t)k * (size_t)map->ranks));
    }
    return well;
}

/* Error over tolerance of one block along the direction. Where the slopes to both sides differ, a
 * gradient between them is right. */
static double block_error(const struct map *map, int s, double analytic, double size, double step)
{
    double at[5];
    for (int k = 0; k < 5; k++)
        at[k] = map->losses[k * map->ranks + s];
    double coarse = (at[4] - at[0]) / (2 * step), fine = (at[3] - at[1]) / step;
    double value = (4 * fine - coarse) / 3, up = (4 * at[3] - 3 * at[2] - at[4]) / step,
           down = -(4 * at[1] - 3 * at[2] - at[0]) / step;
    double rounding = 16 * map->check->noise[map->epoch] / step +
                      64 * map->check->epsilon * (size + fabs(value)) + DBL_MIN;
    double tolerance = fabs(value - fine) + rounding;
    bool bent = fabs(up - down) > 1e-3 * (fabs(up) + fabs(down));
    if (bent && analytic >= fmin(up, down) - rounding && analytic <= fmax(up, down) + rounding)
        return 0;
    double ratio = fabs(value - analytic) / tolerance;
    return ratio == ratio ? ratio : INFINITY;
}

static void column_fill(struct map *map, struct gradcheck_direction *direction, int rank)
{
    size_t first = 0, count = 0;
    while (first < direction->count && direction->pushes[first].rank != rank)
        first++;
    while (first + count < direction->count && direction->pushes[first + count].rank == rank)
        count++;
    if (count == 0)
        return;
    double step = map->check->epsilon > 1e-10 ? 0x1p-4 : 0x1p-9;
    struct gradcheck_direction own = {.pushes = direction->pushes + first, .count = count};
    bool well = losses_measure(map, own.pushes, count, step);
    for (int s = 0; s < map->ranks; s++) {
        double size = 0, analytic = gradcheck_product(&map->seeded[s], &own, &size);
        double *cell = &map->check->result->heat_map[s * map->ranks + rank];
        *cell = well ? block_error(map, s, analytic, size, step) : INFINITY;
    }
}

static bool seeded_run(struct map *map)
{
    map->seeded = calloc((size_t)map->ranks, sizeof *map->seeded);
    map->losses = calloc(5 * (size_t)map->ranks, sizeof *map->losses);
    for (int s = 0; map->seeded && s < map->ranks; s++) {
        if (!diff_probe_init(&map->seeded[s], map->ranks))
            return false;
        map->seeded[s].seed_rank = s;
        if (!gradcheck_world(map->check, &map->seeded[s], 0))
            return false;
    }
    return map->seeded && map->losses;
}

void gradcheck_heat_map(struct gradcheck *check, uint32_t epoch)
{
    struct map map = {.check = check, .epoch = epoch, .ranks = check->base.ranks};
    size_t cells = (size_t)map.ranks * (size_t)map.ranks;
    if (check->result->heat_map || !has_blocks(check, epoch))
        return;
    struct gradcheck_direction direction =
        gradcheck_direction_new(&check->base, epoch, check->options->seed + 31, SPREAD_RANDOM);
    if (direction.pushes && direction.count > 0 && seeded_run(&map))
        check->result->heat_map = malloc(cells * sizeof(double));
    for (size_t i = 0; check->result->heat_map && i < cells; i++)
        check->result->heat_map[i] = NAN;
    for (int r = 0; check->result->heat_map && r < map.ranks; r++)
        column_fill(&map, &direction, r);
    for (int s = 0; map.seeded && s < map.ranks; s++)
        if (map.seeded[s].rows)
            diff_probe_release(&map.seeded[s]);
    free(map.seeded);
    free(map.losses);
    gradcheck_direction_release(&direction);
}

/* ---- into the trace ---- */

void gradcheck_record_curves(const struct gradcheck_result *result)
{
    const struct gradcheck_sweep *sweep = &result->sweep;
    const struct gradcheck_taylor *taylor = &result->taylor;
    char element[120];
    snprintf(element, sizeof element, "%s[%" PRId64 "] of rank %d", sweep->name, sweep->index,
             sweep->rank);
    if (sweep->count)
        record_metric("gradient_step", sweep->chosen, element);
    for (size_t i = 0; i < sweep->count; i++)
        record_metric_at("gradient_error", sweep->step[i], sweep->error[i]);
    if (taylor->count) {
        record_metric("taylor_order first", taylor->orders[0], "power of h");
        record_metric("taylor_order second", taylor->orders[1], "power of h");
    }
    for (size_t i = 0; i < taylor->count; i++) {
        record_metric_at("taylor_first", taylor->step[i], taylor->first[i]);
        record_metric_at("taylor_second", taylor->step[i], taylor->second[i]);
    }
    for (int r = 0; result->heat_map && r < result->ranks; r++)
        for (int c = 0; c < result->ranks; c++) {
            char name[48];
            double value = result->heat_map[r * result->ranks + c];
            snprintf(name, sizeof name, "jacobian_error %d %d", r, c);
            if (value == value)
                record_metric(name, value, "tolerances");
        }
}
