/* Alltoall, Alltoallv, Alltoallw: rank i's block j becomes rank j's block i.
 *
 * Adjoint: itself, with what was sent and what was received changing places. */
#include "collectives/operations/collective.h"
#include "collectives/operations/reference.h"

static int alltoall_call(const struct collective *c, const void *send, void *receive,
                         MPI_Request *request)
{
    int count = (int)c->count;
    MPI_Datatype type = diff_type_mpi(c->type);
    MPI_Comm comm = c->channel->comm;
    if (request)
        return MPI_Ialltoall(send, count, type, receive, collective_count_in(c), type, comm,
                             request);
    return MPI_Alltoall(send, count, type, receive, collective_count_in(c), type, comm);
}

static int alltoallv_call(const struct collective *c, const void *send, void *receive,
                          MPI_Request *request)
{
    MPI_Datatype type = diff_type_mpi(c->type);
    MPI_Comm comm = c->channel->comm;
    if (request)
        return MPI_Ialltoallv(send, c->send_counts, c->send_begins, type, receive,
                              c->receive_counts, c->receive_begins, type, comm, request);
    return MPI_Alltoallv(send, c->send_counts, c->send_begins, type, receive, c->receive_counts,
                         c->receive_begins, type, comm);
}

/* The w form's types and byte displacements, all of the one basic type here: tape/layout.c has
 * packed them. */
struct w_lists {
    int *send_bytes, *receive_bytes;
    MPI_Datatype *types;
};

static struct w_lists w_lists_make(const struct collective *c)
{
    struct arena *arena = &c->channel->tape->arena;
    size_t size = (size_t)c->channel->peers;
    int width = (int)diff_type_size(c->type);
    struct w_lists lists = {arena_take(arena, size * sizeof(int)),
                            arena_take(arena, size * sizeof(int)),
                            arena_take(arena, size * sizeof(MPI_Datatype))};
    for (size_t i = 0; i < size; i++) {
        lists.send_bytes[i] = c->send_begins[i] * width;
        lists.receive_bytes[i] = c->receive_begins[i] * width;
        lists.types[i] = diff_type_mpi(c->type);
    }
    return lists;
}

static int alltoallw_call(const struct collective *c, const void *send, void *receive,
                          MPI_Request *request)
{
    struct w_lists lists = w_lists_make(c);
    MPI_Comm comm = c->channel->comm;
    if (request)
        return MPI_Ialltoallw(send, c->send_counts, lists.send_bytes, lists.types, receive,
                              c->receive_counts, lists.receive_bytes, lists.types, comm, request);
    return MPI_Alltoallw(send, c->send_counts, lists.send_bytes, lists.types, receive,
                         c->receive_counts, lists.receive_bytes, lists.types, comm);
}

static void alltoall_launch(struct diff_node *node, struct diff_request *adjoint)
{
    const struct collective *c = node->extra;
    struct collective spec = collective_for_adjoint(node, c->rule);
    spec.count = (size_t)collective_count_in(c);
    spec.count_in = c->count;
    spec.result_count = node->inputs[0]->count;
    spec.send_counts = c->receive_counts;
    spec.send_begins = c->receive_begins;
    spec.receive_counts = c->send_counts;
    spec.receive_begins = c->send_begins;
    adjoint->parts[0] = collective_issue(&spec, collective_y_bar(node, adjoint));
}

static struct diff_tensor *alltoall_finish(struct diff_node *node, struct diff_request *adjoint)
{
    (void)node;
    return collective_part(adjoint->parts[0]);
}

static struct diff_tensor *alltoall_tangent(struct diff_node *node, struct diff_tensor *x_dot)
{
    struct collective spec = collective_for_tangent(node);
    return collective_issue(&spec, x_dot);
}

static size_t block(const struct reference_case *all, int from, int to)
{
    if (all->send_counts)
        return (size_t)all->send_counts[from * all->ranks + to];
    return all->x[from].count / (size_t)all->ranks;
}

static void alltoall_reference(const struct reference_case *all)
{
    for (int to = 0; to < all->ranks; to++) {
        size_t written = 0;
        for (int from = 0; from < all->ranks; from++) {
            size_t begin = 0;
            for (int before = 0; before < to; before++)
                begin += block(all, from, before);
            size_t count = block(all, from, to);
            reference_copy(all, all->y[to].values, written, all->x[from].values, begin, count);
            written += count;
        }
    }
}

const struct collective_rule rule_alltoall = {
    COLLECTIVE_ROWS("Alltoall", OP_ALLTOALL, SAVES_NOTHING),
    .call = alltoall_call,
    .launch = alltoall_launch,
    .finish = alltoall_finish,
    .tangent = alltoall_tangent,
    .reference = alltoall_reference};
const struct collective_rule rule_alltoallv = {
    COLLECTIVE_ROWS("Alltoallv", OP_ALLTOALLV, SAVES_NOTHING),
    .call = alltoallv_call,
    .launch = alltoall_launch,
    .finish = alltoall_finish,
    .tangent = alltoall_tangent,
    .reference = alltoall_reference};
const struct collective_rule rule_alltoallw = {
    COLLECTIVE_ROWS("Alltoallw", OP_ALLTOALLW, SAVES_NOTHING),
    .call = alltoallw_call,
    .launch = alltoall_launch,
    .finish = alltoall_finish,
    .tangent = alltoall_tangent,
    .reference = alltoall_reference};
