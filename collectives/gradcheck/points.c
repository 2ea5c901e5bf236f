/* The gradient check at other points than the program's own: a little beside it, where an adjoint
 * that is right only there (at zero, at a symmetry) is wrong; and far away, with every sign turned,
 * where other branches run. A point where the program does not finish, or whose objective or
 * gradients are no numbers, is outside of its domain and accuses nobody. */
#include "collectives/gradcheck/internal.h"
#include "collectives/tape/tensor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 64, PARTS_MOST = 1 << 14, RANKS_MOST = 32 };

/* What leads from the program's own point to another one. */
enum way { WAY_BESIDE, WAY_MIRRORED, WAY_FAR };

static struct gradcheck_direction way_to(const struct gradcheck *check, int number, enum way way)
{
    const struct diff_probe *base = &check->base;
    struct gradcheck_direction shift = gradcheck_direction_new(
        base, 0, check->options->seed + 2000 + (uint64_t)number, SPREAD_POINT);
    double size = way == WAY_BESIDE ? 1e-3 : way == WAY_MIRRORED ? 0.05 : 0.5;
    for (size_t i = 0; shift.pushes && i < shift.count; i++) {
        const struct probe_push *push = &shift.pushes[i];
        const struct probe_input *input = &base->rows[push->rank].inputs[push->input];
        double *values = shift.values + (push->direction - shift.values);
        for (size_t k = 0; k < input->count * diff_type_parts(input->type); k++)
            values[k] = size * values[k] - (way == WAY_MIRRORED ? 2 * input->values[k] : 0);
    }
    return shift;
}

static bool is_finite_there(const struct gradcheck *check)
{
    for (int r = 0; r < check->base.ranks; r++) {
        const struct diff_probe_rank *row = &check->base.rows[r];
        if (row->non_finite)
            return false;
        for (size_t e = 0; e < row->epoch_count; e++)
            if (!isfinite(row->objectives[e].value))
                return false;
        for (size_t i = 0; i < row->input_count; i++) {
            const struct probe_input *input = &row->inputs[i];
            for (size_t k = 0; input->gradient && k < input->count * diff_type_parts(input->type);
                 k++)
                if (!isfinite(input->gradient[k]))
                    return false;
        }
    }
    return true;
}

/* The same inputs as at the program's own point. */
bool gradcheck_same_inputs(const struct diff_probe *one, const struct diff_probe *two)
{
    for (int r = 0; r < one->ranks; r++) {
        if (one->rows[r].input_count != two->rows[r].input_count)
            return false;
        for (size_t i = 0; i < one->rows[r].input_count; i++)
            if (one->rows[r].inputs[i].count != two->rows[r].inputs[i].count ||
                one->rows[r].inputs[i].epoch != two->rows[r].inputs[i].epoch ||
                (one->rows[r].inputs[i].gradient == NULL) !=
                    (two->rows[r].inputs[i].gradient == NULL))
                return false;
    }
    return true;
}

static bool world_there(struct gradcheck *there)
{
    return diff_probe_init(&there->base, there->runner->ranks) &&
           (there->base.shifts = there->shift.pushes, there->base.shift_count = there->shift.count,
            gradcheck_world(there, &there->base, 0)) &&
           is_finite_there(there);
}

/* Wrong rows go to the result, by their own names and that of the point. */
static void rows_keep(struct gradcheck *check, const struct gradcheck *there, const char *where)
{
    for (size_t i = 0; i < there->result->row_count; i++) {
        const struct gradcheck_row *row = &there->result->rows[i];
        if (!trace_gradient_wrong(&row->check) || !isfinite(row->check.analytic))
            continue;
        struct gradcheck_row *kept = gradcheck_row_add(check->result);
        if (!kept)
            return;
        *kept = *row;
        snprintf(kept->name, sizeof kept->name, "%.40s %s", row->name, where);
    }
}

