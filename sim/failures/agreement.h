/* Agreements: the meetings of those members of a communicator that live. Agree and shrink are made
 * of them, and they work on revoked communicators.
 *
 * Invariants: a meeting is in its context's list until it is over; it is over when every member has
 * come or failed; whoever came before failing counts, as far as flags go. All of it in the
 * monitor. */
#ifndef SIM_FAILURES_AGREEMENT_H
#define SIM_FAILURES_AGREEMENT_H

#include "sim/messages/request.h"

/* What a member brings, and where the result goes: one of the two. */
struct sim_seat {
    int *flag;
    MPI_Comm *made;
};

/* The member comes; what it waits for is the request's completion. */
struct sim_request *sim_meeting_join(struct sim_comm *comm, struct sim_seat seat);
/* A member of this context has failed. */
void sim_meetings_reconsider(struct sim_context *context);
/* Frees what is still under way when the world ends. */
void sim_meetings_end(struct sim_context *context);

#endif
