/* The first wrong adjoint: which operation spoiled a wrong gradient.
 *
 * The program is run once more with every node's cotangents kept, and twice a little to both sides
 * along a random direction, which gives every intermediate value's tangent by a difference. Around
 * every operation <y_bar, y_dot> = <x_bar, x_dot> must hold: for a local one by itself, for a
 * communication summed over those who took part. y_bar is what the consumers of y contributed. An
 * operation's defect does not depend on the others', so a spoiled cotangent further down is not
 * blamed; of several the one nearest to the loss is reported. */
#include "collectives/gradcheck/bisect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- worlds ---- */

bool bisect_world(struct bisect *bisect, struct diff_probe *probe, double step, bool carries)
{
    struct gradcheck *check = bisect->check;
    if (!diff_probe_init(probe, check->base.ranks))
        return false;
    probe->trace = true;
    probe->shifts = check->shift.pushes;
    probe->shift_count = check->shift.count;
    if (step != 0) {
        probe->mode = PROBE_PERTURBED;
        probe->base = &check->base;
    }
    probe->tangent = carries;
    if (step != 0 || carries) {
        probe->pushes = bisect->direction.pushes;
        probe->push_count = bisect->direction.count;
        for (size_t i = 0; i < bisect->direction.count; i++)
            bisect->direction.pushes[i].step = step;
    }
    return gradcheck_world(check, probe, 0);
}

static bool same_lengths(const struct probe_value *a, const struct probe_value *b, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (a[k].parts != b[k].parts)
            return false;
    return true;
}

static bool is_same_node(const struct probe_node *a, const struct probe_node *b)
{
    return strcmp(a->name, b->name) == 0 && a->input_count == b->input_count &&
           a->output_count == b->output_count &&
           same_lengths(a->inputs, b->inputs, a->input_count) &&
           same_lengths(a->outputs, b->outputs, a->output_count);
}

bool bisect_same_nodes(const struct diff_probe *a, const struct diff_probe *b)
{
    for (int r = 0; r < a->ranks; r++) {
        if (a->rows[r].node_count != b->rows[r].node_count)
            return false;
        for (size_t i = 0; i < a->rows[r].node_count; i++)
            if (!is_same_node(&a->rows[r].nodes[i], &b->rows[r].nodes[i]))
                return false;
    }
    return true;
}

/* ---- tangents ---- */

double bisect_tangent(const struct bisect *bisect, const struct entry *entry, uint32_t output,
                      size_t part)
{
    double above = entry->above->outputs[output].values[part];
    double below = entry->below->outputs[output].values[part];
    return (above - below) / (2 * bisect->step);
}

/* By how much the slopes to both sides differ: at a kink. */
static double bend(const struct bisect *bisect, const struct entry *entry, uint32_t output,
                   size_t part)
{
    double above = entry->above->outputs[output].values[part];
    double below = entry->below->outputs[output].values[part];
    double at = entry->node->outputs[output].values[part];
    return fabs(above + below - 2 * at) / bisect->step;
}

/* The entry of a node by its sequence number; nodes of a rank stand in order, epochs one after
 * another. */
struct entry *bisect_entry(const struct bisect *bisect, int rank, uint32_t epoch, uint32_t sequence)
{
    size_t low = bisect->begin[rank], high = bisect->begin[rank + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct probe_node *node = bisect->entries[middle].node;
        if (node->epoch < epoch || (node->epoch == epoch && node->sequence < sequence))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == bisect->begin[rank + 1])
        return NULL;
    struct entry *entry = &bisect->entries[low];
    return entry->node->epoch == epoch && entry->node->sequence == sequence ? entry : NULL;
}

