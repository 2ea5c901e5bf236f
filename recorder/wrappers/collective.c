/* PMPI layer: collectives in their blocking, nonblocking and persistent forms, from one row each.
 * See wrappers.h.
 *
 * `count` is what one rank contributes to one other (so that it must agree between ranks), for
 * v-forms the sum; the counts of every peer are kept beside it up to COUNTS_MAX members. With
 * MPI_IN_PLACE the count is that of the other side. */
#include "recorder/wrappers/persistent.h"

#include <stdlib.h>
#include <string.h>

enum { COUNTS_MAX = 4096 };

/* Counts per peer in either width. */
struct counts {
    const int *narrow;
    const MPI_Count *wide;
};

static inline struct counts counts_int(const int *counts)
{
    return (struct counts){.narrow = counts};
}

static inline struct counts counts_MPI_Count(const MPI_Count *counts)
{
    return (struct counts){.wide = counts};
}

/* Displacements likewise. */
static inline struct counts places_int(const int *places)
{
    return (struct counts){.narrow = places};
}

static inline struct counts places_MPI_Count(const MPI_Aint *places)
{
    _Static_assert(sizeof(MPI_Aint) == sizeof(MPI_Count), "both are read as one");
    return (struct counts){.wide = (const MPI_Count *)(const void *)places};
}

/* What a call says, whichever collective it is; absent parts are zero. */
struct call {
    enum op_kind kind;
    MPI_Comm comm;
    int root;
    bool rooted, has_reduction;
    MPI_Op reduction;
    const void *send;
    int64_t send_count;
    MPI_Datatype send_type;
    bool has_send, has_receive; /* the side has a type */
    void *receive;
    int64_t receive_count;
    MPI_Datatype receive_type;
    struct counts send_counts, receive_counts, send_places, receive_places;
    const MPI_Datatype *send_types, *receive_types;
};

static bool given(struct counts counts)
{
    return counts.narrow || counts.wide;
}

static int64_t count_at(struct counts counts, uint32_t i)
{
    return counts.narrow ? counts.narrow[i] : (int64_t)counts.wide[i];
}

static bool at_root(const struct call *call, const struct recorder_comm *comm)
{
    return call->root == MPI_ROOT || (call->root == comm->rank && comm->local_size == comm->size);
}

static bool rooted_at_me_only(enum op_kind kind, bool receive)
{
    return receive ? kind == OP_GATHER || kind == OP_GATHERV || kind == OP_REDUCE
                   : kind == OP_SCATTER || kind == OP_SCATTERV;
}

/* Peers a rank gives counts for: all, the other side of an intercommunicator, or its neighbours. */
static uint32_t peers(struct recorder_rank *me, const struct call *call,
                      const struct recorder_comm *comm, bool receive)
{
    if (call->kind >= OP_NEIGHBOR_ALLGATHER && call->kind <= OP_NEIGHBOR_ALLTOALLW)
        return recorder_neighbours(me, call->comm, receive);
    if (comm->local_size == comm->size)
        return comm->size;
    return call->kind == OP_REDUCE_SCATTER ? comm->local_size : comm->size - comm->local_size;
}

/* Sum over the peers, in basic elements; each by itself goes to `values`, unless that is NULL. */
static int64_t sum_counts(struct recorder_rank *me, const struct call *call, uint32_t peers,
                          bool receive, int64_t *values)
{
    struct counts counts = receive ? call->receive_counts : call->send_counts;
    const MPI_Datatype *types = receive ? call->receive_types : call->send_types;
    MPI_Datatype type = receive ? call->receive_type : call->send_type;
    int64_t sum = 0;
    for (uint32_t i = 0; i < peers; i++) {
        int64_t elements = recorder_type(me, types ? types[i] : type)->elements;
        int64_t value = count_at(counts, i) * elements;
        sum += value;
        if (values)
            values[i] = value;
    }
    return sum;
}

/* Counts of peers that a call gives, where they are significant: sent, and received. */
struct counted {
    uint32_t kept[2]; /* of each side so many, few enough to be written down; 0: none */
    int64_t values[]; /* those sent, then those received */
};

