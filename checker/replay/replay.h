/* The abstract machine: executes a plan under one progress model and says where it gets stuck.
 * Linear time.
 *
 * Nothing is said of a rank that goes on only because a test or a probe fails which succeeded in
 * the trace: from there it may do anything, so that whoever waits for it is not stuck either.
 * Before that it is kept at the test as long as anybody else can move. The same goes for a rank
 * with a wildcard, blocking or pending, that lacks its message although another one that it may take
 * is there. But first an op that stands in the way of the recorded message goes on: MPI may buffer
 * any standard send and have the next one wait, and synchronise in one collective and not in another.
 *
 * Collectives synchronise all their callers (strict). Nothing is random: what can be done is done,
 * and because what meets what is fixed by the plan, the order in which ranks take turns does not
 * change the outcome.
 *
 * Room: sees checker; traces. Seen by checker/explore, checker/orders, checker/properties; cli. */
#ifndef CHECKER_REPLAY_REPLAY_H
#define CHECKER_REPLAY_REPLAY_H

#include "checker/replay/watch.h"

struct check_replay {
    bool stuck;
    uint32_t *at;    /* per rank (of several threads: per rank and thread): the op it stands in,
                        TRACE_NO when it ran to its end */
    uint32_t *cycle; /* when stuck: ops, one per rank, each waiting for the rank of the next, the
                        last for the first */
    uint32_t *lacks; /* per op of the cycle: the op of the next rank that it lacks; TRACE_NO where
                        nobody has one */
    size_t cycle_count;
    uint32_t loose; /* the first op that did not wait for what others waited for, so that a wildcard
                       gets the message it took; TRACE_NO: none */
    bool strayed;   /* a wildcard took another message than recorded: its rank left the record */
    bool crossed;   /* two ops met that did not meet in the trace: */
    uint32_t crossing, met;
};

/* `watch` may be NULL. */
void check_replay_watch(const struct check_plan *plan, enum check_model model,
                        const struct replay_watch *watch, struct check_replay *replay);
void check_replay_run(const struct check_plan *plan, enum check_model model,
                      struct check_replay *replay);
/* It stands, and everything waited on the way as this model has it. */
static inline bool check_replay_hangs(const struct check_replay *replay)
{
    return replay->stuck && replay->loose == TRACE_NO;
}
void check_replay_release(struct check_replay *replay);

#endif
