#include "checker/orders/cycles.h"

#include "checker/memory.h"

#include <stdlib.h>
#include <string.h>

struct member_list {
    const uint32_t *ops;
    size_t count;
};

struct finder {
    struct cycle_search *search;
    const struct trace *trace;
    uint32_t component;
    bool *used; /* per rank */
    struct cycle_step *steps;
    size_t length; /* wanted */
};

/* The component's ops on one rank that somebody waits for, ascending. */
static struct member_list held_on(const struct finder *finder, uint32_t rank)
{
    const struct check_components *components = finder->search->components;
    const uint32_t *ops = components->posted_ops;
    size_t low = components->posted_begin[finder->component];
    size_t end = components->posted_begin[finder->component + 1], high = end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ops[middle] < finder->trace->rank_begin[rank])
            low = middle + 1;
        else
            high = middle;
    }
    for (high = low; high < end && ops[high] < finder->trace->rank_begin[rank + 1];)
        high++;
    return (struct member_list){.ops = ops + low, .count = high - low};
}

static bool spend(struct finder *finder)
{
    if (finder->search->budget == 0)
        return false;
    finder->search->budget--;
    return true;
}

static bool may_precede(const struct finder *finder, uint32_t stands, uint32_t held)
{
    const struct cycle_search *search = finder->search;
    return check_partial_order_possible(search->reach, stands, held) &&
           !(search->excluded && search->excluded(search->context, stands, held));
}

/* Whether the first step's `stands` waits for something of `rank` that `stands` may hold back. */
static bool closes(struct finder *finder, size_t depth, uint32_t stands)
{
    const struct check_needs *needs = finder->search->needs;
    uint32_t first = finder->steps[0].stands, rank = finder->trace->ops[stands].rank;
    for (uint32_t i = needs->need_begin[first]; i < needs->need_begin[first + 1]; i++) {
        uint32_t single;
        size_t count;
        const uint32_t *members = check_needs_members(needs, needs->needs[i], &single, &count);
        for (size_t m = 0; m < count; m++) {
            if (finder->trace->ops[members[m]].rank != rank || !spend(finder) ||
                !may_precede(finder, stands, members[m]))
                continue;
            finder->steps[depth] = (struct cycle_step){.stands = stands, .held = members[m]};
            return true;
        }
    }
    return false;
}

static bool extend(struct finder *finder, size_t depth);

/* Who waits for the last step's held op stands next. */
static bool follow(struct finder *finder, size_t depth)
{
    const struct check_needs *needs = finder->search->needs;
    uint32_t keys[NEED_KEYS_MAX];
    size_t count = check_needs_served(needs, finder->steps[depth].held, keys);
    for (size_t k = 0; k < count; k++)
        for (uint32_t i = needs->waiter_begin[keys[k]]; i < needs->waiter_begin[keys[k] + 1]; i++) {
            uint32_t stands = needs->waiters[i], rank = finder->trace->ops[stands].rank;
            if (finder->used[rank] ||
                finder->search->components->standing[stands] != finder->component)
                continue;
            if (!spend(finder))
                return false;
            if (depth + 2 == finder->length) {
                if (closes(finder, depth + 1, stands))
                    return true;
                continue;
            }
            finder->steps[depth + 1].stands = stands;
            finder->used[rank] = true;
            bool found = extend(finder, depth + 1);
            finder->used[rank] = false;
            if (found)
                return true;
        }
    return false;
}

/* From a standing op: everything of its rank it may hold back. */
static bool extend(struct finder *finder, size_t depth)
{
    uint32_t stands = finder->steps[depth].stands;
    struct member_list list = held_on(finder, finder->trace->ops[stands].rank);
    for (size_t i = 0; i < list.count && spend(finder); i++) {
        if (!may_precede(finder, stands, list.ops[i]))
            continue;
        finder->steps[depth].held = list.ops[i];
        if (follow(finder, depth))
            return true;
    }
    return false;
}

/* The steps are kept in the order "who stands holds back what the next one waits for"; callers want
 * the reverse. */
static void turn_round(struct cycle_step *steps, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct cycle_step step = steps[i];
        steps[i] = steps[count - 1 - i];
        steps[count - 1 - i] = step;
    }
}

bool check_step_is_turned(const struct cycle_search *search, uint32_t stands, uint32_t held)
{
    return search->position ? search->position[held] < search->position[stands] : held < stands;
}

static bool start_at(struct finder *finder, uint32_t stands)
{
    uint32_t rank = finder->trace->ops[stands].rank;
    finder->steps[0].stands = stands;
    if (finder->length == 1)
        return closes(finder, 0, stands);
    struct member_list list = held_on(finder, rank);
    bool found = false;
    finder->used[rank] = true;
    for (size_t i = 0; i < list.count && !found && spend(finder); i++) {
        if (finder->search->reference_is_safe &&
            !check_step_is_turned(finder->search, stands, list.ops[i]))
            continue;
        if (!may_precede(finder, stands, list.ops[i]))
            continue;
        finder->steps[0].held = list.ops[i];
        found = follow(finder, 0);
    }
    finder->used[rank] = false;
    return found;
}

static bool search_length(struct finder *finder)
{
    const struct check_components *components = finder->search->components;
    uint32_t begin = components->standing_begin[finder->component];
    uint32_t end = components->standing_begin[finder->component + 1];
    for (uint32_t i = begin; i < end; i++)
        if (start_at(finder, components->standing_ops[i]))
            return true;
    return false;
}

/* On how many ranks the component lies: no cycle is longer. */
static size_t count_ranks(const struct finder *finder)
{
    const struct check_components *components = finder->search->components;
    uint32_t last = TRACE_NO;
    size_t count = 0;
    for (uint32_t i = components->posted_begin[finder->component];
         i < components->posted_begin[finder->component + 1]; i++) {
        uint32_t rank = finder->trace->ops[components->posted_ops[i]].rank;
        count += rank != last;
        last = rank;
    }
    return count;
}

struct check_cycle check_cycle_find(struct cycle_search *search, uint32_t component)
{
    const struct trace *trace = search->reach->context->trace;
    struct finder finder = {.search = search, .trace = trace, .component = component};
    struct check_cycle cycle = {0};
    size_t ranks = count_ranks(&finder);
    finder.used = check_new(trace->ranks, sizeof *finder.used);
    finder.steps = check_new(ranks, sizeof *finder.steps);
    for (finder.length = 1; finder.length <= ranks && !cycle.count && search->budget;
         finder.length++)
        if (search_length(&finder))
            cycle = (struct check_cycle){.steps = finder.steps, .count = finder.length};
    if (cycle.count)
        turn_round(cycle.steps, cycle.count);
    else
        free(finder.steps);
    free(finder.used);
    return cycle;
}
