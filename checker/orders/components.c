#include "checker/orders/components.h"

#include "checker/memory.h"
#include "checker/orders/frontier.h"

#include <stdlib.h>
#include <string.h>

/* Kosaraju: a walk forwards gives the order in which vertices end; walks backwards in the reverse
 * of it give the components. Vertices: op stands (number op), op is posted (number op + ops). A key
 * is passed through once, whoever comes first. */
struct walk {
    const struct check_needs *needs;
    const struct check_partial_order *reach;
    size_t ops;
    struct frontier frontier; /* forwards: posts left; backwards: standing ops left */
    bool *other;              /* the other kind of vertex: visited */
    uint32_t *key_at;         /* per key: how many of its waiters (members) have been looked at */
    uint32_t *stack;
    size_t top;
};

static void push(struct walk *walk, uint32_t vertex)
{
    walk->stack[walk->top++] = vertex;
}

/* Forwards, from a posted op: a standing op that waits for it and is not yet visited. */
static uint32_t next_waiter(struct walk *walk, uint32_t op)
{
    const struct check_needs *needs = walk->needs;
    uint32_t keys[NEED_KEYS_MAX];
    size_t count = check_needs_served(needs, op, keys);
    for (size_t i = 0; i < count; i++)
        while (needs->waiter_begin[keys[i]] + walk->key_at[keys[i]] <
               needs->waiter_begin[keys[i] + 1]) {
            uint32_t waiter =
                needs->waiters[needs->waiter_begin[keys[i]] + walk->key_at[keys[i]]++];
            if (!walk->other[waiter])
                return waiter;
        }
    return TRACE_NO;
}

/* Backwards, from a standing op: an op it waits for whose posting is not yet visited. */
static uint32_t next_member(struct walk *walk, uint32_t op)
{
    const struct check_needs *needs = walk->needs;
    for (uint32_t i = needs->need_begin[op]; i < needs->need_begin[op + 1]; i++) {
        uint32_t key = needs->needs[i], single;
        size_t count;
        const uint32_t *members = check_needs_members(needs, key, &single, &count);
        while (walk->key_at[key] < count) {
            uint32_t member = members[walk->key_at[key]++];
            if (!walk->other[member])
                return member;
        }
    }
    return TRACE_NO;
}

/* The next unvisited neighbour of a vertex, marked visited; TRACE_NO: none left. */
static uint32_t next_forwards(struct walk *walk, uint32_t vertex)
{
    if (vertex < walk->ops) {
        uint32_t posted = frontier_find(&walk->frontier, vertex);
        if (posted == TRACE_NO)
            return TRACE_NO;
        frontier_remove(&walk->frontier, posted);
        return posted + (uint32_t)walk->ops;
    }
    uint32_t waiter = next_waiter(walk, vertex - (uint32_t)walk->ops);
    if (waiter != TRACE_NO)
        walk->other[waiter] = true;
    return waiter;
}

static uint32_t next_backwards(struct walk *walk, uint32_t vertex)
{
    if (vertex >= walk->ops) {
        uint32_t standing = frontier_find(&walk->frontier, vertex - (uint32_t)walk->ops);
        if (standing != TRACE_NO)
            frontier_remove(&walk->frontier, standing);
        return standing;
    }
    uint32_t member = next_member(walk, vertex);
    if (member == TRACE_NO)
        return TRACE_NO;
    walk->other[member] = true;
    return member + (uint32_t)walk->ops;
}

static void walk_init(struct walk *walk, const struct check_needs *needs,
                      const struct check_partial_order *reach, const bool *wanted, bool backwards)
{
    size_t ops = needs->plan->context->trace->op_count;
    *walk = (struct walk){.needs = needs, .reach = reach, .ops = ops};
    frontier_init(&walk->frontier, reach, wanted, backwards);
    walk->other = check_new(ops, sizeof *walk->other);
    walk->key_at = check_new(needs->key_count, sizeof *walk->key_at);
    walk->stack = check_new(2 * ops + 1, sizeof *walk->stack);
}

static void walk_release(struct walk *walk)
{
    frontier_release(&walk->frontier);
    free(walk->other);
    free(walk->key_at);
    free(walk->stack);
}