static double tangent_of_input(const struct bisect *bisect, const struct entry *entry,
                               const struct probe_value *value, size_t part)
{
    if (value->node) {
        const struct entry *origin =
            bisect_entry(bisect, entry->rank, entry->node->epoch, value->node);
        return origin ? bisect_tangent(bisect, origin, value->output, part) : 0;
    }
    size_t k = (size_t)(value - entry->node->inputs);
    const double *above = entry->above->inputs[k].values, *below = entry->below->inputs[k].values;
    if (bisect->cut && above && below && !value->untracked) /* handed on from another pass */
        return (above[part] - below[part]) / (2 * bisect->step);
    for (size_t i = 0; value->input && i < bisect->direction.count; i++) {
        const struct probe_push *push = &bisect->direction.pushes[i];
        if (push->rank == entry->rank && push->input == value->input - 1)
            return push->direction[part];
    }
    return 0;
}

static double bend_of_input(const struct bisect *bisect, const struct entry *entry,
                            const struct probe_value *value, size_t part)
{
    const struct entry *origin =
        value->node ? bisect_entry(bisect, entry->rank, entry->node->epoch, value->node) : NULL;
    return origin ? bend(bisect, origin, value->output, part) : 0;
}

/* What rounding of a value may do to its tangent: the difference of two, by their distance. */
static double coarseness(const struct bisect *bisect, const struct entry *entry, uint32_t output,
                         size_t part)
{
    return bisect->check->epsilon * fabs(entry->node->outputs[output].values[part]) / bisect->step;
}

static double coarseness_of_input(const struct bisect *bisect, const struct entry *entry,
                                  const struct probe_value *value, size_t part)
{
    const struct entry *origin =
        value->node ? bisect_entry(bisect, entry->rank, entry->node->epoch, value->node) : NULL;
    return origin ? coarseness(bisect, origin, value->output, part) : 0;
}

/* ---- groups ---- */

size_t bisect_group(struct bisect *bisect, size_t at)
{
    while (bisect->entries[at].parent != at)
        at = bisect->entries[at].parent = bisect->entries[bisect->entries[at].parent].parent;
    return at;
}

static void group_join(struct bisect *bisect, size_t a, size_t b)
{
    a = bisect_group(bisect, a);
    b = bisect_group(bisect, b);
    bisect->entries[a > b ? a : b].parent = a < b ? a : b;
}

struct place_key {
    struct probe_place place;
    uint32_t epoch;
    size_t entry;
};

static int place_compare(const void *a, const void *b)
{
    const struct place_key *left = a, *right = b;
    const struct probe_place *l = &left->place, *r = &right->place;
#define BY(field)                                                                                  \
    if (l->field != r->field)                                                                      \
    return l->field < r->field ? -1 : 1
    BY(channel);
    BY(source);
    BY(target);
    BY(tag);
    BY(ordinal);
#undef BY
    return left->epoch < right->epoch ? -1 : left->epoch > right->epoch;
}

/* Members of one collective, and both ends of one message, belong together. */
static bool places_join(struct bisect *bisect)
{
    size_t count = 0;
    struct place_key *keys = calloc(2 * bisect->count + 1, sizeof *keys);
    if (!keys)
        return false;
    for (size_t i = 0; i < bisect->count; i++)
        for (int p = 0; p < 2; p++) {
            const struct probe_node *node = bisect->entries[i].node;
            if (node->places[p].channel)
                keys[count++] = (struct place_key){node->places[p], node->epoch, i};
        }
    qsort(keys, count, sizeof *keys, place_compare);
    for (size_t i = 1; i < count; i++)
        if (place_compare(&keys[i - 1], &keys[i]) == 0)
            group_join(bisect, keys[i - 1].entry, keys[i].entry);
    free(keys);
    return true;
}

/* A node that takes a handle belongs to the one that made it. */
static void handles_join(struct bisect *bisect)
{
    for (size_t i = 0; i < bisect->count; i++) {
        const struct entry *entry = &bisect->entries[i];
        for (uint32_t k = 0; k < entry->node->input_count; k++) {
            const struct probe_value *value = &entry->node->inputs[k];
            const struct entry *origin =
                value->handle ? bisect_entry(bisect, entry->rank, entry->node->epoch, value->node)
                              : NULL;
            if (origin && k == 0)
                group_join(bisect, i, (size_t)(origin - bisect->entries));
        }
    }
}

/* ---- defects ---- */