/* NULL: none are given, or there is no memory. Their sum is the operation's count. */
static struct counted *describe_counts(struct recorder_rank *me, struct record_op *op,
                                       const struct call *call, const struct recorder_comm *comm)
{
    bool there[2] = {given(call->send_counts) && call->send != MPI_IN_PLACE &&
                         (!rooted_at_me_only(call->kind, false) || at_root(call, comm)),
                     given(call->receive_counts) &&
                         (!rooted_at_me_only(call->kind, true) || at_root(call, comm))};
    uint32_t all[2], kept[2];
    if (!there[0] && !there[1])
        return NULL;
    for (int receive = 0; receive < 2; receive++) {
        all[receive] = peers(me, call, comm, receive);
        kept[receive] = there[receive] && all[receive] <= COUNTS_MAX ? all[receive] : 0;
    }
    struct counted *counted =
        malloc(sizeof *counted + ((size_t)kept[0] + kept[1]) * sizeof *counted->values);
    for (int receive = 1; receive >= 0 && counted; receive--) {
        int64_t *values = kept[receive] ? counted->values + (receive ? kept[0] : 0) : NULL;
        counted->kept[receive] = kept[receive];
        if (there[receive])
            op->count = sum_counts(me, call, all[receive], receive, values);
    }
    return counted;
}

static void write_counts(struct recorder_rank *me, const struct counted *counted)
{
    for (int receive = 0; receive < 2; receive++)
        if (counted && counted->kept[receive])
            recorder_counts(me, me->self->op, receive, counted->kept[receive],
                            counted->values + (receive ? counted->kept[0] : 0));
}

/* The side whose count describes what this rank moves. */
static void describe_data(struct recorder_rank *me, struct record_op *op, const struct call *call,
                          const struct recorder_comm *comm)
{
    bool scatters = call->kind == OP_SCATTER || call->kind == OP_SCATTERV;
    bool in_place = call->send == MPI_IN_PLACE || call->receive == MPI_IN_PLACE;
    bool use_receive = call->has_receive &&
                       (scatters ? call->receive != MPI_IN_PLACE : call->send == MPI_IN_PLACE);
    if (use_receive)
        wrapper_data(me, op, call->receive, call->receive_count, call->receive_type);
    else if (call->has_send)
        wrapper_data(me, op, call->send, call->send_count, call->send_type);
    if (call->receive_types) { /* types differ by peer: only the counts tell */
        op->type = op->signature = 0;
        op->unit = 1;
    }
    if (in_place)
        op->flags |= OP_IN_PLACE;
    bool receiving = call->receive && call->receive != MPI_IN_PLACE &&
                     (!rooted_at_me_only(call->kind, true) || (comm && at_root(call, comm)));
    if (receiving)
        op->buffer = (uint64_t)(uintptr_t)call->receive;
}

static void describe(struct recorder_rank *me, struct record_op *op, const struct call *call,
                     const struct recorder_comm *comm)
{
    wrapper_comm(op, comm);
    describe_data(me, op, call, comm);
    if (call->root == MPI_ROOT)
        op->peer = (int32_t)me->rank;
    else if (call->rooted)
        op->peer = recorder_world_rank(comm, call->root);
    if (call->has_reduction)
        op->reduce_op = recorder_reduction_number(call->reduction);
}

/* ---- for whom watches: the numbers that cross, see watch.h ---- */

/* How many blocks a side has that are as long as its count says: one for everybody, or for each
 * neighbour, or one. */
static uint32_t blocks_of(struct recorder_rank *me, const struct call *call,
                          const struct recorder_comm *comm, bool receive)
{
    enum op_kind kind = call->kind;
    if (kind == OP_NEIGHBOR_ALLTOALL || (kind == OP_NEIGHBOR_ALLGATHER && receive))
        return peers(me, call, comm, receive);
    bool each = receive
                    ? kind == OP_GATHER || kind == OP_ALLGATHER || kind == OP_ALLTOALL
                    : kind == OP_SCATTER || kind == OP_ALLTOALL || kind == OP_REDUCE_SCATTER_BLOCK;
    return each ? comm->size : 1;
}

