/* Reduce_scatter and Reduce_scatter_block: rank r gets the combination of everybody's block r.
 *
 * Adjoint of SUM: Allgather(v) of the cotangents; AVG divides by P; other ops pull every block's
 * cotangent back through the fold of the gathered contributions. */
#include "collectives/arithmetic/fold.h"
#include "collectives/experiment/mutant.h"
#include "collectives/operations/collective.h"
#include "collectives/operations/reference.h"

static int reduce_scatter_call(const struct collective *c, const void *send, void *receive,
                               MPI_Request *request)
{
    MPI_Datatype type = collective_type(c);
    MPI_Op op = collective_mpi_op(c->op);
    MPI_Comm comm = c->channel->comm;
    if (request)
        return MPI_Ireduce_scatter(send, receive, c->receive_counts, type, op, comm, request);
    return MPI_Reduce_scatter(send, receive, c->receive_counts, type, op, comm);
}

static int reduce_scatter_block_call(const struct collective *c, const void *send, void *receive,
                                     MPI_Request *request)
{
    int count = (int)c->count;
    MPI_Datatype type = collective_type(c);
    MPI_Op op = collective_mpi_op(c->op);
    MPI_Comm comm = c->channel->comm;
    if (request)
        return MPI_Ireduce_scatter_block(send, receive, count, type, op, comm, request);
    return MPI_Reduce_scatter_block(send, receive, count, type, op, comm);
}

/* Intercommunicators: the other group's blocks, with those of the own group in their places. Both
 * have as many values in all, as MPI wants it. */
static struct diff_tensor *spread(struct diff_node *node, struct diff_tensor *y_bar)
{
    const struct collective *c = node->extra;
    struct collective spec = collective_for_adjoint(node, &rule_allreduce);
    int rank = node->channel->rank;
    size_t begin = c->receive_begins ? (size_t)c->receive_begins[rank] : c->count * (size_t)rank;
    spec.count = spec.result_count = node->inputs[0]->count;
    return collective_issue(&spec, local_pad(y_bar, begin, spec.count));
}

static void launch_as(struct diff_node *node, struct diff_request *adjoint,
                      const struct collective_rule *rule)
{
    const struct collective *c = node->extra;
    struct collective spec = collective_for_adjoint(node, rule);
    spec.receive_counts = c->receive_counts;
    spec.receive_begins = c->receive_begins;
    spec.result_count = node->inputs[0]->count;
    struct diff_tensor *y_bar = collective_y_bar(node, adjoint);
    adjoint->parts[0] =
        node->channel->intercomm ? spread(node, y_bar) : collective_issue(&spec, y_bar);
    if (!collective_op_is_linear(c->op))
        adjoint->parts[1] = collective_gather_inputs(node);
}

static void reduce_scatter_launch(struct diff_node *node, struct diff_request *adjoint)
{
    launch_as(node, adjoint, &rule_allgatherv);
}

static void reduce_scatter_block_launch(struct diff_node *node, struct diff_request *adjoint)
{
    launch_as(node, adjoint, &rule_allgather);
}

static struct diff_tensor *reduce_scatter_tangent(struct diff_node *node, struct diff_tensor *x_dot)
{
    const struct collective *c = node->extra;
    int size = node->channel->size, rank = node->channel->rank;
    if (collective_op_is_linear(c->op)) {
        struct collective spec = collective_for_tangent(node);
        return collective_issue(&spec, x_dot);
    }
    if (node->channel->intercomm)
        return collective_fold_across(node, x_dot);
    struct diff_tensor *whole = fold_tangent(c->op, collective_gather(node, node->inputs[0]),
                                             collective_gather(node, x_dot), size, size - 1);
    size_t begin = c->receive_begins ? (size_t)c->receive_begins[rank] : c->count * (size_t)rank;
    return local_window(whole, begin, c->count);
}

static void reduce_scatter_reference(const struct reference_case *all)
{
    size_t at = 0;
    for (int r = 0; r < all->ranks; r++) {
        reference_fold(all, all->x, at, all->y[r].count, all->ranks - 1, all->y[r].values);
        at += all->y[r].count;
    }
}

const struct collective_rule rule_reduce_scatter = {
    COLLECTIVE_ROWS("Reduce_scatter", OP_REDUCE_SCATTER, SAVES_INPUTS),
    .call = reduce_scatter_call,
    .launch = reduce_scatter_launch,
    .finish = collective_reduction_finish,
    .tangent = reduce_scatter_tangent,
    .reference = reduce_scatter_reference};
const struct collective_rule rule_reduce_scatter_block = {
    COLLECTIVE_ROWS("Reduce_scatter_block", OP_REDUCE_SCATTER_BLOCK, SAVES_INPUTS),
    .call = reduce_scatter_block_call,
    .launch = reduce_scatter_block_launch,
    .finish = collective_reduction_finish,
    .tangent = reduce_scatter_tangent,
    .reference = reduce_scatter_reference};
