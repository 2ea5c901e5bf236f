/* Epochs: what a rank may do with a window now.
 *
 * The states and calls are a table (epoch.c): a call is allowed in a state or there is a sentence
 * that says what is wrong. What is wrong with an access is B004, with a synchronisation B005; both
 * name the call that opened the present epoch. */
#ifndef SIM_WINDOWS_EPOCH_H
#define SIM_WINDOWS_EPOCH_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct sim_group;
struct sim_win;

enum sim_epoch_state {
    SIM_EPOCH_NONE,
    SIM_EPOCH_FENCE,      /* a fence was called, nothing was accessed since */
    SIM_EPOCH_FENCE_USED, /* accessed: another fence must follow */
    SIM_EPOCH_START,
    SIM_EPOCH_LOCK, /* of one or several targets */
    SIM_EPOCH_LOCK_ALL,
    SIM_EPOCH_STATES
};

enum sim_epoch_call {
    SIM_CALL_ACCESS,
    SIM_CALL_FLUSH,
    SIM_CALL_FENCE,
    SIM_CALL_START,
    SIM_CALL_COMPLETE,
    SIM_CALL_LOCK,
    SIM_CALL_UNLOCK,
    SIM_CALL_LOCK_ALL,
    SIM_CALL_UNLOCK_ALL,
    SIM_CALL_POST,
    SIM_CALL_WAIT,
    SIM_CALL_FREE,
    SIM_EPOCH_CALLS
};

struct sim_epoch_lock {
    int target, type;
    bool unchecked; /* asserted MPI_MODE_NOCHECK: it keeps nobody out */
    uint32_t opened;
    /* Exploration: its event of the log, UINT32_MAX: none; where the recorder was and how many
     * window_calls its rank had made when it was had. */
    uint32_t event, position, calls;
    uint32_t messages; /* the same of its message_calls */
    bool settled;      /* a flush came since: MPI must have given it by then */
    struct sim_epoch_lock *next;
};

struct sim_epoch {
    enum sim_epoch_state state;
    uint32_t opened;        /* the recorder's number of the call that did, 0: none */
    uint32_t exposed_since; /* the same of MPI_Win_post */
    struct sim_group *started, *posted;
    struct sim_epoch_lock *locks;
    struct sim_epoch_lock *all; /* exploration: of MPI_Win_lock_all, per target; NULL: none */
    bool unchecked;             /* MPI_Win_lock_all asserted MPI_MODE_NOCHECK */
};

struct sim_epoch_lock *sim_epoch_lock_of(const struct sim_epoch *epoch, int target);
/* The only mutator of the state: checks that the call is allowed (target: a rank of the window, -1
 * for all or none) and moves. MPI_SUCCESS, or the raised error's class; the state stays then. */
int sim_epoch_move(struct sim_win *win, enum sim_epoch_call call, int target, const char *function);

/* What a fence or post asserted and is not so (MPI_MODE_NOPRECEDE, NOSTORE, NOPUT) is B005. The
 * first is told the state before the fence, the second is called when something changes a target. */
void sim_epoch_check_assertion(struct sim_win *win, int assertion, enum sim_epoch_state before,
                               const char *function);
void sim_epoch_check_put(struct sim_win *win, int target, const char *function);
/* After a fence: what it asserts of MPI_MODE_NOPRECEDE and NOSUCCEED all ranks must assert. */
void sim_epoch_check_agreement(struct sim_win *win, const char *function);
/* MPI_MODE_NOCHECK of a lock of a target that somebody holds in conflict, and of a start whose post
 * has not come (`posted`) or does not say the same. */
void sim_epoch_check_lock(struct sim_win *win, int target, int assertion, const char *function);
/* A window is not to be locked and exposed at once: of a lock that was had then, and of a post. */
void sim_epoch_tell_exposed(const char *function);
void sim_epoch_check_locked(struct sim_win *win);
void sim_epoch_check_start(struct sim_win *win, int target, int assertion, bool posted);
/* The program ends, and the window exists: an epoch that is open is B005. */
void sim_epoch_check_end(struct sim_win *win);

#endif