static void watch_side(struct recorder_rank *me, const struct record_op *op,
                       const struct call *call, const struct recorder_comm *comm, bool receive)
{
    struct counts counts = receive ? call->receive_counts : call->send_counts;
    struct counts places = receive ? call->receive_places : call->send_places;
    MPI_Datatype type = receive ? call->receive_type : call->send_type;
    const void *buffer = receive ? call->receive : call->send;
    if (rooted_at_me_only(call->kind, receive) && !at_root(call, comm))
        return;
    if (call->kind == OP_REDUCE_SCATTER) {
        int64_t all = 0;
        for (uint32_t i = 0; i < comm->size; i++)
            all += count_at(call->receive_counts, i);
        int64_t mine = count_at(call->receive_counts, (uint32_t)comm->rank);
        recorder_watch_block(me, op, receive, buffer, receive ? mine : all, type);
        return;
    }
    if (!given(counts)) {
        int64_t count = receive ? call->receive_count : call->send_count;
        recorder_watch_block(me, op, receive, buffer, count * blocks_of(me, call, comm, receive),
                             type);
        return;
    }
    int64_t extent = recorder_type(me, type)->extent;
    uint32_t blocks = peers(me, call, comm, receive);
    for (uint32_t i = 0; i < blocks && given(places); i++)
        recorder_watch_block(me, op, receive,
                             (const char *)buffer + (ptrdiff_t)(count_at(places, i) * extent),
                             count_at(counts, i), type);
}

/* Not in place, but that root or reduction is the same buffer on both sides; across groups it is the
 * sum for the other one alone. */
static bool is_followed(const struct call *call, const struct recorder_comm *comm)
{
    return !call->receive_types && call->send != MPI_IN_PLACE && call->receive != MPI_IN_PLACE &&
           (comm->size == comm->local_size || call->kind == OP_ALLREDUCE);
}

static void watch(struct recorder_rank *me, const struct record_op *op, const struct call *given_,
                  const struct recorder_comm *comm)
{
    struct call call = *given_;
    bool own = comm->size == comm->local_size;
    me->watch->begins(me->watch, op, me->self->op, comm->id);
    if (call.kind == OP_BCAST && own) {
        call.receive = (void *)(uintptr_t)call.send;
        call.receive_count = call.send_count;
        call.receive_type = call.send_type;
        if (call.root == comm->rank)
            watch_side(me, op, &call, comm, false);
        watch_side(me, op, &call, comm, true);
        return;
    }
    if (call.has_reduction && call.send == MPI_IN_PLACE && call.kind != OP_REDUCE_SCATTER &&
        call.kind != OP_REDUCE_SCATTER_BLOCK)
        call.send = call.receive;
    if (!is_followed(&call, comm) && call.kind != OP_BARRIER) {
        me->watch->opaque(me->watch, op);
        return;
    }
    watch_side(me, op, &call, comm, false);
    watch_side(me, op, &call, comm, true);
}

static struct record_op *call_begin(struct recorder_rank *me, const struct call *call,
                                    bool nonblocking, const void *site)
{
    struct recorder_comm *comm = recorder_comm(me, call->comm);
    struct record_op *op =
        recorder_op(me, call->kind, nonblocking ? STATE_POSTED : STATE_BLOCKED, site);
    if (!op)
        return NULL;
    if (nonblocking)
        op->flags |= OP_NONBLOCKING;
    describe(me, op, call, comm);
    if (!comm)
        return op;
    op->comm_seq = comm->collectives++;
    struct counted *counted = describe_counts(me, op, call, comm);
    write_counts(me, counted);
    free(counted);
    if (me->watch)
        watch(me, op, call, comm);
    return op;
}

static void call_started(struct recorder_rank *me, struct record_op *op, MPI_Comm comm,
                         MPI_Request request, int error)
{
    recorder_reenter(me);
    if (error != MPI_SUCCESS)
        recorder_op_end(me, op, error);
    else
        recorder_request_add(me, request, op, recorder_comm(me, comm));
    recorder_leave(me);
}

/* What a persistent one says, and the communicator that its rounds are recorded on. Its arrays may be gone by then:
 * they are read for who watches alone. */
struct kept_call {
    struct call call;
    const struct recorder_comm *series;
    const struct counted *counted; /* behind it; NULL: there is nothing to count */
};

