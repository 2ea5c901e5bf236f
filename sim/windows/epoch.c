/* Epochs as data: see epoch.h. */
#include "sim/windows/epoch.h"

#include "recorder/recorder.h"
#include "sim/libc/hooks.h"
#include "sim/memory/pending.h"
#include "sim/windows/window.h"
#include "sim/worlds/error.h"

#include <assert.h>
#include <stdio.h>

/* What is wrong with a call in a state; NULL: it is allowed. */
#define NO_EPOCH  "no access epoch is open"
#define IN_FENCE  "the access epoch of the last MPI_Win_fence is open: another fence must close it"
#define IN_START  "the access epoch of MPI_Win_start is open: MPI_Win_complete must close it"
#define IN_LOCK   "a lock is held: MPI_Win_unlock must close its epoch"
#define IN_ALL    "all targets are locked: MPI_Win_unlock_all must close that epoch"
#define NOT_LOCK  "no lock of this target is held"
#define NOT_ALL   "no MPI_Win_lock_all is open"
#define NOT_START "no MPI_Win_start is open"
#define PASSIVE   "no lock is held: only passive target epochs are flushed"

static const char *const wrong[SIM_EPOCH_CALLS][SIM_EPOCH_STATES] = {
    /*                       NONE      FENCE     USED      START     LOCK      ALL */
    [SIM_CALL_ACCESS] = {NO_EPOCH, NULL, NULL, NULL, NULL, NULL},
    [SIM_CALL_FLUSH] = {PASSIVE, PASSIVE, PASSIVE, PASSIVE, NULL, NULL},
    [SIM_CALL_FENCE] = {NULL, NULL, NULL, IN_START, IN_LOCK, IN_ALL},
    [SIM_CALL_START] = {NULL, NULL, IN_FENCE, IN_START, IN_LOCK, IN_ALL},
    [SIM_CALL_COMPLETE] = {NOT_START, NOT_START, NOT_START, NULL, NOT_START, NOT_START},
    [SIM_CALL_LOCK] = {NULL, NULL, IN_FENCE, IN_START, NULL, IN_ALL},
    [SIM_CALL_UNLOCK] = {NOT_LOCK, NOT_LOCK, NOT_LOCK, NOT_LOCK, NULL, NOT_LOCK},
    [SIM_CALL_LOCK_ALL] = {NULL, NULL, IN_FENCE, IN_START, IN_LOCK, IN_ALL},
    [SIM_CALL_UNLOCK_ALL] = {NOT_ALL, NOT_ALL, NOT_ALL, NOT_ALL, NOT_ALL, NULL},
    [SIM_CALL_POST] = {NULL, NULL, IN_FENCE, NULL, NULL, NULL},
    [SIM_CALL_WAIT] = {NULL, NULL, NULL, NULL, NULL, NULL},
    [SIM_CALL_FREE] = {NULL, NULL, IN_FENCE, IN_START, IN_LOCK, IN_ALL},
};

#define NEVER_LOCKED "the window's info says no_locks: only fences, starts and posts are allowed"

struct sim_epoch_lock *sim_epoch_lock_of(const struct sim_epoch *epoch, int target)
{
    struct sim_epoch_lock *lock = epoch->locks;
    while (lock && lock->target != target)
        lock = lock->next;
    return lock;
}

static bool exposes(enum sim_epoch_call call)
{
    return call == SIM_CALL_POST || call == SIM_CALL_WAIT;
}

