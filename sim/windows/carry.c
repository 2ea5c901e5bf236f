/* Data of one-sided operations move: see carry.h. */
#include "sim/windows/carry.h"

#include "recorder/recorder.h"
#include "sim/memory/held.h"
#include "sim/windows/history.h"
#include "sim/windows/lock_order.h"
#include "sim/windows/turns.h"
#include "sim/worlds/rank.h"

#include <stdlib.h>
#include <string.h>

struct sim_late_access {
    struct sim_access access;
    void *
        kept; /* what the origin had when it was free again: packed, or in units of an accumulate; NULL: it is not free yet */
    /* It and all before it of its target, or of all targets, are complete at the origin. */
    enum { OPEN, SETTLED_FOR_TARGET, SETTLED_FOR_ALL } settled;
};

size_t sim_elements_bytes(const struct sim_elements *elements)
{
    return (size_t)elements->count * elements->type->size;
}

static void move(const struct sim_elements *from, const struct sim_elements *to)
{
    if (from->buffer != to->buffer && sim_elements_bytes(from))
        sim_datatype_transfer(from->buffer, from->type, (size_t)from->count, to->buffer, to->type,
                              (size_t)to->count);
}

/* One element that is changed or read atomically orders those who meet there. Who adds up does not
 * look: only what reads without changing, or compares, waits for another. */
static void order_by_element(struct sim_win *win, const struct sim_access *access, bool changed)
{
    const struct sim_elements *target = &access->target;
    bool looks = access->op_handle == MPI_NO_OP || !access->op_handle;
    if (target->count != 1 || !target->type->contiguous)
        return;
    if (looks)
        sim_history_atomic_read(win, access->rank, target->buffer);
    if (changed)
        sim_history_atomic_written(win, access->rank, target->buffer);
}

/* Elements of one basic type, one behind the other. */
static void *gather(const struct sim_elements *from, const struct sim_datatype *unit, size_t count)
{
    void *memory = malloc(count * (size_t)unit->extent + 1);
    if (memory)
        sim_datatype_transfer(from->buffer, from->type, (size_t)from->count, memory, unit, count);
    return memory;
}

static int accumulate(const struct sim_access *access)
{
    const struct sim_elements *target = &access->target;
    if (access->op_handle == MPI_NO_OP || !sim_elements_bytes(target))
        return MPI_SUCCESS;
    if (access->op_handle == MPI_REPLACE) {
        move(&access->origin, target);
        return MPI_SUCCESS;
    }
    const struct sim_datatype *unit = sim_datatype_get((MPI_Datatype)(uintptr_t)target->type->unit);
    size_t count = unit ? sim_elements_bytes(target) / unit->size : 0;
    void *right = unit ? gather(&access->origin, unit, count) : NULL;
    void *left = unit ? gather(target, unit, count) : NULL;
    int error =
        right && left ? sim_op_apply_right(access->op, left, right, count, unit) : MPI_ERR_NO_MEM;
    if (!error)
        sim_datatype_transfer(left, unit, count, target->buffer, target->type,
                              (size_t)target->count);
    free(right);
    free(left);
    return error;
}

static int swap(struct sim_win *win, const struct sim_access *access)
{
    size_t bytes = access->target.type->size;
    memcpy(access->result.buffer, access->target.buffer, bytes);
    bool same = !memcmp(access->result.buffer, access->compared.buffer, bytes);
    if (same)
        memcpy(access->target.buffer, access->origin.buffer, bytes);
    order_by_element(win, access, same);
    sim_lock_order_atomic(win, access->rank, true, true);
    return MPI_SUCCESS;
}

static int carry_out(struct sim_win *win, const struct sim_access *access)
{
    int error = MPI_SUCCESS;
    if (access->compared.type)
        return swap(win, access);
    if (access->gets)
        move(&access->target, &access->origin);
    else if (access->puts)
        move(&access->origin, &access->target);
    if (access->result.type)
        move(&access->target, &access->result);
    if (access->op) {
        error = accumulate(access);
        order_by_element(win, access, access->op_handle != MPI_NO_OP);
        sim_lock_order_atomic(win, access->rank, access->result.type != NULL,
                              access->op_handle != MPI_NO_OP);
    }
    return error;
}

/* ---- late ---- */

static bool fetches(const struct sim_access *access)
{
    return access->gets || access->result.type;
}

static void each_type(const struct sim_access *access, void change(const struct sim_datatype *type))
{
    const struct sim_elements *const all[] = {&access->origin, &access->compared, &access->result,
                                              &access->target};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->type)
            change(all[i]->type);
}

static void retain(const struct sim_datatype *type)
{
    sim_datatype_retain(type);
}

static void release(const struct sim_datatype *type)
{
    sim_datatype_release(type);
}

