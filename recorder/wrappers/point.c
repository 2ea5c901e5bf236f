/* PMPI layer: sends, receives and probes. See wrappers.h. */
#include "recorder/memory.h"
#include "recorder/recorder.h"
#include "recorder/wrappers/wrappers.h"

#include <stdlib.h>

static inline __attribute__((always_inline)) struct record_op *
point(struct recorder_rank *me, enum op_kind kind, const void *buffer, int64_t count,
      MPI_Datatype type, const void *site)
{
    bool starts = kind == OP_IRECV || (kind >= OP_ISEND && kind <= OP_IRSEND);
    struct record_op *op =
        recorder_op_inline(me, kind, starts ? STATE_POSTED : STATE_BLOCKED, site);
    if (op)
        wrapper_data(me, op, buffer, count, type);
    return op;
}

/* Of a blocking call, whose operation is the current one. */
static void watch_blocking(enum op_kind kind, const void *buffer, int64_t count, MPI_Datatype type,
                           int peer)
{
    bool receives = kind == OP_RECV || kind == OP_MRECV;
    const struct recorder_side side = {buffer, count, type, receives, "buffer"};
    if (peer != MPI_PROC_NULL)
        recorder_memory->blocking(kind == OP_RECV ? "Recv" : op_kind_name((int)kind), &side, 1);
}

/* The request of a started operation; a failed start has none. */
static struct recorder_request *started(struct recorder_rank *me, struct record_op *op,
                                        const struct recorder_comm *comm, MPI_Request handle,
                                        int error)
{
    if (error != MPI_SUCCESS) {
        recorder_op_end(me, op, error);
        return NULL;
    }
    if (handle == MPI_REQUEST_NULL) /* to or from nobody on some MPIs */
        return NULL;
    return recorder_request_add(me, handle, op, comm);
}

#define BLOCKING_SENDS(X, suffix, count_type)                                                      \
    X(Send, OP_SEND, suffix, count_type)                                                           \
    X(Ssend, OP_SSEND, suffix, count_type)                                                         \
    X(Bsend, OP_BSEND, suffix, count_type)                                                         \
    X(Rsend, OP_RSEND, suffix, count_type)

/* The frequent ones are two functions each, so that without a recorder the first only jumps. */
#define DEFINE_SEND(name, kind, suffix, count_type)                                                \
    static __attribute__((noinline)) int recorded_##name##suffix(                                  \
        const void *buffer, count_type count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, \
        const void *site)                                                                          \
    {                                                                                              \
        struct recorder_rank *me = recorder_enter();                                               \
        struct record_op *op = me ? point(me, kind, buffer, count, type, site) : NULL;             \
        if (!op)                                                                                   \
            return recorder_leave(me), PMPI_##name##suffix(buffer, count, type, peer, tag, comm);  \
        recorder_watch_point(me, op, wrapper_envelope(me, op, peer, tag, comm), buffer);           \
        wrapper_sent(me, op);                                                                      \
        watch_blocking(kind, buffer, count, type, peer);                                           \
        recorder_leave(me);                                                                        \
        int error = PMPI_##name##suffix(buffer, count, type, peer, tag, comm);                     \
        recorder_reenter(me);                                                                      \
        recorder_op_end(me, op, error);                                                            \
        recorder_leave(me);                                                                        \
        return error;                                                                              \
    }                                                                                              \
    int MPI_##name##suffix(const void *buffer, count_type count, MPI_Datatype type, int peer,      \
                           int tag, MPI_Comm comm)                                                 \
    {                                                                                              \
        return recorder_maybe()                                                                    \
                   ? recorded_##name##suffix(buffer, count, type, peer, tag, comm, CALLER)         \
                   : PMPI_##name##suffix(buffer, count, type, peer, tag, comm);                    \
    }
BOTH_FORMS(BLOCKING_SENDS, DEFINE_SEND)

#define STARTED_SENDS(X, suffix, count_type)                                                       \
    X(Isend, OP_ISEND, suffix, count_type)                                                         \
    X(Issend, OP_ISSEND, suffix, count_type)                                                       \
    X(Ibsend, OP_IBSEND, suffix, count_type)                                                       \
    X(Irsend, OP_IRSEND, suffix, count_type)

