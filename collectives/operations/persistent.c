/* Persistent collectives: the values of a start travel through buffers that stay, so that the tape
 * can hold each start with values of its own.
 *
 * MPI matches them by the order in which they were made, whatever the order of the starts. So each
 * has a channel of its own, on which its k-th start meets the others', and the adjoints too. Before
 * MPI 4 a start is the nonblocking collective. */
#include "collectives/operations/collective.h"
#include "collectives/operations/message_internal.h"
#include "collectives/tape/graph.h"

#include <stdlib.h>
#include <string.h>

struct collective_buffers {
    struct diff_call call; /* with lists of its own */
    struct diff_channel *channel;
    struct collective spec;
    void *send, *receive;
};

/* MPICH 4.0 fails in the second start of some (Scatter). */
#if MPI_VERSION >= 4 && !(defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000)
#define HAS_PERSISTENT 1
#else
#define HAS_PERSISTENT 0
#endif

#if HAS_PERSISTENT

/* What the w forms are told: displacements in bytes, and types. */
struct wide {
    int *send, *receive;
    MPI_Aint *far_send, *far_receive;
    MPI_Datatype *types;
};

static struct wide wide_of(const struct collective *c, int out, int in)
{
    struct arena *arena = &c->channel->tape->fixed;
    size_t n = (size_t)(out > in ? out : in) + 1, size = diff_type_size(c->type);
    struct wide w = {arena_take(arena, n * sizeof(int)), arena_take(arena, n * sizeof(int)),
                     arena_take(arena, n * sizeof(MPI_Aint)),
                     arena_take(arena, n * sizeof(MPI_Aint)),
                     arena_take(arena, n * sizeof(MPI_Datatype))};
    for (size_t i = 0; i < n; i++)
        w.types[i] = diff_type_mpi(c->type);
    for (int i = 0; i < out; i++)
        w.send[i] = (int)(w.far_send[i] = (MPI_Aint)((size_t)c->send_begins[i] * size));
    for (int i = 0; i < in; i++)
        w.receive[i] = (int)(w.far_receive[i] = (MPI_Aint)((size_t)c->receive_begins[i] * size));
    return w;
}

static void init_wide(enum diff_collective kind, const struct collective *c, const void *send,
                      void *receive, MPI_Request *request)
{
    const struct diff_graph *graph = c->channel->graph;
    int out = graph ? graph->destination_count : c->channel->peers;
    int in = graph ? graph->source_count : c->channel->peers;
    struct wide w = wide_of(c, out, in);
    if (kind == DIFF_ALLTOALLW)
        MPI_Alltoallw_init(send, c->send_counts, w.send, w.types, receive, c->receive_counts,
                           w.receive, w.types, c->channel->comm, MPI_INFO_NULL, request);
    else
        MPI_Neighbor_alltoallw_init(send, c->send_counts, w.far_send, w.types, receive,
                                    c->receive_counts, w.far_receive, w.types, c->channel->comm,
                                    MPI_INFO_NULL, request);
}

static void init_reduction(enum diff_collective kind, const struct collective *c, const void *send,
                           void *receive, MPI_Request *request)
{
    MPI_Datatype type = collective_type(c);
    MPI_Op op = collective_mpi_op(c->op);
    MPI_Comm comm = c->channel->comm;
    MPI_Info none = MPI_INFO_NULL;
    int n = (int)c->count;
    if (kind == DIFF_REDUCE)
        MPI_Reduce_init(send, receive, n, type, op, c->root, comm, none, request);
    else if (kind == DIFF_ALLREDUCE)
        MPI_Allreduce_init(send, receive, n, type, op, comm, none, request);
    else if (kind == DIFF_REDUCE_SCATTER)
        MPI_Reduce_scatter_init(send, receive, c->receive_counts, type, op, comm, none, request);
    else if (kind == DIFF_REDUCE_SCATTER_BLOCK)
        MPI_Reduce_scatter_block_init(send, receive, n, type, op, comm, none, request);
    else if (kind == DIFF_SCAN)
        MPI_Scan_init(send, receive, n, type, op, comm, none, request);
    else
        MPI_Exscan_init(send, receive, n, type, op, comm, none, request);
}

