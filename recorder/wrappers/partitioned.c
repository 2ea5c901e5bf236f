/* PMPI layer: partitioned messages. See wrappers.h.
 *
 * Such a message is recorded as a persistent synchronous send and receive on a communicator of its
 * own (recorder_comm_lane): the receive where it is started, the send where its last partition is
 * marked ready, since nobody can have all of it before. */
#include "recorder/recorder.h"
#include "recorder/wrappers/persistent.h"

#include <stdlib.h>

#if MPI_VERSION >= 4

static void keep(enum op_kind kind, int partitions, const struct wrapper_side *side, MPI_Comm comm,
                 MPI_Request request)
{
    struct recorder_rank *me = recorder_enter();
    struct recorder_request *kept = me ? persistent_keep(me, kind, side, comm, request) : NULL;
    /* Whoever sends marks partitions, but not of a message to nobody. */
    bool marks = kind == OP_ISSEND && side->peer != MPI_PROC_NULL;
    uint32_t count = marks ? (uint32_t)partitions : 0;
    struct recorder_parts *parts =
        kept ? calloc(1, sizeof *parts + count * sizeof *parts->ready) : NULL;
    if (parts) {
        parts->count = count;
        uint64_t way = (uint64_t)(uint32_t)side->peer << 32 | (uint32_t)side->tag << 1;
        const struct recorder_comm *lane =
            recorder_comm_lane(me, kept->comm, way | (kind == OP_ISSEND));
        kept->parts = parts;
        if (lane)
            kept->pattern->comm = lane->number;
    }
    recorder_leave(me);
}

#define DEFINE_PARTITIONED(suffix)                                                                 \
    int MPI_Psend_init##suffix(const void *buffer, int partitions, MPI_Count count,                \
                               MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Info info, \
                               MPI_Request *request)                                               \
    {                                                                                              \
        int error = PMPI_Psend_init##suffix(buffer, partitions, count, type, peer, tag, comm,      \
                                            info, request);                                        \
        if (error == MPI_SUCCESS)                                                                  \
            keep(OP_ISSEND, partitions,                                                            \
                 &(struct wrapper_side){buffer, partitions * count, type, peer, tag}, comm,        \
                 *request);                                                                        \
        return error;                                                                              \
    }                                                                                              \
    int MPI_Precv_init##suffix(void *buffer, int partitions, MPI_Count count, MPI_Datatype type,   \
                               int peer, int tag, MPI_Comm comm, MPI_Info info,                    \
                               MPI_Request *request)                                               \
    {                                                                                              \
        int error = PMPI_Precv_init##suffix(buffer, partitions, count, type, peer, tag, comm,      \
                                            info, request);                                        \
        if (error == MPI_SUCCESS)                                                                  \
            keep(OP_IRECV, partitions,                                                             \
                 &(struct wrapper_side){buffer, partitions * count, type, peer, tag}, comm,        \
                 *request);                                                                        \
        return error;                                                                              \
    }
DEFINE_PARTITIONED()
#ifndef RECORDER_PRELOADED /* MPICH 4.0 has no other form */
DEFINE_PARTITIONED(_c)
#endif

/* Of a started send, once: what is wrong is for MPI to refuse. */
static void mark(struct recorder_rank *me, struct recorder_request *sent, int partition,
                 const void *site)
{
    struct recorder_parts *parts = sent ? sent->parts : NULL;
    if (!parts || !parts->open || partition < 0 || (uint32_t)partition >= parts->count ||
        parts->ready[partition])
        return;
    parts->ready[partition] = true;
    if (--parts->missing)
        return;
    if (sent->taken)
        record_gap("run", 1,
                   "partitioned sends that were waited for before they were ready: that wait's "
                   "place in other orders");
    persistent_issue(me, sent, site);
}

static void mark_range(MPI_Request request, int low, int high, const void *site)
{
    struct recorder_rank *me = recorder_enter();
    struct recorder_request *sent = me ? recorder_request_find(me, request) : NULL;
    for (int i = low; sent && i <= high; i++)
        mark(me, sent, i, site);
    recorder_leave(me);
}

int MPI_Pready(int partition, MPI_Request request)
{
    mark_range(request, partition, partition, CALLER);
    return PMPI_Pready(partition, request);
}

int MPI_Pready_range(int low, int high, MPI_Request request)
{
    mark_range(request, low, high, CALLER);
    return PMPI_Pready_range(low, high, request);
}

int MPI_Pready_list(int length, int partitions[], MPI_Request request)
{
    struct recorder_rank *me = recorder_enter();
    struct recorder_request *sent = me ? recorder_request_find(me, request) : NULL;
    for (int i = 0; sent && partitions && i < length; i++)
        mark(me, sent, partitions[i], CALLER);
    recorder_leave(me);
    return PMPI_Pready_list(length, partitions, request);
}

#endif