/* The origin is free from now on. False: no memory. */
static bool keep_origin(struct sim_late_access *late)
{
    struct sim_elements *origin = &late->access.origin;
    if (late->kept || fetches(&late->access))
        return true;
    size_t bytes = sim_elements_bytes(origin);
    if (late->access.puts) {
        late->kept = malloc(bytes + 1);
        if (late->kept)
            sim_datatype_copy_out_range(origin->type, origin->buffer, 0, bytes, late->kept);
        return late->kept;
    }
    const struct sim_datatype *unit =
        sim_datatype_get((MPI_Datatype)(uintptr_t)late->access.target.type->unit);
    if (!unit || !bytes)
        return !bytes;
    late->kept = gather(origin, unit, bytes / unit->size);
    if (!late->kept)
        return false;
    sim_datatype_retain(unit);
    sim_datatype_release(origin->type);
    *origin = (struct sim_elements){late->kept, (MPI_Count)(bytes / unit->size),
                                    (MPI_Datatype)(uintptr_t)late->access.target.type->unit, unit};
    return true;
}

/* It adds to what is there, or fetches it, or both. */
static bool is_atomic(const struct sim_access *access)
{
    return !access->gets && !access->puts;
}

static void await_turn(struct sim_win *win, int target)
{
    struct sim_turn turn = sim_turn_of_atomic(win, target);
    while (sim_turn_is_early(&turn) && !sim_win_peer_error(win, target))
        sim_win_wait(win);
    sim_turn_take(win, &turn);
}

static int carry_in_turn(struct sim_win *win, const struct sim_access *access)
{
    if (is_atomic(access))
        await_turn(win, access->rank);
    return carry_out(win, access);
}

static void finish(struct sim_win *win, struct sim_late_access *late)
{
    const struct sim_access *access = &late->access;
    if (!win->window->parts[access->rank].win)
        return; /* it has failed, and the others freed the window */
    if (access->puts && late->kept)
        sim_datatype_copy_in_range(access->target.type, access->target.buffer, 0,
                                   sim_elements_bytes(&access->target), late->kept);
    else if (carry_in_turn(win, access))
        record_gap("delivery", 1,
                   "accesses to windows that had no memory to be late (--delivery late)");
}

static void forget(struct sim_late_access *late)
{
    each_type(&late->access, release);
    free(late->kept);
}

/* Carries out those to a target (-1: all) before number `end`. */
static void carry_until(struct sim_win *win, int target, size_t end)
{
    size_t left = 0;
    for (size_t i = 0; i < win->late_count; i++) {
        struct sim_late_access *late = &win->late[i];
        if (i < end && (target < 0 || late->access.rank == target)) {
            finish(win, late);
            forget(late);
        } else {
            win->late[left++] = *late;
        }
    }
    if (left < win->late_count)
        sim_world_changed(win->owner->world);
    win->late_count = left;
}

static bool is_settled(const struct sim_late_access *late, int target)
{
    return late->settled == SETTLED_FOR_ALL ||
           (late->settled == SETTLED_FOR_TARGET && late->access.rank == target);
}

/* Fetches bring their results now; of the others the origin's data are kept aside. Only what came
 * since the last such call is looked at. */
static void complete_locally(struct sim_win *win, int target)
{
    size_t end = 0;
    for (size_t i = win->late_count; i-- > 0 && !end && !is_settled(&win->late[i], target);)
        if ((target < 0 || win->late[i].access.rank == target) && fetches(&win->late[i].access))
            end = i + 1;
    if (end)
        carry_until(win, target, end);
    for (size_t i = win->late_count; i-- > 0 && !is_settled(&win->late[i], target);) {
        struct sim_late_access *late = &win->late[i];
        if (target >= 0 && late->access.rank != target)
            continue;
        if (!keep_origin(late)) {
            carry_until(win, target, i + 1);
            return;
        }
        late->settled = target < 0 ? SETTLED_FOR_ALL : SETTLED_FOR_TARGET;
    }
}

void sim_carry_complete(struct sim_win *win, int target, bool remote)
{
    if (remote && win->late_count)
        carry_until(win, target, win->late_count);
    else if (win->late_count)
        complete_locally(win, target);
}

void sim_carry_release(struct sim_win *win)
{
    for (size_t i = 0; i < win->late_count; i++)
        forget(&win->late[i]);
    free(win->late);
    win->late = NULL;
    win->late_count = win->late_room = 0;
}

static bool add_late(struct sim_win *win, const struct sim_access *access)
{
    if (win->late_count == win->late_room) {
        size_t room = win->late_room ? 2 * win->late_room : 16;
        struct sim_late_access *longer = reallocarray(win->late, room, sizeof *longer);
        if (!longer)
            return false;
        win->late = longer;
        win->late_room = room;
    }
    struct sim_late_access *late = &win->late[win->late_count];
    *late = (struct sim_late_access){.access = *access};
    each_type(access, retain);
    if (access->requested && !keep_origin(late)) {
        forget(late);
        return false;
    }
    win->late_count++;
    return true;
}

int sim_carry_now_or_late(struct sim_win *win, const struct sim_access *access)
{
    bool late = !win->owner->world->options.early_windows && sim_held_is_late(win->owner);
    bool fetched = access->requested && fetches(access); /* its request may be waited for at once */
    if (late && !fetched && add_late(win, access))
        return MPI_SUCCESS;
    if (late)
        sim_carry_complete(win, access->rank, true);
    return carry_in_turn(win, access);
}