#define DEFINE_ISEND(name, kind, suffix, count_type)                                               \
    int MPI_##name##suffix(const void *buffer, count_type count, MPI_Datatype type, int peer,      \
                           int tag, MPI_Comm comm, MPI_Request *request)                           \
    {                                                                                              \
        struct recorder_rank *me = recorder_enter();                                               \
        struct record_op *op = me ? point(me, kind, buffer, count, type, CALLER) : NULL;           \
        if (!op)                                                                                   \
            return recorder_leave(me),                                                             \
                   PMPI_##name##suffix(buffer, count, type, peer, tag, comm, request);             \
        const struct recorder_comm *known = wrapper_envelope(me, op, peer, tag, comm);             \
        recorder_watch_point(me, op, known, buffer);                                               \
        wrapper_sent(me, op);                                                                      \
        recorder_leave(me);                                                                        \
        int error = PMPI_##name##suffix(buffer, count, type, peer, tag, comm, request);            \
        recorder_reenter(me);                                                                      \
        struct recorder_request *pending = started(me, op, known, *request, error);                \
        if (pending)                                                                               \
            pending->checksum = recorder_checksum(op);                                             \
        recorder_leave(me);                                                                        \
        return error;                                                                              \
    }
BOTH_FORMS(STARTED_SENDS, DEFINE_ISEND)

#define DEFINE_RECV(suffix, count_type)                                                            \
    static __attribute__((noinline)) int recorded_Recv##suffix(                                    \
        void *buffer, count_type count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,       \
        MPI_Status *status, const void *site)                                                      \
    {                                                                                              \
        struct recorder_rank *me = recorder_enter();                                               \
        struct record_op *op = me ? point(me, OP_RECV, buffer, count, type, site) : NULL;          \
        if (!op)                                                                                   \
            return recorder_leave(me),                                                             \
                   PMPI_Recv##suffix(buffer, count, type, peer, tag, comm, status);                \
        const struct recorder_comm *known = wrapper_envelope(me, op, peer, tag, comm);             \
        recorder_watch_point(me, op, known, buffer);                                               \
        watch_blocking(OP_RECV, buffer, count, type, peer);                                        \
        recorder_leave(me);                                                                        \
        MPI_Status own;                                                                            \
        MPI_Status *used = status == MPI_STATUS_IGNORE ? &own : status;                            \
        int error = PMPI_Recv##suffix(buffer, count, type, peer, tag, comm, used);                 \
        recorder_reenter(me);                                                                      \
        recorder_op_end(me, op, error);                                                            \
        if (error == MPI_SUCCESS || op->error == MPI_ERR_TRUNCATE)                                 \
            recorder_matched(known, op, used);                                                     \
        recorder_leave(me);                                                                        \
        return error;                                                                              \
    }                                                                                              \
    int MPI_Recv##suffix(void *buffer, count_type count, MPI_Datatype type, int peer, int tag,     \
                         MPI_Comm comm, MPI_Status *status)                                        \
    {                                                                                              \
        return recorder_maybe()                                                                    \
                   ? recorded_Recv##suffix(buffer, count, type, peer, tag, comm, status, CALLER)   \
                   : PMPI_Recv##suffix(buffer, count, type, peer, tag, comm, status);              \
    }                                                                                              \
    int MPI_Irecv##suffix(void *buffer, count_type count, MPI_Datatype type, int peer, int tag,    \
                          MPI_Comm comm, MPI_Request *request)                                     \
    {                                                                                              \
        struct recorder_rank *me = recorder_enter();                                               \
        struct record_op *op = me ? point(me, OP_IRECV, buffer, count, type, CALLER) : NULL;       \
        if (!op)                                                                                   \
            return recorder_leave(me),                                                             \
                   PMPI_Irecv##suffix(buffer, count, type, peer, tag, comm, request);              \
        const struct recorder_comm *known = wrapper_envelope(me, op, peer, tag, comm);             \
        recorder_watch_point(me, op, known, buffer);                                               \
        recorder_leave(me);                                                                        \
        int error = PMPI_Irecv##suffix(buffer, count, type, peer, tag, comm, request);             \
        recorder_reenter(me);                                                                      \
        started(me, op, known, *request, error);                                                   \
        recorder_leave(me);                                                                        \
        return error;                                                                              \
    }
BOTH_FORMS(NO_NAME, DEFINE_RECV)

/* Sendrecv is Isend, Irecv and Waitall of the two, all at one place. */
struct pair {
    struct record_op *send, *receive, *wait;
    const struct recorder_comm *comm;
    uint32_t number; /* of the wait; of the send, before there is one */
    bool replaces;   /* one buffer for both, by intention */
    uint16_t flags;  /* of all three */
};