static void init_neighbors(enum diff_collective kind, const struct collective *c, const void *send,
                           void *receive, MPI_Request *request)
{
    MPI_Datatype type = diff_type_mpi(c->type);
    MPI_Comm comm = c->channel->comm;
    MPI_Info none = MPI_INFO_NULL;
    int n = (int)c->count;
    if (kind == DIFF_NEIGHBOR_ALLGATHER)
        MPI_Neighbor_allgather_init(send, n, type, receive, n, type, comm, none, request);
    else if (kind == DIFF_NEIGHBOR_ALLGATHERV)
        MPI_Neighbor_allgatherv_init(send, n, type, receive, c->receive_counts, c->receive_begins,
                                     type, comm, none, request);
    else if (kind == DIFF_NEIGHBOR_ALLTOALL)
        MPI_Neighbor_alltoall_init(send, n, type, receive, n, type, comm, none, request);
    else
        MPI_Neighbor_alltoallv_init(send, c->send_counts, c->send_begins, type, receive,
                                    c->receive_counts, c->receive_begins, type, comm, none,
                                    request);
}

static void init_blocks(enum diff_collective kind, const struct collective *c, const void *send,
                        void *receive, MPI_Request *request)
{
    MPI_Datatype type = diff_type_mpi(c->type);
    MPI_Comm comm = c->channel->comm;
    MPI_Info none = MPI_INFO_NULL;
    int n = (int)c->count, in = collective_count_in(c), root = c->root;
    switch (kind) {
    case DIFF_BCAST:
        MPI_Bcast_init(receive, n, type, root, comm, none, request);
        break;
    case DIFF_GATHER:
        MPI_Gather_init(send, n, type, receive, n, type, root, comm, none, request);
        break;
    case DIFF_GATHERV:
        MPI_Gatherv_init(send, n, type, receive, c->receive_counts, c->receive_begins, type, root,
                         comm, none, request);
        break;
    case DIFF_SCATTER:
        MPI_Scatter_init(send, n, type, receive, n, type, root, comm, none, request);
        break;
    case DIFF_SCATTERV:
        MPI_Scatterv_init(send, c->send_counts, c->send_begins, type, receive, n, type, root, comm,
                          none, request);
        break;
    case DIFF_ALLGATHER:
        MPI_Allgather_init(send, n, type, receive, in, type, comm, none, request);
        break;
    case DIFF_ALLGATHERV:
        MPI_Allgatherv_init(send, n, type, receive, c->receive_counts, c->receive_begins, type,
                            comm, none, request);
        break;
    case DIFF_ALLTOALL:
        MPI_Alltoall_init(send, n, type, receive, in, type, comm, none, request);
        break;
    case DIFF_ALLTOALLV:
        MPI_Alltoallv_init(send, c->send_counts, c->send_begins, type, receive, c->receive_counts,
                           c->receive_begins, type, comm, none, request);
        break;
    default:
        MPI_Barrier_init(comm, none, request);
    }
}

static void init(enum diff_collective kind, const struct collective *c, const void *send,
                 void *receive, MPI_Request *request)
{
    if (kind == DIFF_ALLTOALLW || kind == DIFF_NEIGHBOR_ALLTOALLW)
        init_wide(kind, c, send, receive, request);
    else if (kind >= DIFF_NEIGHBOR_ALLGATHER)
        init_neighbors(kind, c, send, receive, request);
    else if (c->op)
        init_reduction(kind, c, send, receive, request);
    else
        init_blocks(kind, c, send, receive, request);
}

#endif

/* ---- lists of its own: those of the program's call may change ---- */

static const void *kept(struct diff_tape *tape, const void *list, int count, size_t size)
{
    if (!list)
        return NULL;
    void *copy = arena_take(&tape->fixed, ((size_t)count + 1) * size);
    memcpy(copy, list, (size_t)count * size);
    return copy;
}

static void call_keep(struct diff_call *call, const struct diff_channel *channel)
{
    struct diff_tape *tape = channel->tape;
    bool scatters = call->kind == DIFF_SCATTERV;
    int all = call->kind == DIFF_REDUCE_SCATTER ? channel->size : channel->peers;
    int out = channel->graph ? channel->graph->destination_count : all;
    int in = channel->graph ? channel->graph->source_count : all;
    if (scatters && !channel_is_root(channel, call->root))
        call->send_counts = call->send_displacements = NULL;
    size_t width = sizeof(int), types = sizeof(MPI_Datatype);
    call->send_counts = kept(tape, call->send_counts, out, width);
    call->send_displacements = kept(tape, call->send_displacements, out, width);
    call->send_types = kept(tape, call->send_types, out, types);
    call->receive_counts = kept(tape, call->receive_counts, in, width);
    call->receive_displacements = kept(tape, call->receive_displacements, in, width);
    call->receive_types = kept(tape, call->receive_types, in, types);
}

