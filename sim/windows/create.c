/* Making and freeing windows. */
#include "recorder/recorder.h"
#include "sim/collectives/forms.h"
#include "sim/communicators/info.h"
#include "sim/memory/memory.h"
#include "sim/memory/objects.h"
#include "sim/memory/pending.h"
#include "sim/memory/typed.h"
#include "sim/messages/failures.h"
#include "sim/messages/point.h"
#include "sim/windows/carry.h"
#include "sim/windows/history.h"
#include "sim/windows/lock_order.h"
#include "sim/windows/window.h"
#include "sim/worlds/error.h"
#include "sim/worlds/open_handles.h"
#include "sim/worlds/rank_lock.h"
#include "sim/worlds/told.h"
#include "sim/worlds/wide.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a member brings. */
struct making {
    char *base;
    MPI_Aint size, unit;
    int flavor;
    bool separate;
    MPI_Info info;
    MPI_Win *made;
    void *base_out; /* where the address of allocated memory goes, NULL */
};

struct sim_win *sim_win_check(MPI_Win handle, const char *function, int *error)
{
    struct sim_rank *rank = sim_point_caller(function);
    struct sim_win *win = rank ? sim_handle_object((void *)handle, SIM_MAGIC_WIN) : NULL;
    *error = MPI_ERR_OTHER;
    if (rank && (!win || win->owner != rank)) {
        *error = sim_error_raise(MPI_COMM_NULL, MPI_ERR_WIN, function,
                                 handle == MPI_WIN_NULL ? "window is MPI_WIN_NULL"
                                                        : "window is not a valid handle");
        return NULL;
    }
    *error = rank ? MPI_SUCCESS : MPI_ERR_OTHER;
    return win;
}

