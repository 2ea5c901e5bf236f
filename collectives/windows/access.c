/* What programs call: windows, their memory, accesses and fences. */
#include "collectives/windows/epoch.h"

#include "collectives/tape/tape.h"

#include <string.h>

struct diff_window *diff_win_create(struct diff_tensor *memory, MPI_Comm comm)
{
    struct diff_state *state = memory->tape->state;
    ENTER(state);
    if (memory->type == DIFF_HANDLE)
        state_fail(state, "M009", "diff_win_create of a handle: wait for it first");
    struct diff_channel *channel = channel_find(memory->tape, comm, true);
    if (channel->intercomm)
        state_fail(state, "M009", "diff_win_create over an intercommunicator: merge it first");
    struct diff_window *window = window_new(channel, memory);
    state_leave(state);
    return window;
}

static struct diff_tensor *memory_of(const struct diff_window *window, const char *function)
{
    if (!window->memory)
        state_fail(window->tape->state, "M009",
                   "%s of a window whose values diff_tape_clear has forgotten: give it some by "
                   "diff_win_store",
                   function);
    return window->memory;
}

struct diff_tensor *diff_win_memory(struct diff_window *window)
{
    ENTER(window->tape->state);
    struct diff_tensor *memory = memory_of(window, "diff_win_memory");
    state_leave(window->tape->state);
    return memory;
}

void diff_win_store(struct diff_window *window, struct diff_tensor *memory)
{
    struct diff_state *state = window->tape->state;
    size_t count = window->counts[window->channel->rank];
    ENTER(state);
    if (memory->tape != window->tape)
        state_fail(state, "M009", "diff_win_store of another tape's tensor");
    if (memory->type != window->type || memory->count != count)
        state_fail(state, "M009", "diff_win_store of %zu values of type %s over %zu of type %s",
                   memory->count, diff_type_name(memory->type), count,
                   diff_type_name(window->type));
    window->memory = memory;
    state_leave(state);
}

void diff_win_fence(struct diff_window *window)
{
    struct diff_state *state = window->tape->state;
    ENTER(state);
    struct diff_tensor *memory = memory_of(window, "diff_win_fence");
    if (!window->open) {
        window->open = true;
        state_leave(state);
        return;
    }
    struct arena *arena = &window->tape->arena;
    struct epoch epoch = {window, 0, NULL, true};
    epoch.accesses = arena_take(arena, (window->accesses + 1) * sizeof *epoch.accesses);
    for (const struct window_access *a = window->first; a; a = a->next) {
        if (a->x && a->x->storage->version != a->version)
            state_fail(state, "M009",
                       "the tensor of a %s was changed before the fence that ends its epoch: "
                       "change it afterwards, or a copy",
                       a->name);
        epoch.accesses[epoch.count++] = *a;
    }
    window->first = window->last = NULL;
    window->accesses = 0;
    window->memory = epoch_run(&epoch, window->channel, memory);
    state_leave(state);
}

/* Ends the rank if the access cannot be. */
static void access_check(const struct diff_window *window, const struct window_access *a)
{
    struct diff_state *state = window->tape->state;
    if (!window->open)
        state_fail(state, "B004",
                   "%s before the first fence: call diff_win_fence to begin an epoch", a->name);
    if (a->x && a->x->tape != window->tape)
        state_fail(state, "M009", "%s mixes tensors of two tapes", a->name);
    if (a->x && a->x->type != window->type)
        state_fail(state, "M009", "%s of a %s tensor to a window of type %s", a->name,
                   diff_type_name(a->x->type), diff_type_name(window->type));
    if (a->target == MPI_PROC_NULL)
        return;
    if (a->target < 0 || a->target >= window->channel->size)
        state_fail(state, "M009", "%s: the target %d is no rank of the window's %d", a->name,
                   a->target, window->channel->size);
    size_t there = window->counts[a->target];
    if (a->begin > there || a->count > there - a->begin)
        state_fail(state, "M009",
                   "%s: %zu values from %zu on do not fit the %zu of rank %d's window", a->name,
                   a->count, a->begin, there, a->target);
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
    a->next = NULL;
    if (window->last)
        window->last->next = a;
    else
        window->first = a;
    window->last = a;
    window->accesses++;
}

/* What an access will bring: a handle until the fence. */
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