static void spec_keep(struct collective *spec)
{
    const struct diff_channel *channel = spec->channel;
    int all = channel->size > channel->peers ? channel->size : channel->peers;
    int out = channel->graph ? channel->graph->destination_count : all;
    int in = channel->graph ? channel->graph->source_count : all;
    spec->send_counts = kept(channel->tape, spec->send_counts, out, sizeof(int));
    spec->send_begins = kept(channel->tape, spec->send_begins, out, sizeof(int));
    spec->receive_counts = kept(channel->tape, spec->receive_counts, in, sizeof(int));
    spec->receive_begins = kept(channel->tape, spec->receive_begins, in, sizeof(int));
}

/* ---- the object ---- */

static size_t width(const struct collective *collective)
{
    int size;
    MPI_Type_size(collective_type(collective), &size);
    size_t pair = 2 * sizeof(double), one = diff_type_size(collective->type);
    return collective->op && (size_t)size != one ? pair : one;
}

struct diff_persistent *persistent_collective(const struct diff_call *call,
                                              const struct collective *spec, size_t sends)
{
    struct diff_tape *tape = spec->channel->tape;
    struct diff_persistent *made = calloc(1, sizeof *made);
    struct collective_buffers *own = arena_take_zeroed(&tape->fixed, sizeof *own);
    size_t gets = spec->result_count;
    if (!made)
        state_fail(tape->state, "X002", "the differentiable library ran out of memory");
    own->call = *call;
    own->channel = spec->channel;
    own->spec = *spec;
    own->spec.type = call->x->type;
    spec_keep(&own->spec);
    call_keep(&own->call, own->channel);
    own->call.x = NULL;
    size_t bytes = width(&own->spec);
    /* A broadcast has one buffer, and IN_PLACE all is in what is received. */
    size_t most = call->kind == DIFF_BCAST && spec->count > gets ? spec->count : gets;
    most = sends > most ? sends : most;
    own->send = arena_take_zeroed(&tape->fixed, (sends + 1) * bytes);
    own->receive = arena_take_zeroed(&tape->fixed, (most + 1) * bytes);
    *made = (struct diff_persistent){.tape = tape,
                                     .type = call->x->type,
                                     .count = call->x->count,
                                     .request = MPI_REQUEST_NULL,
                                     .collective = own};
#if HAS_PERSISTENT
    const void *send = own->send;
    void *receive = own->receive;
    if (spec->in_place && spec->rule->receives_in_place)
        receive = MPI_IN_PLACE;
    else if (spec->in_place)
        send = MPI_IN_PLACE;
    init(call->kind, &own->spec, send, receive, &made->request);
#endif
    return made;
}

struct diff_call persistent_call(const struct diff_persistent *persistent, struct diff_tensor *x)
{
    struct diff_call call = persistent->collective->call;
    call.x = x;
    call.flags |= DIFF_NONBLOCKING;
    return call;
}

struct diff_channel *persistent_channel(const struct diff_persistent *persistent)
{
    return persistent->collective->channel;
}

MPI_Request *persistent_request(struct diff_persistent *persistent)
{
    return &persistent->request;
}

void persistent_start(const struct collective *collective, const void *send, size_t sends,
                      const void *receive, size_t receives)
{
    struct diff_persistent *persistent = collective->persistent;
    struct collective_buffers *own = persistent->collective;
    bool one_buffer = collective->rule == &rule_bcast;
    size_t bytes = width(collective);
    if (send != MPI_IN_PLACE)
        memcpy(own->send, send, sends * bytes);
    if (send == MPI_IN_PLACE)
        memcpy(own->receive, receive, (sends > receives ? sends : receives) * bytes);
    bool gives = one_buffer && channel_is_root(collective->channel, collective->root);
    if (gives && send != MPI_IN_PLACE)
        memcpy(own->receive, own->send, collective->count * bytes);
#if HAS_PERSISTENT
    MPI_Start(&persistent->request);
#else
    own->spec.pairs = collective->pairs;
    own->spec.rule->call(&own->spec, send == MPI_IN_PLACE ? MPI_IN_PLACE : own->send,
                         receive == MPI_IN_PLACE ? MPI_IN_PLACE : own->receive,
                         &persistent->request);
#endif
}

void persistent_arrived(const struct collective *collective, void *receive, size_t receives)
{
    if (collective->in_place && collective->rule->receives_in_place)
        return; /* the root's block has not moved */
    memcpy(receive, collective->persistent->collective->receive, receives * width(collective));
}
