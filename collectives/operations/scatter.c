/* Scatter and Scatterv: every rank gets its block of the root's values. Adjoint: Gather(v) of the
 * cotangents at the root; the others have no part in the root's buffer. */
#include "collectives/experiment/mutant.h"
#include "collectives/operations/collective.h"
#include "collectives/operations/reference.h"

static int scatter_call(const struct collective *c, const void *send, void *receive,
                        MPI_Request *request)
{
    int count = (int)c->count;
    MPI_Datatype type = diff_type_mpi(c->type);
    MPI_Comm comm = c->channel->comm;
    if (request)
        return MPI_Iscatter(send, count, type, receive, count, type, c->root, comm, request);
    return MPI_Scatter(send, count, type, receive, count, type, c->root, comm);
}

static int scatterv_call(const struct collective *c, const void *send, void *receive,
                         MPI_Request *request)
{
    int count = (int)c->count;
    MPI_Datatype type = diff_type_mpi(c->type);
    MPI_Comm comm = c->channel->comm;
    if (request)
        return MPI_Iscatterv(send, c->send_counts, c->send_begins, type, receive, count, type,
                             c->root, comm, request);
    return MPI_Scatterv(send, c->send_counts, c->send_begins, type, receive, count, type, c->root,
                        comm);
}

static void scatter_launch_as(struct diff_node *node, struct diff_request *adjoint,
                              const struct collective_rule *rule)
{
    const struct collective *c = node->extra;
    struct collective spec = collective_for_adjoint(node, rule);
    bool root = collective_is_root(node);
    spec.result_count = root ? node->inputs[0]->count : 0;
    spec.receive_counts = c->send_counts;
    spec.receive_begins = c->send_begins;
    adjoint->parts[0] = collective_issue(&spec, collective_y_bar(node, adjoint));
}

static void scatter_launch(struct diff_node *node, struct diff_request *adjoint)
{
    scatter_launch_as(node, adjoint, &rule_gather);
}

static void scatterv_launch(struct diff_node *node, struct diff_request *adjoint)
{
    scatter_launch_as(node, adjoint, &rule_gatherv);
}

static struct diff_tensor *scatter_finish(struct diff_node *node, struct diff_request *adjoint)
{
    struct diff_tensor *all = collective_part(adjoint->parts[0]);
    return collective_is_root(node) ? all : NULL;
}

static struct diff_tensor *scatter_tangent(struct diff_node *node, struct diff_tensor *x_dot)
{
    struct collective spec = collective_for_tangent(node);
    return collective_issue(&spec, x_dot);
}

static void scatter_reference(const struct reference_case *all)
{
    size_t at = 0;
    for (int r = 0; r < all->ranks; r++) {
        reference_copy(all, all->y[r].values, 0, all->x[all->root].values, at, all->y[r].count);
        at += all->y[r].count;
    }
}

/* IN_PLACE at the root: its block stays where it is. */
const struct collective_rule rule_scatter = {COLLECTIVE_ROWS("Scatter", OP_SCATTER, SAVES_NOTHING),
                                             .receives_in_place = true,
                                             .call = scatter_call,
                                             .launch = scatter_launch,
                                             .finish = scatter_finish,
                                             .tangent = scatter_tangent,
                                             .reference = scatter_reference};
const struct collective_rule rule_scatterv = {
    COLLECTIVE_ROWS("Scatterv", OP_SCATTERV, SAVES_NOTHING),
    .receives_in_place = true,
    .call = scatterv_call,
    .launch = scatterv_launch,
    .finish = scatter_finish,
    .tangent = scatter_tangent,
    .reference = scatter_reference};
