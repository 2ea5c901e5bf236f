/* Accesses to windows: put, get, accumulate and their kin. */
#include "recorder/recorder.h"
#include "sim/memory/pending.h"
#include "sim/messages/point.h"
#include "sim/operators/op.h"
#include "sim/windows/carry.h"
#include "sim/windows/history.h"
#include "sim/windows/lock_order.h"
#include "sim/windows/window.h"
#include "sim/worlds/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Neighbours may be attached piece by piece. */
static bool attached_holds(const struct sim_window_part *part, uintptr_t low, uintptr_t high)
{
    const struct sim_attached *at = part->attached;
    while (at && low < high)
        if (low - (uintptr_t)at->base < (size_t)at->size) {
            low = (uintptr_t)at->base + (size_t)at->size;
            at = part->attached;
        } else {
            at = at->next;
        }
    return low >= high;
}

static int out_of_range(struct sim_win *win, const char *function, int target, MPI_Aint first,
                        size_t bytes)
{
    char text[256];
    const struct sim_window_part *part = &win->window->parts[target];
    if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
        snprintf(text, sizeof text, "MPI_%s of %zu bytes: no memory attached by rank %d holds them",
                 function, bytes, target);
    else
        snprintf(text, sizeof text,
                 "MPI_%s of %zu bytes at byte %lld is beyond the window of rank %d, which has %lld",
                 function, bytes, (long long)first, target, (long long)part->size);
    record_note_of(record_position(), NULL, "B006", text);
    return sim_error_raise_mismatch(sim_comm_handle(win->comm), MPI_ERR_RMA_RANGE, function, text);
}

char *sim_win_address(struct sim_win *win, int target, MPI_Aint displacement,
                      const struct sim_datatype *type, size_t count, const char *function,
                      int *error)
{
    const struct sim_window_part *part = &win->window->parts[target];
    bool dynamic = win->flavor == MPI_WIN_FLAVOR_DYNAMIC;
    if (displacement < 0 && !dynamic) {
        *error = sim_win_raise(win, MPI_ERR_DISP, function, "displacement %lld is negative",
                               (long long)displacement);
        return NULL;
    }
    char *address =
        dynamic ? (char *)(uintptr_t)displacement : part->base + displacement * part->unit;
    struct sim_hull hull =
        sim_region_hull(&(struct sim_region){(uintptr_t)address, type, count, false, ""});
    uintptr_t base = (uintptr_t)part->base;
    if (hull.low != hull.high &&
        (dynamic ? !attached_holds(part, hull.low, hull.high)
                 : hull.low < base || hull.high > base + (size_t)part->size)) {
        *error =
            out_of_range(win, function, target, (MPI_Aint)(hull.low - base), hull.high - hull.low);
        return NULL;
    }
    *error = MPI_SUCCESS;
    return address;
}

static int check_elements(struct sim_win *win, const char *function, struct sim_elements *elements,
                          const char *which, bool mine)
{
    if (elements->count < 0)
        return sim_win_raise(win, MPI_ERR_COUNT, function, "%s count %lld is negative", which,
                             (long long)elements->count);
    elements->type = sim_datatype_get(elements->handle);
    const struct sim_datatype *type = elements->type;
    if (type && mine && !elements->buffer && elements->count && type->size && !type->true_lb &&
        type->contiguous)
        return sim_win_raise(win, MPI_ERR_BUFFER, function,
                             "the %s buffer is NULL with a count of %lld", which,
                             (long long)elements->count);
    if (!elements->type)
        return sim_win_raise(win, MPI_ERR_TYPE, function, "%s datatype is not a valid handle",
                             which);
    if (!elements->type->committed)
        return sim_win_raise(win, MPI_ERR_TYPE, function,
                             "%s datatype has not been committed: call MPI_Type_commit first",
                             which);
    return MPI_SUCCESS;
}