/* Who is to blame there; what the recorder knows is known of the program's own point. */
static void culprit_seek(struct gradcheck *check, struct gradcheck *there)
{
    struct gradcheck marks = *there;
    marks.base = check->base;
    gradcheck_bisect_marks(&marks);
    if (there->result->culprit.marked && !there->result->culprit.before[0])
        gradcheck_bisect_calls(there);
    there->recorded = &check->base;
    for (uint32_t e = 0; e < there->epoch_count && !there->result->culprit.found; e++)
        if (gradcheck_has_loss(&there->base, e))
            gradcheck_bisect(there, e);
    check->result->culprit = there->result->culprit;
}

void gradcheck_elsewhere(struct gradcheck *check, struct gradcheck *there, const char *where)
{
    struct gradcheck_result *result = there->result;
    there->epsilon = gradcheck_epsilon(&there->base);
    if (!gradcheck_epochs_prepare(there) || !gradcheck_elements_plan(there))
        return;
    for (uint32_t e = 0; e < there->epoch_count; e++)
        if (gradcheck_has_loss(&there->base, e))
            there->trusted[e] = gradcheck_tangent(there, e);
    if (there->element_rows <= ROWS_MOST)
        gradcheck_elements(there);
    else
        for (size_t i = 0; i < there->element_rows; i++)
            result->rows[i].check.ok = true; /* the directions look at them */
    for (uint32_t e = 0; e < there->epoch_count; e++)
        if (gradcheck_has_loss(&there->base, e) && there->element_rows > ROWS_MOST)
            gradcheck_directions(there, e);
    gradcheck_kinks(there);
    size_t before = check->result->row_count;
    rows_keep(check, there, where);
    if (check->result->row_count > before && check->options->bisect && !there->adverse &&
        !there->stale_memory && !check->result->culprit.found)
        culprit_seek(check, there);
}

static void point_look(struct gradcheck *check, int number)
{
    static const enum way ways[2][2] = {{WAY_BESIDE, WAY_BESIDE}, {WAY_MIRRORED, WAY_FAR}};
    struct gradcheck_options options = *check->options;
    options.elements_max = 1; /* a row for every input */
    bool found = false;
    char where[24];
    for (int try = 0; try < 2 && !found; try++) {
        enum way way = number < 3 ? ways[number - 1][try] : WAY_FAR;
        struct gradcheck_result result = {.ranks = check->base.ranks};
        struct gradcheck there = {.runner = check->runner,
                                  .options = &options,
                                  .result = &result,
                                  .blocks = check->blocks,
                                  .shift = way_to(check, number, way)};
        found = there.shift.pushes && world_there(&there) &&
                gradcheck_same_inputs(&check->base, &there.base);
        snprintf(where, sizeof where, "at point %d", number + 1);
        if (found)
            gradcheck_elsewhere(check, &there, where);
        check->result->points += found;
        check->result->worlds += result.worlds;
        gradcheck_epochs_release(&there);
        gradcheck_direction_release(&there.shift);
        diff_probe_release(&there.base);
        free(result.rows);
    }
    check->result->points_outside += !found;
}

/* Three points where a world costs little, else the program's own alone. */
static int points_most(const struct gradcheck *check)
{
    size_t parts = 0;
    if (check->options->points > 0)
        return check->options->points;
    for (int r = 0; r < check->base.ranks; r++)
        for (size_t i = 0; i < check->base.rows[r].input_count; i++) {
            const struct probe_input *input = &check->base.rows[r].inputs[i];
            parts += input->count * diff_type_parts(input->type);
        }
    return parts > 0 && parts <= PARTS_MOST && check->base.ranks <= RANKS_MOST ? 3 : 1;
}

void gradcheck_points(struct gradcheck *check)
{
    int points = points_most(check);
    check->result->points = 1;
    for (int number = 1; number < points && !check->result->failed && !check->result->unsteady;
         number++) {
        point_look(check, number);
        gradcheck_failures_count(check->result);
        if (check->result->failed)
            gradcheck_steady(check);
    }
}
