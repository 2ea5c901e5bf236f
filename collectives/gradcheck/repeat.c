/* Repetitions: the same program again, with what must not matter varied (the association of
 * reductions, every choice). Gradients may differ by rounding only: a few units in the last places
 * for another order of the same sums, while a race shows as a difference of the values' own size.
 */
#include "collectives/gradcheck/internal.h"
#include "collectives/tape/tensor.h"

#include <math.h>
#include <stdio.h>

static void input_compare(struct gradcheck *check, int rank, const struct probe_input *base,
                          const struct probe_input *again)
{
    struct gradcheck_repeat *repeat = &check->result->repeat;
    size_t parts = base->count * diff_type_parts(base->type);
    double largest = 0;
    for (size_t k = 0; base->gradient && k < parts; k++)
        largest = fmax(largest, fabs(base->gradient[k]));
    for (size_t k = 0; base->gradient && k < parts; k++) {
        double difference =
            again->gradient ? fabs(base->gradient[k] - again->gradient[k]) : INFINITY;
        double spread = difference == 0 ? 0 : difference / (largest * check->epsilon);
        if (spread <= repeat->spread)
            continue;
        repeat->spread = spread;
        repeat->rank = rank;
        repeat->index = (int64_t)k;
        snprintf(repeat->name, sizeof repeat->name, "%s", base->name ? base->name : "?");
    }
}

static bool world_compare(struct gradcheck *check, const struct diff_probe *again)
{
    for (int r = 0; r < check->base.ranks; r++) {
        const struct diff_probe_rank *one = &check->base.rows[r], *two = &again->rows[r];
        if (one->input_count != two->input_count)
            return false;
        for (size_t i = 0; i < one->input_count; i++) {
            if (one->inputs[i].count != two->inputs[i].count)
                return false;
            input_compare(check, r, &one->inputs[i], &two->inputs[i]);
        }
    }
    return true;
}

void gradcheck_repeat(struct gradcheck *check)
{
    struct gradcheck_repeat *repeat = &check->result->repeat;
    /* Every sum over ranks may be off by as many units as it has terms; passes add them up. */
    repeat->bound = 4096.0 * check->base.ranks;
    for (int k = 1; k <= check->options->repeat; k++) {
        struct diff_probe again;
        if (!diff_probe_init(&again, check->base.ranks))
            return;
        again.repeat = k;
        if (!gradcheck_world(check, &again, 0) || !world_compare(check, &again))
            repeat->spread = INFINITY;
        repeat->worlds++;
        diff_probe_release(&again);
    }
}
