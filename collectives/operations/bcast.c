/* Bcast: everybody gets the root's values.
 *
 * Adjoint: the root gets the sum of all cotangents, the others 0, since their old content is
 * overwritten. */
#include "collectives/experiment/mutant.h"
#include "collectives/operations/collective.h"
#include "collectives/operations/reference.h"

#include <string.h>

static int bcast_call(const struct collective *c, const void *send, void *receive,
                      MPI_Request *request)
{
    int count = (int)c->count;
    MPI_Datatype type = diff_type_mpi(c->type);
    if (c->channel->intercomm && !collective_is_member(c)) /* it sends, or has no part */
        receive = (void *)(uintptr_t)send;
    else if (send != MPI_IN_PLACE && channel_is_root(c->channel, c->root))
        memcpy(receive, send, c->count * diff_type_size(c->type));
    if (request)
        return MPI_Ibcast(receive, count, type, c->root, c->channel->comm, request);
    return MPI_Bcast(receive, count, type, c->root, c->channel->comm);
}

static void bcast_launch(struct diff_node *node, struct diff_request *adjoint)
{
    const struct collective *c = node->extra;
    struct collective spec = collective_for_adjoint(node, &rule_reduce);
    spec.result_count = channel_is_root(spec.channel, c->root) ? c->count : 0;
    adjoint->parts[0] = collective_issue(&spec, collective_y_bar(node, adjoint));
}

static struct diff_tensor *bcast_finish(struct diff_node *node, struct diff_request *adjoint)
{
    struct diff_tensor *sum = collective_part(adjoint->parts[0]);
    return collective_is_root(node) && sum->count > 0 ? sum : NULL;
}

static struct diff_tensor *bcast_tangent(struct diff_node *node, struct diff_tensor *x_dot)
{
    struct collective spec = collective_for_tangent(node);
    return collective_issue(&spec, x_dot);
}

static void bcast_reference(const struct reference_case *all)
{
    for (int r = 0; r < all->ranks; r++)
        reference_copy(all, all->y[r].values, 0, all->x[all->root].values, 0, all->x[0].count);
}

const struct collective_rule rule_bcast = {COLLECTIVE_ROWS("Bcast", OP_BCAST, SAVES_NOTHING),
                                           .call = bcast_call,
                                           .launch = bcast_launch,
                                           .finish = bcast_finish,
                                           .tangent = bcast_tangent,
                                           .reference = bcast_reference};
