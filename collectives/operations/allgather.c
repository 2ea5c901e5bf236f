/* Allgather and Allgatherv: every rank gets all blocks. Adjoint: Reduce_scatter of the cotangents
 * with SUM: a rank's block went to everybody, so all their cotangents for it add up. */
#include "collectives/experiment/mutant.h"
#include "collectives/operations/collective.h"
#include "collectives/operations/reference.h"

static int allgather_call(const struct collective *c, const void *send, void *receive,
                          MPI_Request *request)
{
    int count = (int)c->count;
    MPI_Datatype type = diff_type_mpi(c->type);
    MPI_Comm comm = c->channel->comm;
    if (request)
        return MPI_Iallgather(send, count, type, receive, collective_count_in(c), type, comm,
                              request);
    return MPI_Allgather(send, count, type, receive, collective_count_in(c), type, comm);
}

static int allgatherv_call(const struct collective *c, const void *send, void *receive,
                           MPI_Request *request)
{
    int count = (int)c->count;
    MPI_Datatype type = diff_type_mpi(c->type);
    MPI_Comm comm = c->channel->comm;
    if (request)
        return MPI_Iallgatherv(send, count, type, receive, c->receive_counts, c->receive_begins,
                               type, comm, request);
    return MPI_Allgatherv(send, count, type, receive, c->receive_counts, c->receive_begins, type,
                          comm);
}

static struct diff_tensor *own_slice(const struct diff_node *node, struct diff_tensor *all)
{
    const struct collective *c = node->extra;
    size_t begin = c->receive_begins ? (size_t)c->receive_begins[node->channel->rank]
                                     : c->count * (size_t)node->channel->rank;
    return local_window(local_shaped(all, 1, &all->count), begin, c->count);
}

/* The wrong ways of the mutants; NULL for the right one. */
static struct diff_tensor *mutated(struct diff_node *node, struct diff_tensor *y_bar)
{
    struct collective spec = collective_for_adjoint(node, &rule_allreduce);
    const struct collective *c = node->extra;
    switch (node->tape->state->mutant) {
    case MUTANT_OWN_SLICE:
        return own_slice(node, y_bar);
    case MUTANT_SLICE_FIRST:
        if (c->receive_counts)
            return NULL;
        spec.result_count = c->count;
        return collective_issue(&spec, own_slice(node, y_bar));
    case MUTANT_ALLGATHER_ROOT:
        spec.rule = &rule_reduce;
        spec.root = 0;
        spec.count = y_bar->count;
        spec.result_count = spec.channel->rank == 0 ? y_bar->count : 0;
        struct diff_tensor *sum = collective_part(collective_issue(&spec, y_bar));
        return sum->count > 0 ? own_slice(node, sum) : tensor_zeros_like(own_slice(node, y_bar));
    default:
        return NULL;
    }
}

/* Intercommunicators: a rank's block went to the whole other group, whose ranks send their
 * cotangents for it; they are added when they are here. */
static struct diff_tensor *exchanged(struct diff_node *node, struct diff_tensor *y_bar)
{
    const struct collective *c = node->extra;
    struct collective spec = collective_for_adjoint(node, &rule_alltoallv);
    int peers = node->channel->peers;
    int *lists = arena_take(&node->tape->arena, 4 * (size_t)peers * sizeof *lists);
    int *counts = lists, *begins = lists + peers, *in = begins + peers, *in_begins = in + peers;
    for (int i = 0; i < peers; i++) {
        counts[i] = c->receive_counts ? c->receive_counts[i] : (int)c->count_in;
        begins[i] = i == 0 ? 0 : begins[i - 1] + counts[i - 1];
        in[i] = (int)c->count;
        in_begins[i] = i * (int)c->count;
    }
    spec.send_counts = counts;
    spec.send_begins = begins;
    spec.receive_counts = in;
    spec.receive_begins = in_begins;
    spec.result_count = (size_t)peers * c->count;
    return collective_issue(&spec, y_bar);
}

static struct diff_tensor *added(const struct diff_node *node, struct diff_tensor *all)
{
    const struct collective *c = node->extra;
    struct diff_tensor *sum = local_window(all, 0, c->count);
    for (int i = 1; i < node->channel->peers; i++)
        sum = diff_add(sum, local_window(all, (size_t)i * c->count, c->count));
    return sum;
}

static void allgather_launch_as(struct diff_node *node, struct diff_request *adjoint,
                                const struct collective_rule *rule)
{
    const struct collective *c = node->extra;
    struct collective spec = collective_for_adjoint(node, rule);
    struct diff_tensor *y_bar = collective_y_bar(node, adjoint);
    spec.result_count = c->count;
    spec.receive_counts = c->receive_counts;
    spec.receive_begins = c->receive_begins;
    if (node->channel->intercomm) {
        adjoint->parts[0] = exchanged(node, y_bar);
        return;
    }
    adjoint->parts[0] = mutated(node, y_bar);
    if (!adjoint->parts[0])
        adjoint->parts[0] = collective_issue(&spec, y_bar);
}

static void allgather_launch(struct diff_node *node, struct diff_request *adjoint)
{
    allgather_launch_as(node, adjoint, &rule_reduce_scatter_block);
}

static void allgatherv_launch(struct diff_node *node, struct diff_request *adjoint)
{
    allgather_launch_as(node, adjoint, &rule_reduce_scatter);
}

static struct diff_tensor *allgather_finish(struct diff_node *node, struct diff_request *adjoint)
{
    struct diff_tensor *part = collective_part(adjoint->parts[0]);
    return node->channel->intercomm ? added(node, part) : part;
}

static struct diff_tensor *allgather_tangent(struct diff_node *node, struct diff_tensor *x_dot)
{
    struct collective spec = collective_for_tangent(node);
    return collective_issue(&spec, x_dot);
}

static void allgather_reference(const struct reference_case *all)
{
    for (int to = 0; to < all->ranks; to++) {
        size_t at = 0;
        for (int from = 0; from < all->ranks; from++) {
            reference_copy(all, all->y[to].values, at, all->x[from].values, 0, all->x[from].count);
            at += all->x[from].count;
        }
    }
}

const struct collective_rule rule_allgather = {
    COLLECTIVE_ROWS("Allgather", OP_ALLGATHER, SAVES_NOTHING),
    .call = allgather_call,
    .launch = allgather_launch,
    .finish = allgather_finish,
    .tangent = allgather_tangent,
    .reference = allgather_reference};
const struct collective_rule rule_allgatherv = {
    COLLECTIVE_ROWS("Allgatherv", OP_ALLGATHERV, SAVES_NOTHING),
    .call = allgatherv_call,
    .launch = allgatherv_launch,
    .finish = allgather_finish,
    .tangent = allgather_tangent,
    .reference = allgather_reference};
