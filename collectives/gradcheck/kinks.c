/* Where several operations have a kink.
 *
 * At one kink the gradient lies between the slopes to both sides. Of a sum, or a chain, of kinks
 * that bend in different directions the slopes of J tell less: every operation may have taken a
 * subgradient, and their product need not lie between the slopes of the whole. There the rule is
 * asked of every operation instead, along the direction in question. What holds then is told by the
 * row as what it computed. The same goes for a gradient that lies between the slopes where no
 * convention puts it: some kinks at once may do that, and so may an error.
 *
 * A difference that met a kink, or noise, somewhere else is told by the rows beside it: a row that is
 * called wrong, and that others refute, is undecided. */
#include "collectives/gradcheck/bisect.h"
#include "collectives/tape/tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The one part alone, on all ranks where it is a replicated variable's. */
static struct gradcheck_direction element_direction(const struct gradcheck *check,
                                                    const struct gradcheck_row *row)
{
    struct gradcheck_direction direction = {0};
    const struct diff_probe *base = &check->base;
    const struct probe_input *input = &base->rows[row->check.rank].inputs[row->check.variable];
    direction.values = calloc(input->count * diff_type_parts(input->type) + 1, sizeof(double));
    direction.pushes = calloc((size_t)base->ranks, sizeof *direction.pushes);
    if (!direction.values || !direction.pushes)
        return direction;
    direction.values[row->check.index] = 1;
    for (int r = 0; r < base->ranks; r++)
        if (r == (int)row->check.rank || gradcheck_is_copy(base, r, input, row->check.variable))
            direction.pushes[direction.count++] =
                (struct probe_push){.rank = r,
                                    .input = row->check.variable,
                                    .part = SIZE_MAX,
                                    .direction = direction.values};
    return direction;
}

static enum bisect_reason reason(struct gradcheck *check, const struct gradcheck_row *row)
{
    struct bisect bisect = {.check = check, .epoch = row->epoch};
    if (row->check.index >= 0)
        bisect.direction = element_direction(check, row);
    else
        bisect.direction = gradcheck_direction_new(&check->base, row->epoch, row->seed,
                                                   row->constant ? SPREAD_CONSTANT : SPREAD_RANDOM);
    enum bisect_reason reason = bisect.direction.values ? bisect_reason(&bisect) : BISECT_NO_REASON;
    gradcheck_direction_release(&bisect.direction);
    return reason;
}

static bool has_marks(const struct gradcheck *check, uint32_t epoch)
{
    for (int r = 0; r < check->base.ranks; r++)
        for (size_t i = 0; i < check->base.rows[r].input_count; i++)
            if (check->base.rows[r].inputs[i].epoch == epoch &&
                check->base.rows[r].inputs[i].marked)
                return true;
    return false;
}

/* Nobody can ask the operations of a program with marks. Of a direction between the slopes the
 * elements have told more, each by itself: it is left out. */
static bool marked_stays(struct gradcheck_row *row)
{
    bool between = row->check.undecided && row->check.error == 0;
    row->check.undecided = isfinite(row->check.analytic) ? trace_doubt("kink") : NULL;
    return !between || row->check.index >= 0;
}

static void explain(struct gradcheck *check, struct gradcheck_row *row)
{
    if (reason(check, row) == BISECT_NO_REASON)
        return;
    row->check.numeric = row->check.analytic;
    row->check.error = row->check.relative = 0;
    row->check.undecided = NULL;
    row->check.ok = true;
}

bool gradcheck_on_stairs(struct gradcheck *check, uint32_t epoch,
                         const struct gradcheck_direction *direction)
{
    struct bisect bisect = {.check = check, .epoch = epoch, .direction = *direction};
    return !has_marks(check, epoch) && bisect_reason(&bisect) == BISECT_STAIRS;
}

static bool is_by_tangents(const struct gradcheck_row *row)
{
    return row->check.method && strcmp(row->check.method, "tangent") == 0;
}

/* Whether exact tangents say of the epoch's whole gradient that it is right. */
static bool tangents_agree(const struct gradcheck_result *result, uint32_t epoch)
{
    for (size_t i = 0; i < result->row_count; i++) {
        const struct gradcheck_row *row = &result->rows[i];
        if (row->epoch == epoch && row->check.index < 0 && row->check.ok && is_by_tangents(row))
            return true;
    }
    return false;
}

