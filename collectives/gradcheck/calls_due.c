/* What the calls of an adjoint should be given: numbers that a forward call gave are changed behind
 * its back, and J answers. */
#include "collectives/gradcheck/calls.h"

#include <math.h>
#include <stdlib.h>

double calls_product(const struct call_numbers *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < a->count; i++)
        sum += a->values[i] * b[i];
    return sum;
}

double calls_product_size(const struct call_numbers *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < a->count; i++)
        sum += fabs(a->values[i] * b[i]);
    return sum;
}

static double objective_at(struct calls *calls, struct call_log *push)
{
    struct gradcheck *check = calls->check;
    struct diff_probe probe;
    double value = NAN;
    if (!gradcheck_probe_moved(check, &probe))
        return NAN;
    probe.watch = &push->watch;
    if (gradcheck_world(check, &probe, 0))
        value = gradcheck_objective(&probe, 0, -1);
    diff_probe_release(&probe);
    return value;
}

/* What is changed in a forward call's result: a direction, of rank r from begin[r] up to begin[r + 1]. */
struct change {
    const struct call_group *group;
    int only; /* of one rank alone, -1: of all */
    const size_t *begin;
    const double *direction;
};

static double slope(struct calls *calls, const struct change *change, double step)
{
    const struct call_group *group = change->group;
    double ends[2];
    size_t *pushed = malloc((size_t)calls->ranks * sizeof *pushed);
    for (int end = 0; end < 2 && pushed; end++) {
        struct call_log log;
        ends[end] = NAN;
        for (int r = 0; r < calls->ranks; r++)
            pushed[r] = SIZE_MAX;
        for (size_t m = 0; m < group->count; m++) {
            const struct call_member *member = &calls->members[group->first + m];
            if (member->gets && (change->only < 0 || change->only == member->rank))
                pushed[member->rank] = member->entry;
        }
        if (call_log_init(&log, calls->ranks)) {
            log.pushed = pushed;
            log.begin = change->begin;
            log.direction = change->direction;
            log.step = end ? -step : step;
            ends[end] = objective_at(calls, &log);
        }
        call_log_release(&log);
    }
    free(pushed);
    return pushed ? (ends[0] - ends[1]) / (2 * step) : NAN;
}

/* dJ along the change, and how far it may be off. */
static double slope_measured(struct calls *calls, const struct change *change, double step,
                             double *error)
{
    double one = slope(calls, change, step), two = slope(calls, change, 2 * step);
    double magnitude = gradcheck_magnitude(&calls->check->base, 0);
    *error = 4 * fabs(one - two) + 16 * calls->check->epsilon * magnitude / step;
    return (4 * one - two) / 3;
}

/* A random change of all that a forward call gave, where each rank's part of it begins, and a step of
 * its size; the caller frees both. NULL without memory. */
static double *change_new(const struct calls *calls, const struct call_group *forward,
                          uint64_t seed, size_t **begin, double *step)
{
    double scale = 0;
    *begin = calloc((size_t)calls->ranks + 1, sizeof **begin);
    for (size_t m = 0; *begin && m < forward->count; m++) {
        const struct call_member *member = &calls->members[forward->first + m];
        const struct call_entry *entry = calls_entry(calls, member);
        if (!member->gets)
            continue;
        (*begin)[member->rank + 1] += entry->got.count;
        for (size_t i = 0; i < entry->got.count; i++)
            scale = fmax(scale, fabs(entry->got.values[i]));
    }
    for (int r = 0; *begin && r < calls->ranks; r++)
        (*begin)[r + 1] += (*begin)[r];
    size_t total = *begin ? (*begin)[calls->ranks] : 0;
    double *direction = *begin ? malloc((total + 1) * sizeof *direction) : NULL;
    uint64_t state = 1234 + seed;
    for (size_t i = 0; direction && i < total; i++)
        direction[i] = gradcheck_gaussian(&state);
    *step = (scale > 0 ? scale : 1) * 0x1p-16;
    return direction;
}

/* Whether J depends on what a forward call gave: what is printed, or belongs to an adjoint that runs
 * beside the forward pass, does not matter to it. */
bool calls_matter(struct calls *calls, struct call_group *group)
{
    if (group->asked)
        return group->matters;
    size_t *begin;
    double step, *direction = change_new(calls, group, 0, &begin, &step);
    struct change change = {group, -1, begin, direction};
    group->asked = true;
    group->matters = !direction || slope(calls, &change, step) != 0;
    free(direction);
    free(begin);
    return group->matters;
}

/* What `back` sends, and what J asks of `forward`, along a random change. */
struct due {
    double sent, due, slack, error;
};

static struct due due_measured(struct calls *calls, const struct call_group *forward,
                               const struct call_group *back, int only, uint64_t seed)
{
    size_t *begin;
    double size = 0, step, *direction = change_new(calls, forward, seed, &begin, &step), error = 0;
    struct due due = {.due = NAN};
    for (size_t m = 0; direction && m < back->count; m++) {
        const struct call_member *member = &calls->members[back->first + m];
        const struct call_entry *entry = calls_entry(calls, member);
        if (!member->sends || (only >= 0 && only != member->rank))
            continue;
        due.sent += calls_product(&entry->sent, direction + begin[member->rank]);
        size += calls_product_size(&entry->sent, direction + begin[member->rank]);
    }
    struct change change = {forward, only, begin, direction};
    if (direction)
        due.due = slope_measured(calls, &change, step, &error);
    free(direction);
    free(begin);
    due.slack = 0.1 * calls->slack * fmax(size, fabs(due.due));
    due.error = error;
    return due;
}

static bool is_due(struct due due, double factor)
{
    return fabs(due.sent - factor * due.due) <= fmax(1, fabs(factor)) * (due.slack + due.error);
}

bool calls_sent_right(struct calls *calls, const struct call_group *forward,
                      const struct call_group *back, int only)
{
    return is_due(due_measured(calls, forward, back, only, 0), 1);
}

double calls_factor_of(struct calls *calls, const struct call_group *forward,
                       const struct call_group *back)
{
    enum { SEEDS = 3 };
    struct due all = due_measured(calls, forward, back, -1, 0);
    double factor = all.sent / all.due;
    size_t numbers = 0;
    bool same = isfinite(factor) && factor != 0;
    for (uint64_t seed = 1; seed < SEEDS && same; seed++)
        same = is_due(due_measured(calls, forward, back, -1, seed), factor);
    for (size_t m = 0; m < back->count && same; m++) {
        const struct call_member *member = &calls->members[back->first + m];
        numbers += member->sends ? calls_entry(calls, member)->sent.count : 0;
        if (member->sends)
            same = is_due(due_measured(calls, forward, back, member->rank, SEEDS), factor);
    }
    return same && numbers > 1 ? factor : 0;
}
