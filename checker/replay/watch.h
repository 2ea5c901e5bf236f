/* Who is told what a replay does. */
#ifndef CHECKER_REPLAY_WATCH_H
#define CHECKER_REPLAY_WATCH_H

#include "checker/replay/plan.h"
#include "checker/replay/syncs.h"

/* Told what happens, in an order that could be real: every op as it is posted (`passed` false), and
 * as its rank goes on. */
struct replay_watch {
    void (*event)(void *context, uint32_t op, bool passed);
    void *context;
    const struct check_syncs *syncs; /* none goes on before the other has come so far; NULL: nothing
                                        is learnt. Not where ranks have threads */
    bool as_seen; /* threads of a rank wait for each other as they happened to: an op is posted when
                     those have passed that were over before it began */
};

#endif
