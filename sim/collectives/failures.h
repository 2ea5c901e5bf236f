/* What a collective comes to when a member fails, or its communicator is revoked. In the monitor.
 *
 * A member gets MPIX_ERR_PROC_FAILED exactly where it waits for something that the failed one would
 * have had to bring: members of one collective may end differently, as MPI's text allows (agree is
 * there for who needs to know). Whoever has gone on has gone on. On a revoked communicator whoever
 * waits, and whoever comes, gets MPIX_ERR_REVOKED. */
#ifndef SIM_COLLECTIVES_FAILURES_H
#define SIM_COLLECTIVES_FAILURES_H

#include "sim/collectives/call.h"

/* The first member that has failed and has not come; the size when there is none. */
int sim_collective_first_lost(const struct sim_collective *collective);
/* What the call of a member that has come and is not done ends with now, `lost` being the first that
 * will not come: MPI_SUCCESS while it may go on waiting. */
int sim_collective_error_of(const struct sim_collective *collective, int rank, int lost);

#endif
