/* Collectives: each is one rendezvous, not a tree of messages.
 *
 * The n-th collective of every member of a communicator is one sim_collective; persistent ones are
 * counted apart, each request's starts for themselves: they match in the order of their _init
 * calls, whatever the order of their starts (MPI-4, 6.13). Members leave their arguments (a call)
 * and the data are moved between the members' buffers in rank order, so results are the same bits
 * every time. When a member may go on is the kind's synchronisation: by default only as far as the
 * data flow forces, with strict collectives always all together.
 *
 * Invariants: a collective is in its context's list while a member is missing or not complete;
 * calls[r] is NULL before r has come and must not be followed once r is complete, unless it is a
 * stashed copy, which owns its data. */
#ifndef SIM_COLLECTIVES_COLLECTIVE_H
#define SIM_COLLECTIVES_COLLECTIVE_H

#include "sim/collectives/call.h"

/* Takes part: blocks until this member may go on. Returns the error class to hand back (already
 * raised). */
int sim_collective_run(struct sim_collective_call *call);
/* The same of a collective that moves nothing, in the short way (fastpath.c); false: that is not open to the caller, and nothing was
 * done. */
bool sim_collective_meet(struct sim_comm *comm, const struct sim_collective_kind *kind, int *error);
/* Takes part without blocking; the call is copied into the request. */
int sim_collective_start(const struct sim_collective_call *call, MPI_Request *handle);
/* A persistent request for this call, inactive. */
int sim_collective_init(const struct sim_collective_call *call, MPI_Request *handle);
/* The member's n-th collective, made by whoever comes first. */
struct sim_collective *sim_collective_find(struct sim_comm *comm, uint64_t number);
/* Everybody has gone on. */
void sim_collective_retire(struct sim_collective *collective);
/* What the call's error will say. In the monitor. */
void sim_collective_complain(struct sim_collective_call *call, const char *complaint);
/* "Allreduce", "Iallreduce", "Allreduce_init"; into `name`, returned. */
const char *sim_call_name(const struct sim_collective_call *call, char name[static SIM_NAME_MAX]);
/* Raises what went wrong for the caller, whose rank came the short way; the error class to hand back.
 */
int sim_collective_raise(struct sim_comm *comm, const char *function, int error);
/* Makes ordinary calls of the members that came the short way. */
void sim_collective_unfold(struct sim_collective *collective);
/* Lets one of them go on. */
void sim_collective_release_brief(struct sim_collective_call *call);
/* The blocking forms whatever their arguments are. */
int sim_barrier_long(MPI_Comm handle);
int sim_allreduce_long(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                       MPI_Comm handle);
/* A member has failed, or the communicator was revoked: ends the calls of who waits in vain. In the
 * monitor; see failures.h. */
void sim_collectives_settle(struct sim_context *context);
/* Frees a context's collectives, under way or kept for use again. */
void sim_collectives_end(struct sim_context *context);

/* Compares what a member gives with what another takes of it: other amounts are an error of the
 * taker, and like other types a remark to it. */
void sim_block_compare(const struct sim_collective *collective, int sender, struct sim_block from,
                       int receiver, struct sim_block to);
/* And copies it. */
void sim_block_move(const struct sim_collective *collective, int sender, struct sim_block from,
                    int receiver, struct sim_block to);
/* A member of a reduction combines another basic type than the first to come. */
void sim_call_remark_units(const struct sim_collective *collective, int rank);
/* The share of what is scattered that another member gives differs from what the rank takes. */
void sim_call_remark_share(const struct sim_collective *collective, int rank, size_t given,
                           size_t taken);
/* Notes a remark on behalf of the calling rank, whose call it is. */
void sim_call_remark_tell(struct sim_collective_call *call);

#endif
