/* What waits for quiescence in an exploration: wildcard receives, probes for any source, Waitany.
 *
 * Delayed until nobody else can move, they are all in one choice with everything each of them could
 * take, so an explorer sees every possibility; and it logs messages, takers and what led to them
 * (base/dependence_sets.h). */
#ifndef SIM_MESSAGES_DEFERRED_H
#define SIM_MESSAGES_DEFERRED_H

#include "sim/messages/mailbox.h"
#include "sim/worlds/timeout.h"

/* At quiescence: lets one of them have what was chosen. True when somebody can go on. */
bool sim_deferred_go(struct sim_world *world);
/* Queues a wildcard receive. In the monitor. */
void sim_deferred_post(struct sim_world *world, struct sim_request *receive);
/* A receive that is taken back, or has what it wanted. */
void sim_deferred_forget(struct sim_world *world, struct sim_request *receive);
/* Blocks the rank until a message from anybody is granted to its probe. In the monitor. `patience`
 * may be NULL; NULL when its limit has passed. */
struct sim_message *sim_deferred_probe(struct sim_rank *rank, struct sim_context *context,
                                       int owner, int tag, const struct sim_timeout *patience);
/* Blocks the rank until one of its requests is granted to its Waitany: its index. In the monitor.
 */
int sim_deferred_waitany(struct sim_rank *rank, struct sim_request **requests, int count);

/* ---- what led to what, in a world that explores */

/* A message was sent: the number of its event. */
uint32_t sim_explore_sent(struct sim_context *context, int destination,
                          const struct sim_request *send, uint32_t number);
/* A receive takes the message: both depend on each other. `send` is NULL where the sender has gone
 * on. */
void sim_explore_met(struct sim_world *world, uint32_t event, struct sim_request *send,
                     struct sim_request *receive);
/* A request is complete: Waitanys that have it in their list may report it. */
void sim_explore_completed(struct sim_request *request);

#endif