/* The two starts, the receive right behind the send: a communicator or a type that is not known yet is asked for outside the recorder, where
 * other threads may come in, and so is before both. */
static inline __attribute__((always_inline)) bool
pair_start(struct recorder_rank *me, struct pair *pair, const struct wrapper_side *send,
           const struct wrapper_side *receive, MPI_Comm comm, const void *site)
{
    recorder_comm(me, comm);
    recorder_type(me, send->type);
    recorder_type(me, receive->type);
    pair->send = point(me, OP_ISEND, send->buffer, send->count, send->type, site);
    if (!pair->send)
        return false;
    pair->number = me->self->op;
    recorder_watch_point(me, pair->send,
                         wrapper_envelope(me, pair->send, send->peer, send->tag, comm),
                         send->buffer ? send->buffer : receive->buffer);
    wrapper_sent(me, pair->send);
    pair->receive = point(me, OP_IRECV, receive->buffer, receive->count, receive->type, site);
    if (!pair->receive)
        return false;
    pair->comm = wrapper_envelope(me, pair->receive, receive->peer, receive->tag, comm);
    recorder_watch_point(me, pair->receive, pair->comm, receive->buffer);
    pair->flags = (uint16_t)(OP_COMPOUND | (pair->replaces ? OP_IN_PLACE : 0));
    pair->send->flags |= pair->flags;
    pair->receive->flags |= pair->flags;
    return true;
}

static inline __attribute__((always_inline)) bool
pair_begin(struct recorder_rank *me, struct pair *pair, const struct wrapper_side *send,
           const struct wrapper_side *receive, MPI_Comm comm, const void *site)
{
    if (!pair_start(me, pair, send, receive, comm, site))
        return false;
    uint32_t first = pair->number;
    pair->wait = recorder_op_inline(me, OP_WAITALL, STATE_BLOCKED, site);
    if (!pair->wait)
        return false;
    pair->wait->flags |= pair->flags;
    pair->number = me->self->op;
    recorder_waits(me, pair->number, first);
    bool nothing = send->peer == MPI_PROC_NULL, arrives = receive->peer != MPI_PROC_NULL;
    const struct recorder_side sides[] = {
        {send->buffer, nothing ? 0 : send->count, send->type, false, "send buffer"},
        {receive->buffer, arrives || (pair->replaces && !nothing) ? receive->count : 0,
         receive->type, arrives, pair->replaces ? "buffer" : "receive buffer"}};
    recorder_leave(me); /* the machine takes its own lock, and then the recorder's */
    recorder_memory->blocking(pair->replaces ? "Sendrecv_replace" : "Sendrecv",
                              sides + pair->replaces, 2 - (size_t)pair->replaces);
    recorder_reenter(me);
    return true;
}

static void pair_complete(struct recorder_rank *me, const struct pair *pair)
{
    recorder_ahead(me, pair->receive);
    recorder_ahead(me, pair->send);
    recorder_ahead(me, pair->wait);
    uint64_t end = recorder_steps(me) + 1;
    pair->receive->state = pair->send->state = pair->wait->state = STATE_COMPLETE;
    pair->receive->end = pair->send->end = pair->wait->end = end;
    recorder_memory->heard();
}

static void pair_end(struct recorder_rank *me, const struct pair *pair, int error,
                     const MPI_Status *status)
{
    recorder_reenter(me);
    if (error == MPI_SUCCESS && !me->watch && me->level == RECORD_LEVEL_OPS) {
        pair_complete(me, pair);
    } else {
        recorder_op_end(me, pair->receive, error);
        /* What arrived was too long: the message sent is not the one that was refused. */
        bool sent = pair->receive->error == MPI_ERR_TRUNCATE;
        recorder_op_end(me, pair->send, sent ? MPI_SUCCESS : error);
        recorder_op_end(me, pair->wait, error);
    }
    pair->send->request = pair->receive->request = pair->number;
    if (error == MPI_SUCCESS || pair->receive->error == MPI_ERR_TRUNCATE)
        recorder_matched(pair->comm, pair->receive, status);
    recorder_leave(me);
}

