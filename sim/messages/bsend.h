/* The attached buffer of buffered sends: only its capacity is kept, since the machine copies
 * messages into its own memory. A message occupies its size and some more (see
 * bsend.c) until it is received. */
#ifndef SIM_MESSAGES_BSEND_H
#define SIM_MESSAGES_BSEND_H

#include "sim/messages/request.h"

/* False when the attached buffer has no room for this send (or there is none). In the monitor. */
bool sim_bsend_has_room(const struct sim_request *send);
/* A send that has room begins: from now on the buffer is MPI's, until it is detached or flushed, or the
 * rank finalizes. In the monitor. */
void sim_bsend_begin(struct sim_rank *rank);
void sim_bsend_finish(struct sim_rank *rank);
/* A message of so many bytes occupies the rank's buffer; it has been received. In the monitor. */
void sim_bsend_taken(struct sim_rank *rank, size_t bytes);
void sim_bsend_returned(struct sim_rank *rank, size_t bytes);

#endif
