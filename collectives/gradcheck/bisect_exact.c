/* The first wrong adjoint where differences are too coarse to show it: one more world carries exact
 * tangents along the same direction, and around every operation <y_bar, y_dot> = <x_bar, x_dot> must
 * hold to rounding.
 *
 * Of an operation that fails only here, adjoint and tangent are not each other's transpose. Those of
 * the library are its own; a custom operation has both from the user, and either may be wrong. */
#include "collectives/gradcheck/bisect.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A group whose defect is this much smaller, by its size, than the worst one's is rounded. */
#define FAINT 1e-3

static bool carried_world(struct bisect *bisect)
{
    bool carried = bisect_world(bisect, &bisect->carried, 0, true) &&
                   bisect_same_nodes(&bisect->traced, &bisect->carried);
    for (int r = 0; carried && r < bisect->carried.ranks; r++)
        carried = !bisect->carried.rows[r].tangent_missing;
    return carried;
}

static double input_tangent(const struct bisect *bisect, const struct entry *entry,
                            const struct probe_value *value, size_t part)
{
    const struct entry *origin =
        value->node ? bisect_entry(bisect, entry->rank, entry->node->epoch, value->node) : NULL;
    const double *tangent = origin ? origin->exact.node->outputs[value->output].tangent : NULL;
    for (size_t i = 0; !value->node && value->input && i < bisect->direction.count; i++)
        if (bisect->direction.pushes[i].rank == entry->rank &&
            bisect->direction.pushes[i].input == value->input - 1)
            tangent = bisect->direction.pushes[i].direction;
    return tangent ? tangent[part] : 0;
}

static void exact_add(struct bisect *bisect, const struct entry *entry)
{
    const struct probe_node *node = entry->node;
    struct entry *group = &bisect->entries[bisect_group(bisect, (size_t)(entry - bisect->entries))];
    struct bisect_exact *sums = &group->exact;
    sums->unknown = sums->unknown || !entry->exact.node->carried;
    for (uint32_t k = 0; k < node->output_count; k++)
        for (size_t p = 0; entry->exact.node->outputs[k].tangent && p < node->outputs[k].parts;
             p++) {
            double term = entry->bars[k][p] * entry->exact.node->outputs[k].tangent[p];
            sums->defect += group->weight_out * term;
            sums->scale += fabs(term);
        }
    for (uint32_t k = 0; k < node->input_count; k++)
        for (size_t p = 0; node->inputs[k].cotangent && p < node->inputs[k].parts; p++) {
            double term =
                node->inputs[k].cotangent[p] * input_tangent(bisect, entry, &node->inputs[k], p);
            sums->defect -= group->weight_in * term;
            sums->scale += fabs(term);
        }
}

/* By its size; 0: rounding. */
static double fault_of(const struct bisect *bisect, const struct entry *group)
{
    const struct bisect_exact *sums = &group->exact;
    double slack = 1024 * bisect->check->epsilon;
    if (sums->unknown || group->leaves || !(fabs(sums->defect) > slack * sums->scale))
        return 0;
    return fabs(sums->defect) / sums->scale;
}

const struct entry *bisect_exact_find(struct bisect *bisect)
{
    const struct entry *found = NULL, *newest = NULL;
    double worst = 0;
    if (!carried_world(bisect))
        return NULL;
    for (int r = 0; r < bisect->carried.ranks; r++)
        for (size_t i = bisect->begin[r]; i < bisect->begin[r + 1]; i++)
            bisect->entries[i].exact.node = &bisect->carried.rows[r].nodes[i - bisect->begin[r]];
    for (size_t i = 0; i < bisect->count; i++)
        exact_add(bisect, &bisect->entries[i]);
    for (size_t i = 0; i < bisect->count; i++)
        if (bisect->entries[i].parent == i)
            worst = fmax(worst, fault_of(bisect, &bisect->entries[i]));
    for (size_t i = 0; i < bisect->count && worst > 0; i++) {
        const struct entry *group = &bisect->entries[i];
        if (group->parent != i || fault_of(bisect, group) < FAINT * worst)
            continue;
        const struct entry *member = bisect_member(bisect, i);
        if (!newest || member->node->sequence > newest->node->sequence) {
            newest = member;
            found = group;
        }
    }
    return found;
}

void bisect_explain_exact(struct bisect *bisect, const struct entry *group)
{
    struct gradcheck_culprit *culprit = &bisect->check->result->culprit;
    double fault = fault_of(bisect, group);
    culprit->defect = group->exact.defect;
    culprit->scale = group->exact.scale;
    if (culprit->never_ran || strcmp(culprit->name, "custom") != 0)
        return;
    const char *before = *culprit->label ? " \"" : "", *after = *culprit->label ? "\"" : "";
    /* Differences would have seen an adjoint that is so wrong. */
    if (fault * group->exact.scale > 2 * (1e-5 * group->scale + group->spread))
        snprintf(culprit->text, sizeof culprit->text,
                 "no wrong adjoint but a wrong tangent, the jvp of this custom operation%s%s%s: "
                 "differences "
                 "confirm every gradient, and only forward mode contradicts them",
                 before, culprit->label, after);
    else
        snprintf(
            culprit->text, sizeof culprit->text,
            "the vjp and the jvp of this custom operation%s%s%s are not each other's transpose, by "
            "%.1e of their product; differences are too coarse to tell which of them is wrong",
            before, culprit->label, after, fault);
}
