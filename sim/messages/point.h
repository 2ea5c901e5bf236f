/* Checking of point-to-point arguments, shared by sends, receives, probes and persistent requests.
 */
#ifndef SIM_MESSAGES_POINT_H
#define SIM_MESSAGES_POINT_H

#include "sim/messages/request.h"
#include "sim/worlds/error.h"

/* What the caller said. */
struct sim_point {
    const char *function; /* "Send" */
    const void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    int peer, tag;
    MPI_Comm comm;
};

/* Where an answer goes that is written in the monitor, where a fault could not be the caller's. */
int sim_point_output(const void *output, const char *what, const char *function);

/* Checks everything and fills `request` (kind, mode, owner, comm, context, type, buffer, count,
 * peer, tag); takes a reference on a derived type unless the request is on the stack. Returns
 * MPI_SUCCESS, or what the MPI function must return after the error was raised. */
int sim_point_send_check(const struct sim_point *point, struct sim_request *request,
                         enum sim_send_mode mode);
int sim_point_receive_check(const struct sim_point *point, struct sim_request *request);
/* Communicator, source and tag of a probe. */
int sim_point_probe_check(const struct sim_point *point, struct sim_comm **comm);

enum { SIM_TAG_LIMIT = 0x3fffffff };

/* MPI_Send, MPI_Recv and MPI_Sendrecv where fastpath.c does not do: any arguments, right or
 * wrong. */
int sim_send_general(const void *buffer, int count, MPI_Datatype type, int peer, int tag,
                     MPI_Comm comm);
int sim_receive_long(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                     MPI_Status *status);
int sim_sendrecv_long(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
                      int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype, int source,
                      int recvtag, MPI_Comm comm, MPI_Status *status);
/* Raises what `receive` ended with: the message was longer, or its sender has failed. */
int sim_point_truncated(const struct sim_point *point, const struct sim_request *receive);
int sim_sendrecv_truncated(MPI_Comm comm, const char *function, const struct sim_request *receive);

/* Begins a checked send or receive; in the monitor. One to or from MPI_PROC_NULL is complete. */
void sim_point_start(struct sim_request *request);
/* Completes a request to or from MPI_PROC_NULL. */
void sim_point_complete_null(struct sim_request *request);

/* Partitioned messages that were never freed go with their world. */
void sim_partitioned_world_end(struct sim_world *world);

#endif
