/* What the entry points of collectives share: checks that fill a call from a program's arguments,
 * and macros that make an operation's six forms (blocking, nonblocking, persistent; int and large
 * counts) from the one function that checks and fills. */
#ifndef SIM_COLLECTIVES_FORMS_H
#define SIM_COLLECTIVES_FORMS_H

#include "sim/collectives/collective.h"

/* Each of these returns MPI_SUCCESS, or what the MPI function must return after the error was
 * raised. */

/* Clears the call and finds the communicator. */
int sim_call_begin(struct sim_collective_call *call, const struct sim_collective_kind *kind,
                   MPI_Comm handle);
/* Raises an error in the operation's name. */
int sim_call_fail(const struct sim_collective_call *call, int error, const char *sentence);
int sim_call_root(struct sim_collective_call *call, int root);
int sim_call_type(struct sim_collective_call *call, struct sim_side *side, MPI_Datatype type);
int sim_call_buffer(struct sim_collective_call *call, struct sim_side *side, const void *buffer,
                    MPI_Count count, MPI_Datatype type);
int sim_call_vector(struct sim_collective_call *call, struct sim_side *side, const void *buffer,
                    struct sim_counts counts, struct sim_counts displacements, int peers);
int sim_call_op(struct sim_collective_call *call, MPI_Op op, MPI_Datatype type);
int sim_call_types(struct sim_collective_call *call, struct sim_side *side,
                   const MPI_Datatype *types, int peers);

/* After the checks of one function, those that all need. */
int sim_call_ready(struct sim_collective_call *call, int error);
/* Of a persistent one, too. */
int sim_call_hints(struct sim_collective_call *call, MPI_Info info, int error);

#define COUNTS(array)                                                                              \
    _Generic((array), const int *: (struct sim_counts){(const int *)(const void *)(array), NULL}, \
                               default: (struct sim_counts){NULL, (const MPI_Count *)(const void *)(array)})

/* Parameters that neighbourhood collectives have, too. */
#define P_ALLGATHER(count_t, displ_t)                                                              \
    const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf,                  \
        count_t recvcount, MPI_Datatype recvtype, MPI_Comm comm
#define P_ALLGATHERV(count_t, displ_t)                                                             \
    const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf,                  \
        const count_t recvcounts[], const displ_t displs[], MPI_Datatype recvtype, MPI_Comm comm
#define P_ALLTOALLV(count_t, displ_t)                                                              \
    const void *sendbuf, const count_t sendcounts[], const displ_t sdispls[],                      \
        MPI_Datatype sendtype, void *recvbuf, const count_t recvcounts[], const displ_t rdispls[], \
        MPI_Datatype recvtype, MPI_Comm comm

#define FORMS(name, iname, PARAMETERS, CALL) FORMS_AS(PMPI_##name, name, iname, PARAMETERS, CALL)
#define WIDE_FORMS(name, iname, PARAMETERS, CALL)                                                  \
    WIDE_FORMS_AS(PMPI_##name, name, iname, PARAMETERS, CALL)

/* One function of a collective: its name, its parameters and what it does with them. */
#define ONE_FORM(function, PARAMETERS, kind, call_ready, finish)                                   \
    int function PARAMETERS                                                                        \
    {                                                                                              \
        struct sim_collective_call call;                                                           \
        call.form = (kind);                                                                        \
        int error = call_ready;                                                                    \
        return error ? error : finish;                                                             \
    }
#define THREE_FORMS(blocking, name, iname, suffix, PARAMETERS, count_t, displ_t, CALL)             \
    ONE_FORM(blocking, (PARAMETERS(count_t, displ_t)), SIM_FORM_BLOCKING,                          \
             sim_call_ready(&call, CALL), sim_collective_run(&call))                               \
    ONE_FORM(PMPI_##iname##suffix, (PARAMETERS(count_t, displ_t), MPI_Request * request),          \
             SIM_FORM_NONBLOCKING, sim_call_ready(&call, CALL),                                    \
             sim_collective_start(&call, request))                                                 \
    ONE_FORM(PMPI_##name##_init##suffix,                                                           \
             (PARAMETERS(count_t, displ_t), MPI_Info info, MPI_Request * request),                 \
             SIM_FORM_PERSISTENT, sim_call_hints(&call, info, sim_call_ready(&call, CALL)),        \
             sim_collective_init(&call, request))

/* The same with another function for the blocking form. */
#define FORMS_AS(blocking, name, iname, PARAMETERS, CALL)                                          \
    THREE_FORMS(blocking, name, iname, , PARAMETERS, int, int, CALL)
#define WIDE_FORMS_AS(blocking, name, iname, PARAMETERS, CALL)                                     \
    FORMS_AS(blocking, name, iname, PARAMETERS, CALL)                                              \
    THREE_FORMS(PMPI_##name##_c, name, iname, _c, PARAMETERS, MPI_Count, MPI_Aint, CALL)

#endif
