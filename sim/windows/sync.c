/* Synchronisation of windows: fences, start and post, locks, flushes. */
#include "recorder/recorder.h"
#include "sim/messages/request.h"
#include "sim/windows/carry.h"
#include "sim/windows/history.h"
#include "sim/windows/lock_order.h"
#include "sim/windows/turns.h"
#include "sim/windows/window.h"
#include "sim/worlds/error.h"

#include <assert.h>
#include <stdlib.h>

/* Enters the monitor of a window whose handle is good and whose epoch allows the call. */
static struct sim_win *begin(MPI_Win handle, enum sim_epoch_call call, int target,
                             const char *function, int *error)
{
    struct sim_win *win = sim_win_check(handle, function, error);
    if (!win)
        return NULL;
    if (target != -1 && target != MPI_PROC_NULL && (target < 0 || target >= win->window->size)) {
        *error =
            sim_win_raise(win, MPI_ERR_RANK, function, "rank %d is not in the window's group of %d",
                          target, win->window->size);
        return NULL;
    }
    *error = target == MPI_PROC_NULL ? MPI_SUCCESS : sim_epoch_move(win, call, target, function);
    if (*error || target == MPI_PROC_NULL)
        return NULL;
    sim_world_enter(win->owner->world);
    return win;
}

static int end(struct sim_win *win)
{
    sim_world_leave(win->owner->world);
    return MPI_SUCCESS;
}

/* The same where a member that the call is about has failed. */
static int end_failed(struct sim_win *win, int error, const char *function)
{
    sim_world_leave(win->owner->world);
    return sim_win_raise_failure(win, error, function);
}

static int check_assertion(MPI_Win handle, int assertion, int allowed, const char *function)
{
    int error;
    struct sim_win *win = sim_win_check(handle, function, &error);
    if (win && (assertion & ~allowed))
        return sim_win_raise(win, MPI_ERR_ASSERT, function, "assertion %d is not allowed here",
                             assertion);
    return error;
}

static void count_needless(struct sim_world *world, unsigned change)
{
    sim_world_enter(world);
    world->needless += change;
    sim_world_leave(world);
}

/* MPI need not have anybody wait for others in a fence that nothing precedes. */
static int meet_all(struct sim_win *win, bool needless)
{
    struct sim_world *world = win->owner->world;
    if (!world->exploring || !needless)
        return sim_win_barrier(win);
    count_needless(world, 1);
    int error = sim_win_barrier(win);
    count_needless(world, -1u);
    return error;
}

int PMPI_Win_fence(int assertion, MPI_Win handle)
{
    int error = check_assertion(
        handle, assertion,
        MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, "Win_fence");
    struct sim_win *win = error ? NULL : sim_win_check(handle, "Win_fence", &error);
    enum sim_epoch_state before = win ? win->epoch.state : SIM_EPOCH_NONE;
    if (win)
        error = sim_epoch_move(win, SIM_CALL_FENCE, -1, "Win_fence");
    if (!error) {
        sim_epoch_check_assertion(win, assertion, before, "Win_fence");
        win->fences++;
        struct sim_window_part *mine = &win->window->parts[win->rank];
        mine->asserted[win->fences % 2] = assertion & (MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED);
        if (assertion & MPI_MODE_NOPUT)
            mine->no_put[win->fences % 2] = win->fences;
        if (win->late_count) {
            sim_world_enter(win->owner->world);
            sim_carry_complete(win, -1, true);
            sim_world_leave(win->owner->world);
        }
        sim_win_look(win);
        error = meet_all(win, assertion & MPI_MODE_NOPRECEDE);
    }
    if (error)
        return error;
    sim_epoch_check_agreement(win, "Win_fence");
    sim_win_completed(win, -1);
    sim_history_complete(win, -1);
    if (assertion & MPI_MODE_NOSUCCEED)
        win->epoch.state = SIM_EPOCH_NONE;
    return MPI_SUCCESS;
}

/* ---- active target ---- */

static int *counters(int **array, const struct sim_window *window)
{
    if (!*array)
        *array = calloc((size_t)window->size, sizeof **array);
    assert(*array && "out of memory for a window");
    return *array;
}

