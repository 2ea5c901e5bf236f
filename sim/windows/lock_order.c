/* The order of a lock's holders: see lock_order.h. */
#include "sim/windows/lock_order.h"

#include "sim/messages/deferred.h"

#include <assert.h>
#include <stdlib.h>

static bool may_have(const struct sim_lock_call *call, struct sim_alternative *follows,
                     const struct sim_dependences **causes)
{
    const struct sim_window_part *part = call->lock;
    *follows = (struct sim_alternative){.source = part->order->rank, .number = part->order->number};
    *causes = call->exclusive ? &part->order->ever : &part->order->alone;
    return part->exclusive < 0 && !(call->exclusive && part->shared);
}

void sim_lock_order_await(struct sim_win *win, int target, bool exclusive)
{
    struct sim_window_part *part = &win->window->parts[target];
    struct sim_rank *rank = win->owner;
    if (!rank->world->exploring)
        return;
    if (!part->order) {
        part->order = calloc(1, sizeof *part->order);
        assert(part->order && "out of memory for a window");
        part->order->rank = SIM_NOBODY;
        part->order->number = (uint32_t)target;
    }
    struct sim_lock_call call = {.lock = part,
                                 .may_have = may_have,
                                 .box = win->comm->context->id,
                                 .target = (uint32_t)target,
                                 .exclusive = exclusive};
    sim_deferred_lock(rank, &call);
    part->order->rank = (uint32_t)rank->id;
    part->order->number = call.number;
}

void sim_lock_order_pass(struct sim_win *win, int target, bool exclusive)
{
    struct sim_lock_order *order = win->window->parts[target].order;
    if (!order)
        return;
    sim_dependences_join(&order->ever, &win->owner->causes);
    if (exclusive)
        order->alone = win->owner->causes;
}

static bool by_others(int who, const struct sim_win *win)
{
    return who && who != win->rank + 1;
}

static int with(int who, const struct sim_win *win)
{
    return by_others(who, win) ? -1 : win->rank + 1;
}

void sim_lock_order_atomic(struct sim_win *win, int target, bool fetches, bool changes)
{
    struct sim_world *world = win->owner->world;
    struct sim_window_part *part = &win->window->parts[target];
    if (!world->exploring || part->exclusive == win->rank)
        return;
    if ((fetches && by_others(part->changed_by, win)) ||
        (changes && by_others(part->fetched_by, win)))
        world->chooser.log.gaps |= SIM_GAP_ATOMICS;
    part->fetched_by = fetches ? with(part->fetched_by, win) : part->fetched_by;
    part->changed_by = changes ? with(part->changed_by, win) : part->changed_by;
}