static int check_match(struct sim_win *win, const char *function, const struct sim_elements *origin,
                       const struct sim_elements *target)
{
    if (sim_elements_bytes(origin) != sim_elements_bytes(target))
        return sim_win_raise(win, MPI_ERR_TRUNCATE, function,
                             "%zu bytes at the origin, %zu at the target",
                             sim_elements_bytes(origin), sim_elements_bytes(target));
    if (origin->type->basic && origin->type->basic == target->type->basic)
        return MPI_SUCCESS; /* as many bytes of the same */
    struct sim_signature one = sim_datatype_signature(origin->type, (size_t)origin->count);
    struct sim_signature other = sim_datatype_signature(target->type, (size_t)target->count);
    if (!sim_signature_equal(&one, &other) && !one.packed && !other.packed &&
        one.basic != (uintptr_t)MPI_BYTE && other.basic != (uintptr_t)MPI_BYTE) {
        char text[256];
        snprintf(text, sizeof text, "MPI_%s: the datatypes of origin and target do not match",
                 function);
        record_note_of(record_position(), NULL, "M008", text);
        return sim_error_raise_mismatch(sim_comm_handle(win->comm), MPI_ERR_TYPE, function, text);
    }
    return MPI_SUCCESS;
}

/* Arguments, epoch and range. *win stays NULL for an access to MPI_PROC_NULL. */
static int check(struct sim_access *access, struct sim_win **win_out)
{
    int error;
    struct sim_win *win = sim_win_check(access->handle, access->function, &error);
    *win_out = NULL;
    if (!win)
        return error;
    if (access->rank != MPI_PROC_NULL && (access->rank < 0 || access->rank >= win->window->size))
        return sim_win_raise(win, MPI_ERR_RANK, access->function,
                             "target %d is not in the window's group of %d", access->rank,
                             win->window->size);
    bool reads_origin = access->op_handle != MPI_NO_OP;
    if (reads_origin)
        error = check_elements(win, access->function, &access->origin, "origin", true);
    if (!error && access->compared.handle)
        error = check_elements(win, access->function, &access->compared, "compare", true);
    if (!error && access->result.handle)
        error = check_elements(win, access->function, &access->result, "result", true);
    if (!error)
        error = check_elements(win, access->function, &access->target, "target", false);
    if (error || access->rank == MPI_PROC_NULL)
        return error;
    const struct sim_elements *mine = reads_origin ? &access->origin : &access->result;
    error = check_match(win, access->function, mine, &access->target);
    if (!error && access->result.handle && reads_origin)
        error = check_match(win, access->function, &access->result, &access->target);
    if (!error)
        error = sim_epoch_move(win, SIM_CALL_ACCESS, access->rank, access->function);
    if (!error)
        error = sim_win_raise_failure(win, sim_win_peer_error(win, access->rank), access->function);
    if (error)
        return error;
    access->target.buffer =
        sim_win_address(win, access->rank, access->displacement, access->target.type,
                        (size_t)access->target.count, access->function, &error);
    *win_out = error ? NULL : win;
    return error;
}

static int find_op(struct sim_access *access)
{
    int error;
    struct sim_win *win = sim_win_check(access->handle, access->function, &error);
    if (!win)
        return error;
    access->op = sim_op_get(access->op_handle);
    if (!access->op)
        return sim_win_raise(win, MPI_ERR_OP, access->function, "op is not a valid handle");
    if (access->op_handle == MPI_NO_OP && !access->result.handle)
        return sim_win_raise(win, MPI_ERR_OP, access->function,
                             "MPI_NO_OP is for accesses that get something, too");
    const struct sim_datatype *type = sim_datatype_get(access->target.handle);
    if (type && access->single && !type->predefined)
        return sim_win_raise(win, MPI_ERR_TYPE, access->function,
                             "the datatype must be a predefined one");
    error = type ? sim_op_allowed_in_window(access->op, type) : MPI_SUCCESS;
    return error ? sim_win_raise(win, error, access->function,
                                 "this op is not defined for this datatype in a window")
                 : MPI_SUCCESS;
}

