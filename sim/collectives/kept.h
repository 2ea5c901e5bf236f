/* A nonblocking or persistent collective goes on when its call has returned: the arrays of counts,
 * displacements and datatypes may be gone by then where the program is wrong, and the datatypes
 * where it is right, since MPI_Type_free lets what is under way go on. It keeps copies. */
#ifndef SIM_COLLECTIVES_KEPT_H
#define SIM_COLLECTIVES_KEPT_H

#include "sim/collectives/call.h"

/* Copies the arrays of both sides, and retains the datatypes; drop ends that. */
void sim_call_keep(struct sim_world *world, struct sim_collective_call *call);
void sim_call_drop(struct sim_world *world, struct sim_collective_call *call);
const struct sim_datatype *sim_kept_type(const struct sim_kept *kept, int peer);
/* The program has written to its own arrays since the call. They must still be there. */
bool sim_call_arrays_changed(const struct sim_collective_call *call);

#endif