int sim_win_raise(struct sim_win *win, int error_class, const char *function, const char *format,
                  ...)
{
    char sentence[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return sim_error_raise(sim_comm_handle(win->comm), error_class, function, "%s", sentence);
}

int sim_win_peer_error(const struct sim_win *win, int rank)
{
    return win->owner->world->troubled ? sim_comm_peer_error(win->comm, rank) : MPI_SUCCESS;
}

int sim_win_raise_failure(struct sim_win *win, int error, const char *function)
{
    return error ? sim_win_raise(win, error, function, "%s", sim_failure_sentence(error))
                 : MPI_SUCCESS;
}

void sim_win_wait(struct sim_win *win)
{
    win->waits = true;
    win->window->waiting++;
    sim_rank_block_reconsidering(win->owner);
    win->window->waiting--;
    win->waits = false;
}

void sim_win_changed(struct sim_window *window)
{
    sim_world_changed(window->world);
    for (int i = 0; window->waiting && i < window->size; i++) {
        struct sim_win *win = window->parts[i].win;
        if (win && win->waits && sim_rank_waits(win->owner)) {
            win->waits = false;
            sim_rank_wake(win->owner);
        }
    }
}

enum { WINDOW_LOOKS = 100 };

/* A rank that looks at a window again and again, while all others wait for locks or messages to be
 * given to them, would keep them waiting for ever. */
static void others_go(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    if (!world->exploring || world->ready_head || !(world->looks || world->delayed)) {
        rank->window_looks = 0;
    } else if (++rank->window_looks > WINDOW_LOOKS) {
        rank->window_looks = 0;
        world->chooser.log.gaps |= SIM_GAP_LOCKS;
        sim_world_quiescent(world);
    }
}

void sim_win_yield(struct sim_win *win)
{
    others_go(win->owner);
    win->owner->world->executor->yield(win->owner);
}

static void nothing(struct sim_collective *collective)
{
    (void)collective;
}

static const struct sim_collective_kind fence = {
    .name = "Win_fence", .synchronisation = SIM_NEEDS_ALL, .execute = nothing};

int sim_win_barrier(struct sim_win *win)
{
    struct sim_collective_call call;
    int error;
    if (sim_collective_meet(win->comm, &fence, &error))
        return error;
    error = sim_call_begin(&call, &fence, sim_comm_handle(win->comm));
    return error ? error : sim_collective_run(&call);
}

/* ---- making ---- */

static const struct making *making_of(const struct sim_collective *collective, int rank)
{
    return collective->calls[rank]->argument;
}

enum { ALIGNMENT = 64 };

static size_t rounded(MPI_Aint size)
{
    return ((size_t)size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Shared memory lies one part behind the other, without gaps unless the program allows them. */
static char *allocate_shared(const struct sim_collective *collective, bool separate)
{
    size_t bytes = 0;
    for (int r = 0; r < collective->size; r++)
        bytes += separate ? rounded(making_of(collective, r)->size)
                          : (size_t)making_of(collective, r)->size;
    char *memory = aligned_alloc(ALIGNMENT, rounded((MPI_Aint)bytes) + ALIGNMENT);
    assert(memory && "out of memory for a window");
    memset(memory, 0, bytes);
    return memory;
}

static void part_fill(struct sim_window *window, int rank, const struct making *making,
                      char **shared)
{
    struct sim_window_part *part = &window->parts[rank];
    part->base = making->base;
    part->size = making->size;
    part->unit = making->unit;
    part->same_size = sim_info_says(sim_info_from_handle(making->info), "same_size", "true");
    part->same_unit = sim_info_says(sim_info_from_handle(making->info), "same_disp_unit", "true");
    part->exclusive = -1;
    if (window->flavor == MPI_WIN_FLAVOR_SHARED) {
        part->base = *shared;
        *shared += window->separate ? rounded(making->size) : (size_t)making->size;
    }
}

static void deliver(struct sim_collective *collective, struct sim_window *window,
                    struct sim_context *context, int rank)
{
    const struct making *making = making_of(collective, rank);
    struct sim_rank *owner = collective->calls[rank]->comm->owner;
    struct sim_win *win = calloc(1, sizeof *win);
    assert(win && "out of memory for a window");
    *win = (struct sim_win){.magic = SIM_MAGIC_WIN,
                            .owner = owner,
                            .window = window,
                            .comm = sim_comm_new(owner, context, rank),
                            .rank = rank,
                            .unit = (int)making->unit,
                            .flavor = making->flavor,
                            .model = MPI_WIN_UNIFIED,
                            .size = making->size};
    assert(win->comm && "out of memory for a window");
    win->comm->window = win;
    win->comm->session = collective->calls[rank]->comm->session;
    window->parts[rank].win = win;
    if (making->flavor == MPI_WIN_FLAVOR_ALLOCATE)
        win->allocated = making->base;
    *making->made = (MPI_Win)(void *)win;
}

/* What the hints of one member promise all have to keep, and to promise. */
static bool size_unlike(const struct sim_window_part *a, const struct sim_window_part *b)
{
    return a->same_size != b->same_size || (a->same_size && a->size != b->size);
}

static bool unit_unlike(const struct sim_window_part *a, const struct sim_window_part *b)
{
    return a->same_unit != b->same_unit || (a->same_unit && a->unit != b->unit);
}

static void find_unlike(struct sim_window *window)
{
    const struct sim_window_part *parts = window->parts;
    int r = 1;
    while (r < window->size && !size_unlike(&parts[0], &parts[r]) &&
           !unit_unlike(&parts[0], &parts[r]))
        r++;
    window->unlike = r < window->size ? r : 0;
}

static void tell_unlike(const struct sim_win *win, const char *function)
{
    const struct sim_window_part *first = win->window->parts, *mine = first + win->rank;
    bool size = size_unlike(first, mine);
    const char *hint = size ? "same_size" : "same_disp_unit";
    bool first_says = size ? first->same_size : first->same_unit;
    bool both = first_says && (size ? mine->same_size : mine->same_unit);
    if (both)
        record_note("M009",
                    "MPI_%s: the hint %s promises that all ranks give the same, and rank %d gives "
                    "%lld where rank %d gives %lld",
                    function, hint, sim_context_world_rank(win->comm->context, win->rank),
                    (long long)(size ? mine->size : mine->unit),
                    sim_context_world_rank(win->comm->context, 0),
                    (long long)(size ? first->size : first->unit));
    else
        record_note("M009", "MPI_%s: the hint %s is true for rank %d and not for rank %d", function,
                    hint, sim_context_world_rank(win->comm->context, first_says ? 0 : win->rank),
                    sim_context_world_rank(win->comm->context, first_says ? win->rank : 0));
}

static void make(struct sim_collective *collective)
{
    struct sim_world *world = collective->context->world;
    const struct making *first = making_of(collective, 0);
    struct sim_window *window =
        calloc(1, sizeof *window + (size_t)collective->size * sizeof(struct sim_window_part));
    struct sim_context *context =
        sim_context_new(world, sim_group_retain(collective->context->group));
    assert(window && context && "out of memory for a window");
    window->world = world;
    window->size = window->members = collective->size;
    window->flavor = first->flavor;
    window->separate = first->separate;
    if (window->flavor == MPI_WIN_FLAVOR_SHARED)
        window->memory = allocate_shared(collective, window->separate);
    char *shared = window->memory;
    for (int r = 0; r < collective->size; r++)
        part_fill(window, r, making_of(collective, r), &shared);
    find_unlike(window);
    for (int r = 0; r < collective->size; r++)
        deliver(collective, window, context, r);
}

#define CREATION(flavor, called)                                                                   \
    [flavor - MPI_WIN_FLAVOR_CREATE] = {                                                           \
        .name = called, .synchronisation = SIM_NEEDS_ALL, .execute = make}
static const struct sim_collective_kind creations[] = {
    CREATION(MPI_WIN_FLAVOR_CREATE, "Win_create"),
    CREATION(MPI_WIN_FLAVOR_ALLOCATE, "Win_allocate"),
    CREATION(MPI_WIN_FLAVOR_DYNAMIC, "Win_create_dynamic"),
    CREATION(MPI_WIN_FLAVOR_SHARED, "Win_allocate_shared")};

/* The memory that a program brings must be there. `site`: as of sim_told_set. */
static void bound(struct sim_rank *rank, const char *function, const void *memory, MPI_Aint size,
                  const void *site)
{
    const struct sim_region region = {(uintptr_t)memory, sim_datatype_get(MPI_BYTE), (size_t)size,
                                      true, "memory"};
    struct sim_scope scope;
    if (!rank->pending || !size || !memory)
        return;
    sim_told_set(site);
    enum sim_typed typed =
        sim_objects_freed(rank, &region, sim_region_hull(&region), function, "exposes")
            ? SIM_TYPED_WRONG
            : sim_typed_check(rank, &region, function, "exposes", &scope);
    if (typed != SIM_TYPED_WRONG)
        sim_objects_bound(rank, &region, sim_region_hull(&region), function, "exposes");
    rank->pending->untyped += typed == SIM_TYPED_NO_DEBUG;
    rank->pending->unbounded += typed == SIM_TYPED_UNBOUNDED;
    sim_told_set(NULL);
}

static int win_new(struct making *making, MPI_Comm comm)
{
    const struct sim_collective_kind *kind = &creations[making->flavor - MPI_WIN_FLAVOR_CREATE];
    const char *function = kind->name;
    struct sim_collective_call call;
    int error = sim_call_begin(&call, kind, comm);
    if (error)
        return error;
    if (making->size < 0)
        return sim_error_raise(comm, MPI_ERR_SIZE, function, "size %lld is negative",
                               (long long)making->size);
    if (making->unit <= 0)
        return sim_error_raise(comm, MPI_ERR_DISP, function,
                               "displacement unit %lld is not positive", (long long)making->unit);
    if (!sim_info_handle_valid(making->info))
        return sim_error_raise(comm, MPI_ERR_INFO, function, "info is not a valid handle");
    if (sim_call_is_intercomm(&call))
        return sim_error_raise(comm, MPI_ERR_COMM, function,
                               "a window cannot be made on an intercommunicator");
    making->separate =
        sim_info_says(sim_info_from_handle(making->info), "alloc_shared_noncontig", "true");
    if (making->flavor == MPI_WIN_FLAVOR_ALLOCATE) {
        making->base = calloc(1, making->size ? (size_t)making->size : 1);
        if (!making->base)
            return sim_error_raise(comm, MPI_ERR_NO_MEM, function, "no memory for the window");
    }
    if (making->flavor == MPI_WIN_FLAVOR_CREATE && making->size && !making->base)
        return sim_error_raise(comm, MPI_ERR_BASE, function,
                               "base is NULL with a size of %lld bytes", (long long)making->size);
    if (making->flavor == MPI_WIN_FLAVOR_CREATE)
        bound(call.comm->owner, "Win_create", making->base, making->size, NULL);
    call.argument = making;
    sim_wide_never(call.comm->owner->world); /* others reach into the memory of who computes */
    error = sim_collective_run(&call);
    if (error)
        return error;
    struct sim_win *win = (struct sim_win *)(void *)*making->made;
    sim_history_begin(win);
    sim_open_handles_add(SIM_LIVE_WINDOW, (uint64_t)(uintptr_t)win);
    struct sim_info *info = sim_info_copy(sim_info_from_handle(making->info));
    win->comm->info = (MPI_Info)(void *)(info ? info : sim_info_new());
    sim_win_hints(win);
    if (win->rank && win->rank == win->window->unlike)
        tell_unlike(win, function);
    if (making->base_out)
        *(void **)making->base_out = win->window->parts[win->rank].base;
    win->on_stack = making->flavor == MPI_WIN_FLAVOR_CREATE &&
                    sim_rank_stack_holds((uintptr_t)win->window->parts[win->rank].base);
    if (win->allocated)
        sim_objects_add(win->allocated, (size_t)making->size, NULL);
    return MPI_SUCCESS;
}

#define CREATE(suffix, unit_type)                                                                  \
    int PMPI_Win_create##suffix(void *base, MPI_Aint size, unit_type unit, MPI_Info info,          \
                                MPI_Comm comm, MPI_Win *win)                                       \
    {                                                                                              \
        return win_new(&(struct making){.base = base,                                              \
                                        .size = size,                                              \
                                        .unit = unit,                                              \
                                        .info = info,                                              \
                                        .flavor = MPI_WIN_FLAVOR_CREATE,                           \
                                        .made = win},                                              \
                       comm);                                                                      \
    }                                                                                              \
    int PMPI_Win_allocate##suffix(MPI_Aint size, unit_type unit, MPI_Info info, MPI_Comm comm,     \
                                  void *base, MPI_Win *win)                                        \
    {                                                                                              \
        return win_new(&(struct making){.size = size,                                              \
                                        .unit = unit,                                              \
                                        .info = info,                                              \
                                        .flavor = MPI_WIN_FLAVOR_ALLOCATE,                         \
                                        .made = win,                                               \
                                        .base_out = base},                                         \
                       comm);                                                                      \
    }                                                                                              \
    int PMPI_Win_allocate_shared##suffix(MPI_Aint size, unit_type unit, MPI_Info info,             \
                                         MPI_Comm comm, void *base, MPI_Win *win)                  \
    {                                                                                              \
        return win_new(&(struct making){.size = size,                                              \
                                        .unit = unit,                                              \
                                        .info = info,                                              \
                                        .flavor = MPI_WIN_FLAVOR_SHARED,                           \
                                        .made = win,                                               \
                                        .base_out = base},                                         \
                       comm);                                                                      \
    }