/* What the table does not know: which targets are meant, and the exposure epoch. */
static const char *wrong_target(const struct sim_win *win, enum sim_epoch_call call, int target)
{
    const struct sim_epoch *epoch = &win->epoch;
    bool locked = target >= 0 && sim_epoch_lock_of(epoch, target);
    switch (call) {
    case SIM_CALL_ACCESS:
        if (epoch->state == SIM_EPOCH_START && target >= 0 &&
            sim_group_rank(epoch->started, sim_context_world_rank(win->comm->context, target)) ==
                MPI_UNDEFINED)
            return "the target is not in the group of MPI_Win_start";
        return epoch->state == SIM_EPOCH_LOCK && !locked ? NOT_LOCK : NULL;
    case SIM_CALL_FLUSH:
        return epoch->state == SIM_EPOCH_LOCK && target >= 0 && !locked ? NOT_LOCK : NULL;
    case SIM_CALL_LOCK:
        return locked ? "this target is locked already" : NULL;
    case SIM_CALL_UNLOCK:
        return locked ? NULL : NOT_LOCK;
    case SIM_CALL_POST:
        return epoch->posted
                   ? "the exposure epoch of MPI_Win_post is open: MPI_Win_wait must close "
                     "it"
                   : NULL;
    case SIM_CALL_WAIT:
        return epoch->posted ? NULL : "no exposure epoch is open: MPI_Win_post is missing";
    case SIM_CALL_FENCE:
    case SIM_CALL_FREE:
        return epoch->posted
                   ? "the exposure epoch of MPI_Win_post is open: MPI_Win_wait must close "
                     "it"
                   : NULL;
    default:
        return NULL;
    }
}

/* The call that opened the epoch that is in the way; 0: none is. */
static uint32_t opener(const struct sim_epoch *epoch, enum sim_epoch_call call)
{
    bool of_exposure = exposes(call) || call == SIM_CALL_FENCE || call == SIM_CALL_FREE;
    if (!wrong[call][epoch->state] && of_exposure)
        return epoch->exposed_since;
    if (epoch->state == SIM_EPOCH_LOCK)
        return epoch->locks->opened;
    return epoch->state == SIM_EPOCH_NONE ? 0 : epoch->opened;
}

/* A note on the present call, and one on the call that opened the epoch. */
static void tell(const struct sim_win *win, enum sim_epoch_call call, const char *function,
                 const char *sentence)
{
    const struct sim_epoch *epoch = &win->epoch;
    bool access = call == SIM_CALL_ACCESS || call == SIM_CALL_FLUSH;
    uint32_t opened = opener(epoch, call);
    const char *code = access ? "B004" : "B005";
    char text[256];
    snprintf(text, sizeof text, "MPI_%s: %s", function, sentence);
    record_refusal(code, sim_libc_call_site(), "%s", text);
    if (opened)
        record_note_of(opened, NULL, code, "this opened the epoch");
}

static int refuse(struct sim_win *win, enum sim_epoch_call call, const char *function,
                  const char *sentence)
{
    tell(win, call, function, sentence);
    return sim_error_raise_mismatch(sim_comm_handle(win->comm), MPI_ERR_RMA_SYNC, function,
                                    sentence);
}

static const enum sim_epoch_state next[SIM_EPOCH_CALLS] = {
    [SIM_CALL_FENCE] = SIM_EPOCH_FENCE,       [SIM_CALL_START] = SIM_EPOCH_START,
    [SIM_CALL_COMPLETE] = SIM_EPOCH_NONE,     [SIM_CALL_LOCK] = SIM_EPOCH_LOCK,
    [SIM_CALL_LOCK_ALL] = SIM_EPOCH_LOCK_ALL, [SIM_CALL_UNLOCK_ALL] = SIM_EPOCH_NONE,
    [SIM_CALL_UNLOCK] = SIM_EPOCH_LOCK,
};

int sim_epoch_move(struct sim_win *win, enum sim_epoch_call call, int target, const char *function)
{
    struct sim_epoch *epoch = &win->epoch;
    const char *sentence = wrong[call][epoch->state];
    if (!sentence)
        sentence = wrong_target(win, call, target);
    if (!sentence && win->unlocked && (call == SIM_CALL_LOCK || call == SIM_CALL_LOCK_ALL))
        sentence = NEVER_LOCKED;
    if (sentence)
        return refuse(win, call, function, sentence);
    if (win->on_stack && call != SIM_CALL_ACCESS)
        sim_pending_window_used(win->owner, (uintptr_t)win->window->parts[win->rank].base);
    if (call == SIM_CALL_ACCESS && epoch->state == SIM_EPOCH_FENCE)
        epoch->state = SIM_EPOCH_FENCE_USED;
    if (call == SIM_CALL_POST)
        epoch->exposed_since = record_position();
    if (call == SIM_CALL_WAIT)
        epoch->exposed_since = 0;
    if (call <= SIM_CALL_FLUSH || call >= SIM_CALL_POST)
        return MPI_SUCCESS;
    epoch->state = next[call];
    epoch->opened = record_position();
    return MPI_SUCCESS;
}

