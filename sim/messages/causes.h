/* What led to what, in a world that explores: messages, the receives that take them, and the list of
 * receives that are delayed (deferred.h, which decides about them). */
#ifndef SIM_MESSAGES_CAUSES_H
#define SIM_MESSAGES_CAUSES_H

#include <stdbool.h>
#include <stdint.h>

struct sim_context;
struct sim_rank;
struct sim_request;
struct sim_world;

/* Whether the receive of this number of the rank is to be delayed, although it names its source. */
bool sim_causes_is_late(const struct sim_world *world, const struct sim_rank *rank,
                        uint32_t number);
/* A delayed receive is taken back, or has what it wanted. */
void sim_causes_forget(struct sim_world *world, struct sim_request *receive);
/* A message was sent: the number of its event. */
uint32_t sim_causes_sent(struct sim_context *context, int destination,
                         const struct sim_request *send, uint32_t number);
/* A receive takes the message: both depend on each other. `send` is NULL where the sender has gone
 * on. */
void sim_causes_met(struct sim_world *world, uint32_t event, struct sim_request *send,
                    struct sim_request *receive);
/* A request is complete: Waitanys that have it in their list may report it. */
void sim_causes_completed(struct sim_request *request);

#endif
