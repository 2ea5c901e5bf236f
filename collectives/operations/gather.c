/* Gather and Gatherv: the root gets all blocks, one after the other. Adjoint: Scatter(v) of the
 * cotangent. */
#include "collectives/experiment/mutant.h"
#include "collectives/operations/collective.h"
#include "collectives/operations/reference.h"

static int gather_call(const struct collective *c, const void *send, void *receive,
                       MPI_Request *request)
{
    int count = (int)c->count;
    MPI_Datatype type = diff_type_mpi(c->type);
    MPI_Comm comm = c->channel->comm;
    if (request)
        return MPI_Igather(send, count, type, receive, count, type, c->root, comm, request);
    return MPI_Gather(send, count, type, receive, count, type, c->root, comm);
}

static int gatherv_call(const struct collective *c, const void *send, void *receive,
                        MPI_Request *request)
{
    int count = (int)c->count;
    MPI_Datatype type = diff_type_mpi(c->type);
    MPI_Comm comm = c->channel->comm;
    if (request)
        return MPI_Igatherv(send, count, type, receive, c->receive_counts, c->receive_begins, type,
                            c->root, comm, request);
    return MPI_Gatherv(send, count, type, receive, c->receive_counts, c->receive_begins, type,
                       c->root, comm);
}

static void gather_launch_as(struct diff_node *node, struct diff_request *adjoint,
                             const struct collective_rule *rule)
{
    const struct collective *c = node->extra;
    struct collective spec = collective_for_adjoint(node, rule);
    spec.result_count = collective_is_member(c) ? c->count : 0;
    spec.send_counts = c->receive_counts;
    spec.send_begins = c->receive_begins;
    struct diff_tensor *y_bar = collective_y_bar(node, adjoint);
    if (!collective_is_root(node) && y_bar->count > 0)
        y_bar = tensor_new_flat(node->tape, c->type, 0);
    adjoint->parts[0] = collective_issue(&spec, y_bar);
}

static void gather_launch(struct diff_node *node, struct diff_request *adjoint)
{
    gather_launch_as(node, adjoint, &rule_scatter);
}

static void gatherv_launch(struct diff_node *node, struct diff_request *adjoint)
{
    gather_launch_as(node, adjoint, &rule_scatterv);
}

static struct diff_tensor *gather_finish(struct diff_node *node, struct diff_request *adjoint)
{
    struct diff_tensor *own = collective_part(adjoint->parts[0]);
    return collective_is_member(node->extra) ? own : NULL;
}

static struct diff_tensor *gather_tangent(struct diff_node *node, struct diff_tensor *x_dot)
{
    struct collective spec = collective_for_tangent(node);
    return collective_issue(&spec, x_dot);
}

static void gather_reference(const struct reference_case *all)
{
    size_t at = 0;
    for (int r = 0; r < all->ranks; r++) {
        reference_copy(all, all->y[all->root].values, at, all->x[r].values, 0, all->x[r].count);
        at += all->x[r].count;
    }
}

const struct collective_rule rule_gather = {COLLECTIVE_ROWS("Gather", OP_GATHER, SAVES_NOTHING),
                                            .call = gather_call,
                                            .launch = gather_launch,
                                            .finish = gather_finish,
                                            .tangent = gather_tangent,
                                            .reference = gather_reference};
const struct collective_rule rule_gatherv = {COLLECTIVE_ROWS("Gatherv", OP_GATHERV, SAVES_NOTHING),
                                             .call = gatherv_call,
                                             .launch = gatherv_launch,
                                             .finish = gather_finish,
                                             .tangent = gather_tangent,
                                             .reference = gather_reference};
