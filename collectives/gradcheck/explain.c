/* What a search for the first wrong adjoint says besides a name: what left the tape, what is
 * missing where values are replicated, or why no single operation can be named. */
#include "collectives/gradcheck/bisect.h"
#include "collectives/tape/tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SAY(bisect, ...)                                                                           \
    snprintf((bisect)->check->result->culprit.text, sizeof(bisect)->check->result->culprit.text,   \
             __VA_ARGS__)

/* ---- groups ---- */

static bool is_small(const struct entry *group, double defect)
{
    return fabs(defect) <= 1e-5 * group->scale;
}

void bisect_explain_group(struct bisect *bisect, const struct entry *group)
{
    const struct gradcheck_culprit *culprit = &bisect->check->result->culprit;
    const char *name = culprit->name;
    if (group->members < 2 || !group->collective || culprit->never_ran)
        return;
    bool plain = is_small(group, group->out - group->in);
    bool once = is_small(group, group->out / group->members - group->in);
    if (bisect->replicated && plain)
        SAY(bisect,
            "the adjoint of %s adds up %d equal cotangents, but the loss is declared replicated "
            "and counts once: use diff_reduce_invariant, or diff_backward for the sum of the "
            "losses",
            name, group->members);
    else if (!bisect->replicated && once && strcmp(name, "reduce_invariant") == 0)
        SAY(bisect, "reduce_invariant is right only where the loss is replicated: declare it by "
                    "diff_backward_replicated, or use diff_allreduce");
    else if (bisect->replicated && strcmp(name, "reduce_invariant") == 0 &&
             group->out_high - group->out_low > 1e-6 * group->scale)
        SAY(bisect, "diff_replicate is missing between reduce_invariant and what uses its result: "
                    "the cotangents that reach it differ between ranks and are never added");
}

/* ---- what left the tape ---- */

static bool is_used(const struct bisect *bisect, const struct entry *entry)
{
    for (size_t i = bisect->begin[entry->rank]; i < bisect->begin[entry->rank + 1]; i++) {
        const struct probe_node *node = bisect->entries[i].node;
        for (uint32_t k = 0; k < node->input_count; k++)
            if (node->epoch == entry->node->epoch && node->inputs[k].node == entry->node->sequence)
                return true;
    }
    for (uint32_t k = 0; k < entry->node->output_count; k++)
        if (entry->node->outputs[k].cotangent) /* a root */
            return true;
    return false;
}

static bool moves(const struct bisect *bisect, const struct entry *entry)
{
    for (uint32_t k = 0; k < entry->node->output_count; k++)
        for (size_t p = 0; p < entry->node->outputs[k].parts; p++)
            if (bisect_tangent(bisect, entry, k, p) != 0)
                return true;
    return false;
}

/* The rank's row of the world that was recorded. */
static const struct diff_probe_rank *recorded_row(const struct bisect *bisect, int rank)
{
    const struct gradcheck *check = bisect->check;
    return &(check->recorded ? check->recorded : &check->base)->rows[rank];
}

/* Where a value that leads nowhere was made, and what uses it outside of the tape: an operation, or a
 * rank's loss. */
struct way_out {
    const struct entry *end;
    const struct probe_input *input; /* that it is instead; one of them is NULL, or both are */
    int rank;
    uint32_t position; /* the recorder's, when it was there; 0: not known */
    const struct entry *user;
    int loss_rank; /* -1: no loss */
};

/* It is an operand as it is. */
static bool is_operand(const struct way_out *way)
{
    const struct probe_value *output = way->end ? way->end->node->outputs : NULL;
    size_t parts = output ? output->parts : probe_input_parts(way->input);
    const double *values = output ? output->values : way->input->values;
    if (way->end && way->end->node->output_count != 1)
        return false;
    for (uint32_t k = 0; k < way->user->node->input_count; k++) {
        const struct probe_value *operand = &way->user->node->inputs[k];
        if (!operand->node && !operand->input && operand->values && values &&
            parts == operand->parts && memcmp(values, operand->values, parts * sizeof(double)) == 0)
            return true;
    }
    return false;
}

/* It is the loss as it is. */
static bool is_loss(const struct bisect *bisect, const struct entry *value)
{
    const struct diff_probe_rank *row = &bisect->traced.rows[value->rank];
    const struct probe_value *output = value->node->outputs;
    for (size_t i = 0;
         bisect->epoch < row->epoch_count && i < row->objectives[bisect->epoch].term_count; i++)
        if (value->node->output_count == 1 && output->parts == 1 &&
            output->values[0] == row->objectives[bisect->epoch].terms[i].value)
            return true;
    return false;
}

