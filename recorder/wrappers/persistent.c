/* PMPI layer: persistent sends and receives, what starts, cancels and frees them. *_init keeps a
 * pattern, Start issues it. */
#include "recorder/wrappers/persistent.h"

#include "recorder/recorder.h"

#include <stdlib.h>
#include <string.h>

struct recorder_request *persistent_keep(struct recorder_rank *me, enum op_kind kind,
                                         const struct wrapper_side *side, MPI_Comm comm,
                                         MPI_Request request)
{
    struct record_op *pattern = calloc(1, sizeof *pattern);
    if (!pattern)
        return NULL;
    pattern->head.small = (uint8_t)kind;
    wrapper_data(me, pattern, side->buffer, side->count, side->type);
    const struct recorder_comm *known = wrapper_envelope(me, pattern, side->peer, side->tag, comm);
    struct recorder_request *kept = recorder_request_add(me, request, NULL, known);
    if (kept)
        kept->pattern = pattern;
    else
        free(pattern);
    return kept;
}

static void keep_pattern(enum op_kind kind, const struct wrapper_side *side, MPI_Comm comm,
                         MPI_Request request)
{
    struct recorder_rank *me = recorder_enter();
    if (me)
        persistent_keep(me, kind, side, comm, request);
    recorder_leave(me);
}

#define PERSISTENT_SENDS(X, suffix, count_type)                                                    \
    X(Send, OP_ISEND, suffix, count_type)                                                          \
    X(Ssend, OP_ISSEND, suffix, count_type)                                                        \
    X(Bsend, OP_IBSEND, suffix, count_type)                                                        \
    X(Rsend, OP_IRSEND, suffix, count_type)

#define DEFINE_SEND_INIT(name, kind, suffix, count_type)                                           \
    int MPI_##name##_init##suffix(const void *buffer, count_type count, MPI_Datatype type,         \
                                  int peer, int tag, MPI_Comm comm, MPI_Request *request)          \
    {                                                                                              \
        int error = PMPI_##name##_init##suffix(buffer, count, type, peer, tag, comm, request);     \
        if (error == MPI_SUCCESS)                                                                  \
            keep_pattern(kind, &(struct wrapper_side){buffer, count, type, peer, tag}, comm,       \
                         *request);                                                                \
        return error;                                                                              \
    }
BOTH_FORMS(PERSISTENT_SENDS, DEFINE_SEND_INIT)

#define DEFINE_RECV_INIT(suffix, count_type)                                                       \
    int MPI_Recv_init##suffix(void *buffer, count_type count, MPI_Datatype type, int peer,         \
                              int tag, MPI_Comm comm, MPI_Request *request)                        \
    {                                                                                              \
        int error = PMPI_Recv_init##suffix(buffer, count, type, peer, tag, comm, request);         \
        if (error == MPI_SUCCESS)                                                                  \
            keep_pattern(OP_IRECV, &(struct wrapper_side){buffer, count, type, peer, tag}, comm,   \
                         *request);                                                                \
        return error;                                                                              \
    }
BOTH_FORMS(NO_NAME, DEFINE_RECV_INIT)

void persistent_issue(struct recorder_rank *me, struct recorder_request *request, const void *site)
{
    const struct record_op *pattern = request->pattern;
    struct record_op *op = recorder_op(me, pattern->head.small, STATE_POSTED, site);
    if (!op)
        return;
    op->flags |= (uint16_t)(pattern->flags | OP_PERSISTENT);
    op->comm = pattern->comm;
    op->peer = pattern->peer;
    op->tag = pattern->tag;
    op->count = pattern->count;
    op->type = pattern->type;
    op->signature = pattern->signature;
    op->reduce_op = pattern->reduce_op;
    op->unit = pattern->unit;
    op->buffer = pattern->buffer;
    op->extent = pattern->extent;
    if (op_kind_class(pattern->head.small) == CLASS_COLLECTIVE)
        op->comm_seq = recorder_collective_number(me, pattern->comm);
    else if (op_kind_class(pattern->head.small) == CLASS_SEND)
        wrapper_sent(me, op);
    request->op = op;
    request->index = me->self->op;
    request->active = true;
    request->thread = me->self->number;
    request->checksum =
        op_kind_class(pattern->head.small) == CLASS_SEND ? recorder_checksum(op) : 0;
    if (op_kind_class(pattern->head.small) == CLASS_COLLECTIVE)
        persistent_said(me, op, request);
    else
        recorder_watch_point(me, op, request->comm, (const void *)(uintptr_t)op->buffer);
}

