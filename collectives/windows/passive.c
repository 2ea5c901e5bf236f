/* What programs call for passive phases and their locks. */
#include "collectives/windows/calls.h"
#include "collectives/windows/phase.h"

void diff_win_passive_begin(struct diff_window *window)
{
    struct diff_tape *tape = window->tape;
    ENTER(tape->state);
    struct diff_tensor *memory = window_memory(window, "diff_win_passive_begin");
    if (window->started || window->accesses > 0)
        REFUSE(window, "diff_win_passive_begin in an epoch: end it first");
    if (tape->order == DIFF_ORDER_DATA)
        REFUSE(window, "a passive phase in data order: its locks are taken in the reverse of their "
                       "order, which is what program order is for");
    turns_prepare(window);
    struct phase *phase = arena_take_zeroed(&tape->arena, sizeof *phase);
    phase->window = window;
    phase->forward = turns_are_known(tape->state) ? DIRECTION_UP : DIRECTION_FIRST;
    window->phase = phase;
    window->exposed = phase_begin(phase, phase->forward, window->channel, memory);
    window->exposure = EXPOSED_TO_LOCKS;
    state_leave(tape->state);
}

static struct phase *phase_of(const struct diff_window *window, const char *function)
{
    if (!window->phase)
        state_fail(window->tape->state, "B004",
                   "%s outside of a passive phase: call diff_win_passive_begin on all ranks first",
                   function);
    return window->phase;
}

void diff_win_passive_end(struct diff_window *window)
{
    ENTER(window->tape->state);
    struct phase *phase = phase_of(window, "diff_win_passive_end");
    if (phase->held)
        state_fail(window->tape->state, "B005", "diff_win_passive_end with a lock still held");
    window->memory = phase_end(phase, phase->forward, window->channel, window->exposed);
    window->exposed = NULL;
    window->phase = NULL;
    state_leave(window->tape->state);
}

static struct held **held_find(struct phase *phase, int target)
{
    struct held **link = &phase->held;
    while (*link && (*link)->target != target)
        link = &(*link)->next;
    return link;
}

static struct held *held_add(struct phase *phase, int type, int target)
{
    struct diff_tape *tape = phase->window->tape;
    struct held *held = arena_take_zeroed(&tape->arena, sizeof *held);
    *held = (struct held){.phase = phase, .target = target, .type = type, .next = phase->held};
    phase->held = held;
    if (target == ALL_TARGETS) {
        phase->all = true;
        return held;
    }
    held->turn = turn_take(phase, target);
    return held;
}

void diff_win_lock(struct diff_window *window, int type, int target)
{
    ENTER(window->tape->state);
    struct phase *phase = phase_of(window, "diff_win_lock");
    if (target < 0 || target >= window->channel->size)
        REFUSE(window, "diff_win_lock: the target %d is no rank of the window's %d", target,
               window->channel->size);
    if (type != MPI_LOCK_EXCLUSIVE && type != MPI_LOCK_SHARED)
        REFUSE(window, "diff_win_lock: the type is MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED");
    if (*held_find(phase, target) || *held_find(phase, ALL_TARGETS))
        state_fail(window->tape->state, "B005",
                   "diff_win_lock of rank %d, whose lock is held already", target);
    lock_take(held_add(phase, type, target), phase->forward, window->channel);
    state_leave(window->tape->state);
}

void diff_win_lock_all(struct diff_window *window)
{
    ENTER(window->tape->state);
    struct phase *phase = phase_of(window, "diff_win_lock_all");
    if (phase->held)
        state_fail(window->tape->state, "B005", "diff_win_lock_all with a lock held already");
    lock_take(held_add(phase, MPI_LOCK_SHARED, ALL_TARGETS), phase->forward, window->channel);
    state_leave(window->tape->state);
}

/* Does what was called: to one target, or to all. */
static void flush(struct diff_window *window, int target)
{
    struct epoch epoch = epoch_collect(window, EPOCH_FLUSHED, target);
    if (epoch.count > 0)
        epoch_run(&epoch, window->channel, NULL);
}

static void unlock(struct diff_window *window, const char *function, int target)
{
    struct held **link = held_find(phase_of(window, function), target);
    if (!*link)
        state_fail(window->tape->state, "B005", "%s of a lock that is not held", function);
    flush(window, target);
    lock_give(*link, (*link)->phase->forward, window->channel);
    *link = (*link)->next;
}

void diff_win_unlock(struct diff_window *window, int target)
{
    ENTER(window->tape->state);
    unlock(window, "diff_win_unlock", target < 0 ? window->channel->size : target);
    state_leave(window->tape->state);
}

void diff_win_unlock_all(struct diff_window *window)
{
    ENTER(window->tape->state);
    unlock(window, "diff_win_unlock_all", ALL_TARGETS);
    state_leave(window->tape->state);
}

void diff_win_flush(struct diff_window *window, int target)
{
    ENTER(window->tape->state);
    struct phase *phase = phase_of(window, "diff_win_flush");
    if (!*held_find(phase, target) && !*held_find(phase, ALL_TARGETS))
        state_fail(window->tape->state, "B004", "diff_win_flush of rank %d without its lock",
                   target);
    flush(window, target);
    state_leave(window->tape->state);
}

void diff_win_flush_all(struct diff_window *window)
{
    ENTER(window->tape->state);
    struct phase *phase = phase_of(window, "diff_win_flush_all");
    if (!phase->held)
        state_fail(window->tape->state, "B004", "diff_win_flush_all without a lock");
    for (int target = 0; target < window->channel->size; target++)
        flush(window, target);
    state_leave(window->tape->state);
}
