/* Neighborhood collectives: Allgather(v) and Alltoall(v,w) along the edges of a topology.
 *
 * Adjoint: every edge turned round. A block's cotangent goes back to its sender over the reversed
 * graph; Allgather's sender adds up those of all its edges. An absent neighbor's block is not
 * written: zero here. */
#include "collectives/operations/collective.h"
#include "collectives/operations/reference.h"
#include "collectives/tape/graph.h"

#include <string.h>

/* Absent neighbors leave their blocks alone. */
static void clear(const struct collective *c, void *receive)
{
    memset(receive, 0, c->result_count * diff_type_size(c->type));
}

static int neighbor_allgather_call(const struct collective *c, const void *send, void *receive,
                                   MPI_Request *request)
{
    int n = (int)c->count;
    MPI_Datatype type = diff_type_mpi(c->type);
    MPI_Comm comm = c->channel->comm;
    clear(c, receive);
    if (request)
        return MPI_Ineighbor_allgather(send, n, type, receive, n, type, comm, request);
    return MPI_Neighbor_allgather(send, n, type, receive, n, type, comm);
}

static int neighbor_allgatherv_call(const struct collective *c, const void *send, void *receive,
                                    MPI_Request *request)
{
    int n = (int)c->count;
    MPI_Datatype type = diff_type_mpi(c->type);
    MPI_Comm comm = c->channel->comm;
    clear(c, receive);
    if (request)
        return MPI_Ineighbor_allgatherv(send, n, type, receive, c->receive_counts,
                                        c->receive_begins, type, comm, request);
    return MPI_Neighbor_allgatherv(send, n, type, receive, c->receive_counts, c->receive_begins,
                                   type, comm);
}

static int neighbor_alltoall_call(const struct collective *c, const void *send, void *receive,
                                  MPI_Request *request)
{
    int n = (int)c->count;
    MPI_Datatype type = diff_type_mpi(c->type);
    MPI_Comm comm = c->channel->comm;
    clear(c, receive);
    if (request)
        return MPI_Ineighbor_alltoall(send, n, type, receive, n, type, comm, request);
    return MPI_Neighbor_alltoall(send, n, type, receive, n, type, comm);
}

static int neighbor_alltoallv_call(const struct collective *c, const void *send, void *receive,
                                   MPI_Request *request)
{
    MPI_Datatype type = diff_type_mpi(c->type);
    MPI_Comm comm = c->channel->comm;
    clear(c, receive);
    if (request)
        return MPI_Ineighbor_alltoallv(send, c->send_counts, c->send_begins, type, receive,
                                       c->receive_counts, c->receive_begins, type, comm, request);
    return MPI_Neighbor_alltoallv(send, c->send_counts, c->send_begins, type, receive,
                                  c->receive_counts, c->receive_begins, type, comm);
}

static MPI_Aint *bytes_of(const struct collective *c, const int *begins, int count)
{
    MPI_Aint *bytes = arena_take(&c->channel->tape->arena, ((size_t)count + 1) * sizeof *bytes);
    for (int i = 0; i < count; i++)
        bytes[i] = (MPI_Aint)begins[i] * (MPI_Aint)diff_type_size(c->type);
    return bytes;
}

static int neighbor_alltoallw_call(const struct collective *c, const void *send, void *receive,
                                   MPI_Request *request)
{
    const struct diff_graph *graph = c->channel->graph;
    int in = graph->source_count, out = graph->destination_count, most = in > out ? in : out;
    MPI_Comm comm = c->channel->comm;
    MPI_Datatype *types =
        arena_take(&c->channel->tape->arena, ((size_t)most + 1) * sizeof(MPI_Datatype));
    MPI_Aint *send_bytes = bytes_of(c, c->send_begins, out);
    MPI_Aint *receive_bytes = bytes_of(c, c->receive_begins, in);
    for (int i = 0; i < most; i++)
        types[i] = diff_type_mpi(c->type);
    clear(c, receive);
    if (request)
        return MPI_Ineighbor_alltoallw(send, c->send_counts, send_bytes, types, receive,
                                       c->receive_counts, receive_bytes, types, comm, request);
    return MPI_Neighbor_alltoallw(send, c->send_counts, send_bytes, types, receive,
                                  c->receive_counts, receive_bytes, types, comm);
}