/* What identifies the origin memory of accesses to one target among pending regions. */
static const void *owner_of(const struct sim_win *win, int target)
{
    return (const void *)((uintptr_t)&win->window->parts[target] | 1u);
}

void sim_win_look(const struct sim_win *win)
{
    if (sim_pending_any(win->owner))
        sim_pending_look(win->owner, owner_of(win, 0), owner_of(win, win->window->size - 1));
}

void sim_win_completed(struct sim_win *win, int target)
{
    if (!win->owner->pending)
        return;
    if (target >= 0)
        sim_pending_end(win->owner, owner_of(win, target));
    for (int i = 0; target < 0 && i < win->window->size; i++)
        sim_pending_end(win->owner, owner_of(win, i));
}

/* The memory of the origin that an access needs: how many regions. */
enum { REGIONS = 3 };
static size_t regions_of(const struct sim_access *access, struct sim_region regions[REGIONS])
{
    size_t count = 0;
    if (access->origin.type && access->origin.buffer)
        regions[count++] =
            (struct sim_region){(uintptr_t)access->origin.buffer, access->origin.type,
                                (size_t)access->origin.count, access->gets, "origin buffer"};
    if (access->compared.type)
        regions[count++] =
            (struct sim_region){(uintptr_t)access->compared.buffer, access->compared.type,
                                (size_t)access->compared.count, false, "compare buffer"};
    if (access->result.type)
        regions[count++] =
            (struct sim_region){(uintptr_t)access->result.buffer, access->result.type,
                                (size_t)access->result.count, true, "result buffer"};
    return count;
}

static void own(struct sim_win *win, const struct sim_access *access)
{
    struct sim_region regions[REGIONS];
    size_t count = regions_of(access, regions);
    sim_pending_add(win->owner, regions, count, access->function, owner_of(win, access->rank));
}

/* Its data have moved: from now on the program leaves that memory alone. Windows' memory is left out,
 * which others may change: those are races (B003). */
static void guard(struct sim_win *win, const struct sim_access *access)
{
    struct sim_rank *rank = win->owner;
    struct sim_region regions[REGIONS];
    if (!rank->pending || rank->pending->instrumented)
        return;
    for (size_t i = regions_of(access, regions); i-- > 0;) {
        struct sim_hull hull = sim_region_hull(&regions[i]);
        uintptr_t low = 0, high = UINTPTR_MAX;
        if (regions[i].written && rank->world->options.late_receives)
            continue;
        if (sim_history_outside(rank, hull.low, &low, &high) && hull.high <= high)
            sim_pending_guard(rank, &regions[i], owner_of(win, access->rank));
    }
}

static void remember(struct sim_win *win, const struct sim_access *access)
{
    const struct sim_region region = {(uintptr_t)access->target.buffer, access->target.type,
                                      (size_t)access->target.count, true, ""};
    struct trace_access row = {.kind = access->gets   ? ACCESS_GET
                                       : access->puts ? ACCESS_PUT
                                                      : ACCESS_ACCUMULATE};
    if (row.kind == ACCESS_ACCUMULATE) {
        row.reduction = access->op_handle == MPI_NO_OP ? ACCESS_NO_REDUCTION
                                                       : (uint32_t)(uintptr_t)access->op_handle;
        row.type = access->target.type->unit;
        row.unordered = win->unordered;
        row.same_op = win->same_op;
    }
    sim_history_access(win, access->rank, &region, &row);
    if (!win->owner->world->exploring)
        return;
    const struct sim_datatype *type = access->target.type;
    uint64_t low = (uint64_t)((uintptr_t)access->target.buffer + (size_t)type->true_lb);
    uint64_t high = low + (uint64_t)type->true_extent +
                    (uint64_t)(access->target.count - 1) * (uint64_t)type->extent;
    if (type->extent < 0) {
        low = 0;
        high = UINT64_MAX;
    }
    bool fetches = access->result.type != NULL;
    uint32_t how = row.kind == ACCESS_GET || (fetches && access->op_handle == MPI_NO_OP)
                       ? (uint32_t)SIM_LOCK_READ
                   : row.kind == ACCESS_ACCUMULATE && !fetches && access->op_handle != MPI_REPLACE
                       ? (uint32_t)row.reduction
                       : (uint32_t)SIM_LOCK_WRITTEN;
    if (access->target.count > 0)
        sim_lock_order_use(win, access->rank, how, low, high);
    else
        win->owner->window_calls++;
}