/* clang-format off */
CREATE(, int)
CREATE(_c, MPI_Aint)
/* clang-format on */

int PMPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    return win_new(
        &(struct making){.unit = 1, .info = info, .flavor = MPI_WIN_FLAVOR_DYNAMIC, .made = win},
        comm);
}

/* ---- freeing ---- */

static void window_leave(struct sim_win *win)
{
    struct sim_window *window = win->window;
    struct sim_window_part *part = &window->parts[win->rank];
    for (struct sim_attached *next; part->attached; part->attached = next) {
        next = part->attached->next;
        free(part->attached);
    }
    free(part->posts);
    free(part->completes);
    free(part->atomics);
    free(part->order);
    part->atomics = NULL;
    free(part->completed_by);
    part->completed_by = NULL;
    part->posts = part->completes = NULL;
    part->win = NULL;
    if (--window->members == 0) {
        free(window->memory);
        free(window);
    }
}

/* A member of the window has failed, and the caller's handler comes back: who is left frees it,
 * whether or not the others are met. */
static bool is_bereft(const struct sim_win *win)
{
    return win->owner->world->troubled && sim_comm_tolerates(win->comm) &&
           sim_comm_failed(win->comm, NULL, 0) > 0;
}

int PMPI_Win_free(MPI_Win *handle)
{
    int error;
    struct sim_win *win = sim_win_check(*handle, "Win_free", &error);
    if (win)
        error = sim_epoch_move(win, SIM_CALL_FREE, -1, "Win_free");
    int failed = !error && !is_bereft(win) ? sim_win_barrier(win) : MPI_SUCCESS;
    if (failed && !is_bereft(win))
        error = failed;
    if (!error) {
        WITH_RANK_LOCK;
        SIM_CALLBACK callback = sim_callback_of(win->owner, MPI_ERR_OTHER);
        error = sim_attributes_clear(&win->comm->attributes, (void *)*handle);
        callback.rank = NULL;
    }
    if (error)
        return error;
    sim_win_completed(win, -1);
    sim_history_end(win);
    sim_world_enter(win->owner->world);
    sim_carry_release(win);
    window_leave(win);
    win->comm->window = NULL;
    sim_errhandler_release(win->comm->errhandler);
    sim_comm_delete(win->comm);
    sim_world_leave(win->owner->world);
    sim_open_handles_remove(SIM_LIVE_WINDOW, (uint64_t)(uintptr_t)win);
    sim_memory_free(win->allocated, sim_libc_call_site());
    win->magic = SIM_MAGIC_FREED;
    free(win);
    *handle = MPI_WIN_NULL;
    return failed;
}

