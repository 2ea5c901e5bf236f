/* The order of a lock's holders: see lock_order.h. */
#include "sim/windows/lock_order.h"

#include "recorder/recorder.h"
#include "sim/messages/deferred.h"

#include <assert.h>
#include <stdlib.h>

static bool may_have(const struct sim_lock_call *call, struct sim_alternative *follows)
{
    const struct sim_window_part *part = call->lock;
    *follows = (struct sim_alternative){.source = part->order->rank, .number = part->order->number};
    return part->exclusive < 0 && !(call->exclusive && part->shared);
}

uint32_t sim_lock_order_await(struct sim_win *win, int target, bool exclusive)
{
    struct sim_window_part *part = &win->window->parts[target];
    struct sim_rank *rank = win->owner;
    if (!rank->world->exploring)
        return UINT32_MAX;
    rank->window_looks = 0;
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
    return call.event;
}

void sim_lock_order_begin(const struct sim_win *win, struct sim_epoch_lock *lock, uint32_t event)
{
    lock->event = event;
    lock->position = event == UINT32_MAX ? 0 : record_position();
    lock->calls = win->owner->window_calls;
    lock->messages = win->owner->message_calls;
}

void sim_lock_order_begin_all(struct sim_win *win, int target, uint32_t event)
{
    if (event == UINT32_MAX)
        return;
    if (!win->epoch.all) {
        win->epoch.all = calloc((size_t)win->window->size, sizeof *win->epoch.all);
        assert(win->epoch.all && "out of memory for a window");
        for (int i = 0; i < win->window->size; i++)
            win->epoch.all[i] = (struct sim_epoch_lock){.target = i, .event = UINT32_MAX};
    }
    sim_lock_order_begin(win, &win->epoch.all[target], event);
}

void sim_lock_order_end_all(struct sim_win *win)
{
    free(win->epoch.all);
    win->epoch.all = NULL;
}

struct sim_epoch_lock *sim_lock_order_of_all(const struct sim_win *win, int target)
{
    return win->epoch.all ? &win->epoch.all[target] : NULL;
}

static struct sim_event *event_of(const struct sim_win *win, const struct sim_epoch_lock *lock)
{
    return lock && lock->event != UINT32_MAX ? &win->owner->world->chooser.log.events[lock->event]
                                             : NULL;
}

void sim_lock_order_use(struct sim_win *win, int target, uint32_t how, uint64_t low, uint64_t high)
{
    win->owner->window_calls++;
    sim_lock_order_touch(win, target, how, low, high);
}

void sim_lock_order_touch(const struct sim_win *win, int target, uint32_t how, uint64_t low,
                          uint64_t high)
{
    const struct sim_epoch_lock *lock = sim_lock_order_of_all(win, target);
    if (!lock)
        lock = sim_epoch_lock_of(&win->epoch, target);
    struct sim_event *event = event_of(win, lock);
    if (!event)
        return;
    bool first = event->how == SIM_LOCK_UNUSED;
    event->how = first || event->how == how ? how : SIM_LOCK_WRITTEN;
    event->low = first || low < event->low ? low : event->low;
    event->high = first || high > event->high ? high : event->high;
}

/* Loads and stores of the program's own under the lock that nobody sees. */
static bool may_touch(const struct sim_win *win, int target)
{
    bool seen = win->owner->world->options.memory && win->owner->history;
    return (!seen || win->helped || win->window->atomics) &&
           (target == win->rank || win->window->flavor == MPI_WIN_FLAVOR_SHARED);
}

/* MPI_Win_lock may return before the lock is had, but for that of one's own memory. */
static void settle(const struct sim_win *win, struct sim_epoch_lock *lock)
{
    struct sim_event *event = event_of(win, lock);
    if (event && !lock->settled)
        event->lazy = lock->target != win->rank && win->owner->message_calls != lock->messages;
    lock->settled = true;
}

void sim_lock_order_flush(struct sim_win *win, int target)
{
    for (struct sim_epoch_lock *lock = win->epoch.locks; lock; lock = lock->next)
        if (target < 0 || lock->target == target)
            settle(win, lock);
    for (int i = 0; win->epoch.all && i < win->window->size; i++)
        if (target < 0 || i == target)
            settle(win, &win->epoch.all[i]);
}

void sim_lock_order_pass(struct sim_win *win, int target, struct sim_epoch_lock *lock)
{
    struct sim_event *event = event_of(win, lock);
    if (!event)
        return;
    settle(win, lock);
    if (may_touch(win, target)) {
        event->how = SIM_LOCK_WRITTEN;
        event->low = 0;
        event->high = UINT64_MAX;
    }
    /* MPI_Win_lock_all has locks while it waits for others */
    event->plain = !win->epoch.all &&
                   record_position() - 1 - lock->position == win->owner->window_calls - lock->calls;
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