/* A partitioned send is recorded when all its partitions are ready. */
static void start(struct recorder_rank *me, struct recorder_request *request, const void *site)
{
    struct recorder_parts *parts = request->parts;
    if (parts) {
        memset(parts->ready, 0, parts->count * sizeof *parts->ready);
        parts->missing = parts->count;
        parts->open = true;
    }
    if (!parts || !parts->missing)
        persistent_issue(me, request, site);
}

/* One that is started again before it is complete. */
static bool is_refused(const struct recorder_request *known, const void *caller)
{
    if (!recorder_request_is_open(known))
        return false;
    record_refusal("L010", caller, "a persistent %s was started while active",
                   op_kind_name(known->pattern->head.small));
    return true;
}

/* MPI refuses a start as well, of a send that has no room. */
static void not_begun(struct recorder_rank *me, struct recorder_request *request, int error)
{
    recorder_reenter(me);
    if (request->active)
        recorder_op_end(me, request->op, error);
    request->active = false;
    if (request->parts)
        request->parts->open = false;
    recorder_leave(me);
}

/* One of those that a call starts, of several by itself: those behind one that is refused are not started. */
static int start_one(MPI_Request *request, bool several, const void *site)
{
    struct recorder_rank *me = recorder_enter();
    struct recorder_request *known = me ? recorder_request_find(me, *request) : NULL;
    bool starts = known && known->pattern && !is_refused(known, site);
    if (starts)
        start(me, known, site);
    recorder_leave(me);
    int error = several ? PMPI_Startall(1, request) : PMPI_Start(request);
    if (error != MPI_SUCCESS && starts)
        not_begun(me, known, error);
    return error;
}

int MPI_Start(MPI_Request *request)
{
    return start_one(request, false, CALLER);
}

int MPI_Startall(int count, MPI_Request *requests)
{
    int error = count > 0 ? MPI_SUCCESS : PMPI_Startall(count, requests);
    for (int i = 0; i < count && error == MPI_SUCCESS; i++)
        error = start_one(&requests[i], true, CALLER);
    return error;
}

int MPI_Cancel(MPI_Request *request)
{
    struct recorder_rank *me = recorder_enter();
    struct recorder_request *known = me ? recorder_request_find(me, *request) : NULL;
    struct record_op *op = me ? recorder_op(me, OP_CANCEL, STATE_BLOCKED, CALLER) : NULL;
    if (known && known->op)
        known->op->flags |= OP_CANCEL_ASKED;
    if (op && known)
        op->request = known->index;
    recorder_leave(me);
    int error = PMPI_Cancel(request);
    if (op)
        wrapper_end(me, op, error);
    return error;
}

int MPI_Request_free(MPI_Request *request)
{
    struct recorder_rank *me = recorder_enter();
    if (!me)
        return PMPI_Request_free(request);
    uint64_t key = HANDLE_KEY(*request);
    struct recorder_request *known = recorder_request_find(me, *request);
    struct record_op *op = recorder_op(me, OP_REQUEST_FREE, STATE_BLOCKED, CALLER);
    if (op && known && known->active)
        op->request = known->index;
    if (known)
        known->taken = true;
    recorder_leave(me);
    int error = PMPI_Request_free(request);
    recorder_reenter(me);
    if (op)
        recorder_op_end(me, op, error);
    if (known && error == MPI_SUCCESS)
        recorder_request_remove(me, key, known);
    else if (known)
        known->taken = false;
    recorder_leave(me);
    return error;
}
