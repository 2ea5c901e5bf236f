/* Epochs of windows. All accesses of an epoch are one operation, that of the call which ends it or
 * flushes: a linear map of the targets' memories and the origins' values to the memories afterwards
 * and what was got. Its transpose is again an epoch, of the transposed accesses, and its tangent is
 * the same epoch of the tangents. */
#ifndef COLLECTIVES_WINDOWS_EPOCH_H
#define COLLECTIVES_WINDOWS_EPOCH_H

#include "collectives/windows/window.h"

/* Ranks of a window's communicator; they live in the tape's arena. */
struct ranks {
    int count, ranks[];
};

/* A fence's has the own memory as its first input and output. In the others the memories are where
 * they were exposed: by a post, or in a passive phase. */
enum epoch_kind { EPOCH_FENCE, EPOCH_STARTED, EPOCH_FLUSHED };

struct epoch {
    struct diff_window *window;
    enum epoch_kind kind;
    size_t count;
    struct window_access *accesses;
    bool checked; /* accesses are the program's: they may overlap where they must not */
    const struct ranks *targets; /* of a started one */
    int flushed;                 /* the target, or ALL_TARGETS */
};
enum { ALL_TARGETS = -1 };

/* Whether it takes values of the origin, and whether it brings some back. */
bool move_gives(enum window_move kind);
bool move_fetches(enum window_move kind);
/* Does these accesses, which it takes as they are; results that they bring get their values, the
 * others are made. The memory afterwards for a fence, which is collective, else NULL. */
struct diff_tensor *epoch_run(const struct epoch *what, struct diff_channel *channel,
                              struct diff_tensor *memory);
/* Ends the rank if accesses to one rank's memory overlap that have no order. For a fence it looks at
 * what all ranks do, and is collective; else at what this one does. */
void overlaps_check(const struct diff_node *node, const struct epoch *epoch);

/* From post to wait: these ranks may access the memory. The handle is for the wait. */
struct exposure {
    struct diff_window *window;
    const struct ranks *origins;
};
struct diff_tensor *exposure_post(const struct exposure *what, struct diff_channel *channel,
                                  struct diff_tensor *memory);
struct diff_tensor *exposure_wait(const struct exposure *what, struct diff_channel *channel,
                                  struct diff_tensor *handle);
MPI_Group ranks_group(const struct ranks *ranks, MPI_Comm comm);
/* The own values of the window, as they are in its buffer there, and back. */
void memory_fill(const struct window_at *at, const struct diff_tensor *memory);
struct diff_tensor *memory_new(struct diff_window *window);
void memory_read(const struct window_at *at, const struct diff_tensor *memory);

#endif