#define DEFINE_SENDRECV(suffix, count_type)                                                        \
    int MPI_Sendrecv##suffix(const void *send, count_type send_count, MPI_Datatype send_type,      \
                             int to, int send_tag, void *receive, count_type receive_count,        \
                             MPI_Datatype receive_type, int from, int receive_tag, MPI_Comm comm,  \
                             MPI_Status *status)                                                   \
    {                                                                                              \
        struct recorder_rank *me = recorder_enter();                                               \
        struct pair pair = {0};                                                                    \
        struct wrapper_side there = {send, send_count, send_type, to, send_tag};                   \
        struct wrapper_side here = {receive, receive_count, receive_type, from, receive_tag};      \
        bool recorded = me && pair_begin(me, &pair, &there, &here, comm, CALLER);                  \
        recorder_leave(me);                                                                        \
        if (!recorded)                                                                             \
            return PMPI_Sendrecv##suffix(send, send_count, send_type, to, send_tag, receive,       \
                                         receive_count, receive_type, from, receive_tag, comm,     \
                                         status);                                                  \
        MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;                       \
        int error =                                                                                \
            PMPI_Sendrecv##suffix(send, send_count, send_type, to, send_tag, receive,              \
                                  receive_count, receive_type, from, receive_tag, comm, used);     \
        pair_end(me, &pair, error, used);                                                          \
        return error;                                                                              \
    }                                                                                              \
    int MPI_Sendrecv_replace##suffix(void *buffer, count_type count, MPI_Datatype type, int to,    \
                                     int send_tag, int from, int receive_tag, MPI_Comm comm,       \
                                     MPI_Status *status)                                           \
    {                                                                                              \
        struct recorder_rank *me = recorder_enter();                                               \
        struct pair pair = {.replaces = true};                                                     \
        struct wrapper_side there = {NULL, count, type, to, send_tag};                             \
        struct wrapper_side here = {buffer, count, type, from, receive_tag};                       \
        bool recorded = me && pair_begin(me, &pair, &there, &here, comm, CALLER);                  \
        recorder_leave(me);                                                                        \
        if (!recorded)                                                                             \
            return PMPI_Sendrecv_replace##suffix(buffer, count, type, to, send_tag, from,          \
                                                 receive_tag, comm, status);                       \
        MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;                       \
        int error = PMPI_Sendrecv_replace##suffix(buffer, count, type, to, send_tag, from,         \
                                                  receive_tag, comm, used);                        \
        pair_end(me, &pair, error, used);                                                          \
        return error;                                                                              \
    }
BOTH_FORMS(NO_NAME, DEFINE_SENDRECV)

#if MPI_VERSION >= 4
/* Isendrecv is the two starts; its one request completes both. */
static bool pair_start_later(struct recorder_rank *me, struct pair *pair,
                             const struct wrapper_side *send, const struct wrapper_side *receive,
                             MPI_Comm comm, const void *site)
{
    if (!pair_start(me, pair, send, receive, comm, site))
        return false;
    pair->send->flags |= OP_NONBLOCKING;
    pair->receive->flags |= OP_NONBLOCKING;
    return true;
}

static void pair_started(struct recorder_rank *me, const struct pair *pair, MPI_Request handle,
                         int error)
{
    recorder_reenter(me);
    if (error != MPI_SUCCESS)
        recorder_op_end(me, pair->receive, error);
    struct recorder_request *pending = started(me, pair->send, pair->comm, handle, error);
    if (pending) {
        pending->index = pair->number;
        pending->second = pair->receive;
        pending->checksum = recorder_checksum(pair->send);
    }
    recorder_leave(me);
}

#define DEFINE_ISENDRECV(suffix, count_type)                                                       \
    int MPI_Isendrecv##suffix(const void *send, count_type send_count, MPI_Datatype send_type,     \
                              int to, int send_tag, void *receive, count_type receive_count,       \
                              MPI_Datatype receive_type, int from, int receive_tag, MPI_Comm comm, \
                              MPI_Request *request)                                                \
    {                                                                                              \
        struct recorder_rank *me = recorder_enter();                                               \
        struct pair pair = {0};                                                                    \
        struct wrapper_side there = {send, send_count, send_type, to, send_tag};                   \
        struct wrapper_side here = {receive, receive_count, receive_type, from, receive_tag};      \
        bool recorded = me && pair_start_later(me, &pair, &there, &here, comm, CALLER);            \
        recorder_leave(me);                                                                        \
        int error =                                                                                \
            PMPI_Isendrecv##suffix(send, send_count, send_type, to, send_tag, receive,             \
                                   receive_count, receive_type, from, receive_tag, comm, request); \
        if (recorded)                                                                              \
            pair_started(me, &pair, error ? MPI_REQUEST_NULL : *request, error);                   \
        return error;                                                                              \
    }                                                                                              \
    int MPI_Isendrecv_replace##suffix(void *buffer, count_type count, MPI_Datatype type, int to,   \
                                      int send_tag, int from, int receive_tag, MPI_Comm comm,      \
                                      MPI_Request *request)                                        \
    {                                                                                              \
        struct recorder_rank *me = recorder_enter();                                               \
        struct pair pair = {.replaces = true};                                                     \
        struct wrapper_side there = {NULL, count, type, to, send_tag};                             \
        struct wrapper_side here = {buffer, count, type, from, receive_tag};                       \
        bool recorded = me && pair_start_later(me, &pair, &there, &here, comm, CALLER);            \
        recorder_leave(me);                                                                        \
        int error = PMPI_Isendrecv_replace##suffix(buffer, count, type, to, send_tag, from,        \
                                                   receive_tag, comm, request);                    \
        if (recorded)                                                                              \
            pair_started(me, &pair, error ? MPI_REQUEST_NULL : *request, error);                   \
        return error;                                                                              \
    }