static bool bars_collect(struct bisect *bisect)
{
    for (size_t i = 0; i < bisect->count; i++) {
        struct entry *entry = &bisect->entries[i];
        entry->bars = calloc(entry->node->output_count + 1, sizeof *entry->bars);
        for (uint32_t k = 0; entry->bars && k < entry->node->output_count; k++) {
            const struct probe_value *value = &entry->node->outputs[k];
            entry->bars[k] = calloc(value->parts + 1, sizeof(double));
            if (!entry->bars[k])
                return false;
            if (value->cotangent)
                memcpy(entry->bars[k], value->cotangent, value->parts * sizeof(double));
        }
        if (!entry->bars)
            return false;
    }
    for (size_t i = 0; i < bisect->count; i++) {
        struct entry *entry = &bisect->entries[i];
        for (uint32_t k = 0; k < entry->node->input_count; k++) {
            const struct probe_value *value = &entry->node->inputs[k];
            struct entry *origin =
                value->node && value->cotangent
                    ? bisect_entry(bisect, entry->rank, entry->node->epoch, value->node)
                    : NULL;
            for (size_t p = 0; origin && p < value->parts; p++)
                origin->bars[value->output][p] += value->cotangent[p];
        }
    }
    return true;
}

/* Adds the sums of the rank that was being added to the group's. */
static void group_rank_close(struct entry *group)
{
    if (group->adding < 0)
        return;
    bool first = group->members++ == 0;
    group->out_low = first ? group->rank_out : fmin(group->out_low, group->rank_out);
    group->out_high = first ? group->rank_out : fmax(group->out_high, group->rank_out);
    group->in_low = first ? group->rank_in : fmin(group->in_low, group->rank_in);
    group->in_high = first ? group->rank_in : fmax(group->in_high, group->rank_in);
    group->out += group->rank_out;
    group->in += group->rank_in;
    group->rank_out = group->rank_in = 0;
    group->adding = -1;
}

/* A constant that differs between the moved worlds was computed from the inputs outside of the
 * tape. */
static bool constant_moves(const struct bisect *bisect, const struct entry *entry, uint32_t k)
{
    const double *above = entry->above->inputs[k].values, *below = entry->below->inputs[k].values;
    const struct probe_value *value = &entry->node->inputs[k];
    if (value->input || (bisect->cut && !value->untracked))
        return false;
    for (size_t p = 0; above && below && p < entry->node->inputs[k].parts; p++)
        if (above[p] != below[p])
            return true;
    return false;
}

/* The same of a number that is the operation's own, as the factor of scale. */
static bool numbers_move(const struct entry *entry)
{
    for (size_t i = 0; i < sizeof entry->node->numbers / sizeof *entry->node->numbers; i++)
        if (entry->above->numbers[i] != entry->below->numbers[i])
            return true;
    return false;
}

/* What goes on in its group is not known then: nobody in it is accused. */
static void leaves_note(struct bisect *bisect, const struct entry *entry, struct entry *group,
                        bool number)
{
    group->leaves = true;
    if (bisect->outside && entry->node->sequence <= bisect->outside->node->sequence)
        return;
    bisect->outside = entry;
    bisect->outside_number = number;
}

/* The value moves with the inputs, but its origin is not on the way back: that one is to blame. */
static bool origin_blamed(struct bisect *bisect, const struct entry *entry,
                          const struct probe_value *value)
{
    double due = 0;
    for (size_t p = 0; p < value->parts; p++)
        due += fabs(tangent_of_input(bisect, entry, value, p));
    struct entry *origin = value->untracked && due > 0 && value->node
                               ? bisect_entry(bisect, entry->rank, entry->node->epoch, value->node)
                               : NULL;
    if (!origin)
        return false;
    struct entry *other =
        &bisect->entries[bisect_group(bisect, (size_t)(origin - bisect->entries))];
    other->never_ran = true;
    other->defect += due;
    other->scale += due;
    return true;
}