/* No call of the program's lies between a position and where a loss of the rank was given. */
static bool is_at_loss(const struct bisect *bisect, int rank, uint32_t position)
{
    const struct diff_probe_rank *row = recorded_row(bisect, rank);
    uint32_t next = probe_call_after(row, position);
    for (size_t i = 0;
         bisect->epoch < row->epoch_count && i < row->objectives[bisect->epoch].term_count; i++) {
        uint32_t given = row->objectives[bisect->epoch].terms[i].position;
        if (given >= position && given < next)
            return true;
    }
    return false;
}

/* Whether the value came to its use by the program's own hands, and by no call: it is there as it
 * is, or there was no call of the program's between the two. */
static bool is_handed_over(const struct bisect *bisect, const struct way_out *way)
{
    if (way->loss_rank >= 0)
        return way->loss_rank == way->rank &&
               ((way->end && is_loss(bisect, way->end)) ||
                (way->position && is_at_loss(bisect, way->rank, way->position)));
    if (!way->user || way->user->rank != way->rank)
        return false;
    const struct probe_record *used = bisect_recorded(bisect, way->user);
    return is_operand(way) ||
           (way->position && used &&
            probe_call_after(recorded_row(bisect, way->rank), way->position) > used->position);
}

/* The newest value of a rank that moves and that nothing on the tape uses. */
static const struct entry *dead_end_of(const struct bisect *bisect, int rank)
{
    for (size_t i = bisect->begin[rank + 1]; i-- > bisect->begin[rank];) {
        const struct entry *entry = &bisect->entries[i];
        if (entry->node->epoch == bisect->epoch && !is_used(bisect, entry) && moves(bisect, entry))
            return entry;
    }
    return NULL;
}

/* Of the rank that uses it, or that sent it there: the lowest one that has any. */
static const struct entry *dead_end(const struct bisect *bisect)
{
    const struct entry *end = bisect->outside ? dead_end_of(bisect, bisect->outside->rank) : NULL;
    for (int r = 0; r < bisect->traced.ranks && !end; r++)
        end = dead_end_of(bisect, r);
    return end;
}

/* An input that nothing on the tape uses, in the same order. */
static const struct probe_input *dead_input(const struct bisect *bisect, int *rank)
{
    const struct diff_probe *base = &bisect->check->base;
    for (int r = 0; r < base->ranks; r++)
        for (size_t i = 0; i < base->rows[r].input_count; i++) {
            bool used = base->rows[r].inputs[i].epoch != bisect->epoch;
            for (size_t e = bisect->begin[r]; e < bisect->begin[r + 1] && !used; e++)
                for (uint32_t k = 0; k < bisect->entries[e].node->input_count; k++)
                    used = used || bisect->entries[e].node->inputs[k].input == i + 1;
            *rank = r;
            if (!used)
                return &base->rows[r].inputs[i];
        }
    return NULL;
}

/* The rank whose loss moves though it is a constant to the tape; -1: none. */
static int loss_outside(const struct bisect *bisect)
{
    for (int r = 0; r < bisect->traced.ranks; r++)
        if (bisect->traced.rows[r].loss_untracked &&
            gradcheck_objective(&bisect->above, bisect->epoch, r) !=
                gradcheck_objective(&bisect->below, bisect->epoch, r))
            return r;
    return -1;
}

static void input_report(struct gradcheck_culprit *culprit, const struct probe_input *input,
                         int rank)
{
    *culprit = (struct gradcheck_culprit){
        .found = true, .rank = rank, .site = input->site, .position = input->position};
    snprintf(culprit->name, sizeof culprit->name, "%s", input->name);
}

bool bisect_explain_outside(struct bisect *bisect)
{
    char what[80];
    struct way_out way = {.user = bisect->outside, .loss_rank = loss_outside(bisect)};
    if (way.loss_rank >= 0)
        snprintf(what, sizeof what, "the loss of rank %d", way.loss_rank);
    else if (bisect->outside)
        snprintf(what, sizeof what, "%s of %s on rank %d",
                 bisect->outside_number ? "the factor or shift" : "an operand",
                 bisect->outside->node->name, bisect->outside->rank);
    else
        return false;
    const struct entry *end = way.end = dead_end(bisect);
    const struct probe_input *input = way.input = end ? NULL : dead_input(bisect, &way.rank);
    struct gradcheck_culprit *culprit = &bisect->check->result->culprit;
    if (end)
        bisect_report(bisect, end);
    else if (input)
        input_report(culprit, input, way.rank);
    else if (bisect->outside)
        bisect_report(bisect, bisect->outside);
    way.rank = culprit->rank;
    way.position = culprit->position;
    culprit->position = 0;
    if (end && end->node->inactive) {
        SAY(bisect,
            "no gradient flows through %s, though %s moves with its result: nothing that it is "
            "given requires a gradient, and in data order the backward pass then leaves it out; "
            "join what it answers to it (diff_join), or use the program order",
            end->node->name, what);
        return true;
    }
    if ((end || input) && is_handed_over(bisect, &way)) {
        SAY(bisect,
            "the value of %s was taken off the tape (detached, or by diff_values): %s moves with "
            "it, "
            "and no adjoint leads back",
            culprit->name, what);
        return true;
    }
    culprit->outside = true;
    if (end || input) {
        SAY(bisect,
            "the value of %s was used outside of the tape (detached, or by %s): "
            "%s moves with it, but is a constant to the tape, so that no adjoint leads back",
            culprit->name, way.position ? "the call named here" : "a call after it", what);
        if (way.position)
            culprit->position = probe_call_after(recorded_row(bisect, way.rank), way.position);
        return true;
    }
    SAY(bisect,
        "%s moves with the inputs, but is a constant to the tape: it was computed outside of it, "
        "from values that diff_values gave or that were detached",
        what);
    return true;
}

