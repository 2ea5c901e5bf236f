/* See holders.h. */
#include "checker/replay/holders.h"

#include "checker/memory.h"

#include <limits.h>
#include <stdlib.h>

enum { ALL_TARGETS = INT_MIN };

static int by_lock(const void *a, const void *b)
{
    const struct hold *x = a, *y = b;
    int order = check_order_of(x->window, y->window);
    if (!order)
        order = (x->target > y->target) - (x->target < y->target);
    return order ? order : check_order_of(x->rank, y->rank);
}

static int by_rank(const void *a, const void *b)
{
    return check_order_of(((const struct hold *)a)->rank, ((const struct hold *)b)->rank);
}

/* Sorts, and adds up what is of one lock and rank; how many are left that are not 0. */
static size_t add_up(struct hold *holds, size_t count, int (*order)(const void *, const void *))
{
    size_t left = 0, i = 0;
    qsort(holds, count, sizeof *holds, order);
    while (i < count) {
        struct hold sum = holds[i];
        for (i++; i < count && !order(&sum, &holds[i]); i++)
            sum.times += holds[i].times;
        if (sum.times)
            holds[left++] = sum;
    }
    return left;
}

static bool is_lock(const struct trace_op *op)
{
    return op->state == STATE_COMPLETE && op->kind >= OP_WIN_LOCK && op->kind <= OP_WIN_UNLOCK_ALL;
}

void holders_init(struct holders *holders, const struct trace *trace)
{
    size_t count = 0;
    *holders = (struct holders){.trace = trace};
    for (size_t i = 0; i < trace->op_count; i++)
        count += is_lock(&trace->ops[i]);
    holders->of = check_new(count, sizeof *holders->of);
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (!is_lock(op))
            continue;
        bool takes = op->kind == OP_WIN_LOCK || op->kind == OP_WIN_LOCK_ALL;
        bool one = op->kind == OP_WIN_LOCK || op->kind == OP_WIN_UNLOCK;
        holders->of[holders->count++] = (struct hold){.window = op->form->comm,
                                                      .rank = op->rank,
                                                      .target = one ? op->peer : ALL_TARGETS,
                                                      .times = takes ? 1 : -1};
    }
    holders->count = add_up(holders->of, holders->count, by_lock);
    holders->some = check_new(holders->count, sizeof *holders->some);
    holders->found = check_new(holders->count, sizeof *holders->found);
}

void holders_release(struct holders *holders)
{
    free(holders->of);
    free(holders->some);
    free(holders->found);
}

/* The first that does not come before this window and target. */
static size_t find(const struct holders *holders, uint32_t window, int64_t target)
{
    size_t low = 0, high = holders->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct hold *hold = &holders->of[middle];
        if (hold->window < window || (hold->window == window && hold->target < target))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t holders_find(struct holders *holders, const struct trace_op *wanted)
{
    uint32_t window = wanted->form->comm;
    bool all = wanted->kind == OP_WIN_LOCK_ALL;
    size_t count = 0, found = 0;
    const struct hold *end = holders->of + holders->count;
    for (const struct hold *hold = holders->of + find(holders, window, ALL_TARGETS);
         hold < end && hold->window == window && (all || hold->target == ALL_TARGETS); hold++)
        holders->some[count++] = *hold;
    for (const struct hold *hold = holders->of + find(holders, window, wanted->peer);
         !all && hold < end && hold->window == window && hold->target == wanted->peer; hold++)
        holders->some[count++] = *hold;
    count = add_up(holders->some, count, by_rank);
    for (size_t i = 0; i < count; i++)
        if (holders->some[i].times > 0)
            holders->found[found++] = holders->some[i].rank;
    return found;
}