#if MPI_VERSION >= 4
static struct kept_call *kept_call_new(struct recorder_rank *me, struct record_op *pattern,
                                       const struct call *call, const struct recorder_comm *comm,
                                       const struct recorder_comm *series)
{
    struct counted *counted = comm ? describe_counts(me, pattern, call, comm) : NULL;
    size_t bytes = counted ? sizeof *counted + ((size_t)counted->kept[0] + counted->kept[1]) *
                                                   sizeof *counted->values
                           : 0;
    struct kept_call *kept = malloc(sizeof *kept + bytes);
    if (kept)
        *kept =
            (struct kept_call){*call, series, counted ? memcpy(kept + 1, counted, bytes) : NULL};
    free(counted);
    return kept;
}

static void call_kept(const struct call *call, MPI_Request handle, int error)
{
    struct recorder_rank *me = error == MPI_SUCCESS ? recorder_enter() : NULL;
    struct record_op *pattern = me ? calloc(1, sizeof *pattern) : NULL;
    if (pattern) {
        struct recorder_comm *comm = recorder_comm(me, call->comm);
        pattern->head.small = (uint8_t)call->kind;
        pattern->flags = OP_NONBLOCKING;
        pattern->peer = pattern->tag = RECORD_NONE;
        describe(me, pattern, call, comm);
        struct recorder_comm *series = recorder_comm_series(me, comm);
        if (series)
            pattern->comm = series->number;
        struct recorder_request *kept = recorder_request_add(me, handle, NULL, comm);
        if (kept)
            kept->pattern = pattern;
        if (kept && series)
            kept->call = kept_call_new(me, pattern, call, comm, series);
        if (!kept)
            free(pattern);
    }
    recorder_leave(me);
}
#endif

void persistent_said(struct recorder_rank *me, const struct record_op *op,
                     const struct recorder_request *request)
{
    const struct kept_call *kept = request->call;
    if (!kept)
        return;
    write_counts(me, kept->counted);
    if (me->watch)
        watch(me, op, &kept->call, kept->series);
}

#define LIST(...) __VA_ARGS__

/* One collective: blocking and nonblocking. `parameters` and `arguments` are in brackets. Who is
 * not recorded goes on to PMPI with nothing added to its stack: a rank of a large world finds few
 * of its lines in the cache when it comes back. */
#define TWO_FORMS(name, small_name, suffix, parameters, arguments, ...)                            \
    __attribute__((noinline)) static int recorded_##name##suffix(const void *site,                 \
                                                                 LIST parameters)                  \
    {                                                                                              \
        struct call call = {.comm = comm, __VA_ARGS__};                                            \
        struct recorder_rank *me = recorder_enter();                                               \
        struct record_op *op = call_begin(me, &call, false, site);                                 \
        recorder_leave(me);                                                                        \
        int error = PMPI_##name##suffix(LIST arguments);                                           \
        if (op)                                                                                    \
            wrapper_end(me, op, error);                                                            \
        return error;                                                                              \
    }                                                                                              \
    int MPI_##name##suffix(LIST parameters)                                                        \
    {                                                                                              \
        return recorder_me() ? recorded_##name##suffix(CALLER, LIST arguments)                     \
                             : PMPI_##name##suffix(LIST arguments);                                \
    }                                                                                              \
    __attribute__((noinline)) static int recorded_I##small_name##suffix(                           \
        const void *site, LIST parameters, MPI_Request *request)                                   \
    {                                                                                              \
        struct call call = {.comm = comm, __VA_ARGS__};                                            \
        struct recorder_rank *me = recorder_enter();                                               \
        struct record_op *op = call_begin(me, &call, true, site);                                  \
        recorder_leave(me);                                                                        \
        int error = PMPI_I##small_name##suffix(LIST arguments, request);                           \
        if (op)                                                                                    \
            call_started(me, op, comm, *request, error);                                           \
        return error;                                                                              \
    }                                                                                              \
    int MPI_I##small_name##suffix(LIST parameters, MPI_Request *request)                           \
    {                                                                                              \
        return recorder_me() ? recorded_I##small_name##suffix(CALLER, LIST arguments, request)     \
                             : PMPI_I##small_name##suffix(LIST arguments, request);                \
    }

