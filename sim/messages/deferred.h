/* What waits for quiescence in an exploration: wildcard receives, probes for any source, Waitany,
 * every call that looks without blocking (Iprobe, Test ...), receives that may be cancelled, and
 * locks of windows.
 *
 * Delayed until nobody else can move, they are all in one choice with everything each of them could
 * take, so an explorer sees every possibility; and it logs messages, takers and what led to them
 * (base/dependence_sets.h). What a poll could see may also be on its way still: "not yet" is one of
 * its alternatives, unless the rank has seen something that came after it. */
#ifndef SIM_MESSAGES_DEFERRED_H
#define SIM_MESSAGES_DEFERRED_H

#include "sim/messages/mailbox.h"
#include "sim/worlds/timeout.h"

/* What a look at requests may say. */
enum sim_poll {
    SIM_POLL_NONE, /* it blocks: one of them */
    SIM_POLL_ANY,  /* one of them, or "not yet" */
    SIM_POLL_REST, /* the same, asked once about each: the rest of a Waitsome */
    SIM_POLL_ALL   /* that all are complete (as index 0), or "not yet" */
};

/* A lock that is waited for. The room that has locks says whether it may be had now. */
struct sim_lock_call {
    const void *lock;
    /* False: others hold it. Whom it would follow. */
    bool (*may_have)(const struct sim_lock_call *call, struct sim_alternative *follows);
    uint32_t box, target; /* that name the lock */
    bool exclusive;
    uint32_t number, event; /* of the call on its rank, and of the log: set by sim_deferred_lock */
};
/* Blocks the rank until it is decided that it has the lock next. In the monitor. */
void sim_deferred_lock(struct sim_rank *rank, struct sim_lock_call *call);

/* At quiescence: lets one of them have what was chosen. True when somebody can go on. */
bool sim_deferred_go(struct sim_world *world);
/* When nothing else is left: lets somebody go on that polls in vain. */
bool sim_deferred_spin(struct sim_world *world);
/* Queues a receive to be delayed. In the monitor. */
void sim_deferred_post(struct sim_world *world, struct sim_request *receive);
/* Blocks the communicator's rank until a message from anybody is granted to its probe. In the
 * monitor. `patience` may be NULL; NULL when its limit has passed, or without one when somebody has
 * failed or the communicator is revoked. */
struct sim_message *sim_deferred_probe(const struct sim_comm *comm, int tag,
                                       const struct sim_timeout *patience);
/* Holds the rank until it is decided what its Iprobe sees: NULL for nothing. In the monitor. */
struct sim_message *sim_deferred_iprobe(struct sim_rank *rank, struct sim_context *context,
                                        int owner, int source, int tag);
/* Blocks or holds the rank until it is decided which of its requests is reported: its index, -1 for
 * "not yet". Who blocks is also told of one that stands back (failures.h). In the monitor. */
int sim_deferred_waitany(struct sim_rank *rank, struct sim_request **requests, int count,
                         enum sim_poll poll);
/* Marks a request to be cancelled: whether it was in time is decided at quiescence. In the monitor.
 */
void sim_deferred_cancel(struct sim_request *request);
/* It was in time. */
void sim_deferred_cancel_now(struct sim_request *receive);

/* The rank has seen that its request is complete, in a world that explores. */
void sim_deferred_seen(struct sim_rank *rank, const struct sim_request *request);

#endif
