/* Reduce: the root gets the combination of all contributions, the others nothing.
 *
 * Adjoint: S, the root's cotangent, is broadcast; SUM gives it to everybody, AVG divides it by P,
 * other ops pull it back through the fold of the gathered contributions. */
#include "collectives/arithmetic/fold.h"
#include "collectives/experiment/mutant.h"
#include "collectives/operations/collective.h"
#include "collectives/operations/reference.h"

static int reduce_call(const struct collective *c, const void *send, void *receive,
                       MPI_Request *request)
{
    int count = (int)c->count;
    MPI_Datatype type = collective_type(c);
    MPI_Op op = collective_mpi_op(c->op);
    MPI_Comm comm = c->channel->comm;
    if (request)
        return MPI_Ireduce(send, receive, count, type, op, c->root, comm, request);
    return MPI_Reduce(send, receive, count, type, op, c->root, comm);
}

static void reduce_launch(struct diff_node *node, struct diff_request *adjoint)
{
    const struct collective *c = node->extra;
    struct collective spec = collective_for_adjoint(node, &rule_bcast);
    spec.result_count = collective_is_member(c) ? c->count : 0;
    struct diff_tensor *s = collective_y_bar(node, adjoint);
    if (s->count != c->count)
        s = tensor_zeros_like(node->inputs[0]);
    adjoint->parts[0] = collective_issue(&spec, s);
    if (!collective_op_is_linear(c->op) && collective_is_member(c))
        adjoint->parts[1] = collective_gather_inputs(node);
}

struct diff_tensor *collective_reduction_finish(struct diff_node *node,
                                                struct diff_request *adjoint)
{
    const struct collective *c = node->extra;
    int size = node->channel->size, mutant = node->tape->state->mutant;
    struct diff_tensor *s = collective_part(adjoint->parts[0]);
    struct diff_tensor *all = collective_part(adjoint->parts[1]);
    if (c->op == DIFF_AVG && mutant != MUTANT_AVG_FACTOR)
        return diff_scale(s, 1.0 / size);
    if (collective_op_is_linear(c->op) || mutant == MUTANT_OP_DROPPED)
        return s;
    return fold_adjoint(c->op, all, size, node->channel->rank, s);
}

static struct diff_tensor *reduce_finish(struct diff_node *node, struct diff_request *adjoint)
{
    if (collective_is_member(node->extra))
        return collective_reduction_finish(node, adjoint);
    collective_part(adjoint->parts[0]); /* completes what was started */
    collective_part(adjoint->parts[1]);
    return NULL;
}

static struct diff_tensor *reduce_tangent(struct diff_node *node, struct diff_tensor *x_dot)
{
    const struct collective *c = node->extra;
    int size = node->channel->size;
    if (collective_op_is_linear(c->op)) {
        struct collective spec = collective_for_tangent(node);
        return collective_issue(&spec, x_dot);
    }
    if (node->channel->intercomm)
        return collective_fold_across(node, x_dot);
    struct diff_tensor *all = collective_gather(node, node->inputs[0]);
    struct diff_tensor *all_dot = collective_gather(node, x_dot);
    return c->result_count > 0 ? fold_tangent(c->op, all, all_dot, size, size - 1) : NULL;
}

static void reduce_reference(const struct reference_case *all)
{
    reference_fold(all, all->x, 0, all->x[0].count, all->ranks - 1, all->y[all->root].values);
}

const struct collective_rule rule_reduce = {COLLECTIVE_ROWS("Reduce", OP_REDUCE, SAVES_INPUTS),
                                            .call = reduce_call,
                                            .launch = reduce_launch,
                                            .finish = reduce_finish,
                                            .tangent = reduce_tangent,
                                            .reference = reduce_reference};