#if MPI_VERSION >= 4
#define COLLECTIVE(name, small_name, suffix, parameters, arguments, ...)                           \
    TWO_FORMS(name, small_name, suffix, parameters, arguments, __VA_ARGS__)                        \
    int MPI_##name##_init##suffix(LIST parameters, MPI_Info info, MPI_Request *request)            \
    {                                                                                              \
        struct call call = {.comm = comm, __VA_ARGS__};                                            \
        int error = PMPI_##name##_init##suffix(LIST arguments, info, request);                     \
        call_kept(&call, *request, error);                                                         \
        return error;                                                                              \
    }
#else
#define COLLECTIVE TWO_FORMS
#endif

#define SEND_SIDE .has_send = true, .send = send, .send_count = send_count, .send_type = send_type
#define RECEIVE_SIDE                                                                               \
    .has_receive = true, .receive = receive, .receive_count = receive_count,                       \
    .receive_type = receive_type
#define REDUCTION                                                                                  \
    .has_send = true, .send = send, .send_count = count, .send_type = type, .receive = receive,    \
    .receive_count = count, .receive_type = type, .has_receive = true, .has_reduction = true,      \
    .reduction = op_handle

COLLECTIVE(Barrier, barrier, , (MPI_Comm comm), (comm), .kind = OP_BARRIER)

#define SIMPLE_COLLECTIVES(X, suffix, count_type)                                                  \
    X(Bcast, bcast, suffix,                                                                        \
      (void *buffer, count_type count, MPI_Datatype type, int root, MPI_Comm comm),                \
      (buffer, count, type, root, comm), .kind = OP_BCAST, .rooted = true, .root = root,           \
      .has_send = true, .send = buffer, .send_count = count, .send_type = type)                    \
    X(Reduce, reduce, suffix,                                                                      \
      (const void *send, void *receive, count_type count, MPI_Datatype type, MPI_Op op_handle,     \
       int root, MPI_Comm comm),                                                                   \
      (send, receive, count, type, op_handle, root, comm), .kind = OP_REDUCE, .rooted = true,      \
      .root = root, REDUCTION)                                                                     \
    X(Allreduce, allreduce, suffix,                                                                \
      (const void *send, void *receive, count_type count, MPI_Datatype type, MPI_Op op_handle,     \
       MPI_Comm comm),                                                                             \
      (send, receive, count, type, op_handle, comm), .kind = OP_ALLREDUCE, REDUCTION)              \
    X(Reduce_scatter_block, reduce_scatter_block, suffix,                                          \
      (const void *send, void *receive, count_type count, MPI_Datatype type, MPI_Op op_handle,     \
       MPI_Comm comm),                                                                             \
      (send, receive, count, type, op_handle, comm), .kind = OP_REDUCE_SCATTER_BLOCK, REDUCTION)   \
    X(Scan, scan, suffix,                                                                          \
      (const void *send, void *receive, count_type count, MPI_Datatype type, MPI_Op op_handle,     \
       MPI_Comm comm),                                                                             \
      (send, receive, count, type, op_handle, comm), .kind = OP_SCAN, REDUCTION)                   \
    X(Exscan, exscan, suffix,                                                                      \
      (const void *send, void *receive, count_type count, MPI_Datatype type, MPI_Op op_handle,     \
       MPI_Comm comm),                                                                             \
      (send, receive, count, type, op_handle, comm), .kind = OP_EXSCAN, REDUCTION)
BOTH_FORMS(SIMPLE_COLLECTIVES, COLLECTIVE)

#define ROOTED_COLLECTIVES(X, suffix, count_type)                                                  \
    X(Gather, gather, suffix,                                                                      \
      (const void *send, count_type send_count, MPI_Datatype send_type, void *receive,             \
       count_type receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm),              \
      (send, send_count, send_type, receive, receive_count, receive_type, root, comm),             \
      .kind = OP_GATHER, .rooted = true, .root = root, SEND_SIDE, RECEIVE_SIDE)                    \
    X(Scatter, scatter, suffix,                                                                    \
      (const void *send, count_type send_count, MPI_Datatype send_type, void *receive,             \
       count_type receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm),              \
      (send, send_count, send_type, receive, receive_count, receive_type, root, comm),             \
      .kind = OP_SCATTER, .rooted = true, .root = root, SEND_SIDE, RECEIVE_SIDE)

