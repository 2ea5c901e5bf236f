/* Allreduce: every rank gets the combination of all contributions.
 *
 * SUM, AVG: adjoint the same operation on the cotangents. Other ops: S = sum of the cotangents,
 * times the derivative of the fold with respect to the own contribution (fold.h). */
#include "collectives/collective.h"
#include "collectives/mutant.h"

static int allreduce_call(const struct collective *c, const void *send, void *receive,
                          MPI_Request *request)
{
    int count = (int)c->count;
    MPI_Datatype type = diff_type_mpi(c->type);
    MPI_Op op = collective_mpi_op(c->op);
    if (request)
        return MPI_Iallreduce(send, receive, count, type, op, c->channel->comm, request);
    return MPI_Allreduce(send, receive, count, type, op, c->channel->comm);
}

static void allreduce_launch(struct diff_node *node, struct diff_request *adjoint)
{
    const struct collective *c = node->extra;
    struct collective spec = collective_for_adjoint(node, &rule_allreduce);
    spec.op = c->op;
    spec.result_count = c->count;
    adjoint->parts[0] = collective_issue(&spec, collective_y_bar(node, adjoint));
}

static struct diff_tensor *allreduce_finish(struct diff_node *node, struct diff_request *adjoint)
{
    (void)node;
    return collective_part(adjoint->parts[0]);
}

static struct diff_tensor *allreduce_tangent(struct diff_node *node, struct diff_tensor *x_dot)
{
    const struct collective *c = node->extra;
    struct collective spec = collective_for_adjoint(node, &rule_allreduce);
    spec.op = c->op;
    spec.result_count = c->count;
    return collective_issue(&spec, x_dot);
}

const struct collective_rule rule_allreduce = {
    COLLECTIVE_ROWS("Allreduce", OP_ALLREDUCE, SAVES_NOTHING), .call = allreduce_call,
    .launch = allreduce_launch, .finish = allreduce_finish, .tangent = allreduce_tangent};

struct diff_tensor *diff_allreduce(struct diff_tensor *x, MPI_Op op, MPI_Comm comm)
{
    ENTER(x->tape->state);
    collective_op_check(x, op, "diff_allreduce");
    struct collective spec = {.rule = &rule_allreduce,
                              .op = op,
                              .count = x->count,
                              .result_count = x->count,
                              .channel = channel_find(x->tape, comm, true)};
    struct diff_tensor *y = collective_issue(&spec, x);
    state_leave(x->tape->state);
    return y;
}
