/* A further oracle of the gradient check: forward mode. */
#include "collectives/gradcheck/internal.h"
#include "collectives/tape/tensor.h"

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