#define ALL_COLLECTIVES(X, suffix, count_type)                                                     \
    X(Allgather, allgather, suffix,                                                                \
      (const void *send, count_type send_count, MPI_Datatype send_type, void *receive,             \
       count_type receive_count, MPI_Datatype receive_type, MPI_Comm comm),                        \
      (send, send_count, send_type, receive, receive_count, receive_type, comm),                   \
      .kind = OP_ALLGATHER, SEND_SIDE, RECEIVE_SIDE)                                               \
    X(Alltoall, alltoall, suffix,                                                                  \
      (const void *send, count_type send_count, MPI_Datatype send_type, void *receive,             \
       count_type receive_count, MPI_Datatype receive_type, MPI_Comm comm),                        \
      (send, send_count, send_type, receive, receive_count, receive_type, comm),                   \
      .kind = OP_ALLTOALL, SEND_SIDE, RECEIVE_SIDE)                                                \
    X(Neighbor_allgather, neighbor_allgather, suffix,                                              \
      (const void *send, count_type send_count, MPI_Datatype send_type, void *receive,             \
       count_type receive_count, MPI_Datatype receive_type, MPI_Comm comm),                        \
      (send, send_count, send_type, receive, receive_count, receive_type, comm),                   \
      .kind = OP_NEIGHBOR_ALLGATHER, SEND_SIDE, RECEIVE_SIDE)                                      \
    X(Neighbor_alltoall, neighbor_alltoall, suffix,                                                \
      (const void *send, count_type send_count, MPI_Datatype send_type, void *receive,             \
       count_type receive_count, MPI_Datatype receive_type, MPI_Comm comm),                        \
      (send, send_count, send_type, receive, receive_count, receive_type, comm),                   \
      .kind = OP_NEIGHBOR_ALLTOALL, SEND_SIDE, RECEIVE_SIDE)
BOTH_FORMS(ROOTED_COLLECTIVES, COLLECTIVE)
BOTH_FORMS(ALL_COLLECTIVES, COLLECTIVE)

#define SEND_COUNTS(count_type)                                                                    \
    .has_send = true, .send = send, .send_type = send_type,                                        \
    .send_counts = counts_##count_type(send_counts),                                               \
    .send_places = places_##count_type(send_places)
#define RECEIVE_COUNTS(count_type)                                                                 \
    .has_receive = true, .receive = receive, .receive_type = receive_type,                         \
    .receive_counts = counts_##count_type(receive_counts),                                         \
    .receive_places = places_##count_type(receive_places)