/* All vertices in the order in which they end. */
static uint32_t *end_order(const struct check_needs *needs, const struct check_partial_order *reach,
                           const bool *stands, const bool *serves, size_t *count)
{
    struct walk walk;
    size_t ops = needs->plan->context->trace->op_count;
    uint32_t *order = check_new(2 * ops, sizeof *order);
    *count = 0;
    walk_init(&walk, needs, reach, serves, false);
    for (uint32_t start = 0; start < ops; start++) {
        if (!stands[start] || walk.other[start])
            continue;
        walk.other[start] = true;
        push(&walk, start);
        while (walk.top) {
            uint32_t next = next_forwards(&walk, walk.stack[walk.top - 1]);
            if (next != TRACE_NO)
                push(&walk, next);
            else
                order[(*count)++] = walk.stack[--walk.top];
        }
    }
    walk_release(&walk);
    return order;
}

struct tally {
    uint32_t standing, posted;
};

static void number_components(struct check_components *components, struct tally *tally,
                              uint32_t raw, size_t ops)
{
    uint32_t *number = check_new(raw, sizeof *number);
    for (uint32_t c = 0; c < raw; c++)
        number[c] = tally[c].standing && tally[c].posted ? components->count++ : TRACE_NO;
    for (size_t op = 0; op < ops; op++) {
        if (components->standing[op] != TRACE_NO)
            components->standing[op] = number[components->standing[op]];
        if (components->posting[op] != TRACE_NO)
            components->posting[op] = number[components->posting[op]];
    }
    free(number);
}

static void collect(struct check_components *components, const struct check_needs *needs,
                    const struct check_partial_order *reach, const bool *stands,
                    const uint32_t *order, size_t count)
{
    struct walk walk;
    size_t ops = needs->plan->context->trace->op_count;
    struct tally *tally = check_new(count, sizeof *tally);
    uint32_t raw = 0;
    walk_init(&walk, needs, reach, stands, true);
    for (size_t i = count; i-- > 0;) {
        uint32_t root = order[i];
        bool visited = root < ops ? !walk.frontier.present[root] : walk.other[root - ops];
        if (visited)
            continue;
        if (root < ops)
            frontier_remove(&walk.frontier, root);
        else
            walk.other[root - ops] = true;
        push(&walk, root);
        while (walk.top) {
            uint32_t vertex = walk.stack[--walk.top];
            if (vertex < ops) {
                components->standing[vertex] = raw;
                tally[raw].standing++;
            } else {
                components->posting[vertex - ops] = raw;
                tally[raw].posted++;
            }
            for (uint32_t next; (next = next_backwards(&walk, vertex)) != TRACE_NO;)
                push(&walk, next);
        }
        raw++;
    }
    walk_release(&walk);
    number_components(components, tally, raw, ops);
    free(tally);
}

/* The ops of each component, ascending. */
static uint32_t *list_members(const uint32_t *component_of, size_t ops, uint32_t components,
                              uint32_t **begin)
{
    *begin = check_new((size_t)components + 2, sizeof **begin);
    for (size_t op = 0; op < ops; op++)
        if (component_of[op] != TRACE_NO)
            (*begin)[component_of[op] + 2]++;
    for (uint32_t c = 0; c < components; c++)
        (*begin)[c + 2] += (*begin)[c + 1];
    uint32_t *members = check_new((*begin)[components + 1], sizeof *members);
    for (uint32_t op = 0; op < ops; op++)
        if (component_of[op] != TRACE_NO)
            members[(*begin)[component_of[op] + 1]++] = op;
    return members;
}

void check_components_init(struct check_components *components, const struct check_needs *needs,
                           const struct check_partial_order *reach)
{
    size_t ops = needs->plan->context->trace->op_count, count;
    uint32_t keys[NEED_KEYS_MAX];
    bool *stands = check_new(ops, sizeof *stands), *serves = check_new(ops, sizeof *serves);
    *components = (struct check_components){0};
    components->standing = check_new(ops, sizeof *components->standing);
    components->posting = check_new(ops, sizeof *components->posting);
    memset(components->standing, 0xff, ops * sizeof *components->standing);
    memset(components->posting, 0xff, ops * sizeof *components->posting);
    for (uint32_t op = 0; op < ops; op++) {
        stands[op] = needs->need_begin[op] < needs->need_begin[op + 1];
        serves[op] = check_needs_served(needs, op, keys) > 0;
    }
    uint32_t *order = end_order(needs, reach, stands, serves, &count);
    collect(components, needs, reach, stands, order, count);
    components->standing_ops =
        list_members(components->standing, ops, components->count, &components->standing_begin);
    components->posted_ops =
        list_members(components->posting, ops, components->count, &components->posted_begin);
    free(order);
    free(stands);
    free(serves);
}

void check_components_release(struct check_components *components)
{
    free(components->standing);
    free(components->posting);
    free(components->standing_begin);
    free(components->standing_ops);
    free(components->posted_begin);
    free(components->posted_ops);
    *components = (struct check_components){0};
}
