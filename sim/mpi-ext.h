/* Failures of processes: what MPI's fault-tolerance chapter in the making (ULFM) adds, under the names
 * that Open MPI and MPICH give it. <mpi.h> includes this file, as MPICH's does; Open MPI's programs
 * include it themselves. What the calls do here: docs/faults.md. */
#ifndef SIM_MPI_EXT_H
#define SIM_MPI_EXT_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPIX_ERR_PROC_FAILED         101
#define MPIX_ERR_PROC_FAILED_PENDING 102
#define MPIX_ERR_REVOKED             103
#define MPI_ERR_PROC_FAILED          MPIX_ERR_PROC_FAILED
#define MPI_ERR_PROC_FAILED_PENDING  MPIX_ERR_PROC_FAILED_PENDING
#define MPI_ERR_REVOKED              MPIX_ERR_REVOKED

/* Ends all communication on the communicator, at every member: what waits there and what is called
 * later returns MPIX_ERR_REVOKED, but for shrink, agree and what asks about failures. */
int MPIX_Comm_revoke(MPI_Comm comm);
int MPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
/* Collective of the members that live: a communicator of them. */
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int MPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
/* Collective of the members that live: *flag becomes the bitwise and of all. Every member gets
 * MPIX_ERR_PROC_FAILED where one of them has not acknowledged a failure. */
int MPIX_Comm_agree(MPI_Comm comm, int *flag);
int MPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
/* The caller knows of all failures so far: receives from any source wait again. */
int MPIX_Comm_failure_ack(MPI_Comm comm);
int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failed);
/* All members that have failed, in the order in which they did; and acknowledging the first of
 * them. */
int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failed);
int MPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);

int PMPIX_Comm_revoke(MPI_Comm comm);
int PMPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
int PMPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int PMPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
int PMPIX_Comm_agree(MPI_Comm comm, int *flag);
int PMPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
int PMPIX_Comm_failure_ack(MPI_Comm comm);
int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failed);
int PMPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failed);
int PMPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);

#ifdef __cplusplus
}
#endif
#endif
