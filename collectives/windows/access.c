/* What programs call to access windows. */
#include "collectives/windows/calls.h"
#include "collectives/windows/phase.h"

#include <string.h>

/* The lock under which an access to `target` goes, or NULL. */
static const struct held *lock_of(const struct phase *phase, int target)
{
    for (const struct held *held = phase->held; held; held = held->next)
        if (held->target == target || held->target == ALL_TARGETS)
            return held;
    return NULL;
}

static bool has_started(const struct ranks *started, int target)
{
    for (int i = 0; i < started->count; i++)
        if (started->ranks[i] == target)
            return true;
    return false;
}

/* Ends the rank if no epoch lets it access that target now. */
static void epoch_check(const struct diff_window *window, const struct window_access *a)
{
    struct diff_state *state = window->tape->state;
    if (window->phase) {
        const struct held *held = lock_of(window->phase, a->target);
        if (!held)
            state_fail(state, "B004", "%s to rank %d without its lock: call diff_win_lock before",
                       a->name, a->target);
        if (held->type == MPI_LOCK_SHARED && (a->kind == MOVE_SWAP || a->kind == MOVE_FETCH_ADD))
            REFUSE(window,
                   "%s under a shared lock brings what an order of the ranks gives that nobody "
                   "knows afterwards: take MPI_LOCK_EXCLUSIVE",
                   a->name);
    } else if (window->started) {
        if (!has_started(window->started, a->target))
            state_fail(state, "B004", "%s to rank %d, which diff_win_start did not name", a->name,
                       a->target);
    } else if (!window->open) {
        state_fail(state, "B004",
                   "%s before the first fence: call diff_win_fence to begin an epoch", a->name);
    } else if (window->exposed) {
        state_fail(state, "B004",
                   "%s between diff_win_post and diff_win_wait: call diff_win_start "
                   "to begin an epoch of its own",
                   a->name);
    }
}

/* Ends the rank if the access cannot be. */
static void access_check(const struct diff_window *window, const struct window_access *a)
{
    if (a->x && a->x->tape != window->tape)
        REFUSE(window, "%s mixes tensors of two tapes", a->name);
    if (a->x && a->x->type != window->type)
        REFUSE(window, "%s of a %s tensor to a window of type %s", a->name,
               diff_type_name(a->x->type), diff_type_name(window->type));
    if (a->target == MPI_PROC_NULL)
        return;
    if (a->target < 0 || a->target >= window->channel->size)
        REFUSE(window, "%s: the target %d is no rank of the window's %d", a->name, a->target,
               window->channel->size);
    size_t there = window->counts[a->target];
    if (a->begin > there || a->count > there - a->begin)
        REFUSE(window, "%s: %zu values from %zu on do not fit the %zu of rank %d's window", a->name,
               a->count, a->begin, there, a->target);
    epoch_check(window, a);
}

void window_access_append(struct diff_window *window, struct window_access *access)
{
    access->next = NULL;
    if (window->last)
        window->last->next = access;
    else
        window->first = access;
    window->last = access;
    window->accesses++;
}

static void access_add(struct diff_window *window, const struct window_access *wanted)
{
    access_check(window, wanted);
    if (wanted->target == MPI_PROC_NULL)
        return;
    struct window_access *a = arena_take(&window->tape->arena, sizeof *a);
    *a = *wanted;
    a->site = window->tape->state->site;
    a->version = a->x ? a->x->storage->version : 0;
    window_access_append(window, a);
}

/* What an access will bring: a handle until its epoch ends. */
static struct diff_tensor *result_new(struct diff_window *window, size_t count, int target)
{
    struct diff_tensor *result = tensor_new_flat(window->tape, window->type, count);
    memset(result->storage->data, 0, count * diff_type_size(window->type));
    if (target != MPI_PROC_NULL)
        result->type = DIFF_HANDLE;
    return result;
}

/* One access; what it brings, or NULL. */
static struct diff_tensor *access_make(struct diff_window *window, enum window_move kind,
                                       struct window_access access)
{
    access.kind = kind;
    if (access.x)
        access.count = access.x->count;
    if (!move_gives(kind))
        access.x = NULL;
    if (move_fetches(kind))
        access.result = result_new(window, access.count, access.target);
    access_add(window, &access);
    return access.result;
}

void diff_win_put(struct diff_window *window, struct diff_tensor *x, int target,
                  size_t displacement)
{
    ENTER(window->tape->state);
    struct window_access access = {
        .name = __func__, .x = x, .target = target, .begin = displacement};
    access_make(window, MOVE_PUT, access);
    state_leave(window->tape->state);
}

struct diff_tensor *diff_win_get(struct diff_window *window, size_t count, int target,
                                 size_t displacement)
{
    ENTER(window->tape->state);
    struct window_access access = {
        .name = __func__, .count = count, .target = target, .begin = displacement};
    struct diff_tensor *result = access_make(window, MOVE_GET, access);
    state_leave(window->tape->state);
    return result;
}

/* Others than these are not linear in what the target holds, and the fence's order of accesses is
 * nobody's. */
static void op_refuse(const struct diff_window *window, const char *function, const char *known)
{
    state_fail(window->tape->state, "M009",
               "%s: only %s have a derivative here; for others diff_win_get what the target holds, "
               "compute, and diff_win_put it in a later epoch",
               function, known);
}

void diff_win_accumulate(struct diff_window *window, struct diff_tensor *x, int target,
                         size_t displacement, MPI_Op op)
{
    ENTER(window->tape->state);
    struct window_access access = {
        .name = __func__, .x = x, .target = target, .begin = displacement};
    if (op != MPI_SUM && op != MPI_REPLACE)
        op_refuse(window, __func__, "MPI_SUM and MPI_REPLACE");
    access_make(window, op == MPI_SUM ? MOVE_ADD : MOVE_PUT, access);
    state_leave(window->tape->state);
}

static struct diff_tensor *fetch(struct diff_window *window, struct window_access access, MPI_Op op)
{
    if (op != MPI_SUM && op != MPI_REPLACE && op != MPI_NO_OP)
        op_refuse(window, access.name, "MPI_SUM, MPI_REPLACE and MPI_NO_OP");
    enum window_move kind = op == MPI_SUM ? MOVE_FETCH_ADD : op == MPI_NO_OP ? MOVE_GET : MOVE_SWAP;
    return access_make(window, kind, access);
}

struct diff_tensor *diff_win_get_accumulate(struct diff_window *window, struct diff_tensor *x,
                                            int target, size_t displacement, MPI_Op op)
{
    ENTER(window->tape->state);
    struct window_access access = {
        .name = __func__, .x = x, .target = target, .begin = displacement};
    struct diff_tensor *result = fetch(window, access, op);
    state_leave(window->tape->state);
    return result;
}

struct diff_tensor *diff_win_fetch_and_op(struct diff_window *window, struct diff_tensor *x,
                                          int target, size_t displacement, MPI_Op op)
{
    ENTER(window->tape->state);
    if (x->count != 1)
        state_fail(window->tape->state, "M009",
                   "diff_win_fetch_and_op of %zu values: it takes one; for more there is "
                   "diff_win_get_accumulate",
                   x->count);
    struct window_access access = {
        .name = __func__, .x = x, .target = target, .begin = displacement, .single = true};
    struct diff_tensor *result = fetch(window, access, op);
    state_leave(window->tape->state);
    return result;
}
