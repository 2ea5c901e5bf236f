/* The gradient check along random directions: <gradient, v> against the slope of J. */
#include "collectives/gradcheck/internal.h"
#include "collectives/tape/tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double gradcheck_product(const struct diff_probe *base, const struct gradcheck_direction *direction,
                         double *size)
{
    double sum = 0;
    for (size_t i = 0; i < direction->count; i++) {
        const struct probe_push *push = &direction->pushes[i];
        const struct probe_input *input = &base->rows[push->rank].inputs[push->input];
        size_t parts = input->count * diff_type_parts(input->type);
        /* The gradient of a replicated variable is already that of all copies: it counts once. */
        double share = input->team.size ? input->team.size : 1;
        for (size_t k = 0; k < parts; k++) {
            if (push->direction[k] == 0)
                continue; /* what does not move adds nothing, also where its gradient is no number */
            double g = input->gradient ? input->gradient[k] : NAN;
            sum += push->direction[k] * g / share;
            *size += fabs(push->direction[k] * g) / share;
        }
    }
    return sum;
}

/* By how much rounding changes <gradient, direction>. */
static double direction_spread(void *context)
{
    const struct gradcheck_along *along = context;
    const struct gradcheck_neighbour *near =
        gradcheck_nearby(along->check, GRADCHECK_NEXT, along->worker);
    double size = 0, spread = 0;
    double here = gradcheck_product(&along->check->base, along->direction, &size);
    for (int i = 0; i < GRADCHECK_NEIGHBOURS; i++)
        if (near[i].well)
            spread = fmax(spread,
                          fabs(gradcheck_product(&near[i].probe, along->direction, &size) - here));
    return spread;
}

static void direction_check(struct gradcheck *check, uint32_t epoch, int number,
                            enum gradcheck_spread spread)
{
    const struct diff_probe *base = &check->base;
    uint64_t seed = check->options->seed + (uint64_t)number;
    struct gradcheck_direction direction = gradcheck_direction_new(base, epoch, seed, spread);
    struct gradcheck_row *row =
        direction.pushes && direction.count > 0 ? gradcheck_row_add(check->result) : NULL;
    if (row) {
        struct gradcheck_along place = {check, &direction, epoch, 0,
                                        gradcheck_first_pass(base, epoch)};
        double size = 0, analytic = gradcheck_product(base, &direction, &size);
        struct judged judged = {.function = gradcheck_along,
                                .context = &place,
                                .analytic = analytic,
                                .step = check->epsilon > 1e-10 ? 0x1p-3 : 0x1p-5,
                                .noise = check->noise[epoch],
                                .slack = 64 * check->epsilon * size,
                                .scale = size,
                                .spread = direction_spread,
                                .factor = check->options->tolerance_factor,
                                .stairs_asked = true,
                                .centers_max = SIZE_MAX,
                                .ties_max = gradcheck_ties_most(check)};
        row->check = (struct trace_gradient){.rank = 0, .index = -1, .method = "dot"};
        row->epoch = epoch;
        row->seed = seed;
        row->constant = spread == SPREAD_CONSTANT;
        snprintf(row->name, sizeof row->name, "direction %d%s", number,
                 spread == SPREAD_CONSTANT ? " (the same on all ranks)" : "");
        gradcheck_judge(&judged, row);
    }
    gradcheck_direction_release(&direction);
}

/* At kinks directions decide what elements cannot: whether ties were counted more than once. */
static bool has_kinks(const struct gradcheck_result *result)
{
    for (size_t i = 0; i < result->row_count; i++)
        if (strcmp(result->rows[i].check.method, "one-sided") == 0)
            return true;
    return false;
}

void gradcheck_directions(struct gradcheck *check, uint32_t epoch)
{
    int number = 0;
    for (; number < check->options->directions; number++)
        direction_check(check, epoch, number, SPREAD_RANDOM);
    if (!has_kinks(check->result))
        return;
    for (int more = 0; more < 3; more++)
        direction_check(check, epoch, number++, SPREAD_RANDOM);
    direction_check(check, epoch, number, SPREAD_CONSTANT);
}