static void defect_add(struct bisect *bisect, struct entry *entry)
{
    const struct probe_node *node = entry->node;
    struct entry *group = &bisect->entries[bisect_group(bisect, (size_t)(entry - bisect->entries))];
    double out = 0, in = 0, scale = 0, spread = 0, coarse = 0;
    for (uint32_t k = 0; k < node->output_count; k++)
        for (size_t p = 0; p < node->outputs[k].parts; p++) {
            double term = entry->bars[k][p] * bisect_tangent(bisect, entry, k, p);
            out += term;
            scale += fabs(term);
            spread += fabs(entry->bars[k][p]) * bend(bisect, entry, k, p);
            coarse += fabs(entry->bars[k][p]) * coarseness(bisect, entry, k, p);
        }
    for (uint32_t k = 0; k < node->input_count; k++) {
        const struct probe_value *value = &node->inputs[k];
        for (size_t p = 0; value->cotangent && p < value->parts; p++) {
            double term = value->cotangent[p] * tangent_of_input(bisect, entry, value, p);
            in += term;
            scale += fabs(term);
            spread += fabs(value->cotangent[p]) * bend_of_input(bisect, entry, value, p);
            coarse += fabs(value->cotangent[p]) * coarseness_of_input(bisect, entry, value, p);
        }
        if (origin_blamed(bisect, entry, value))
            return;
        if (constant_moves(bisect, entry, k)) {
            leaves_note(bisect, entry, group, false);
            return;
        }
    }
    if (numbers_move(entry)) {
        leaves_note(bisect, entry, group, true);
        return;
    }
    if (group->adding != entry->rank)
        group_rank_close(group);
    group->adding = entry->rank;
    group->rank_out += out;
    group->rank_in += in;
    group->scale += scale;
    group->spread += spread / 2 + coarse;
    group->coarse += coarse;
    group->collective =
        group->collective || (node->places[0].channel && node->places[0].source < 0);
    group->replicates = group->replicates || strcmp(node->name, "replicate") == 0;
}

static bool alike(double low, double high)
{
    return high - low <= 1e-6 * fmax(fabs(low), fabs(high));
}

/* What all ranks hold alike counts once: under a replicated loss the results of a collective whose
 * cotangents are equal, and always the value that f spreads. */
static void group_weigh(const struct bisect *bisect, struct entry *group)
{
    group_rank_close(group);
    double out = 1, in = 1;
    if (group->members > 1 && group->replicates && alike(group->in_low, group->in_high))
        in = 1.0 / group->members;
    else if (group->members > 1 && group->collective && bisect->replicated &&
             alike(group->out_low, group->out_high))
        out = 1.0 / group->members;
    group->weight_out = out;
    group->weight_in = in;
    group->defect += out * group->out - in * group->in;
}

static void defects_collect(struct bisect *bisect)
{
    for (size_t i = 0; i < bisect->count; i++)
        bisect->entries[i].adding = -1;
    for (size_t i = 0; i < bisect->count; i++)
        defect_add(bisect, &bisect->entries[i]);
    for (size_t i = 0; i < bisect->count; i++)
        if (bisect->entries[i].parent == i)
            group_weigh(bisect, &bisect->entries[i]);
}

const struct entry *bisect_member(struct bisect *bisect, size_t group)
{
    const struct entry *newest = NULL;
    for (size_t i = 0; i < bisect->count; i++) {
        const struct entry *entry = &bisect->entries[i];
        if (bisect_group(bisect, i) == group &&
            (!newest || entry->node->sequence > newest->node->sequence))
            newest = entry;
    }
    return newest;
}

bool bisect_is_defective(const struct bisect *bisect, const struct entry *group)
{
    double slack = bisect->check->epsilon > 1e-10 ? 2e-2 : 1e-5;
    if (group->leaves)
        return false;
    return !(fabs(group->defect) <= slack * group->scale + group->spread);
}

