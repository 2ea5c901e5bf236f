#include "checker/orders/reference.h"

#include "checker/memory.h"
#include "checker/replay/replay.h"

#include <stdlib.h>

enum { UNITS_MAX = 4096 /* of an order in which all ranks agree: found in n squared */ };

/* ---- the reverse of the forward pass ---- */

struct ranked {
    uint64_t key;
    uint32_t op;
};

static int by_key(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->op < y->op ? -1 : x->op > y->op;
}

/* Later forward nodes first; ops of one node as issued. */
static uint64_t reversed_forward(const struct trace *trace, uint32_t op)
{
    uint32_t node = trace->ops[op].node;
    uint32_t forward = node == TRACE_NO ? TRACE_NO : trace->nodes[node].forward;
    return forward == TRACE_NO ? UINT64_MAX : UINT32_MAX - trace->nodes[forward].id;
}

/* Fills position (per op) with the reverse of the forward order inside partial segments; false
 * where that is unknown or no legal order. */
static bool reverse_forward(const struct check_partial_order *reach, uint32_t *position)
{
    const struct trace *trace = reach->context->trace;
    bool known = true;
    for (size_t s = 0; s < reach->segment_count && known; s++) {
        const struct reach_segment *segment = &reach->segments[s];
        size_t count = segment->end - segment->first;
        struct ranked *ranked = check_new(count, sizeof *ranked);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t op = segment->first + i;
            bool moves = segment->item_count && reach->item_of[op] != TRACE_NO;
            ranked[i] = (struct ranked){.key = moves ? reversed_forward(trace, op) : 0, .op = op};
            known = known && ranked[i].key != UINT64_MAX;
        }
        if (segment->item_count && known)
            qsort(ranked, count, sizeof *ranked, by_key);
        for (uint32_t i = 0; i < count; i++)
            position[ranked[i].op] = segment->first + i;
        free(ranked);
        for (uint32_t i = 0; i < segment->item_count && known;
             i++) /* an item's predecessors come first */
            for (uint32_t j = 0; j < segment->item_count && known; j++)
                known = i == j || !reach_before(reach, segment, j, i) ||
                        position[segment->item_ops[segment->item_begin[j]]] <
                            position[segment->item_ops[segment->item_begin[i]]];
    }
    return known;
}

bool check_order_completes(const struct check_context *context, const uint32_t *position)
{
    size_t ops = context->trace->op_count;
    uint32_t *order = check_new(ops, sizeof *order);
    bool completes = true;
    for (uint32_t op = 0; op < ops; op++)
        order[position[op]] = op;
    struct check_plan plan;
    check_plan_init(&plan, context, &(struct plan_options){.order = order});
    for (unsigned model = CHECK_EAGER; model <= CHECK_BATCH && completes; model <<= 1) {
        struct check_replay replay;
        if (!(check_models_asked(context) & model))
            continue;
        check_replay_run(&plan, (enum check_model)model, &replay);
        completes = !check_replay_hangs(&replay) && !replay.crossed;
        check_replay_release(&replay);
    }
    check_plan_release(&plan);
    free(order);
    return completes;
}

/* ---- one order of all ranks ---- */

/* What meets is one thing: all ranks do these things in one order, if the DAGs allow one. A unit is
 * an item of a partially ordered segment; the units that meet are known by the first of them. */
struct agreement {
    const struct check_partial_order *reach;
    uint32_t *base;    /* per segment: its first unit */
    uint32_t *one_of;  /* per unit: another that it meets, or itself */
    uint32_t *segment; /* per unit */
    uint32_t *waits;   /* per unit that stands for others: units of others that come before it */
    uint32_t *left;    /* per segment: units that have no place yet */
    uint32_t *next;    /* per segment: the place of the next op */
    bool *placed;      /* per unit */
    uint32_t units;
};

static uint32_t first_of(struct agreement *all, uint32_t unit)
{
    while (all->one_of[unit] != unit)
        unit = all->one_of[unit] = all->one_of[all->one_of[unit]];
    return unit;
}

static uint32_t unit_of(const struct agreement *all, uint32_t op)
{
    uint32_t item = op == TRACE_NO ? TRACE_NO : all->reach->item_of[op];
    return item == TRACE_NO ? TRACE_NO : all->base[all->reach->segment_of[op]] + item;
}

static void meet(struct agreement *all, uint32_t op, uint32_t other)
{
    uint32_t a = unit_of(all, op), b = unit_of(all, other);
    if (a == TRACE_NO || b == TRACE_NO)
        return;
    a = first_of(all, a);
    b = first_of(all, b);
    all->one_of[a > b ? a : b] = a > b ? b : a;
}

static void find_meetings(struct agreement *all)
{
    const struct check_context *context = all->reach->context;
    for (uint32_t op = 0; op < context->trace->op_count; op++) {
        if (check_group_of(context, op) != TRACE_NO) {
            const struct check_group *group = &context->groups[check_group_of(context, op)];
            meet(all, op, context->group_ops[group->first]);
        } else {
            meet(all, op, context->trace->ops[op].match);
        }
    }
}

/* The partially ordered segment of its rank before this one; itself for the first. */
static uint32_t segment_before(const struct agreement *all, uint32_t segment)
{
    uint32_t first = all->reach->segment_begin[all->reach->segments[segment].rank], at = segment;
    while (at > first && !all->reach->segments[--at].item_count)
        ;
    return all->reach->segments[at].item_count ? at : segment;
}

