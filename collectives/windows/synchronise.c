/* What programs call to make windows, to use their memory, and to begin and end epochs. */
#include "collectives/windows/calls.h"

#include "collectives/windows/phase.h"

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

/* ---- memory ---- */

struct diff_tensor *window_memory(const struct diff_window *window, const char *function)
{
    if (window->exposed)
        REFUSE(window, "%s while others may access the window: call %s first", function,
               window->exposure == EXPOSED_BY_POST ? "diff_win_wait" : "diff_win_passive_end");
    if (!window->memory)
        REFUSE(window,
               "%s of a window whose values diff_tape_clear has forgotten: give it some by "
               "diff_win_store",
               function);
    return window->memory;
}

struct diff_tensor *diff_win_memory(struct diff_window *window)
{
    ENTER(window->tape->state);
    struct diff_tensor *memory = window_memory(window, "diff_win_memory");
    state_leave(window->tape->state);
    return memory;
}

void diff_win_store(struct diff_window *window, struct diff_tensor *memory)
{
    struct diff_state *state = window->tape->state;
    size_t count = window->counts[window->channel->rank];
    ENTER(state);
    if (window->memory || window->exposed)
        window_memory(window, "diff_win_store");
    if (memory->tape != window->tape)
        state_fail(state, "M009", "diff_win_store of another tape's tensor");
    if (memory->type != window->type || memory->count != count)
        state_fail(state, "M009", "diff_win_store of %zu values of type %s over %zu of type %s",
                   memory->count, diff_type_name(memory->type), count,
                   diff_type_name(window->type));
    window->memory = memory;
    state_leave(state);
}

/* ---- epochs ---- */

struct epoch epoch_collect(struct diff_window *window, enum epoch_kind kind, int target)
{
    struct epoch epoch = {.window = window, .kind = kind, .checked = true, .flushed = target};
    epoch.accesses =
        arena_take(&window->tape->arena, (window->accesses + 1) * sizeof *epoch.accesses);
    struct window_access *kept = window->first;
    window->first = window->last = NULL;
    window->accesses = 0;
    for (struct window_access *a = kept, *next; a; a = next) {
        next = a->next;
        if (target != ALL_TARGETS && a->target != target) {
            window_access_append(window, a);
            continue;
        }
        if (a->x && a->x->storage->version != a->version)
            REFUSE(window,
                   "the tensor of a %s was changed before the %s: change it afterwards, or a copy",
                   a->name,
                   kind == EPOCH_FENCE     ? "fence that ends its epoch"
                   : kind == EPOCH_STARTED ? "diff_win_complete that ends its epoch"
                                           : "flush or unlock that does it");
        epoch.accesses[epoch.count++] = *a;
    }
    return epoch;
}

void diff_win_fence(struct diff_window *window)
{
    ENTER(window->tape->state);
    struct diff_tensor *memory = window_memory(window, "diff_win_fence");
    if (window->started)
        REFUSE(window, "diff_win_fence in an epoch: end it by diff_win_complete first");
    if (window->open) {
        struct epoch epoch = epoch_collect(window, EPOCH_FENCE, ALL_TARGETS);
        window->memory = epoch_run(&epoch, window->channel, memory);
    }
    window->open = true;
    state_leave(window->tape->state);
}

static struct ranks *group_ranks(const struct diff_window *window, MPI_Group group)
{
    int count;
    MPI_Group all;
    MPI_Group_size(group, &count);
    size_t room = (size_t)count * sizeof(int);
    struct ranks *made = arena_take(&window->tape->arena, sizeof *made + room);
    int *numbers = arena_take(&window->tape->arena, room + sizeof(int));
    made->count = count;
    for (int i = 0; i < count; i++)
        numbers[i] = i;
    MPI_Comm_group(window->places->comm, &all);
    MPI_Group_translate_ranks(group, count, numbers, all, made->ranks);
    MPI_Group_free(&all);
    for (int i = 0; i < count; i++)
        if (made->ranks[i] == MPI_UNDEFINED)
            REFUSE(window, "the group has a member that is not in the window's communicator");
    return made;
}

void diff_win_post(struct diff_window *window, MPI_Group origins)
{
    ENTER(window->tape->state);
    struct diff_tensor *memory = window_memory(window, "diff_win_post");
    if (window->accesses > 0 && !window->started)
        REFUSE(window,
               "diff_win_post in an epoch with %zu accesses: end it by diff_win_fence first",
               window->accesses);
    struct exposure exposure = {window, group_ranks(window, origins)};
    window->exposed = exposure_post(&exposure, window->channel, memory);
    window->exposure = EXPOSED_BY_POST;
    window->origins = exposure.origins;
    state_leave(window->tape->state);
}

void diff_win_wait(struct diff_window *window)
{
    ENTER(window->tape->state);
    if (!window->exposed || window->exposure != EXPOSED_BY_POST)
        state_fail(window->tape->state, "B005", "diff_win_wait without a diff_win_post before");
    struct exposure exposure = {window, window->origins};
    window->memory = exposure_wait(&exposure, window->channel, window->exposed);
    window->exposed = NULL;
    state_leave(window->tape->state);
}

void diff_win_start(struct diff_window *window, MPI_Group targets)
{
    ENTER(window->tape->state);
    if (window->phase)
        REFUSE(window, "diff_win_start in a passive phase: call diff_win_passive_end first");
    if (window->started)
        state_fail(window->tape->state, "B005", "diff_win_start in an epoch that was started");
    if (window->accesses > 0)
        REFUSE(window,
               "diff_win_start in an epoch with %zu accesses: end it by diff_win_fence first",
               window->accesses);
    window->started = group_ranks(window, targets);
    state_leave(window->tape->state);
}

void diff_win_complete(struct diff_window *window)
{
    ENTER(window->tape->state);
    if (!window->started)
        state_fail(window->tape->state, "B005",
                   "diff_win_complete without a diff_win_start before");
    struct epoch epoch = epoch_collect(window, EPOCH_STARTED, ALL_TARGETS);
    epoch.targets = window->started;
    window->started = NULL;
    epoch_run(&epoch, window->channel, NULL);
    state_leave(window->tape->state);
}
