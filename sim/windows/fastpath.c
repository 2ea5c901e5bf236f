/* The short way of puts, gets, accumulates and flushes: contiguous data of one type, in an epoch of locks or fences, by a rank whose
 * buffers nobody watches.
 *
 * Everything that the program or another rank can see (the bytes, logical time, who runs when) is as in access.c and sync.c.
 *
 * Rules:
 *  1. Only for ranks to whom sim_rank_plain applies, that are not recorded (no `pending`, and so no history), and where nothing moves
 *     late and nobody's turn is kept (turns.h).
 *  2. Whatever is not as above, and whatever is refused, goes the long way, which says why: nothing has been changed by then. */
#include "sim/operators/op.h"
#include "sim/windows/window.h"
#include "sim/worlds/rank.h"

#include <string.h>

/* In each of the calls all that is planned is in registers. */
#define INLINE static inline __attribute__((always_inline))

/* The caller's window, if this way is open to the caller and `target` is in it. */
INLINE struct sim_win *usable_win(MPI_Win handle, int target)
{
    struct sim_rank *rank = sim_current_rank;
    if (!rank || !rank->plain || rank->pending)
        return NULL;
    const struct sim_world_options *options = &rank->world->options;
    if (options->late_receives || options->answers_noted || options->answers_followed)
        return NULL;
    struct sim_win *win = sim_handle_object((void *)handle, SIM_MAGIC_WIN);
    return win && win->owner == rank && (unsigned)target < (unsigned)win->window->size ? win : NULL;
}

INLINE bool holds_lock(const struct sim_win *win, int target)
{
    return win->epoch.state == SIM_EPOCH_LOCK_ALL ||
           (win->epoch.state == SIM_EPOCH_LOCK && sim_epoch_lock_of(&win->epoch, target));
}

/* Whether the epoch allows an access, and nothing is to be said about it. */
INLINE bool may_access(const struct sim_win *win, int target)
{
    const struct sim_window_part *part = &win->window->parts[target];
    bool fenced = win->epoch.state == SIM_EPOCH_FENCE || win->epoch.state == SIM_EPOCH_FENCE_USED;
    return holds_lock(win, target) || (fenced && part->no_put[win->fences % 2] != win->fences);
}

struct short_access {
    struct sim_win *win;
    const struct sim_datatype *type;
    char *target;
    size_t bytes;
};

/* What the caller said of a transfer. */
struct transfer {
    const void *origin;
    int count;
    MPI_Datatype type;
    int target;
    MPI_Aint displacement;
    int target_count;
    MPI_Datatype target_type;
};

/* False: it goes the long way. */
INLINE bool plan(struct short_access *out, const struct transfer *transfer, MPI_Win handle)
{
    struct sim_win *win = usable_win(handle, transfer->target);
    const struct sim_datatype *type = sim_datatype_get(transfer->type);
    if (!win || !type || !type->contiguous || !type->committed ||
        transfer->type != transfer->target_type || transfer->count != transfer->target_count ||
        transfer->count <= 0 || !transfer->origin || transfer->origin == MPI_IN_PLACE ||
        !may_access(win, transfer->target))
        return false;
    const struct sim_window_part *part = &win->window->parts[transfer->target];
    size_t first, bytes;
    if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC || transfer->displacement < 0 ||
        __builtin_mul_overflow((size_t)transfer->displacement, (size_t)part->unit, &first) ||
        __builtin_mul_overflow((size_t)transfer->count, type->size, &bytes) || !bytes ||
        first > (size_t)part->size || bytes > (size_t)part->size - first)
        return false;
    *out = (struct short_access){win, type, part->base + first, bytes};
    return true;
}

INLINE void begin(const struct sim_win *win)
{
    win->owner->world->steps++;
}

INLINE int end(struct sim_win *win)
{
    if (win->epoch.state == SIM_EPOCH_FENCE)
        win->epoch.state = SIM_EPOCH_FENCE_USED;
    sim_world_changed(win->owner->world);
    return MPI_SUCCESS;
}

INLINE void copy_bytes(void *to, const void *from, size_t bytes)
{
    if (bytes == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else if (to != from)
        memcpy(to, from, bytes);
}

int PMPI_Put(const void *origin, int count, MPI_Datatype type, int target_rank,
             MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Win win)
{
    const struct transfer transfer = {origin,      count,        type,       target_rank,
                                      target_disp, target_count, target_type};
    struct short_access access;
    if (!plan(&access, &transfer, win))
        return sim_put_long(origin, count, type, target_rank, target_disp, target_count,
                            target_type, win);
    begin(access.win);
    copy_bytes(access.target, origin, access.bytes);
    return end(access.win);
}

int PMPI_Get(void *origin, int count, MPI_Datatype type, int target_rank, MPI_Aint target_disp,
             int target_count, MPI_Datatype target_type, MPI_Win win)
{
    const struct transfer transfer = {origin,      count,        type,       target_rank,
                                      target_disp, target_count, target_type};
    struct short_access access;
    if (!plan(&access, &transfer, win))
        return sim_get_long(origin, count, type, target_rank, target_disp, target_count,
                            target_type, win);
    begin(access.win);
    copy_bytes(origin, access.target, access.bytes);
    return end(access.win);
}

/* The function that does it in place: of a predefined operation on a predefined type, where both sides are aligned and share no byte.
 * NULL: there is none, as for MPI_REPLACE and MPI_NO_OP. */
INLINE sim_kernel *kernel_of(const struct short_access *access, const void *origin, MPI_Op handle)
{
    const struct sim_op *op = sim_op_get(handle);
    if (!op || !access->type->predefined || sim_op_allowed_in_window(op, access->type))
        return NULL;
    uintptr_t from = (uintptr_t)origin, to = (uintptr_t)access->target;
    bool aligned = !((from | to) % access->type->alignment);
    return aligned && from - to >= access->bytes && to - from >= access->bytes
               ? sim_op_kernel(op, access->type->kind)
               : NULL;
}

int PMPI_Accumulate(const void *origin, int count, MPI_Datatype type, int target_rank,
                    MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Op op,
                    MPI_Win win)
{
    const struct transfer transfer = {origin,      count,        type,       target_rank,
                                      target_disp, target_count, target_type};
    struct short_access access;
    sim_kernel *kernel =
        plan(&access, &transfer, win) ? kernel_of(&access, origin, op) : (sim_kernel *)NULL;
    if (!kernel)
        return sim_accumulate_long(origin, count, type, target_rank, target_disp, target_count,
                                   target_type, op, win);
    begin(access.win);
    kernel(access.target, origin, access.target, (size_t)count);
    return end(access.win);
}

/* Nobody else could go on: then giving way is nothing. */
INLINE bool is_alone(const struct sim_world *world)
{
    return !world->ready_head && !world->out_of_turn;
}

INLINE bool flush_is_short(MPI_Win handle, int target)
{
    const struct sim_win *win = usable_win(handle, target);
    if (!win || !holds_lock(win, target) || !is_alone(win->owner->world))
        return false;
    begin(win);
    return true;
}

int PMPI_Win_flush(int rank, MPI_Win win)
{
    return flush_is_short(win, rank) ? MPI_SUCCESS : sim_flush_long(win, rank, true, "Win_flush");
}

int PMPI_Win_flush_local(int rank, MPI_Win win)
{
    return flush_is_short(win, rank) ? MPI_SUCCESS
                                     : sim_flush_long(win, rank, false, "Win_flush_local");
}