/* The window's rank of a group's member; -1: it is none. */
static int member(const struct sim_win *win, const struct sim_group *group, int i)
{
    int rank = sim_group_rank(win->comm->context->group, sim_group_world_rank(group, i));
    return rank == MPI_UNDEFINED ? -1 : rank;
}

static int check_group(struct sim_win *win, MPI_Group handle, const char *function)
{
    const struct sim_group *group = sim_group_from_handle(handle);
    if (!group)
        return sim_win_raise(win, MPI_ERR_GROUP, function, "group is not a valid handle");
    for (int i = 0; i < group->size; i++)
        if (member(win, group, i) < 0)
            return sim_win_raise(win, MPI_ERR_GROUP, function,
                                 "the group is not part of the window's group");
    return MPI_SUCCESS;
}

static struct sim_group *kept(MPI_Group handle)
{
    const struct sim_group *group = sim_group_from_handle(handle);
    return group->size ? sim_group_retain((struct sim_group *)(uintptr_t)group)
                       : sim_group_new_sequence(0, 0, 1);
}

static struct sim_win *begin_with_group(MPI_Win handle, MPI_Group group, enum sim_epoch_call call,
                                        const char *function, int *error)
{
    struct sim_win *win = sim_win_check(handle, function, error);
    if (win)
        *error = check_group(win, group, function);
    if (win && !*error)
        sim_sessions_meet_group(function, win->comm->session, sim_group_from_handle(group));
    return *error ? NULL : begin(handle, call, -1, function, error);
}

int PMPI_Win_post(MPI_Group group, int assertion, MPI_Win handle)
{
    int error = check_assertion(handle, assertion,
                                MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT, "Win_post");
    struct sim_win *win =
        error ? NULL : begin_with_group(handle, group, SIM_CALL_POST, "Win_post", &error);
    if (!win)
        return error;
    struct sim_window *window = win->window;
    win->epoch.posted = kept(group);
    sim_epoch_check_assertion(win, assertion, SIM_EPOCH_NONE, "Win_post");
    sim_epoch_check_locked(win);
    window->parts[win->rank].unchecked_post = assertion & MPI_MODE_NOCHECK;
    window->parts[win->rank].no_put_posted = assertion & MPI_MODE_NOPUT;
    window->parts[win->rank].posted_by = record_position() - 1;
    for (int i = 0; i < win->epoch.posted->size; i++)
        counters(&window->parts[win->rank].posts, window)[member(win, win->epoch.posted, i)]++;
    sim_win_changed(window);
    return end(win);
}

/* Until the window changes: a run that stands here tells for whom. */
static void wait_for(struct sim_win *win, int rank)
{
    record_waits_for(sim_context_world_rank(win->comm->context, rank));
    sim_win_wait(win);
    record_waits_for(-1);
}

/* Start waits for the exposures, which MPI need not have it do: a program must not depend on either. */
static void wait_for_post(struct sim_win *win, int target)
{
    win->owner->world->needless++;
    wait_for(win, target);
    win->owner->world->needless--;
}

/* Nobody is exposed to it any more. */
static int start_failed(struct sim_win *win, int error)
{
    sim_group_release(win->epoch.started);
    win->epoch.started = NULL;
    win->epoch.state = SIM_EPOCH_NONE;
    return end_failed(win, error, "Win_start");
}

int PMPI_Win_start(MPI_Group group, int assertion, MPI_Win handle)
{
    int error = check_assertion(handle, assertion, MPI_MODE_NOCHECK, "Win_start");
    struct sim_win *win =
        error ? NULL : begin_with_group(handle, group, SIM_CALL_START, "Win_start", &error);
    if (!win)
        return error;
    struct sim_window *window = win->window;
    win->epoch.started = kept(group);
    for (int i = 0; i < win->epoch.started->size; i++) {
        int target = member(win, win->epoch.started, i);
        struct sim_window_part *part = &window->parts[target];
        bool posted = counters(&part->posts, window)[win->rank];
        sim_epoch_check_start(win, target, assertion, posted);
        while (!counters(&part->posts, window)[win->rank] &&
               !(error = sim_win_peer_error(win, target)))
            wait_for_post(win, target);
        if (error)
            return start_failed(win, error);
        part->posts[win->rank]--;
        if (!(assertion & MPI_MODE_NOCHECK)) /* else it would not wait */
            record_sync((uint32_t)sim_group_world_rank(win->epoch.started, i), part->posted_by,
                        false);
    }
    return end(win);
}

