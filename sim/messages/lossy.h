/* What becomes of messages that an injected fault strikes (worlds/fault.h): lost, late, twice, or
 * with another bit.
 *
 * A message that is late still keeps its place among those of its sender: it arrives before the
 * next one, at the latest when nobody can move. */
#ifndef SIM_MESSAGES_LOSSY_H
#define SIM_MESSAGES_LOSSY_H

#include "sim/messages/mailbox.h"

/* As sim_mailbox_send, in a world with faults. In the monitor. */
bool sim_lossy_send(struct sim_context *context, int destination, struct sim_request *send,
                    bool may_buffer);
/* Nobody can move: late messages arrive. True when somebody became ready. In the monitor. */
bool sim_lossy_release(struct sim_world *world);
/* Frees those that never arrived. */
void sim_lossy_forget(struct sim_world *world);

#endif