/* The base world is the one that was recorded: what it noted of the node. */
const struct probe_record *bisect_recorded(const struct bisect *bisect, const struct entry *entry)
{
    const struct diff_probe *recorded =
        bisect->check->recorded ? bisect->check->recorded : &bisect->check->base;
    const struct diff_probe_rank *row = &recorded->rows[entry->rank];
    if (row->checkpoints) /* numbers its nodes otherwise */
        return NULL;
    for (size_t i = 0; i < row->record_count; i++)
        if (row->records[i].epoch == entry->node->epoch &&
            row->records[i].sequence == entry->node->sequence)
            return &row->records[i];
    return NULL;
}

void bisect_report(struct bisect *bisect, const struct entry *told)
{
    struct gradcheck_culprit *culprit = &bisect->check->result->culprit;
    const struct probe_record *record = bisect_recorded(bisect, told);
    *culprit = (struct gradcheck_culprit){.found = true,
                                          .rank = told->rank,
                                          .sequence = told->node->sequence,
                                          .record = record ? record->record : 0,
                                          .position = record ? record->position : 0,
                                          .site = told->node->site};
    snprintf(culprit->name, sizeof culprit->name, "%s", told->node->name);
    snprintf(culprit->label, sizeof culprit->label, "%s", told->node->label);
}

/* Tell the communication rather than the wait that completed it. */
static const struct entry *told_for(struct bisect *bisect, const struct entry *chosen,
                                    const struct entry *group)
{
    const struct entry *told = chosen;
    for (size_t i = 0; i < bisect->count && strcmp(told->node->name, "Wait") == 0; i++)
        if (bisect->entries[i].rank == chosen->rank && &bisect->entries[i] != chosen &&
            bisect_group(bisect, i) == (size_t)(group - bisect->entries))
            told = &bisect->entries[i];
    return told;
}

static void culprit_choose(struct bisect *bisect)
{
    struct gradcheck_culprit *culprit = &bisect->check->result->culprit;
    const struct entry *chosen = NULL, *chosen_group = NULL;
    for (size_t i = 0; i < bisect->count; i++) {
        const struct entry *group = &bisect->entries[i];
        if (group->parent != i || !bisect_is_defective(bisect, group))
            continue;
        const struct entry *member = bisect_member(bisect, i);
        if (!chosen || member->node->sequence > chosen->node->sequence) {
            chosen = member;
            chosen_group = group;
        }
    }
    if (!chosen && !bisect->outside) {
        chosen_group = bisect_exact_find(bisect);
        if (chosen_group)
            chosen = bisect_member(bisect, (size_t)(chosen_group - bisect->entries));
    }
    if (!chosen || (bisect->outside && bisect->outside->node->sequence > chosen->node->sequence)) {
        if (!bisect_explain_outside(bisect))
            bisect_explain_nothing(bisect);
        return;
    }
    const struct entry *told = told_for(bisect, chosen, chosen_group);
    bisect_report(bisect, told);
    culprit->position = 0;
    culprit->defect = chosen_group->defect;
    culprit->scale = chosen_group->scale;
    culprit->never_ran = chosen_group->never_ran || !told->node->ran;
    if (bisect_is_defective(bisect, chosen_group))
        bisect_explain_group(bisect, chosen_group);
    else
        bisect_explain_exact(bisect, chosen_group);
}

/* ---- the whole ---- */

static bool entries_make(struct bisect *bisect)
{
    const struct diff_probe *probe = &bisect->traced;
    bisect->begin = calloc((size_t)probe->ranks + 1, sizeof *bisect->begin);
    if (!bisect->begin)
        return false;
    for (int r = 0; r < probe->ranks; r++)
        bisect->begin[r + 1] = bisect->begin[r] + probe->rows[r].node_count;
    bisect->count = bisect->begin[probe->ranks];
    bisect->entries = calloc(bisect->count + 1, sizeof *bisect->entries);
    if (!bisect->entries)
        return false;
    for (int r = 0; r < probe->ranks; r++)
        for (size_t i = 0; i < probe->rows[r].node_count; i++) {
            size_t at = bisect->begin[r] + i;
            bisect->entries[at] = (struct entry){.node = &probe->rows[r].nodes[i],
                                                 .above = &bisect->above.rows[r].nodes[i],
                                                 .below = &bisect->below.rows[r].nodes[i],
                                                 .rank = r,
                                                 .parent = at};
        }
    return true;
}