/* Whether some row saw that the point itself is a kink. */
static bool kinks_seen(const struct gradcheck_result *result, uint32_t epoch)
{
    for (size_t i = 0; i < result->row_count; i++) {
        const struct gradcheck_row *row = &result->rows[i];
        if (row->epoch == epoch && row->check.method && strcmp(row->check.method, "one-sided") == 0)
            return true;
    }
    return false;
}

/* Whether exact tangents say of each element by itself that it is right. */
static bool elements_agree(const struct gradcheck_result *result, uint32_t epoch)
{
    for (size_t i = 0; i < result->row_count; i++) {
        const struct gradcheck_row *row = &result->rows[i];
        if (row->epoch == epoch && row->check.index >= 0 && !(row->check.ok && is_by_tangents(row)))
            return false;
    }
    return true;
}

/* Called wrong by differences alone: of several kinks on the spot they may see a small bend only,
 * or none where these bend against each other. */
static bool may_be_kinks(struct gradcheck *check, const struct gradcheck_row *row)
{
    return trace_gradient_wrong(&row->check) &&
           (row->bends || kinks_seen(check->result, row->epoch) ||
            (row->check.index < 0 && elements_agree(check->result, row->epoch))) &&
           row->check.method && strcmp(row->check.method, "tangent") != 0 &&
           !has_marks(check, row->epoch) && tangents_agree(check->result, row->epoch) &&
           reason(check, row) != BISECT_NO_REASON;
}

/* A direction that differences call wrong by little more than they can see, and exact tangents
 * right. */
static bool is_barely_wrong(const struct gradcheck *check, const struct gradcheck_row *row)
{
    return row->check.index < 0 && row->check.error <= 4 * row->check.tolerance &&
           !is_by_tangents(row) && !has_marks(check, row->epoch) &&
           tangents_agree(check->result, row->epoch);
}

/* How much of the element is in a random direction. */
static double component(const struct gradcheck *check, const struct gradcheck_row *element,
                        const struct gradcheck_row *along)
{
    struct gradcheck_direction direction = gradcheck_direction_new(
        &check->base, along->epoch, along->seed, along->constant ? SPREAD_CONSTANT : SPREAD_RANDOM);
    double value = 0;
    for (size_t i = 0; direction.values && i < direction.count; i++)
        if (direction.pushes[i].rank == (int)element->check.rank &&
            direction.pushes[i].input == element->check.variable)
            value = direction.pushes[i].direction[element->check.index];
    gradcheck_direction_release(&direction);
    return value;
}

/* The only wrong element of its epoch, though a direction with much of it is seen to be right: one
 * of the two differences was misled. */
static bool is_refuted(const struct gradcheck *check, const struct gradcheck_row *row)
{
    bool refuted = false;
    if (row->check.index < 0 || is_by_tangents(row))
        return false;
    for (size_t i = 0; i < check->result->row_count; i++) {
        const struct gradcheck_row *other = &check->result->rows[i];
        if (other == row || other->epoch != row->epoch)
            continue;
        if (trace_gradient_wrong(&other->check))
            return false;
        if (other->check.index >= 0 || !other->check.ok || !other->check.method ||
            strcmp(other->check.method, "dot") != 0)
            continue;
        double share = fabs(component(check, row, other));
        refuted = refuted || share * row->check.error >
                                 16 * (other->check.tolerance + share * row->check.tolerance);
    }
    return refuted;
}

void gradcheck_kinks(struct gradcheck *check)
{
    enum { ASKED_MOST = 16 };
    size_t kept = 0, count = check->result->row_count, asked = 0;
    for (size_t i = 0; i < count; i++) {
        struct gradcheck_row *row = &check->result->rows[i];
        bool stays = true;
        if (!row->check.ok && row->check.method && strcmp(row->check.method, "one-sided") == 0) {
            if (has_marks(check, row->epoch))
                stays = marked_stays(row);
            else
                explain(check, row);
        } else if (check->stairs && trace_gradient_wrong(&row->check) && row->check.method &&
                   strcmp(row->check.method, "tangent") != 0 && !has_marks(check, row->epoch) &&
                   reason(check, row) == BISECT_STAIRS) {
            row->check.undecided = trace_doubt("noise");
        } else if (trace_gradient_wrong(&row->check) && asked++ < ASKED_MOST &&
                   may_be_kinks(check, row)) {
            row->check.undecided = trace_doubt("kink");
        } else if (trace_gradient_wrong(&row->check) &&
                   (is_barely_wrong(check, row) || is_refuted(check, row))) {
            row->check.undecided = trace_doubt("noise");
        }
        if (stays)
            check->result->rows[kept++] = *row;
    }
    check->result->row_count = kept;
}
