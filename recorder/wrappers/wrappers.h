/* What all wrappers share. A wrapper is a strong MPI_X: without a recorder for the calling rank it
 * is PMPI_X.
 *
 * Each function exists in its int form and, from MPI 4 on, in its MPI_Count form ("_c"): a list of
 * functions is a macro with the parameters (X, suffix, count type), expanded by BOTH_FORMS.
 *
 * Room: sees recorder. Seen by programs. */
#ifndef RECORDER_WRAPPERS_H
#define RECORDER_WRAPPERS_H

#include "recorder/rank.h"

#if MPI_VERSION >= 4
#define BOTH_FORMS(LIST, X) LIST(X, , int) LIST(X, _c, MPI_Count)
#else
#define BOTH_FORMS(LIST, X) LIST(X, , int)
#endif

/* A list of one function, whose name its definition has. */
#define NO_NAME(X, suffix, count_type) X(suffix, count_type)

#define CALLER __builtin_return_address(0)

/* Count, type and buffer of an operation, for point to point and collectives alike. */
static inline void wrapper_data(struct recorder_rank *me, struct record_op *op, const void *buffer,
                                int64_t count, MPI_Datatype handle)
{
    const struct recorder_type *type = recorder_type(me, handle);
    op->type = type->basic;
    op->signature = type->signature;
    op->unit = type->unit;
    op->count = count * type->elements;
    op->buffer = (uint64_t)(uintptr_t)buffer + (uint64_t)type->lower;
    op->extent = (uint64_t)(count * type->extent);
    if (buffer == MPI_IN_PLACE) {
        op->flags |= OP_IN_PLACE;
        op->buffer = 0;
        op->extent = 0;
    } else if (buffer == NULL) {
        op->buffer = 0;
    }
}

static inline void wrapper_comm(struct record_op *op, const struct recorder_comm *comm)
{
    op->comm = comm ? comm->number : 0;
    if (comm && comm->size != comm->local_size)
        op->flags |= OP_INTERCOMM;
}

/* A call of all members of a communicator; NULL where nothing is recorded. */
static inline struct record_op *wrapper_collective(struct recorder_rank *me, enum op_kind kind,
                                                   MPI_Comm handle, const void *site)
{
    struct recorder_comm *comm = recorder_comm(me, handle);
    struct record_op *op = recorder_op(me, kind, STATE_BLOCKED, site);
    if (!op)
        return NULL;
    wrapper_comm(op, comm);
    if (comm)
        op->comm_seq = comm->collectives++;
    return op;
}

/* Between whom: the communicator, the other rank, the tag. */
static inline const struct recorder_comm *
wrapper_envelope(struct recorder_rank *me, struct record_op *op, int peer, int tag, MPI_Comm handle)
{
    const struct recorder_comm *comm = recorder_comm(me, handle);
    wrapper_comm(op, comm);
    op->peer = recorder_world_rank(comm, peer);
    op->tag = tag == MPI_ANY_TAG ? TRACE_ANY : tag;
    return comm;
}

/* What a send or receive names. */
struct wrapper_side {
    const void *buffer;
    int64_t count;
    MPI_Datatype type;
    int peer, tag;
};

/* Of an operation whose call returned, in the recorder for this only. */
static inline void wrapper_end(struct recorder_rank *me, struct record_op *op, int error)
{
    recorder_reenter(me);
    recorder_op_end(me, op, error);
    recorder_leave(me);
}

/* Elements times bytes, for a rank's totals. */
static inline void wrapper_sent(struct recorder_rank *me, const struct record_op *op)
{
    me->info->messages_sent++;
    me->info->bytes_sent += (uint64_t)op->count * op->unit;
}

#endif
