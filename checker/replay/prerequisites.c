#include "checker/replay/prerequisites.h"

#include "checker/memory.h"

#include <stdlib.h>

struct need_list {
    uint32_t *keys;
    size_t count, room;
};

static void add_need(struct need_list *list, int64_t key)
{
    if (key < 0)
        return;
    list->keys = check_grow(list->keys, &list->room, list->count + 1, sizeof *list->keys);
    list->keys[list->count++] = (uint32_t)key;
}

/* Who waits for any of several is not held back by one of them. */
static void add_requests(struct check_needs *needs, uint32_t wait, struct need_list *list)
{
    uint32_t start;
    for (size_t i = 0; (start = plan_request(needs->plan, wait, i)) != TRACE_NO; i++)
        add_need(list, check_plan_need(needs->plan, needs->model, start));
}

static void gather_needs(struct check_needs *needs)
{
    const struct check_plan *plan = needs->plan;
    size_t ops = plan->context->trace->op_count;
    struct need_list list = {0};
    needs->need_begin = check_new(ops + 1, sizeof *needs->need_begin);
    for (uint32_t op = 0; op < ops; op++) {
        needs->need_begin[op] = (uint32_t)list.count;
        if (plan->steps[op].tested)
            continue; /* waits for nothing */
        if (plan->steps[op].action == PLAN_WAIT_ONE || plan->steps[op].action == PLAN_WAIT_ALL)
            add_requests(needs, op, &list);
        else if (plan->steps[op].action != PLAN_WAIT_ANY && !plan->steps[op].starts)
            add_need(&list, check_plan_need(plan, needs->model, op));
    }
    needs->need_begin[ops] = (uint32_t)list.count;
    needs->needs = list.keys ? list.keys : check_new(1, sizeof *list.keys);
}

static void turn_over(struct check_needs *needs)
{
    size_t ops = needs->plan->context->trace->op_count, count = needs->need_begin[ops];
    needs->waiter_begin = check_new(needs->key_count + 2, sizeof *needs->waiter_begin);
    needs->waiters = check_new(count, sizeof *needs->waiters);
    for (size_t i = 0; i < count; i++)
        needs->waiter_begin[needs->needs[i] + 2]++;
    for (size_t k = 0; k < needs->key_count; k++)
        needs->waiter_begin[k + 2] += needs->waiter_begin[k + 1];
    for (uint32_t op = 0; op < ops; op++)
        for (uint32_t i = needs->need_begin[op]; i < needs->need_begin[op + 1]; i++)
            needs->waiters[needs->waiter_begin[needs->needs[i] + 1]++] = op;
}

static size_t shared_keys(const struct check_plan *plan, uint32_t op, uint32_t keys[2])
{
    size_t count = 0;
    if (plan->steps[op].action == PLAN_COLLECTIVE)
        keys[count++] = (uint32_t)plan_slot_key(plan, plan->steps[op].target);
    if (plan->bundle_of && plan->bundle_of[op] != TRACE_NO)
        keys[count++] = (uint32_t)plan_bundle_key(plan, plan->bundle_of[op]);
    return count;
}

static void gather_members(struct check_needs *needs)
{
    const struct check_plan *plan = needs->plan;
    size_t ops = plan->context->trace->op_count, shared = needs->key_count - ops;
    uint32_t keys[2];
    needs->member_begin = check_new(shared + 2, sizeof *needs->member_begin);
    for (uint32_t op = 0; op < ops; op++)
        for (size_t i = shared_keys(plan, op, keys); i-- > 0;)
            needs->member_begin[keys[i] - ops + 2]++;
    for (size_t k = 0; k < shared; k++)
        needs->member_begin[k + 2] += needs->member_begin[k + 1];
    needs->members = check_new(needs->member_begin[shared + 1], sizeof *needs->members);
    for (uint32_t op = 0; op < ops; op++)
        for (size_t i = shared_keys(plan, op, keys); i-- > 0;)
            needs->members[needs->member_begin[keys[i] - ops + 1]++] = op;
}

void check_needs_init(struct check_needs *needs, const struct check_plan *plan,
                      enum check_model model)
{
    *needs = (struct check_needs){.plan = plan, .model = model, .key_count = plan_key_count(plan)};
    gather_needs(needs);
    turn_over(needs);
    gather_members(needs);
}

void check_needs_release(struct check_needs *needs)
{
    free(needs->need_begin);
    free(needs->needs);
    free(needs->waiter_begin);
    free(needs->waiters);
    free(needs->member_begin);
    free(needs->members);
    *needs = (struct check_needs){0};
}

size_t check_needs_served(const struct check_needs *needs, uint32_t op,
                          uint32_t keys[NEED_KEYS_MAX])
{
    uint32_t all[NEED_KEYS_MAX] = {op};
    size_t count = 1 + shared_keys(needs->plan, op, all + 1), kept = 0;
    for (size_t i = 0; i < count; i++)
        if (needs->waiter_begin[all[i]] < needs->waiter_begin[all[i] + 1])
            keys[kept++] = all[i];
    return kept;
}

const uint32_t *check_needs_members(const struct check_needs *needs, uint32_t key, uint32_t *single,
                                    size_t *count)
{
    size_t ops = needs->plan->context->trace->op_count;
    if (key < ops) {
        *single = key;
        *count = 1;
        return single;
    }
    *count = needs->member_begin[key - ops + 1] - needs->member_begin[key - ops];
    return needs->members + needs->member_begin[key - ops];
}
