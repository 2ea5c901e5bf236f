/* Who stands because others do: a wait graph (waits.h) against its edges. Room is made once, so that a question takes the time of what it is
 * about. */
#ifndef CHECKER_REPLAY_WAIT_REACH_H
#define CHECKER_REPLAY_WAIT_REACH_H

#include "checker/replay/waits.h"

struct wait_reach {
    const struct wait_graph *graph;
    uint32_t *begin, *from; /* the edges to node n come from from[begin[n]] and on */
    bool *astray;   /* by node: stands, and nothing that is known to stand for ever is why */
    uint32_t *seen; /* by node: in which question */
    uint32_t question, *found;
    size_t found_count;
};

void wait_reach_init(struct wait_reach *reach, const struct wait_graph *graph);
void wait_reach_release(struct wait_reach *reach);
/* Which other ranks stand because these do, in their order; how many. */
size_t wait_reach_waiting(struct wait_reach *reach, const uint32_t *ranks, size_t count,
                          uint32_t *waiting);

#endif
