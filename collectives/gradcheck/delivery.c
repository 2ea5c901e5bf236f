/* The gradient check with another delivery of messages: nonblocking receives match only when nobody
 * else can move, buffers are filled when their operation is completed, wildcards take the last
 * message there is. MPI allows that. An adjoint that
 * reads a buffer before its wait, or that answers in the order in which receives were posted
 * instead of to who sent, is wrong there.
 *
 * A gradient may differ and be right all the same, where messages decide which rank does what. So
 * only where it does the whole check is done in that delivery. */
#include "collectives/gradcheck/internal.h"
#include "collectives/tape/tensor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The first input whose gradient is another one, by more than sums in another order explain. */
static const struct probe_input *first_moved(const struct gradcheck *check,
                                             const struct diff_probe *again, int *rank)
{
    double share = fmax(1e-6, 4096 * check->epsilon * check->base.ranks);
    for (int r = 0; r < again->ranks; r++)
        for (size_t i = 0; i < again->rows[r].input_count; i++) {
            const struct probe_input *one = &check->base.rows[r].inputs[i];
            const struct probe_input *two = &again->rows[r].inputs[i];
            size_t parts = one->gradient ? one->count * diff_type_parts(one->type) : 0;
            double largest = 0;
            for (size_t k = 0; k < parts; k++)
                largest = fmax(largest, fabs(one->gradient[k]));
            for (size_t k = 0; k < parts; k++)
                if (!(fabs(one->gradient[k] - two->gradient[k]) <= share * largest)) {
                    *rank = r;
                    return one;
                }
        }
    return NULL;
}

static void blame(struct gradcheck_culprit *culprit, const struct probe_input *input, int rank)
{
    culprit->found = true;
    culprit->rank = rank;
    culprit->site = input->gradient_site ? input->gradient_site : input->site;
    snprintf(culprit->name, sizeof culprit->name, "%s", input->name);
    snprintf(culprit->text, sizeof culprit->text,
             "the gradient of %s is right only as messages happened to arrive; it is wrong where "
             "nonblocking receives are filled as late as MPI allows and wildcards take the last "
             "message first: is a buffer read before its wait, or an answer sent to another rank "
             "than the one in MPI_SOURCE?",
             input->name);
}

void gradcheck_delivery(struct gradcheck *check)
{
    struct gradcheck_options options = *check->options;
    struct gradcheck_result result = {.ranks = check->base.ranks};
    struct gradcheck there = {.runner = check->runner,
                              .options = &options,
                              .result = &result,
                              .blocks = check->blocks,
                              .adverse = true};
    const struct probe_input *moved = NULL;
    int rank = 0;
    if (!check->result->row_count || check->result->failed || check->result->non_finite)
        return; /* without a gradient there is nothing to compare, and a program runs once */
    options.elements_max = 1; /* a row for every input */
    check->result->delivery_missed = !diff_probe_init(&there.base, check->base.ranks) ||
                                     !gradcheck_world(&there, &there.base, 0);
    if (!check->result->delivery_missed && gradcheck_same_inputs(&check->base, &there.base) &&
        (moved = first_moved(check, &there.base, &rank)))
        gradcheck_elsewhere(check, &there, "with late messages");
    gradcheck_failures_count(check->result);
    if (check->result->failed && !check->result->culprit.found)
        blame(&check->result->culprit, moved, rank);
    check->result->worlds += result.worlds;
    gradcheck_epochs_release(&there);
    diff_probe_release(&there.base);
    free(result.rows);
}
