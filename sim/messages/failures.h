/* What sends, receives and probes come to when a peer fails or their communicator is revoked. All of
 * it in the monitor.
 *
 * Rules:
 *  1. A send to a failed peer, and a receive from it for which no message has come, complete with
 *     MPIX_ERR_PROC_FAILED.
 *  2. A blocking receive from any source does so, too, while a failure is not acknowledged. A
 *     nonblocking one stands back: it stays posted, and whoever waits for it is told
 *     MPIX_ERR_PROC_FAILED_PENDING.
 *  3. On a revoked communicator everything that is not complete completes with MPIX_ERR_REVOKED. */
#ifndef SIM_MESSAGES_FAILURES_H
#define SIM_MESSAGES_FAILURES_H

#include "sim/communicators/failures.h"
#include "sim/messages/request.h"

/* A send or receive that starts, in a troubled world: true when it is complete, with an error. */
bool sim_send_refused(struct sim_request *send);
bool sim_receive_refused(struct sim_request *receive);
/* The same for a receive that was posted just now and may still be waiting. */
void sim_receive_reconsider(struct sim_request *receive);
/* A member has failed, or the communicator of this context was revoked. */
void sim_mailboxes_member_failed(struct sim_context *context, int rank);
void sim_mailboxes_revoked(struct sim_context *context);
/* What such an error class says; NULL for any other. */
const char *sim_failure_sentence(int error);

#endif
