/* Error handlers as objects: MPI_ERRORS_ARE_FATAL, _ABORT, _RETURN, and users' functions, counted
 * by references. */
#ifndef SIM_WORLDS_ERRHANDLER_H
#define SIM_WORLDS_ERRHANDLER_H

#include <mpi.h>
#include <stdbool.h>

/* With one reference; MPI_ERRHANDLER_NULL: out of memory. */
MPI_Errhandler sim_errhandler_new(MPI_Comm_errhandler_function *function);
bool sim_errhandler_valid(MPI_Errhandler handler);
void sim_errhandler_retain(MPI_Errhandler handler);
void sim_errhandler_release(MPI_Errhandler handler);

#endif
