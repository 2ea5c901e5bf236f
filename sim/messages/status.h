/* status.h: what the machine keeps in the five integers of an MPI_Status that belong to it.
 *
 * The bytes received, 64 bits wide, and whether the operation was cancelled. A status is the
 * program's memory; it may be copied, and any of it may be overwritten through MPI_Status_set_*.
 */
#ifndef SIM_MESSAGES_STATUS_H
#define SIM_MESSAGES_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <mpi.h>

static inline void sim_status_set_bytes(MPI_Status *status, size_t bytes)
{
    uint64_t wide = bytes;
    memcpy(status->MPI_internal, &wide, sizeof wide);
}

static inline size_t sim_status_bytes(const MPI_Status *status)
{
    uint64_t wide;
    memcpy(&wide, status->MPI_internal, sizeof wide);
    return (size_t)wide;
}

static inline void sim_status_set_cancelled(MPI_Status *status, bool cancelled)
{
    status->MPI_internal[2] = cancelled;
}

static inline bool sim_status_cancelled(const MPI_Status *status)
{
    return status->MPI_internal[2] != 0;
}

/* The empty status: what waiting for nothing gives. MPI_ERROR is left alone. */
static inline void sim_status_set_empty(MPI_Status *status)
{
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    memset(status->MPI_internal, 0, sizeof status->MPI_internal);
}

#endif