int PMPI_Win_complete(MPI_Win handle)
{
    int error;
    struct sim_win *win = begin(handle, SIM_CALL_COMPLETE, -1, "Win_complete", &error);
    if (!win)
        return error;
    struct sim_group *group = win->epoch.started;
    int failed = MPI_SUCCESS;
    sim_carry_complete(win, -1, true);
    for (int i = 0; i < group->size; i++) {
        failed = failed ? failed : sim_win_peer_error(win, member(win, group, i));
        struct sim_window_part *part = &win->window->parts[member(win, group, i)];
        counters(&part->completes, win->window)[win->rank]++;
        if (!part->completed_by)
            part->completed_by = calloc((size_t)win->window->size, sizeof *part->completed_by);
        if (part->completed_by)
            part->completed_by[win->rank] = record_position() - 1;
    }
    sim_group_release(group);
    win->epoch.started = NULL;
    sim_win_completed(win, -1);
    sim_history_complete(win, -1);
    sim_win_changed(win->window);
    return end_failed(win, failed, "Win_complete");
}

/* The first member of the exposed group that has not completed its accesses and may still do so; -1:
 * there is none. `failed`: of one that never will, MPI_SUCCESS: all have, or may. */
static int missing(const struct sim_win *win, int *failed)
{
    struct sim_window_part *part = &win->window->parts[win->rank];
    *failed = MPI_SUCCESS;
    for (int i = 0; i < win->epoch.posted->size; i++) {
        int origin = member(win, win->epoch.posted, i);
        if (counters(&part->completes, win->window)[origin])
            continue;
        int error = sim_win_peer_error(win, origin);
        if (!error)
            return origin;
        *failed = error;
    }
    return -1;
}

/* A test is recorded once it has succeeded, behind this. */
static void expose_end(struct sim_win *win, bool tested)
{
    struct sim_window_part *part = &win->window->parts[win->rank];
    for (int i = 0; i < win->epoch.posted->size; i++) {
        int origin = member(win, win->epoch.posted, i);
        if (!part->completes[origin])
            continue; /* it has failed */
        part->completes[origin]--;
        if (part->completed_by)
            record_sync((uint32_t)sim_group_world_rank(win->epoch.posted, i),
                        part->completed_by[origin], tested);
    }
    sim_group_release(win->epoch.posted);
    win->epoch.posted = NULL;
}

int PMPI_Win_wait(MPI_Win handle)
{
    int error, failed;
    struct sim_win *win = begin(handle, SIM_CALL_WAIT, -1, "Win_wait", &error);
    if (!win)
        return error;
    for (int origin; (origin = missing(win, &failed)) >= 0;)
        wait_for(win, origin);
    expose_end(win, false);
    return end_failed(win, failed, "Win_wait");
}

static bool is_complete(void *at)
{
    int failed;
    return missing(at, &failed) < 0;
}

int PMPI_Win_test(MPI_Win handle, int *flag)
{
    int error, failed;
    struct sim_win *win = begin(handle, SIM_CALL_WAIT, -1, "Win_test", &error);
    if (!win)
        return error;
    *flag = sim_request_poll(win->owner, is_complete, win);
    missing(win, &failed);
    if (*flag)
        expose_end(win, true);
    else
        sim_rank_poll_failed(win->owner);
    return end_failed(win, failed, "Win_test");
}

/* ---- passive target ---- */

/* Where all have completed their accesses, the exposure may end at any moment, and nothing is said. */
static void check_exposed(struct sim_win *win, int target, const char *function)
{
    const struct sim_win *theirs = win->window->parts[target].win;
    int failed;
    if (theirs && theirs->epoch.posted && missing(theirs, &failed) >= 0)
        sim_epoch_tell_exposed(function);
}