BOTH_FORMS(NO_NAME, DEFINE_ISENDRECV)
#endif

static struct record_op *probe(struct recorder_rank *me, enum op_kind kind, int peer, int tag,
                               MPI_Comm comm, const void *site)
{
    struct record_op *op = recorder_op(me, kind, STATE_BLOCKED, site);
    if (op)
        wrapper_envelope(me, op, peer, tag, comm);
    return op;
}

int MPI_Probe(int peer, int tag, MPI_Comm comm, MPI_Status *status)
{
    struct recorder_rank *me = recorder_enter();
    struct record_op *op = me ? probe(me, OP_PROBE, peer, tag, comm, CALLER) : NULL;
    recorder_leave(me);
    if (!op)
        return PMPI_Probe(peer, tag, comm, status);
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    int error = PMPI_Probe(peer, tag, comm, used);
    recorder_reenter(me);
    recorder_op_end(me, op, error);
    if (error == MPI_SUCCESS)
        recorder_matched(recorder_comm(me, comm), op, used);
    recorder_leave(me);
    return error;
}

/* Unsuccessful polls are counted; the last is kept in one place. */
static void polled_probe(struct recorder_rank *me, enum op_kind kind, int peer, int tag,
                         MPI_Comm comm, const void *site)
{
    const struct recorder_comm *known = recorder_comm(me, comm);
    me->info->polls++;
    me->info->poll = (struct record_poll){.ops = me->ops,
                                          .kind = kind,
                                          .comm = known ? known->number : 0,
                                          .request = UINT32_MAX,
                                          .peer = recorder_world_rank(known, peer),
                                          .tag = tag == MPI_ANY_TAG ? TRACE_ANY : tag,
                                          .site = recorder_site(me, site)};
}

int MPI_Iprobe(int peer, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    struct recorder_rank *me = recorder_enter(); /* in its turn */
    recorder_leave(me);
    if (!me)
        return PMPI_Iprobe(peer, tag, comm, flag, status);
    const void *site = CALLER;
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    int error = PMPI_Iprobe(peer, tag, comm, flag, used);
    recorder_reenter(me);
    struct record_op *op = NULL;
    if (error == MPI_SUCCESS && !*flag)
        polled_probe(me, OP_IPROBE, peer, tag, comm, site);
    else
        op = probe(me, OP_IPROBE, peer, tag, comm, site);
    if (op) {
        recorder_op_end(me, op, error);
        if (error == MPI_SUCCESS)
            recorder_matched(recorder_comm(me, comm), op, used);
    }
    recorder_leave(me);
    return error;
}

/* The probe is remembered under its message until the receive of that message names it. */
static void matched_probe(struct recorder_rank *me, struct record_op *op, MPI_Comm comm, int error,
                          const MPI_Status *status, MPI_Message message)
{
    recorder_op_end(me, op, error);
    if (error != MPI_SUCCESS)
        return;
    const struct recorder_comm *known = recorder_comm(me, comm);
    recorder_matched(known, op, status);
    if (message == MPI_MESSAGE_NO_PROC)
        return;
    struct recorder_request *kept = recorder_request_add(me, MPI_REQUEST_NULL, op, known);
    if (kept) { /* under the message's key instead of a request's */
        handle_map_remove(&me->requests, HANDLE_KEY(MPI_REQUEST_NULL));
        if (!handle_map_add(&me->requests, HANDLE_KEY(message), kept))
            kept->active = false;
    }
}