/* ---- adjoint ---- */

/* Blocks in an order of their own, as counts and begins and as the values' places. */
struct arranged {
    int *counts, *begins;
    size_t *index;
    size_t total;
};

static struct arranged arrange(struct diff_tape *tape, const int *order, int present,
                               const int *counts, const int *begins, size_t uniform)
{
    struct arranged a = {arena_take(&tape->arena, ((size_t)present + 1) * sizeof(int)),
                         arena_take(&tape->arena, ((size_t)present + 1) * sizeof(int)), NULL, 0};
    for (int i = 0; i < present; i++) {
        a.counts[i] = counts ? counts[order[i]] : (int)uniform;
        a.begins[i] = (int)a.total;
        a.total += (size_t)a.counts[i];
    }
    a.index = arena_take(&tape->arena, (a.total + 1) * sizeof *a.index);
    size_t at = 0;
    for (int i = 0; i < present; i++) {
        size_t begin = counts ? (size_t)begins[order[i]] : uniform * (size_t)order[i];
        for (int k = 0; k < a.counts[i]; k++)
            a.index[at++] = begin + (size_t)k;
    }
    return a;
}

/* How this rank's send blocks look: one per edge, or always the same one (Allgather). */
static struct arranged arrange_sent(struct diff_node *node, bool same)
{
    const struct collective *c = node->extra;
    const struct diff_graph *graph = node->channel->graph;
    struct arranged a = arrange(node->tape, graph->destination_order, graph->present_destinations,
                                same ? NULL : c->send_counts, c->send_begins, c->count);
    for (size_t i = 0; same && i < a.total; i++)
        a.index[i] = i % (c->count ? c->count : 1);
    return a;
}

static void launch_back(struct diff_node *node, struct diff_request *adjoint, bool same)
{
    const struct collective *c = node->extra;
    const struct diff_graph *graph = node->channel->graph;
    const int *order =
        c->rule == &rule_neighbor_alltoall ? graph->source_order_uniform : graph->source_order;
    struct arranged received = arrange(node->tape, order, graph->present_sources, c->receive_counts,
                                       c->receive_begins, c->count);
    struct arranged sent = arrange_sent(node, same);
    struct collective spec = collective_for_adjoint(node, &rule_neighbor_alltoallv);
    spec.send_counts = received.counts;
    spec.send_begins = received.begins;
    spec.receive_counts = sent.counts;
    spec.receive_begins = sent.begins;
    spec.result_count = sent.total;
    struct diff_tensor *y_bar = collective_y_bar(node, adjoint);
    adjoint->parts[0] = collective_issue(&spec, local_take(y_bar, received.index, received.total));
}

static struct diff_tensor *finish_back(struct diff_node *node, struct diff_request *adjoint,
                                       bool same)
{
    struct arranged sent = arrange_sent(node, same);
    return local_put(collective_part(adjoint->parts[0]), sent.index, node->inputs[0]->count);
}

static void allgather_launch(struct diff_node *node, struct diff_request *adjoint)
{
    launch_back(node, adjoint, true);
}

static void alltoall_launch(struct diff_node *node, struct diff_request *adjoint)
{
    launch_back(node, adjoint, false);
}

static struct diff_tensor *allgather_finish(struct diff_node *node, struct diff_request *adjoint)
{
    return finish_back(node, adjoint, true);
}

static struct diff_tensor *alltoall_finish(struct diff_node *node, struct diff_request *adjoint)
{
    return finish_back(node, adjoint, false);
}