/* ---- all adjoints are right ---- */

/* The largest difference between the ranks' gradients of a replicated variable. */
static bool copies_differ(const struct bisect *bisect, const struct probe_input *first,
                          size_t number)
{
    const struct diff_probe *base = &bisect->check->base;
    size_t parts = first->count * diff_type_parts(first->type);
    for (int r = first->team.first + 1; r < base->ranks; r++) {
        const struct probe_input *copy =
            gradcheck_is_copy(base, r, first, number) ? &base->rows[r].inputs[number] : NULL;
        for (size_t p = 0; copy && copy->gradient && first->gradient && p < parts; p++)
            if (!(fabs(copy->gradient[p] - first->gradient[p]) <=
                  1e-6 * (fabs(first->gradient[p]) + fabs(copy->gradient[p]))))
                return true;
    }
    return false;
}

static const struct entry *first_use(const struct bisect *bisect, int rank, size_t number)
{
    for (size_t i = bisect->begin[rank]; i < bisect->begin[rank + 1]; i++)
        for (uint32_t k = 0; k < bisect->entries[i].node->input_count; k++)
            if (bisect->entries[i].node->inputs[k].input == number + 1)
                return &bisect->entries[i];
    return NULL;
}

/* The copies of which the rank has the first. */
static bool explain_copies_of(struct bisect *bisect, int rank)
{
    const struct diff_probe_rank *row = &bisect->check->base.rows[rank];
    for (size_t i = 0; i < row->input_count; i++) {
        const struct probe_input *input = &row->inputs[i];
        const struct entry *use = input->team.size && input->team.first == rank &&
                                          input->epoch == bisect->epoch &&
                                          copies_differ(bisect, input, i)
                                      ? first_use(bisect, rank, i)
                                      : NULL;
        if (!use)
            continue;
        bisect_report(bisect, use);
        bisect->check->result->culprit.position = 0;
        SAY(bisect,
            "diff_replicate is missing between the replicated input %s and %s, which uses it: "
            "each rank has only its own share of the gradient, and the shares are never added",
            row->inputs[i].name, use->node->name);
        return true;
    }
    return false;
}

static bool explain_copies(struct bisect *bisect)
{
    for (int r = 0; r < bisect->check->base.ranks; r++)
        if (explain_copies_of(bisect, r))
            return true;
    return false;
}

static bool only_forward_mode(const struct gradcheck_result *result)
{
    for (size_t i = 0; i < result->row_count; i++)
        if (trace_gradient_wrong(&result->rows[i].check) &&
            strcmp(result->rows[i].check.method, "tangent") != 0)
            return false;
    return true;
}

void bisect_explain_nothing(struct bisect *bisect)
{
    if (explain_copies(bisect))
        return;
    if (bisect->cut) {
        SAY(bisect,
            "between the passes: the adjoints of all %zu operations are right, so that what the "
            "program itself hands from one backward pass to the next is not (the cotangents that "
            "it "
            "gives to diff_backward_from or multiplies with, the values of its leaves)",
            bisect->count);
        return;
    }
    if (only_forward_mode(bisect->check->result))
        SAY(bisect,
            "only forward mode contradicts the gradients, by little more than rounding: around no "
            "single operation do adjoint and tangent differ");
    else if (bisect->count == 0)
        SAY(bisect, "no single operation explains it: the program has no tape, or nothing on it");
    else
        SAY(bisect,
            "no single operation explains it: the adjoints of all %zu operations agree with "
            "differences of their own results along a random direction, as far as these see, so "
            "that what is wrong is small, shows only at a kink, or lies between the tape and the "
            "gradient that was read",
            bisect->count);
}