#define VARYING_COLLECTIVES(X, suffix, count_type, place_type)                                     \
    X(Gatherv, gatherv, suffix,                                                                    \
      (const void *send, count_type send_count, MPI_Datatype send_type, void *receive,             \
       const count_type receive_counts[], const place_type receive_places[],                       \
       MPI_Datatype receive_type, int root, MPI_Comm comm),                                        \
      (send, send_count, send_type, receive, receive_counts, receive_places, receive_type, root,   \
       comm),                                                                                      \
      .kind = OP_GATHERV, .rooted = true, .root = root, SEND_SIDE, RECEIVE_COUNTS(count_type))     \
    X(Scatterv, scatterv, suffix,                                                                  \
      (const void *send, const count_type send_counts[], const place_type send_places[],           \
       MPI_Datatype send_type, void *receive, count_type receive_count, MPI_Datatype receive_type, \
       int root, MPI_Comm comm),                                                                   \
      (send, send_counts, send_places, send_type, receive, receive_count, receive_type, root,      \
       comm),                                                                                      \
      .kind = OP_SCATTERV, .rooted = true, .root = root, SEND_COUNTS(count_type), RECEIVE_SIDE)    \
    X(Allgatherv, allgatherv, suffix,                                                              \
      (const void *send, count_type send_count, MPI_Datatype send_type, void *receive,             \
       const count_type receive_counts[], const place_type receive_places[],                       \
       MPI_Datatype receive_type, MPI_Comm comm),                                                  \
      (send, send_count, send_type, receive, receive_counts, receive_places, receive_type, comm),  \
      .kind = OP_ALLGATHERV, SEND_SIDE, RECEIVE_COUNTS(count_type))                                \
    X(Alltoallv, alltoallv, suffix,                                                                \
      (const void *send, const count_type send_counts[], const place_type send_places[],           \
       MPI_Datatype send_type, void *receive, const count_type receive_counts[],                   \
       const place_type receive_places[], MPI_Datatype receive_type, MPI_Comm comm),               \
      (send, send_counts, send_places, send_type, receive, receive_counts, receive_places,         \
       receive_type, comm),                                                                        \
      .kind = OP_ALLTOALLV, SEND_COUNTS(count_type), RECEIVE_COUNTS(count_type))                   \
    X(Neighbor_allgatherv, neighbor_allgatherv, suffix,                                            \
      (const void *send, count_type send_count, MPI_Datatype send_type, void *receive,             \
       const count_type receive_counts[], const place_type receive_places[],                       \
       MPI_Datatype receive_type, MPI_Comm comm),                                                  \
      (send, send_count, send_type, receive, receive_counts, receive_places, receive_type, comm),  \
      .kind = OP_NEIGHBOR_ALLGATHERV, SEND_SIDE, RECEIVE_COUNTS(count_type))                       \
    X(Neighbor_alltoallv, neighbor_alltoallv, suffix,                                              \
      (const void *send, const count_type send_counts[], const place_type send_places[],           \
       MPI_Datatype send_type, void *receive, const count_type receive_counts[],                   \
       const place_type receive_places[], MPI_Datatype receive_type, MPI_Comm comm),               \
      (send, send_counts, send_places, send_type, receive, receive_counts, receive_places,         \
       receive_type, comm),                                                                        \
      .kind = OP_NEIGHBOR_ALLTOALLV, SEND_COUNTS(count_type), RECEIVE_COUNTS(count_type))          \
    X(Reduce_scatter, reduce_scatter, suffix,                                                      \
      (const void *send, void *receive, const count_type receive_counts[], MPI_Datatype type,      \
       MPI_Op op_handle, MPI_Comm comm),                                                           \
      (send, receive, receive_counts, type, op_handle, comm), .kind = OP_REDUCE_SCATTER,           \
      .has_send = true, .send = send, .send_type = type, .receive = receive, .receive_type = type, \
      .receive_counts = counts_##count_type(receive_counts), .has_reduction = true,                \
      .reduction = op_handle)

/* Types per peer; the neighborhood form measures displacements in bytes already in its int form. */
#define TYPED_COLLECTIVE(X, name, small_name, op_kind_, suffix, count_type, place_type)            \
    X(name, small_name, suffix,                                                                    \
      (const void *send, const count_type send_counts[], const place_type send_places[],           \
       const MPI_Datatype send_types[], void *receive, const count_type receive_counts[],          \
       const place_type receive_places[], const MPI_Datatype receive_types[], MPI_Comm comm),      \
      (send, send_counts, send_places, send_types, receive, receive_counts, receive_places,        \
       receive_types, comm),                                                                       \
      .kind = op_kind_, .has_send = send_types != NULL && send != MPI_IN_PLACE, .send = send,      \
      .send_types = send_types, .has_receive = receive_types != NULL, .receive = receive,          \
      .receive_types = receive_types, .send_counts = counts_##count_type(send_counts),             \
      .receive_counts = counts_##count_type(receive_counts))

VARYING_COLLECTIVES(COLLECTIVE, , int, int)
TYPED_COLLECTIVE(COLLECTIVE, Alltoallw, alltoallw, OP_ALLTOALLW, , int, int)
TYPED_COLLECTIVE(COLLECTIVE, Neighbor_alltoallw, neighbor_alltoallw, OP_NEIGHBOR_ALLTOALLW, , int,
                 MPI_Aint)
#if MPI_VERSION >= 4
VARYING_COLLECTIVES(COLLECTIVE, _c, MPI_Count, MPI_Aint)
TYPED_COLLECTIVE(COLLECTIVE, Alltoallw, alltoallw, OP_ALLTOALLW, _c, MPI_Count, MPI_Aint)
TYPED_COLLECTIVE(COLLECTIVE, Neighbor_alltoallw, neighbor_alltoallw, OP_NEIGHBOR_ALLTOALLW, _c,
                 MPI_Count, MPI_Aint)
#endif
