/* Sessions: a way to MPI without MPI_Init. A rank between Session_init and Session_finalize may
 * call MPI; it gets its communicators from process sets, of which there are mpi://WORLD and
 * mpi://SELF. */
#ifndef SIM_INTERFACE_SESSION_H
#define SIM_INTERFACE_SESSION_H

#include <mpi.h>
#include <stdint.h>

struct sim_session {
    uint32_t magic;
    int thread_level;
    uint32_t number; /* from 1, of all ranks' of the process */
    MPI_Errhandler errhandler;
};

#endif
