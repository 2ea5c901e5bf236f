/* The attached buffer of buffered sends: only its capacity is kept, since the machine copies messages into its own memory. A message
 * occupies its size plus MPI_BSEND_OVERHEAD until it is received. */
#ifndef SIM_BSEND_H
#define SIM_BSEND_H

#include "sim/request.h"

/* Reserves room for this send; false when the attached buffer has none. In the monitor. */
bool sim_bsend_reserve(struct sim_request *send);

#endif