static void untrue(const char *function, const char *what)
{
    char text[256];
    snprintf(text, sizeof text, "MPI_%s %s", function, what);
    record_refusal("B005", sim_libc_call_site(), "%s", text);
}

void sim_epoch_check_assertion(struct sim_win *win, int assertion, enum sim_epoch_state before,
                               const char *function)
{
    if ((assertion & MPI_MODE_NOPRECEDE) && before == SIM_EPOCH_FENCE_USED)
        untrue(function,
               "asserts MPI_MODE_NOPRECEDE, but accesses since the last fence precede it: "
               "nothing completes them");
    if ((assertion & MPI_MODE_NOSTORE) && win->stored)
        untrue(function, "asserts MPI_MODE_NOSTORE, but this rank has stored to its window since "
                         "the last synchronisation");
    win->stored = false;
}

/* Who lacks what a neighbour asserted tells so: were some alike and others not, two neighbours would
 * differ. A rank comes two fences further only when all have looked. */
void sim_epoch_check_agreement(struct sim_win *win, const char *function)
{
    const struct sim_window *window = win->window;
    int parity = (int)(win->fences % 2), size = window->size,
        theirs = window->parts[(win->rank + 1) % size].asserted[parity] |
                 window->parts[(win->rank + size - 1) % size].asserted[parity],
        missing = theirs & ~window->parts[win->rank].asserted[parity];
    if (missing & MPI_MODE_NOPRECEDE)
        untrue(function, "does not assert MPI_MODE_NOPRECEDE, but other ranks of the window do in "
                         "this fence: all must, or none");
    if (missing & MPI_MODE_NOSUCCEED)
        untrue(function, "does not assert MPI_MODE_NOSUCCEED, but other ranks of the window do in "
                         "this fence: all must, or none");
}

void sim_epoch_check_put(struct sim_win *win, int target, const char *function)
{
    const struct sim_window_part *part = &win->window->parts[target];
    bool fenced =
        win->epoch.state == SIM_EPOCH_FENCE_USED && part->no_put[win->fences % 2] == win->fences;
    if (fenced || (win->epoch.state == SIM_EPOCH_START && part->no_put_posted))
        untrue(function, "changes a window of which its rank asserted MPI_MODE_NOPUT until the "
                         "next synchronisation");
}

void sim_epoch_check_lock(struct sim_win *win, int target, int assertion, const char *function)
{
    if (assertion & MPI_MODE_NOCHECK)
        untrue(function, "asserts MPI_MODE_NOCHECK, but another rank holds a lock that conflicts");
    else if (win->window->parts[target].unchecked)
        untrue(function, "conflicts with a lock that another rank holds, which asserted "
                         "MPI_MODE_NOCHECK: that nobody would try");
}

void sim_epoch_tell_exposed(const char *function)
{
    untrue(function, "locks a window that its rank exposes: between MPI_Win_post and MPI_Win_wait "
                     "there it is not to be locked");
}

void sim_epoch_check_locked(struct sim_win *win)
{
    const struct sim_window_part *own = &win->window->parts[win->rank];
    if (own->exclusive >= 0 || own->shared)
        untrue("Win_post", "exposes a window that is locked: it is to be unlocked before");
}

void sim_epoch_check_start(struct sim_win *win, int target, int assertion, bool posted)
{
    bool unchecked = assertion & MPI_MODE_NOCHECK;
    if (unchecked && !posted)
        untrue("Win_start", "asserts MPI_MODE_NOCHECK, but the matching MPI_Win_post has not been "
                            "called yet");
    else if (posted && unchecked != win->window->parts[target].unchecked_post)
        untrue("Win_start", unchecked
                                ? "asserts MPI_MODE_NOCHECK, but the matching MPI_Win_post does not"
                                : "does not assert MPI_MODE_NOCHECK, but the matching MPI_Win_post "
                                  "does");
}

void sim_epoch_check_end(struct sim_win *win)
{
    const char *sentence = wrong[SIM_CALL_FREE][win->epoch.state];
    if (!sentence)
        sentence = wrong_target(win, SIM_CALL_FREE, -1);
    if (sentence)
        tell(win, SIM_CALL_FREE, "Finalize", sentence);
}
