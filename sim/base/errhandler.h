/* Error handlers as objects: MPI_ERRORS_ARE_FATAL, _ABORT, _RETURN, and users' functions, counted
 * by references. */
#ifndef SIM_BASE_ERRHANDLER_H
#define SIM_BASE_ERRHANDLER_H

#include <mpi.h>

struct sim_comm;

void sim_errhandler_retain(MPI_Errhandler handler);
void sim_errhandler_release(MPI_Errhandler handler);

#endif
