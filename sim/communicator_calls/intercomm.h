/* Intercommunicators: two groups that talk to each other.
 *
 * Each side has a context of its own, with the mailboxes of its group, and knows the other as
 * `remote`. Collectives need both groups at one place: the bridge, a context of all ranks of the
 * first side and then those of the second. A member's handle of the bridge hangs behind its handle
 * of the intercommunicator and is never seen by a program. */
#ifndef SIM_COMMUNICATOR_CALLS_INTERCOMM_H
#define SIM_COMMUNICATOR_CALLS_INTERCOMM_H

#include "sim/communicators/comm.h"

/* Makes two contexts the sides of an intercommunicator. False: their groups have a rank in common.
 * In the monitor. */
bool sim_intercomm_link(struct sim_context *first, struct sim_context *second);
/* Gives a member's new handle its handle of the bridge. In the monitor. */
void sim_intercomm_attach(struct sim_comm *comm);

#endif
