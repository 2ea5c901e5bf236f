/* The first wrong gradient of a hand-written adjoint: the marks tell in which order its gradients
 * came to be. */
#include "collectives/gradcheck/internal.h"

#include <stdio.h>

static const struct probe_input *marked_as(const struct diff_probe_rank *row, uint32_t order)
{
    for (size_t i = 0; i < row->input_count; i++)
        if (order > 0 && row->inputs[i].gradient_order == order)
            return &row->inputs[i];
    return NULL;
}

void gradcheck_bisect_marks(struct gradcheck *check)
{
    struct gradcheck_culprit *culprit = &check->result->culprit;
    const struct probe_input *first = NULL;
    for (size_t i = 0; i < check->result->row_count; i++) {
        const struct trace_gradient *row = &check->result->rows[i].check;
        if (!trace_gradient_wrong(row) || row->index < 0)
            continue;
        const struct probe_input *input = &check->base.rows[row->rank].inputs[row->variable];
        if (!input->gradient_order || (first && input->gradient_order >= first->gradient_order))
            continue;
        first = input;
        culprit->rank = (int)row->rank;
    }
    if (!first)
        return;
    const struct probe_input *before =
        marked_as(&check->base.rows[culprit->rank], first->gradient_order - 1);
    culprit->found = culprit->marked = true;
    culprit->site = first->gradient_site;
    if (!before || before->gradient_position != first->gradient_position)
        culprit->position = first->gradient_position; /* else no operation lies between them */
    snprintf(culprit->name, sizeof culprit->name, "%s", first->name);
    snprintf(culprit->before, sizeof culprit->before, "%s", before ? before->name : "");
}
