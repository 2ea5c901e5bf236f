/* What rounding makes of the program's own gradients: they are computed again at points that can
 * hardly be told from the one in question. A wrong adjoint is as wrong there; rounding falls
 * another way. */
#include "collectives/gradcheck/internal.h"
#include "collectives/tape/tensor.h"

#include <math.h>
#include <stdlib.h>

/* The way to a neighbour: the point's own, and every value by a relative `size`. */
static struct gradcheck_direction way_new(const struct gradcheck *check, uint64_t seed, double size)
{
    const struct diff_probe *base = &check->base;
    struct gradcheck_direction way =
        gradcheck_direction_new(base, 0, check->options->seed + seed, SPREAD_POINT);
    struct probe_push *pushes =
        way.pushes ? realloc(way.pushes, (way.count + check->shift.count + 1) * sizeof *pushes)
                   : NULL;
    if (!pushes)
        return way;
    way.pushes = pushes;
    for (size_t i = 0; i < way.count; i++) {
        const struct probe_input *input = &base->rows[pushes[i].rank].inputs[pushes[i].input];
        double *values = way.values + (pushes[i].direction - way.values);
        for (size_t k = 0; k < input->count * diff_type_parts(input->type); k++)
            values[k] = input->values[k] * (values[k] > 0 ? size : -size);
    }
    for (size_t i = 0; i < check->shift.count; i++)
        pushes[way.count + i] = check->shift.pushes[i];
    way.count += check->shift.count;
    return way;
}

/* Whether gradients are linear in the losses' seeds, as far as anybody can tell: all of it runs on
 * tapes, and no loss is made of gradients. */
static bool is_linear(const struct diff_probe *base)
{
    for (int r = 0; r < base->ranks; r++) {
        const struct diff_probe_rank *row = &base->rows[r];
        bool linear = !row->graphs;
        for (size_t i = 0; i < row->input_count; i++)
            linear = linear && !row->inputs[i].marked;
        for (size_t e = 0; e < row->epoch_count; e++)
            for (size_t i = 0; i < row->objectives[e].term_count; i++)
                linear = linear && row->objectives[e].terms[i].pass > 0;
        if (!linear)
            return false;
    }
    return true;
}

static void gradients_divide(struct diff_probe *probe, double factor)
{
    for (int r = 0; r < probe->ranks; r++)
        for (size_t i = 0; i < probe->rows[r].input_count; i++) {
            struct probe_input *input = &probe->rows[r].inputs[i];
            size_t parts = input->gradient ? input->count * diff_type_parts(input->type) : 0;
            for (size_t k = 0; k < parts; k++)
                input->gradient[k] /= factor;
        }
}

static void neighbour_make(struct gradcheck *check, enum gradcheck_near near, int number,
                           int worker)
{
    static const double sizes[2][2] = {{0x1p-50, 0x1p-21}, {0x1p-26, 0x1p-12}};
    bool single = check->epsilon > 1e-10;
    struct gradcheck_neighbour *made = &check->near[near][number];
    made->way = way_new(check, 1000 + 10 * (uint64_t)near + (uint64_t)number, sizes[near][single]);
    if (!made->way.pushes || !diff_probe_init(&made->probe, check->base.ranks))
        return;
    made->probe.shifts = made->way.pushes;
    made->probe.shift_count = made->way.count;
    made->factor = 1;
    if (near == GRADCHECK_NEAR && is_linear(&check->base))
        made->factor += (2 * number + 1) * sizes[near][single];
    made->probe.factor = made->factor;
    made->well = gradcheck_world(check, &made->probe, worker);
    for (int r = 0; made->well && r < check->base.ranks; r++)
        made->well = made->probe.rows[r].input_count == check->base.rows[r].input_count;
    gradients_divide(&made->probe, made->factor);
}

const struct gradcheck_neighbour *gradcheck_nearby(struct gradcheck *check,
                                                   enum gradcheck_near near, int worker)
{
#pragma omp critical(gradcheck_nearby)
    if (!check->near_made[near]) {
        for (int i = 0; i < GRADCHECK_NEIGHBOURS; i++)
            neighbour_make(check, near, i, worker);
        check->near_made[near] = true;
    }
    return check->near[near];
}

void gradcheck_nearby_release(struct gradcheck *check)
{
    for (int near = 0; near < 2; near++) {
        for (int i = 0; check->near_made[near] && i < GRADCHECK_NEIGHBOURS; i++) {
            gradcheck_direction_release(&check->near[near][i].way);
            if (check->near[near][i].probe.rows)
                diff_probe_release(&check->near[near][i].probe);
        }
        check->near_made[near] = false;
    }
}
