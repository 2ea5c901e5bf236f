/* Allreduce: every rank gets the combination of all contributions.
 *
 * SUM, AVG: the adjoint is the same operation on the cotangents. Other ops: S = the sum of the
 * cotangents, pulled back through the fold of the gathered contributions (fold.h). */
#include "collectives/arithmetic/fold.h"
#include "collectives/experiment/mutant.h"
#include "collectives/operations/collective.h"
#include "collectives/operations/reference.h"

static int allreduce_call(const struct collective *c, const void *send, void *receive,
                          MPI_Request *request)
{
    int count = (int)c->count;
    MPI_Datatype type = collective_type(c);
    MPI_Op op = collective_mpi_op(c->op);
    if (request)
        return MPI_Iallreduce(send, receive, count, type, op, c->channel->comm, request);
    return MPI_Allreduce(send, receive, count, type, op, c->channel->comm);
}

static MPI_Op op_of_adjoint(const struct diff_node *node, MPI_Op op)
{
    switch (node->tape->state->mutant) {
    case MUTANT_AVG_FACTOR:
        return MPI_SUM;
    case MUTANT_MEAN:
        return op == MPI_SUM ? DIFF_AVG : MPI_SUM;
    case MUTANT_MAX_AGAIN:
        return op;
    default:
        return collective_op_is_linear(op) ? op : MPI_SUM;
    }
}

static void allreduce_launch(struct diff_node *node, struct diff_request *adjoint)
{
    const struct collective *c = node->extra;
    struct collective spec = collective_for_adjoint(node, &rule_allreduce);
    spec.op = op_of_adjoint(node, c->op);
    if (node->channel->intercomm && c->op == DIFF_AVG) /* the mean over the own group */
        spec.op = MPI_SUM;
    spec.result_count = c->count;
    struct diff_tensor *y_bar = collective_y_bar(node, adjoint);
    if (node->tape->state->mutant == MUTANT_IDENTITY) {
        adjoint->parts[0] = y_bar;
        return;
    }
    adjoint->parts[0] = collective_issue(&spec, y_bar);
    if (!collective_op_is_linear(c->op))
        adjoint->parts[1] = collective_gather_inputs(node);
}

static struct diff_tensor *allreduce_finish(struct diff_node *node, struct diff_request *adjoint)
{
    const struct collective *c = node->extra;
    struct diff_tensor *s = collective_part(adjoint->parts[0]);
    struct diff_tensor *all = collective_part(adjoint->parts[1]);
    if (node->channel->intercomm && c->op == DIFF_AVG &&
        node->tape->state->mutant != MUTANT_AVG_FACTOR)
        return diff_scale(s, 1.0 / node->channel->size);
    if (collective_op_is_linear(c->op) || node->tape->state->mutant == MUTANT_OP_DROPPED || !all)
        return s;
    return fold_adjoint(c->op, all, node->channel->size, node->channel->rank, s);
}

static struct diff_tensor *allreduce_tangent(struct diff_node *node, struct diff_tensor *x_dot)
{
    const struct collective *c = node->extra;
    if (collective_op_is_linear(c->op)) {
        struct collective spec = collective_for_tangent(node);
        return collective_issue(&spec, x_dot);
    }
    if (node->channel->intercomm)
        return collective_fold_across(node, x_dot);
    int size = node->channel->size;
    return fold_tangent(c->op, collective_gather(node, node->inputs[0]),
                        collective_gather(node, x_dot), size, size - 1);
}

static void allreduce_reference(const struct reference_case *all)
{
    for (int r = 0; r < all->ranks; r++)
        reference_fold(all, all->x, 0, all->x[0].count, all->ranks - 1, all->y[r].values);
}

const struct collective_rule rule_allreduce = {
    COLLECTIVE_ROWS("Allreduce", OP_ALLREDUCE, SAVES_INPUTS),
    .call = allreduce_call,
    .launch = allreduce_launch,
    .finish = allreduce_finish,
    .tangent = allreduce_tangent,
    .reference = allreduce_reference};