static bool conflicts(const struct sim_window_part *part, int type)
{
    return part->exclusive >= 0 || (type == MPI_LOCK_EXCLUSIVE && part->shared);
}

/* The target, or one who holds its lock and will not give it back, has failed. */
static int lock_error(const struct sim_win *win, int target)
{
    const struct sim_window *window = win->window;
    int error = sim_win_peer_error(win, target);
    if (!win->owner->world->troubled)
        return MPI_SUCCESS;
    for (int i = 0; !error && i < window->size; i++) {
        const struct sim_win *other = window->parts[i].win;
        if (other &&
            (other->epoch.state == SIM_EPOCH_LOCK_ALL || sim_epoch_lock_of(&other->epoch, target)))
            error = sim_win_peer_error(win, i);
    }
    return error;
}

/* MPI_SUCCESS, or why it cannot be had. */
static int acquire(struct sim_win *win, int target, int type, int assertion, uint32_t *event)
{
    struct sim_window_part *part = &win->window->parts[target];
    if (conflicts(part, type))
        sim_epoch_check_lock(win, target, assertion,
                             win->epoch.state == SIM_EPOCH_LOCK_ALL ? "Win_lock_all" : "Win_lock");
    int error = sim_win_peer_error(win, target);
    if (!error)
        *event = sim_lock_order_await(win, target, type == MPI_LOCK_EXCLUSIVE);
    struct sim_turn turn = sim_turn_of_lock(win, target);
    while (!error && (conflicts(part, type) || sim_turn_is_early(&turn)) &&
           !(error = lock_error(win, target)))
        sim_win_wait(win);
    if (error)
        return error;
    sim_turn_take(win, &turn);
    part->unchecked += (assertion & MPI_MODE_NOCHECK) != 0;
    if (type == MPI_LOCK_EXCLUSIVE)
        part->exclusive = win->rank;
    else
        part->shared++;
    return MPI_SUCCESS;
}

static void give_back(struct sim_win *win, int target, struct sim_epoch_lock *lock, bool unchecked)
{
    struct sim_window_part *part = &win->window->parts[target];
    part->unchecked -= unchecked;
    sim_carry_complete(win, target, true);
    sim_lock_order_pass(win, target, lock);
    if (part->exclusive == win->rank)
        part->exclusive = -1;
    else
        part->shared--;
    sim_win_completed(win, target);
    sim_history_complete(win, target);
}

/* It holds one lock fewer. */
static void lock_left(struct sim_win *win)
{
    if (win->epoch.locks)
        return;
    win->epoch.state = SIM_EPOCH_NONE;
}

int PMPI_Win_lock(int type, int rank, int assertion, MPI_Win handle)
{
    int error = check_assertion(handle, assertion, MPI_MODE_NOCHECK, "Win_lock");
    struct sim_win *win = error ? NULL : sim_win_check(handle, "Win_lock", &error);
    if (win && type != MPI_LOCK_EXCLUSIVE && type != MPI_LOCK_SHARED)
        return sim_win_raise(win, MPI_ERR_LOCKTYPE, "Win_lock",
                             "type %d is neither MPI_LOCK_EXCLUSIVE nor MPI_LOCK_SHARED", type);
    if (win)
        win = begin(handle, SIM_CALL_LOCK, rank, "Win_lock", &error);
    if (!win)
        return error;
    uint32_t event = UINT32_MAX;
    error = acquire(win, rank, type, assertion, &event);
    if (error) {
        lock_left(win);
        return end_failed(win, error, "Win_lock");
    }
    struct sim_epoch_lock *lock = malloc(sizeof *lock);
    assert(lock && "out of memory for a window");
    *lock = (struct sim_epoch_lock){.target = rank,
                                    .type = type,
                                    .unchecked = assertion & MPI_MODE_NOCHECK,
                                    .opened = win->epoch.opened,
                                    .event = UINT32_MAX,
                                    .next = win->epoch.locks};
    win->epoch.locks = lock;
    check_exposed(win, rank, "Win_lock");
    sim_lock_order_begin(win, lock, event);
    return end(win);
}

