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

static void missing_tell(struct gradcheck *check, const struct probe_input *input, int rank)
{
    struct gradcheck_culprit *culprit = &check->result->culprit;
    *culprit = (struct gradcheck_culprit){
        .found = true, .missing = true, .rank = rank, .site = input->site};
    snprintf(culprit->name, sizeof culprit->name, "%s", input->name);
    if (input->marked)
        snprintf(culprit->text, sizeof culprit->text,
                 "no gradient of %s was marked on rank %d: diff_mark_gradient did not run there",
                 input->name, rank);
    else
        snprintf(culprit->text, sizeof culprit->text,
                 "no backward pass reached %s on rank %d: the rank called none after it made the "
                 "input, or cleared the tape between them",
                 input->name, rank);
}

/* The one rank that added nothing to the objective of the marks, where all others did; -1: none. */
static int rank_without_objective(const struct diff_probe *base)
{
    int missing = -1;
    for (int r = 0; r < base->ranks; r++) {
        bool present = base->rows[r].epoch_count > 0 && base->rows[r].objectives[0].present;
        if (!present && missing >= 0)
            return -1;
        if (!present)
            missing = r;
    }
    return base->ranks > 1 ? missing : -1;
}

bool gradcheck_explain_missing(struct gradcheck *check)
{
    const struct diff_probe *base = &check->base;
    bool marked = false;
    for (int r = 0; r < base->ranks; r++)
        for (size_t i = 0; i < base->rows[r].input_count; i++) {
            const struct probe_input *input = &base->rows[r].inputs[i];
            marked = marked || input->marked;
            if (!input->gradient && input->count > 0) {
                missing_tell(check, input, r);
                return true;
            }
        }
    int rank = marked ? rank_without_objective(base) : -1;
    if (marked && !gradcheck_has_loss(base, 0))
        snprintf(check->result->culprit.text, sizeof check->result->culprit.text,
                 "no rank marked an objective: diff_mark_objective did not run, so that every "
                 "gradient should be zero");
    else if (rank >= 0)
        snprintf(check->result->culprit.text, sizeof check->result->culprit.text,
                 "rank %d marked no objective, while every other rank did: is its "
                 "diff_mark_objective missing?",
                 rank);
    return check->result->culprit.text[0] != '\0';
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