/* Counts who comes before whom (`step` 1), or takes one unit that has its place off (-1). */
static void count_waits(struct agreement *all, uint32_t unit, int step)
{
    uint32_t at = all->segment[unit], item = unit - all->base[at];
    const struct reach_segment *segment = &all->reach->segments[at];
    for (uint32_t later = 0; later < segment->item_count; later++) {
        uint32_t one = first_of(all, all->base[at] + later);
        if (later != item && one != first_of(all, unit) &&
            reach_before(all->reach, segment, item, later))
            all->waits[one] += (uint32_t)step;
    }
}

/* Every unit of what meets can have its place now. */
static bool may_come(struct agreement *all, uint32_t one)
{
    if (all->waits[one])
        return false;
    for (uint32_t unit = one; unit < all->units; unit++) {
        uint32_t before = segment_before(all, all->segment[unit]);
        if (first_of(all, unit) == one && before != all->segment[unit] && all->left[before])
            return false;
    }
    return true;
}

static void place(struct agreement *all, uint32_t one, uint32_t *position)
{
    for (uint32_t unit = one; unit < all->units; unit++) {
        if (first_of(all, unit) != one)
            continue;
        uint32_t at = all->segment[unit], item = unit - all->base[at];
        const struct reach_segment *segment = &all->reach->segments[at];
        for (uint32_t i = segment->item_begin[item]; i < segment->item_begin[item + 1]; i++)
            position[segment->item_ops[i]] = all->next[at]++;
        all->placed[unit] = true;
        all->left[at]--;
        count_waits(all, unit, -1);
    }
}

static bool place_all(struct agreement *all, uint32_t *position)
{
    for (uint32_t one = 0; one < all->units;) {
        if (all->placed[one] || first_of(all, one) != one || !may_come(all, one)) {
            one++;
            continue;
        }
        place(all, one, position);
        one = 0;
    }
    for (uint32_t unit = 0; unit < all->units; unit++)
        if (!all->placed[unit])
            return false;
    return true;
}

static bool agreed_order(const struct check_partial_order *reach, uint32_t *position)
{
    struct agreement all = {.reach = reach};
    all.base = check_new(reach->segment_count, sizeof *all.base);
    all.left = check_new(reach->segment_count, sizeof *all.left);
    all.next = check_new(reach->segment_count, sizeof *all.next);
    for (size_t s = 0; s < reach->segment_count; s++) {
        all.base[s] = all.units;
        all.left[s] = reach->segments[s].item_count;
        all.next[s] = reach->segments[s].first;
        all.units += all.left[s];
    }
    bool done = all.units && all.units <= UNITS_MAX;
    all.one_of = check_new(all.units, sizeof *all.one_of);
    all.segment = check_new(all.units, sizeof *all.segment);
    all.waits = check_new(all.units, sizeof *all.waits);
    all.placed = check_new(all.units, sizeof *all.placed);
    for (uint32_t s = 0; s < reach->segment_count; s++)
        for (uint32_t i = 0; i < reach->segments[s].item_count; i++) {
            all.one_of[all.base[s] + i] = all.base[s] + i;
            all.segment[all.base[s] + i] = s;
        }
    for (uint32_t op = 0; op < reach->context->trace->op_count; op++)
        position[op] = op;
    if (done) {
        find_meetings(&all);
        for (uint32_t unit = 0; unit < all.units; unit++)
            count_waits(&all, unit, 1);
        done = place_all(&all, position);
    }
    free(all.base);
    free(all.left);
    free(all.next);
    free(all.one_of);
    free(all.segment);
    free(all.waits);
    free(all.placed);
    return done;
}

/* ---- which of them ---- */

bool check_reference_find(const struct check_partial_order *reach, uint32_t *position,
                          bool *recorded)
{
    const struct check_context *context = reach->context;
    *recorded = false;
    if (reverse_forward(reach, position) && check_order_completes(context, position))
        return true;
    *recorded = true;
    for (uint32_t op = 0; op < context->trace->op_count; op++)
        position[op] = op;
    if (check_order_completes(context, position))
        return true;
    *recorded = false;
    return agreed_order(reach, position) && check_order_completes(context, position);
}

/* Whether a wildcard of the recorded order waits for a message that its rank must do more for. */
static bool strays_as_recorded(const struct check_context *context)
{
    struct check_plan plan;
    struct check_replay replay;
    check_plan_init(&plan, context, &(struct plan_options){0});
    check_replay_run(&plan, CHECK_EAGER, &replay);
    bool strays = replay.strayed;
    check_replay_release(&replay);
    check_plan_release(&plan);
    return strays;
}

uint32_t *check_reference_base(const struct check_partial_order *reach)
{
    const struct check_context *context = reach->context;
    size_t ops = context->trace->op_count;
    uint32_t *base = NULL;
    if (!context->has_wildcards || !strays_as_recorded(context))
        return NULL;
    uint32_t *position = check_new(ops, sizeof *position);
    if (agreed_order(reach, position)) {
        base = check_new(ops, sizeof *base);
        for (uint32_t op = 0; op < ops; op++)
            base[position[op]] = op;
    }
    free(position);
    return base;
}

uint32_t *check_reference_around(const struct trace *trace, const uint32_t *base, uint32_t rank)
{
    uint32_t *order = check_new(trace->op_count, sizeof *order);
    for (uint32_t i = 0; i < trace->op_count; i++) {
        bool own = i >= trace->rank_begin[rank] && i < trace->rank_begin[rank + 1];
        order[i] = own || !base ? i : base[i];
    }
    return order;
}
