/* general.h: what a generalised request is behind its handle. Those that are not finished stand in
 * a list of their rank, for the leak report; it is touched in the monitor only. */
#ifndef SIM_GENERAL_H
#define SIM_GENERAL_H

#include <mpi.h>

struct sim_general {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    void *state;
    const void *site; /* of the call that made it */
    struct sim_general *next, **link;
};

#endif