static void abandon(struct sim_win *win)
{
    for (struct sim_epoch_lock *next; win->epoch.locks; win->epoch.locks = next) {
        next = win->epoch.locks->next;
        free(win->epoch.locks);
    }
    sim_lock_order_end_all(win);
    if (win->epoch.started)
        sim_group_release(win->epoch.started);
    if (win->epoch.posted)
        sim_group_release(win->epoch.posted);
    window_leave(win);
    sim_carry_release(win);
    free(win->accesses);
    free(win->allocated);
    free(win);
}

void sim_windows_world_end(struct sim_world *world)
{
    for (int r = 0; world->ranks && r < world->size; r++)
        for (struct sim_comm *comm = world->ranks[r].comms; comm; comm = comm->next)
            if (comm->window) {
                abandon(comm->window);
                comm->window = NULL;
            }
}

/* ---- dynamic and shared ---- */

int PMPI_Win_attach(MPI_Win handle, void *base, MPI_Aint size)
{
    int error;
    struct sim_win *win = sim_win_check(handle, "Win_attach", &error);
    if (!win)
        return error;
    if (win->flavor != MPI_WIN_FLAVOR_DYNAMIC)
        return sim_win_raise(win, MPI_ERR_RMA_FLAVOR, "Win_attach", "the window is not dynamic");
    if (size < 0)
        return sim_win_raise(win, MPI_ERR_SIZE, "Win_attach", "size %lld is negative",
                             (long long)size);
    struct sim_window_part *part = &win->window->parts[win->rank];
    for (const struct sim_attached *at = part->attached; at; at = at->next)
        if ((char *)base < at->base + at->size && at->base < (char *)base + size)
            return sim_win_raise(win, MPI_ERR_RMA_ATTACH, "Win_attach",
                                 "the memory overlaps memory that is attached already");
    bound(win->owner, "Win_attach", base, size, __builtin_return_address(0));
    struct sim_attached *attached = malloc(sizeof *attached);
    if (!attached)
        return sim_win_raise(win, MPI_ERR_NO_MEM, "Win_attach", "out of memory");
    sim_world_enter(win->owner->world);
    *attached = (struct sim_attached){base, size, part->attached};
    part->attached = attached;
    sim_world_leave(win->owner->world);
    return MPI_SUCCESS;
}