int PMPI_Win_unlock(int rank, MPI_Win handle)
{
    int error;
    struct sim_win *win = begin(handle, SIM_CALL_UNLOCK, rank, "Win_unlock", &error);
    if (!win)
        return error;
    struct sim_epoch_lock **link = &win->epoch.locks;
    while ((*link)->target != rank)
        link = &(*link)->next;
    struct sim_epoch_lock *lock = *link;
    *link = lock->next;
    give_back(win, rank, lock, lock->unchecked);
    free(lock);
    lock_left(win);
    error = sim_win_peer_error(win, rank);
    sim_win_changed(win->window);
    sim_win_yield(win);
    return end_failed(win, error, "Win_unlock");
}

int PMPI_Win_lock_all(int assertion, MPI_Win handle)
{
    int error = check_assertion(handle, assertion, MPI_MODE_NOCHECK, "Win_lock_all");
    struct sim_win *win =
        error ? NULL : begin(handle, SIM_CALL_LOCK_ALL, -1, "Win_lock_all", &error);
    if (!win)
        return error;
    uint32_t event;
    int failed = MPI_SUCCESS;
    for (int i = 0; i < win->window->size && !failed; i++) {
        failed = acquire(win, i, MPI_LOCK_SHARED, assertion, &event);
        if (!failed)
            sim_lock_order_begin_all(win, i, event);
        for (int held = 0; failed && held < i; held++)
            give_back(win, held, sim_lock_order_of_all(win, held), assertion & MPI_MODE_NOCHECK);
    }
    if (failed) {
        sim_lock_order_end_all(win);
        win->epoch.state = SIM_EPOCH_NONE;
        sim_win_changed(win->window);
    } else {
        win->epoch.unchecked = assertion & MPI_MODE_NOCHECK;
        for (int i = 0; i < win->window->size; i++)
            check_exposed(win, i, "Win_lock_all");
    }
    return end_failed(win, failed, "Win_lock_all");
}

/* Of the first member that has failed. */
static int any_error(const struct sim_win *win)
{
    int error = MPI_SUCCESS;
    for (int i = 0; win->owner->world->troubled && !error && i < win->window->size; i++)
        error = sim_win_peer_error(win, i);
    return error;
}

int PMPI_Win_unlock_all(MPI_Win handle)
{
    int error;
    struct sim_win *win = begin(handle, SIM_CALL_UNLOCK_ALL, -1, "Win_unlock_all", &error);
    if (!win)
        return error;
    for (int i = 0; i < win->window->size; i++)
        give_back(win, i, sim_lock_order_of_all(win, i), win->epoch.unchecked);
    sim_lock_order_end_all(win);
    win->epoch.unchecked = false;
    error = any_error(win);
    sim_win_changed(win->window);
    sim_win_yield(win);
    return end_failed(win, error, "Win_unlock_all");
}

/* Data have moved already, if they are not late: a flush only says that the origin's memory is free again. */
int sim_flush_long(MPI_Win handle, int target, bool remote, const char *function)
{
    int error;
    struct sim_win *win = begin(handle, SIM_CALL_FLUSH, target, function, &error);
    if (!win)
        return error;
    win->owner->window_calls++;
    if (remote)
        sim_lock_order_flush(win, target);
    sim_carry_complete(win, target, remote);
    sim_win_completed(win, target);
    if (remote)
        sim_history_complete(win, target);
    else
        sim_history_complete_locally(win, target);
    sim_win_yield(win);
    int failed = target < 0 ? any_error(win) : sim_win_peer_error(win, target);
    return end_failed(win, failed, function);
}

int PMPI_Win_flush_all(MPI_Win win)
{
    return sim_flush_long(win, -1, true, "Win_flush_all");
}

int PMPI_Win_flush_local_all(MPI_Win win)
{
    return sim_flush_long(win, -1, false, "Win_flush_local_all");
}

int PMPI_Win_sync(MPI_Win handle)
{
    int error;
    struct sim_win *win = sim_win_check(handle, "Win_sync", &error);
    if (!win)
        return error;
    atomic_thread_fence(memory_order_seq_cst);
    sim_world_enter(win->owner->world);
    sim_win_yield(win);
    return end(win);
}
