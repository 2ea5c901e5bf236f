/* Who has a lock of a window at the end of a trace: looked up once for all locks, so that many who wait for some take no longer. */
#ifndef CHECKER_REPLAY_HOLDERS_H
#define CHECKER_REPLAY_HOLDERS_H

#include "checker/context.h"

/* How often a rank took the lock of a target more than it gave it back. */
struct hold {
    uint32_t window, rank;
    int32_t target, times;
};

struct holders {
    const struct trace *trace;
    struct hold *of; /* by window, target and rank */
    size_t count;
    struct hold *some; /* room for an answer */
    uint32_t *found;   /* the same */
};

void holders_init(struct holders *holders, const struct trace *trace);
void holders_release(struct holders *holders);
/* The ranks for which trace_has_lock says so, of the lock that this call wants, into `found`, in
 * their order; how many. */
size_t holders_find(struct holders *holders, const struct trace_op *wanted);

#endif