/* What was found right. */
static int perform(struct sim_win *win, const struct sim_access *access)
{
    int error = MPI_SUCCESS;
    own(win, access);
    remember(win, access);
    if (!access->gets && access->op_handle != MPI_NO_OP)
        sim_epoch_check_put(win, access->rank, access->function);
    sim_world_enter(win->owner->world);
    /* After a failure the others free it without meeting each other. */
    bool gone = !win->window->parts[access->rank].win;
    if (!gone)
        error = sim_carry_now_or_late(win, access);
    if (!gone && !error)
        guard(win, access);
    sim_world_changed(win->owner->world);
    sim_world_leave(win->owner->world);
    if (gone)
        return sim_win_raise_failure(win, MPIX_ERR_PROC_FAILED, access->function);
    return error ? sim_win_raise(win, error, access->function, "the operation failed")
                 : MPI_SUCCESS;
}

static int run(struct sim_access *access)
{
    struct sim_win *win;
    int error = access->op_handle ? find_op(access) : MPI_SUCCESS;
    if (!error)
        error = check(access, &win);
    return error || !win ? error : perform(win, access);
}

/* The request of an access, complete as it is made: the data have moved. */
static int run_with_request(struct sim_access *access, MPI_Request *handle)
{
    int error;
    struct sim_win *win = sim_win_check(access->handle, access->function, &error);
    if (win && win->epoch.state != SIM_EPOCH_LOCK && win->epoch.state != SIM_EPOCH_LOCK_ALL &&
        access->rank != MPI_PROC_NULL)
        error = sim_epoch_move(win, SIM_CALL_FLUSH, access->rank, access->function);
    size_t first = win ? win->access_count : 0;
    if (!error)
        error = run(access);
    if (error)
        return error;
    struct sim_world *world = win->owner->world;
    sim_world_enter(world);
    struct sim_request *request = sim_request_new(win->owner, SIM_REQUEST_SEND);
    request->comm = win->comm;
    sim_point_complete_null(request);
    sim_world_leave(world);
    sim_pending_also(win->owner, owner_of(win, access->rank), request);
    sim_history_requested(win, first, request);
    *handle = (MPI_Request)(void *)request;
    return MPI_SUCCESS;
}

#define ELEMENTS(buffer, count, type)                                                              \
    {                                                                                              \
        (void *)(uintptr_t)(buffer), (count), (type), NULL                                         \
    }
#define TARGET_OF(...)                                                                             \
    .rank = target_rank, .displacement = target_disp,                                              \
    .target = ELEMENTS(NULL, target_count, target_type), .handle = win, __VA_ARGS__