int MPI_Mprobe(int peer, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    struct recorder_rank *me = recorder_enter();
    struct record_op *op = me ? probe(me, OP_MPROBE, peer, tag, comm, CALLER) : NULL;
    recorder_leave(me);
    if (!op)
        return PMPI_Mprobe(peer, tag, comm, message, status);
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    int error = PMPI_Mprobe(peer, tag, comm, message, used);
    recorder_reenter(me);
    matched_probe(me, op, comm, error, used, *message);
    recorder_leave(me);
    return error;
}

int MPI_Improbe(int peer, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                MPI_Status *status)
{
    struct recorder_rank *me = recorder_enter(); /* in its turn */
    recorder_leave(me);
    if (!me)
        return PMPI_Improbe(peer, tag, comm, flag, message, status);
    const void *site = CALLER;
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    int error = PMPI_Improbe(peer, tag, comm, flag, message, used);
    recorder_reenter(me);
    struct record_op *op = NULL;
    if (error == MPI_SUCCESS && !*flag)
        polled_probe(me, OP_IMPROBE, peer, tag, comm, site);
    else
        op = probe(me, OP_IMPROBE, peer, tag, comm, site);
    if (op)
        matched_probe(me, op, comm, error, used, *message);
    recorder_leave(me);
    return error;
}

static struct record_op *from_message(struct recorder_rank *me, enum op_kind kind, void *buffer,
                                      int64_t count, MPI_Datatype type, MPI_Message message,
                                      const struct recorder_comm **comm, const void *site)
{
    struct record_op *op =
        recorder_op(me, kind, kind == OP_MRECV ? STATE_BLOCKED : STATE_POSTED, site);
    if (!op)
        return NULL;
    wrapper_data(me, op, buffer, count, type);
    struct recorder_request *probe = recorder_message_find(me, message);
    *comm = probe ? probe->comm : NULL;
    if (!probe)
        return op;
    op->request = probe->index;
    op->comm = probe->op->comm;
    op->peer = probe->op->peer;
    op->tag = probe->op->tag;
    op->peer_matched = probe->op->peer_matched;
    op->tag_matched = probe->op->tag_matched;
    probe->op->request = me->self->op;
    recorder_request_remove(me, HANDLE_KEY(message), probe);
    return op;
}

#define DEFINE_MRECV(suffix, count_type)                                                           \
    int MPI_Mrecv##suffix(void *buffer, count_type count, MPI_Datatype type, MPI_Message *message, \
                          MPI_Status *status)                                                      \
    {                                                                                              \
        struct recorder_rank *me = recorder_enter();                                               \
        const struct recorder_comm *comm = NULL;                                                   \
        struct record_op *op =                                                                     \
            me ? from_message(me, OP_MRECV, buffer, count, type, *message, &comm, CALLER) : NULL;  \
        recorder_leave(me);                                                                        \
        if (!op)                                                                                   \
            return PMPI_Mrecv##suffix(buffer, count, type, message, status);                       \
        watch_blocking(OP_MRECV, buffer, count, type,                                              \
                       *message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : 0);                       \
        MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;                       \
        int error = PMPI_Mrecv##suffix(buffer, count, type, message, used);                        \
        recorder_reenter(me);                                                                      \
        recorder_op_end(me, op, error);                                                            \
        if (error == MPI_SUCCESS)                                                                  \
            recorder_matched(comm, op, used);                                                      \
        recorder_leave(me);                                                                        \
        return error;                                                                              \
    }                                                                                              \
    int MPI_Imrecv##suffix(void *buffer, count_type count, MPI_Datatype type,                      \
                           MPI_Message *message, MPI_Request *request)                             \
    {                                                                                              \
        struct recorder_rank *me = recorder_enter();                                               \
        const struct recorder_comm *comm = NULL;                                                   \
        struct record_op *op =                                                                     \
            me ? from_message(me, OP_IMRECV, buffer, count, type, *message, &comm, CALLER) : NULL; \
        recorder_leave(me);                                                                        \
        int error = PMPI_Imrecv##suffix(buffer, count, type, message, request);                    \
        if (op) {                                                                                  \
            recorder_reenter(me);                                                                  \
            started(me, op, comm, *request, error);                                                \
            recorder_leave(me);                                                                    \
        }                                                                                          \
        return error;                                                                              \
    }
BOTH_FORMS(NO_NAME, DEFINE_MRECV)
