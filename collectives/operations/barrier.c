/* Barrier: no values; the adjoint is a barrier, so that what it ordered forward is ordered
 * backward. */
#include "collectives/operations/collective.h"
#include "collectives/operations/reference.h"

static int barrier_call(const struct collective *c, const void *send, void *receive,
                        MPI_Request *request)
{
    (void)send, (void)receive;
    return request ? MPI_Ibarrier(c->channel->comm, request) : MPI_Barrier(c->channel->comm);
}

static void barrier_launch(struct diff_node *node, struct diff_request *adjoint)
{
    struct collective spec = collective_for_adjoint(node, &rule_barrier);
    adjoint->parts[0] = collective_issue(&spec, node->inputs[0]);
}

static struct diff_tensor *barrier_finish(struct diff_node *node, struct diff_request *adjoint)
{
    (void)node;
    collective_part(adjoint->parts[0]);
    return NULL;
}

static struct diff_tensor *barrier_tangent(struct diff_node *node, struct diff_tensor *x_dot)
{
    struct collective spec = collective_for_tangent(node);
    return collective_issue(&spec, x_dot);
}

static void barrier_reference(const struct reference_case *all)
{
    (void)all; /* there is nothing to compute */
}

const struct collective_rule rule_barrier = {COLLECTIVE_ROWS("Barrier", OP_BARRIER, SAVES_NOTHING),
                                             .call = barrier_call,
                                             .launch = barrier_launch,
                                             .finish = barrier_finish,
                                             .tangent = barrier_tangent,
                                             .reference = barrier_reference};
