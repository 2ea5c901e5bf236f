/* Windows: see window.h. */
#include "collectives/windows/window.h"

#include "collectives/tape/state.h"
#include "collectives/tape/tensor.h"
#include "recorder/recorder.h"

static struct window_at **place_of(struct diff_window *window, const struct diff_channel *channel)
{
    struct window_at **link = &window->places;
    while (*link && (*link)->channel != channel)
        link = &(*link)->next;
    return link;
}

struct window_at *window_at(struct diff_window *window, const struct diff_channel *channel)
{
    struct window_at **link = place_of(window, channel);
    if (*link)
        return *link;
    struct arena *arena = &window->tape->fixed;
    size_t size = diff_type_size(window->type), count = window->counts[window->channel->rank];
    struct window_at *at = arena_take_zeroed(arena, sizeof *at);
    at->channel = channel;
    at->buffer = arena_take_zeroed(arena, (count + 1) * size);
    at->comm = channel->comm;
    if (channel == window->channel) {
        MPI_Comm_dup(channel->comm, &at->comm);
        record_adjoint_comm((const void *)(intptr_t)at->comm,
                            (const void *)(intptr_t)channel->comm);
    }
    window_make(at->buffer, count, size, at->comm, &at->win);
    *link = at;
    return at;
}

void window_make(void *memory, size_t count, size_t size, MPI_Comm comm, MPI_Win *win)
{
    MPI_Info info;
    MPI_Win_create(memory, (MPI_Aint)(count * size), (int)size, MPI_INFO_NULL, comm, win);
    MPI_Info_create(&info);
    MPI_Info_set(info, "simrun_keeps_order", "true");
    MPI_Win_set_info(*win, info);
    MPI_Info_free(&info);
}

struct diff_window *window_new(struct diff_channel *channel, struct diff_tensor *memory)
{
    struct diff_tape *tape = channel->tape;
    struct diff_window *window = arena_take_zeroed(&tape->fixed, sizeof *window);
    uint64_t own = memory->count;
    uint64_t *all = arena_take(&tape->fixed, (size_t)channel->size * sizeof *all);
    window->tape = tape;
    window->channel = channel;
    window->type = memory->type;
    window->memory = memory;
    window->turns = MPI_WIN_NULL;
    MPI_Allgather(&own, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, channel->comm);
    window->counts = arena_take(&tape->fixed, (size_t)channel->size * sizeof *window->counts);
    for (int i = 0; i < channel->size; i++)
        window->counts[i] = (size_t)all[i];
    window_at(window, channel);
    struct diff_window **link = &tape->windows;
    while (*link)
        link = &(*link)->next;
    *link = window;
    return window;
}

void window_prepare_all(struct diff_tape *tape)
{
    for (struct diff_window *window = tape->windows; window; window = window->next) {
        const struct diff_channel *channel = window->channel;
        for (uint32_t depth = 0; depth < tape->recorded_passes + 2; depth++)
            window_at(window, channel = channel->adjoint);
    }
}

void window_check_idle(struct diff_tape *tape, const char *what)
{
    for (const struct diff_window *window = tape->windows; window; window = window->next) {
        if (window->exposed)
            state_fail(
                tape->state, "M009", "%s while others may access a window: call %s first", what,
                window->exposure == EXPOSED_BY_POST ? "diff_win_wait" : "diff_win_passive_end");
        if (window->started)
            state_fail(tape->state, "M009", "%s in an epoch: end it by diff_win_complete first",
                       what);
        if (window->accesses > 0)
            state_fail(tape->state, "M009",
                       "%s in an epoch with %zu accesses that have not been done: end it by "
                       "diff_win_fence first",
                       what, window->accesses);
    }
}

void window_forget_all(struct diff_tape *tape)
{
    for (struct diff_window *window = tape->windows; window; window = window->next) {
        window->memory = window->exposed = NULL;
        window->first = window->last = NULL;
        window->accesses = 0;
        window->started = NULL;
        window->phase = NULL;
        window->exposure = EXPOSED_BY_FENCES;
    }
}

void window_release_all(struct diff_tape *tape)
{
    for (struct diff_window *window = tape->windows; window; window = window->next) {
        for (struct window_at *at = window->places; at; at = at->next)
            MPI_Win_free(&at->win);
        if (window->turns != MPI_WIN_NULL)
            MPI_Win_free(&window->turns);
        MPI_Comm_free(&window->places->comm);
    }
    tape->windows = NULL;
}