static struct diff_tensor *neighbor_tangent(struct diff_node *node, struct diff_tensor *x_dot)
{
    struct collective spec = collective_for_tangent(node);
    /* The reversed graph would be the wrong one, and the user may have freed the forward one. */
    spec.channel = node->channel->twin ? node->channel->twin : node->channel;
    return collective_issue(&spec, x_dot);
}

/* ---- reference ---- */

/* The begin of edge `number` of rank `from` in its send values. */
static size_t sent_begin(const struct reference_case *all, int from, int number, size_t *count)
{
    size_t edges = (size_t)all->destination_counts[from], begin = 0;
    const int *counts = all->edge_counts ? all->edge_counts[from] : NULL;
    for (int i = 0; i < number && counts; i++)
        begin += (size_t)counts[i];
    *count = counts ? (size_t)counts[number] : all->x[from].count / (edges ? edges : 1);
    return counts ? begin : *count * (size_t)number;
}

/* Edges between two ranks match in order: the n-th slot of the receiver for this source gets the
 * n-th edge of the source to it. */
static int edge_number(const struct reference_case *all, int to, int slot)
{
    int from = all->sources[to][slot], before = 0;
    for (int i = 0; i < slot; i++)
        before += all->sources[to][i] == from;
    for (int i = 0; i < all->destination_counts[from]; i++)
        if (all->destinations[from][i] == to && before-- == 0)
            return i;
    return -1;
}

static void neighbor_reference(const struct reference_case *all, bool same)
{
    for (int to = 0; to < all->ranks; to++) {
        size_t at = 0;
        for (int slot = 0; slot < all->source_counts[to]; slot++) {
            int from = all->sources[to][slot], number = edge_number(all, to, slot);
            size_t count = all->x[from].count, begin = 0;
            if (!same)
                begin = sent_begin(all, from, number, &count);
            reference_copy(all, all->y[to].values, at, all->x[from].values, begin, count);
            at += count;
        }
    }
}

static void allgather_reference(const struct reference_case *all)
{
    neighbor_reference(all, true);
}

static void alltoall_reference(const struct reference_case *all)
{
    neighbor_reference(all, false);
}

const struct collective_rule rule_neighbor_allgather = {
    COLLECTIVE_ROWS("Neighbor_allgather", OP_NEIGHBOR_ALLGATHER, SAVES_NOTHING),
    .call = neighbor_allgather_call,
    .launch = allgather_launch,
    .finish = allgather_finish,
    .tangent = neighbor_tangent,
    .reference = allgather_reference};
const struct collective_rule rule_neighbor_allgatherv = {
    COLLECTIVE_ROWS("Neighbor_allgatherv", OP_NEIGHBOR_ALLGATHERV, SAVES_NOTHING),
    .call = neighbor_allgatherv_call,
    .launch = allgather_launch,
    .finish = allgather_finish,
    .tangent = neighbor_tangent,
    .reference = allgather_reference};
const struct collective_rule rule_neighbor_alltoall = {
    COLLECTIVE_ROWS("Neighbor_alltoall", OP_NEIGHBOR_ALLTOALL, SAVES_NOTHING),
    .call = neighbor_alltoall_call,
    .launch = alltoall_launch,
    .finish = alltoall_finish,
    .tangent = neighbor_tangent,
    .reference = alltoall_reference};
const struct collective_rule rule_neighbor_alltoallv = {
    COLLECTIVE_ROWS("Neighbor_alltoallv", OP_NEIGHBOR_ALLTOALLV, SAVES_NOTHING),
    .call = neighbor_alltoallv_call,
    .launch = alltoall_launch,
    .finish = alltoall_finish,
    .tangent = neighbor_tangent,
    .reference = alltoall_reference};
const struct collective_rule rule_neighbor_alltoallw = {
    COLLECTIVE_ROWS("Neighbor_alltoallw", OP_NEIGHBOR_ALLTOALLW, SAVES_NOTHING),
    .call = neighbor_alltoallw_call,
    .launch = alltoall_launch,
    .finish = alltoall_finish,
    .tangent = neighbor_tangent,
    .reference = alltoall_reference};