/* `first` is the function without a request. */
#define FORMS(first, name, rname, suffix, parameters, ...)                                         \
    int first(LIST parameters)                                                                     \
    {                                                                                              \
        struct sim_access access = {.function = #name, __VA_ARGS__};                               \
        return run(&access);                                                                       \
    }                                                                                              \
    int PMPI_##rname##suffix(LIST parameters, MPI_Request *request)                                \
    {                                                                                              \
        struct sim_access access = {.function = #rname, .requested = true, __VA_ARGS__};           \
        return run_with_request(&access, request);                                                 \
    }
#define LIST(...) __VA_ARGS__

#define TRANSFERS(put, get, accumulate, suffix, count_type)                                        \
    FORMS(put, Put, Rput, suffix,                                                                  \
          (const void *origin, count_type count, MPI_Datatype type, int target_rank,               \
           MPI_Aint target_disp, count_type target_count, MPI_Datatype target_type, MPI_Win win),  \
          TARGET_OF(.puts = true, .origin = ELEMENTS(origin, count, type)))                        \
    FORMS(get, Get, Rget, suffix,                                                                  \
          (void *origin, count_type count, MPI_Datatype type, int target_rank,                     \
           MPI_Aint target_disp, count_type target_count, MPI_Datatype target_type, MPI_Win win),  \
          TARGET_OF(.gets = true, .origin = ELEMENTS(origin, count, type)))                        \
    FORMS(accumulate, Accumulate, Raccumulate, suffix,                                             \
          (const void *origin, count_type count, MPI_Datatype type, int target_rank,               \
           MPI_Aint target_disp, count_type target_count, MPI_Datatype target_type, MPI_Op op,     \
           MPI_Win win),                                                                           \
          TARGET_OF(.op_handle = op, .origin = ELEMENTS(origin, count, type)))                     \
    FORMS(PMPI_Get_accumulate##suffix, Get_accumulate, Rget_accumulate, suffix,                    \
          (const void *origin, count_type count, MPI_Datatype type, void *result,                  \
           count_type result_count, MPI_Datatype result_type, int target_rank,                     \
           MPI_Aint target_disp, count_type target_count, MPI_Datatype target_type, MPI_Op op,     \
           MPI_Win win),                                                                           \
          TARGET_OF(.op_handle = op, .origin = ELEMENTS(origin, count, type),                      \
                    .result = ELEMENTS(result, result_count, result_type)))
/* clang-format off */
TRANSFERS(sim_put_long, sim_get_long, sim_accumulate_long, , int)
TRANSFERS(PMPI_Put_c, PMPI_Get_c, PMPI_Accumulate_c, _c, MPI_Count)
/* clang-format on */

int PMPI_Fetch_and_op(const void *origin, void *result, MPI_Datatype type, int target_rank,
                      MPI_Aint target_disp, MPI_Op op, MPI_Win win)
{
    struct sim_access access = {.function = "Fetch_and_op",
                                .origin = ELEMENTS(origin, 1, type),
                                .result = ELEMENTS(result, 1, type),
                                .target = ELEMENTS(NULL, 1, type),
                                .rank = target_rank,
                                .displacement = target_disp,
                                .single = true,
                                .op_handle = op,
                                .handle = win};
    return run(&access);
}

/* What can be compared for equality: no number of floating point, and nothing derived, which is in
 * no group. */
static bool is_comparable(const struct sim_datatype *type)
{
    return type->group == SIM_CLASS_C_INTEGER || type->group == SIM_CLASS_FORTRAN_INTEGER ||
           type->group == SIM_CLASS_LOGICAL || type->group == SIM_CLASS_MULTI_LANGUAGE ||
           type->group == SIM_CLASS_BYTE;
}

int PMPI_Compare_and_swap(const void *origin, const void *compared, void *result, MPI_Datatype type,
                          int target_rank, MPI_Aint target_disp, MPI_Win win)
{
    struct sim_access access = {.function = "Compare_and_swap",
                                .origin = ELEMENTS(origin, 1, type),
                                .compared = ELEMENTS(compared, 1, type),
                                .result = ELEMENTS(result, 1, type),
                                .target = ELEMENTS(NULL, 1, type),
                                .rank = target_rank,
                                .displacement = target_disp,
                                .handle = win};
    struct sim_win *at;
    int error = check(&access, &at);
    if (at && !is_comparable(access.target.type))
        return sim_win_raise(at, MPI_ERR_TYPE, access.function,
                             "the datatype must be an integer, a logical or a byte");
    return error || !at ? error : perform(at, &access);
}
