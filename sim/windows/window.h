/* Windows: memory that other ranks read and write (one-sided communication).
 *
 * A window is one `sim_window`, shared by its members, and one `sim_win` for each of them, which the
 * handle points to. Each member's handle holds a hidden communicator of a context of its own: fences
 * are collectives on it, and its error handler, attributes, name and info are the window's.
 *
 * Invariants (sim_windows are touched in the monitor only):
 *  1. A part's lock is held by one exclusive holder or by `shared` shared ones, never both.
 *  2. posts[o] of a part counts the exposures to origin o that no start has used; completes[o] the
 *     access epochs of o that no wait has used.
 *  3. The epoch of a handle moves only through sim_epoch_move (epoch.c).
 *  4. Accesses move their data when they are called, or late (carry.h); what they own of the origin's memory is pending
 *     (memory/pending.h) until the call that completes them. */
#ifndef SIM_WINDOWS_WINDOW_H
#define SIM_WINDOWS_WINDOW_H

#include "sim/communicators/comm.h"
#include "sim/datatypes/datatype.h"
#include "sim/windows/epoch.h"

struct sim_attached {
    char *base;
    MPI_Aint size;
    struct sim_attached *next;
};

/* One member's memory, as the others see it. */
struct sim_window_part {
    char *base;
    MPI_Aint size, unit;
    bool same_size, same_unit;       /* its hints promise that all members have the same */
    struct sim_attached *attached;   /* dynamic windows */
    int exclusive;                   /* who holds the lock alone, -1: nobody */
    int shared;                      /* how many hold it together */
    int *posts, *completes;          /* by origin; NULL until used */
    uint32_t posted_by;              /* the recorder's number of the last MPI_Win_post */
    uint32_t *completed_by;          /* of the last MPI_Win_complete, by origin; NULL until used */
    uint32_t no_put[2];              /* the last fences that asserted MPI_MODE_NOPUT, by parity */
    int asserted[2];                 /* of its last fences, what all must assert alike */
    bool no_put_posted;              /* the last post did */
    bool unchecked_post;             /* the last post asserted MPI_MODE_NOCHECK */
    int unchecked;                   /* how many hold the lock having asserted it */
    int fetched_by, changed_by;      /* atomically, in an exploration: rank + 1, -1: several */
    int locks_taken, atomics_done;   /* where their order is kept: see turns.h */
    struct sim_lock_order *order;    /* who had the lock, in an exploration; NULL until used */
    struct sim_last_atomic *atomics; /* see history.h; NULL until used */
    struct sim_win *win;             /* the member's own handle */
};

struct sim_window {
    struct sim_world *world;
    int size, members; /* members: who has not freed it */
    int flavor;
    int unlike; /* the first who differs from member 0 in what hints promise to be alike; 0: none */
    int waiting;   /* members that wait until something of it changes */
    bool separate; /* allocated memory is not contiguous */
    char *memory;  /* allocated for all; NULL: none */
    /* Shared, and members touched it by atomic operations: those may order what others do. */
    _Atomic bool atomics;
    struct sim_window_part parts[];
};

struct sim_win {
    uint32_t magic;
    struct sim_rank *owner;
    struct sim_window *window;
    struct sim_comm *comm;
    int rank;
    uint32_t fences; /* that this member has begun */
    bool unordered;  /* info: its accumulates to one place may be carried out in any order */
    /* info: those to one place at once are of one operation, MPI_NO_OP no exception */
    bool same_op;
    bool unlocked;    /* info: it will never be locked */
    bool keeps_order; /* info: who made it keeps the order of its locks in further runs */
    _Atomic bool
        stored; /* the program's own stores since the last synchronisation: as far as seen */
    _Atomic bool helped; /* touched by a thread of its rank that may not call MPI */
    bool on_stack;       /* the memory that its owner has given */
    bool waits;          /* blocked until something of the window changes */
    struct sim_epoch epoch;
    struct sim_win_access *accesses; /* not complete yet: see history.h */
    size_t access_count, access_room;
    struct sim_late_access *late; /* that have not moved their data yet: see carry.h */
    size_t late_count, late_room;
    char *allocated;         /* its own memory, to be freed; NULL: none */
    int unit, flavor, model; /* what attributes point to */
    MPI_Aint size;
};

/* The caller's window behind a handle; NULL after the error was raised, with what to return. */
struct sim_win *sim_win_check(MPI_Win handle, const char *function, int *error);
/* Raises through the window's error handler. */
int sim_win_raise(struct sim_win *win, int error_class, const char *function, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));
/* What waiting for a member comes to: MPI_SUCCESS while it lives, or where nobody is to know. */
int sim_win_peer_error(const struct sim_win *win, int rank);
/* Raises such an error; MPI_SUCCESS is none. Not in the monitor. */
int sim_win_raise_failure(struct sim_win *win, int error, const char *function);
/* The caller, in the monitor, waits until another member changes the window, or fails. */
void sim_win_wait(struct sim_win *win);
/* Wakes members that wait. */
void sim_win_changed(struct sim_window *window);
/* Lets others run: a program may poll a window. */
void sim_win_yield(struct sim_win *win);
/* A barrier of the members under a name. */
int sim_win_barrier(struct sim_win *win);

/* Where `count` elements of a type at a displacement of a target lie; NULL after the error was
 * raised. */
char *sim_win_address(struct sim_win *win, int target, MPI_Aint displacement,
                      const struct sim_datatype *type, size_t count, const char *function,
                      int *error);
/* What accesses to a target own of the caller's memory is free again; -1: all targets. */
void sim_win_completed(struct sim_win *win, int target);
/* Whether the program has changed memory of accesses that are under way: before anybody may know that they are complete. */
void sim_win_look(const struct sim_win *win);

/* MPI_Put and the others where fastpath.c does not do: any arguments, right or wrong. */
int sim_put_long(const void *origin, int count, MPI_Datatype type, int target_rank,
                 MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Win win);
int sim_get_long(void *origin, int count, MPI_Datatype type, int target_rank, MPI_Aint target_disp,
                 int target_count, MPI_Datatype target_type, MPI_Win win);
int sim_accumulate_long(const void *origin, int count, MPI_Datatype type, int target_rank,
                        MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Op op,
                        MPI_Win win);
int sim_flush_long(MPI_Win win, int target, bool remote, const char *function);

/* What was never freed goes with its world. */
void sim_windows_world_end(struct sim_world *world);

/* What the window's info says has changed; hints that have a value without being set get it. */
void sim_win_hints(struct sim_win *win);

/* A window's attributes (NULL: no window of the caller's), and the value of a predefined one. */
struct sim_attributes *sim_win_attributes(void *handle);
bool sim_win_predefined(void *handle, int number, void **value);

#endif
