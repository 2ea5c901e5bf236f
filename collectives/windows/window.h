/* Windows: memory that other ranks access, and MPI's windows on it.
 *
 * Rules:
 *  1. A window's memory is a value of its tape like any other: `memory` is the newest one, made by
 *     the last fence, wait or end of a passive phase. Its MPI windows expose buffers of the
 *     library's, filled before others may access them and read afterwards, so that earlier values
 *     stay as they were.
 *  2. There is one MPI window per channel that an epoch ran on: the forward pass's, made with the
 *     window, and those of adjoints, made when a pass begins. They go with the tape.
 *  3. Accesses wait for the call that ends their epoch (or for a flush), and move there. */
#ifndef COLLECTIVES_WINDOWS_WINDOW_H
#define COLLECTIVES_WINDOWS_WINDOW_H

#include "collectives/tape/node.h"

/* What an access does to the target's values t, with x of the origin and its result r. The
 * transpose of each is among them. */
enum window_move {
    MOVE_PUT,       /* t' = x */
    MOVE_GET,       /* r = t */
    MOVE_ADD,       /* t' = t + x */
    MOVE_TAKE,      /* r = t, t' = 0 */
    MOVE_SWAP,      /* r = t, t' = x */
    MOVE_FETCH_ADD, /* r = t, t' = t + x */
};

struct window_access {
    enum window_move kind;
    const char *name;               /* of the public function */
    struct diff_tensor *x, *result; /* NULL where there is none */
    uint32_t version;               /* of x */
    int target;
    size_t begin, count; /* of the target's values */
    const void *site;
    bool single; /* by MPI_Fetch_and_op */
    struct window_access *next;
};

struct window_at {
    const struct diff_channel *channel;
    MPI_Comm comm; /* the channel's; for the forward pass a copy, as the program may free its own */
    MPI_Win win;
    void *buffer;
    struct window_at *next;
};

/* Who may access this rank's memory just now. */
enum window_exposure { EXPOSED_BY_FENCES, EXPOSED_BY_POST, EXPOSED_TO_LOCKS };

struct diff_window {
    struct diff_tape *tape;
    struct diff_channel *channel;
    enum diff_type type;
    size_t *counts;             /* of each rank's values */
    struct diff_tensor *memory; /* NULL: forgotten with the tape's other values */
    bool open;                  /* a fence has been */
    enum window_exposure exposure;
    struct diff_tensor *exposed; /* the handle of the post or passive phase under way, or NULL */
    const struct ranks *origins; /* of the post under way */
    struct ranks *started;       /* targets of the access epoch under way, or NULL */
    struct phase *phase;         /* the passive one under way, or NULL */
    struct window_access *first, *last;
    size_t accesses;
    struct window_at *places;
    MPI_Win turns; /* counts the locks of each rank's memory: see phase.h */
    struct diff_window *next;
};

/* A window over `memory`; collective over the channel's communicator. */
struct diff_window *window_new(struct diff_channel *channel, struct diff_tensor *memory);
/* An MPI window over `count` elements whose locks come in an order that this library keeps itself. */
void window_make(void *memory, size_t count, size_t size, MPI_Comm comm, MPI_Win *win);
/* Its MPI window on this channel; the first call for a channel is collective. */
struct window_at *window_at(struct diff_window *window, const struct diff_channel *channel);
/* MPI windows wherever the pass that begins may need them: collective, as the pass is. */
void window_prepare_all(struct diff_tape *tape);
/* Ends the rank if an epoch is under way: `what` would lose it. */
void window_check_idle(struct diff_tape *tape, const char *what);
/* Forgets the values of all windows of the tape. */
void window_forget_all(struct diff_tape *tape);
/* Frees the MPI windows: collective over each, in the order in which they were made. */
void window_release_all(struct diff_tape *tape);

#endif