static void entries_release(struct bisect *bisect)
{
    for (size_t i = 0; bisect->entries && i < bisect->count; i++) {
        struct entry *entry = &bisect->entries[i];
        for (uint32_t k = 0; entry->bars && k < entry->node->output_count; k++)
            free(entry->bars[k]);
        free(entry->bars);
    }
    free(bisect->entries);
    free(bisect->begin);
}

static void probe_drop(struct diff_probe *probe)
{
    if (probe->rows)
        diff_probe_release(probe);
}

/* Runs the worlds and collects the groups' defects along the direction; false where the program
 * cannot be followed. */
static bool search(struct bisect *bisect)
{
    struct gradcheck *check = bisect->check;
    for (int r = 0; r < check->base.ranks; r++)
        if (bisect->epoch < check->base.rows[r].epoch_count)
            bisect->replicated |= check->base.rows[r].objectives[bisect->epoch].team.size > 0;
    bisect->cut = gradcheck_is_cut(&check->base, bisect->epoch);
    bisect->step = check->epsilon > 1e-10 ? 0x1p-9 : 0x1p-20;
    if (!bisect->direction.pushes || !bisect_world(bisect, &bisect->traced, 0, false) ||
        !bisect_world(bisect, &bisect->above, bisect->step, false) ||
        !bisect_world(bisect, &bisect->below, -bisect->step, false) ||
        !bisect_same_nodes(&bisect->traced, &bisect->above) ||
        !bisect_same_nodes(&bisect->traced, &bisect->below) || !entries_make(bisect) ||
        !places_join(bisect) || !bars_collect(bisect))
        return false;
    handles_join(bisect);
    defects_collect(bisect);
    return true;
}

static void search_end(struct bisect *bisect)
{
    entries_release(bisect);
    probe_drop(&bisect->traced);
    probe_drop(&bisect->above);
    probe_drop(&bisect->below);
    probe_drop(&bisect->carried);
}

enum bisect_reason bisect_reason(struct bisect *bisect)
{
    bool right = search(bisect) && !bisect->outside, bends = false, coarse = false;
    for (size_t i = 0; right && i < bisect->count; i++) {
        const struct entry *group = &bisect->entries[i];
        right = group->parent != i || (!group->never_ran && !bisect_is_defective(bisect, group));
        bends = bends || group->spread - group->coarse > 1e-3 * group->scale;
        coarse = coarse || group->coarse > 1e-3 * group->scale;
    }
    search_end(bisect);
    return !right   ? BISECT_NO_REASON
           : coarse ? BISECT_STAIRS
           : bends  ? BISECT_KINKS
                    : BISECT_NO_REASON;
}

/* Along a direction whose check failed: at a kink another one may not show what is wrong. */
static struct gradcheck_direction failed_direction(struct gradcheck *check, uint32_t epoch)
{
    uint64_t seed = check->options->seed + 4711;
    enum gradcheck_spread spread = SPREAD_RANDOM;
    for (size_t i = 0; i < check->result->row_count; i++) {
        const struct gradcheck_row *row = &check->result->rows[i];
        if (!trace_gradient_wrong(&row->check) || row->epoch != epoch || !row->seed)
            continue;
        seed = row->seed;
        spread = row->constant ? SPREAD_CONSTANT : SPREAD_RANDOM;
    }
    return gradcheck_direction_new(&check->base, epoch, seed, spread);
}

void gradcheck_bisect(struct gradcheck *check, uint32_t epoch)
{
    struct bisect bisect = {.check = check, .epoch = epoch};
    bisect.direction = failed_direction(check, epoch);
    if (search(&bisect))
        culprit_choose(&bisect);
    else
        snprintf(
            check->result->culprit.text, sizeof check->result->culprit.text,
            "no single operation explains it: a little away from these inputs the program runs "
            "other operations or does not finish, so that its values cannot be followed");
    search_end(&bisect);
    gradcheck_direction_release(&bisect.direction);
}
