/* What each rank knows of the others when it accesses a window: a walk of the run with vector
 * clocks.
 *
 * An operation adds one to its rank's component when it begins and one when it has ended; receives,
 * probes, synchronous sends, collectives and the calls that synchronise windows join what others had
 * when they began. An access is over when the call that completes it begins; another is ordered
 * behind it if its start knows of that. */
#ifndef CHECKER_PROPERTIES_WINDOW_WALK_H
#define CHECKER_PROPERTIES_WINDOW_WALK_H

#include "checker/context.h"

struct judged {
    const struct trace_access *access;
    uint32_t *start; /* the clock when it began */
    uint32_t at;     /* a rank, and its component when the access is over */
    uint32_t done;
};

struct window_walk {
    const struct check_context *context;
    const struct trace *trace;
    struct judged *judged; /* one per access of the trace */
    /* orders learned from what an atomic operation fetched, and from nothing else */
    uint64_t chances;
    bool disordered;  /* operations wait for each other in a circle, or for one that is not there */
    uint32_t *clocks; /* ranks rows */
    uint32_t **begun; /* by operation: the clock when it began, where somebody asks for it */
    uint32_t *receives; /* those that have a message: see probed */
    size_t receive_count;
    uint32_t **gathered;               /* by collective: what its members had when they began */
    uint32_t *next_access, *next_sync; /* by rank: the first of its rows not yet reached */
    uint32_t *positions, positioned;   /* by rank: its place in this communicator */
    struct trace_sync *syncs;
    size_t words; /* of all clocks that are kept */
};

/* Fills in `judged` of a trace with accesses; false: the clocks are too many. To be released in any
 * case. */
bool window_walk_run(struct window_walk *walk, const struct check_context *context);
void window_walk_release(struct window_walk *walk);

/* A load or store of the program; else an operation's, which takes until its completion. */
static inline bool window_access_is_instant(const struct trace_access *access)
{
    return access->done == UINT32_MAX;
}

static inline bool window_access_is_local(const struct trace_access *access)
{
    return access->kind == ACCESS_LOAD || access->kind == ACCESS_STORE;
}

static inline bool window_access_reads(const struct trace_access *access)
{
    return access->kind == ACCESS_LOAD || access->kind == ACCESS_GET ||
           (access->kind == ACCESS_ACCUMULATE && access->reduction == ACCESS_NO_REDUCTION);
}

/* Kinds of atomic operations, and those of them that fetch something. */
static inline bool window_fetches(uint8_t kind)
{
    return kind == OP_GET_ACCUMULATE || kind == OP_FETCH_AND_OP || kind == OP_COMPARE_AND_SWAP;
}

static inline bool window_is_atomic(uint8_t kind)
{
    return window_fetches(kind) || kind == OP_ACCUMULATE;
}

#endif