int PMPI_Win_detach(MPI_Win handle, const void *base)
{
    int error;
    struct sim_win *win = sim_win_check(handle, "Win_detach", &error);
    if (!win)
        return error;
    struct sim_attached **link = &win->window->parts[win->rank].attached;
    while (*link && (*link)->base != base)
        link = &(*link)->next;
    if (!*link)
        return sim_win_raise(win, MPI_ERR_BASE, "Win_detach", "this memory is not attached");
    struct sim_attached *found = *link;
    sim_world_enter(win->owner->world);
    *link = found->next;
    sim_world_leave(win->owner->world);
    sim_history_detached(win, found->base, found->size, __builtin_return_address(0));
    free(found);
    return MPI_SUCCESS;
}

static int query(MPI_Win handle, int rank, MPI_Aint *size, MPI_Aint *unit, void *base)
{
    int error;
    struct sim_win *win = sim_win_check(handle, "Win_shared_query", &error);
    if (!win)
        return error;
    const struct sim_window *window = win->window;
    if (window->flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return sim_win_raise(win, MPI_ERR_RMA_FLAVOR, "Win_shared_query",
                             "the memory of a dynamic window is not shared");
    if (rank != MPI_PROC_NULL && (rank < 0 || rank >= window->size))
        return sim_win_raise(win, MPI_ERR_RANK, "Win_shared_query",
                             "rank %d is not in the window's group of %d", rank, window->size);
    int first = 0; /* of those that have memory */
    while (rank == MPI_PROC_NULL && first < window->size - 1 && !window->parts[first].size)
        first++;
    int whose = rank == MPI_PROC_NULL ? first : rank;
    const struct sim_window_part *part = &window->parts[whose];
    /* What MPI_Win_create and MPI_Win_allocate were given is shared with nobody. */
    bool reached = window->flavor == MPI_WIN_FLAVOR_SHARED || whose == win->rank;
    *size = reached ? part->size : 0;
    *unit = part->unit;
    *(void **)base = *size ? part->base : NULL;
    return MPI_SUCCESS;
}

int PMPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint *size, int *unit, void *base)
{
    MPI_Aint wide = 0;
    int error = query(win, rank, size, &wide, base);
    if (!error)
        *unit = (int)wide;
    return error;
}

int PMPI_Win_shared_query_c(MPI_Win win, int rank, MPI_Aint *size, MPI_Aint *unit, void *base)
{
    return query(win, rank, size, unit, base);
}
