/* Which members of a communicator have failed, and whether that concerns an operation of a member.
 *
 * A rank has failed when it ended between MPI_Init and MPI_Finalize. Others learn of it at once, and
 * only on communicators whose error handler comes back: where errors are fatal nobody could go on,
 * and what waits there waits for ever, so that the report can say who waits where. Everything here
 * is called in the monitor. */
#ifndef SIM_COMMUNICATORS_FAILURES_H
#define SIM_COMMUNICATORS_FAILURES_H

#include "sim/communicators/comm.h"

/* Its owner lives, and its error handler comes back. */
bool sim_comm_tolerates(const struct sim_comm *comm);
/* The member `rank` of the context has failed. */
bool sim_context_member_failed(const struct sim_context *context, int rank);
/* World ranks of those members, of both groups, that have failed, in the order in which they did:
 * their number; the first `room` of them into `ranks`. */
int sim_comm_failed(const struct sim_comm *comm, int *ranks, int room);
/* Somebody has failed whom the caller has not acknowledged. */
bool sim_comm_unacknowledged(const struct sim_comm *comm);
/* What a message from or to this peer (or MPI_ANY_SOURCE), that is not there yet, comes to:
 * MPI_SUCCESS while it may still come. */
int sim_comm_peer_error(const struct sim_comm *comm, int peer);
/* Blocks until woken, also by a failure: then what it waits for is to be looked at again. */
void sim_rank_block_reconsidering(struct sim_rank *rank);
/* From now on nobody takes a short way that does not look at failures. */
void sim_world_troubled(struct sim_world *world);

#endif
