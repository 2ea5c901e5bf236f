/* Scan and Exscan: rank r gets the combination of the contributions of ranks 0 .. r, or 0 .. r - 1.
 *
 * Adjoint: a cotangent of rank r's result belongs to every contribution in it. The cotangents are
 * gathered and pulled back from the last prefix to the own contribution (fold.h): for SUM a reverse
 * sum, for PROD the recursion t_i = ybar_i + x_{i+1} t_{i+1}, for MAX and MIN the sum over the
 * prefixes whose extremum is the own. Rank 0's Exscan result is undefined by the standard and zero
 * here; its cotangent is ignored. */
#include "collectives/arithmetic/fold.h"
#include "collectives/experiment/mutant.h"
#include "collectives/operations/collective.h"
#include "collectives/operations/reference.h"

#include <string.h>

static int scan_call(const struct collective *c, const void *send, void *receive,
                     MPI_Request *request)
{
    int count = (int)c->count;
    MPI_Datatype type = collective_type(c);
    MPI_Comm comm = c->channel->comm;
    if (request)
        return MPI_Iscan(send, receive, count, type, c->op, comm, request);
    return MPI_Scan(send, receive, count, type, c->op, comm);
}

static int exscan_call(const struct collective *c, const void *send, void *receive,
                       MPI_Request *request)
{
    int count = (int)c->count;
    MPI_Datatype type = collective_type(c);
    MPI_Comm comm = c->channel->comm;
    if (c->channel->rank == 0 && !c->in_place)
        memset(receive, 0, c->count * (c->pairs ? 16 : diff_type_size(c->type)));
    if (request)
        return MPI_Iexscan(send, receive, count, type, c->op, comm, request);
    return MPI_Exscan(send, receive, count, type, c->op, comm);
}

static void scan_launch(struct diff_node *node, struct diff_request *adjoint)
{
    const struct collective *c = node->extra;
    struct collective spec = collective_for_adjoint(node, &rule_allgather);
    spec.result_count = c->count * (size_t)node->channel->size;
    adjoint->parts[0] = collective_issue(&spec, collective_y_bar(node, adjoint));
    if (c->op != MPI_SUM)
        adjoint->parts[1] = collective_gather_inputs(node);
}

static struct diff_tensor *pulled_back(struct diff_node *node, struct diff_tensor *bars,
                                       struct diff_tensor *all)
{
    const struct collective *c = node->extra;
    MPI_Op op = node->tape->state->mutant == MUTANT_OP_DROPPED ? MPI_SUM : c->op;
    return fold_scan_adjoint(op, all ? all : bars, node->channel->size, node->channel->rank, bars);
}

static struct diff_tensor *scan_finish(struct diff_node *node, struct diff_request *adjoint)
{
    struct diff_tensor *bars = collective_part(adjoint->parts[0]);
    return pulled_back(node, bars, collective_part(adjoint->parts[1]));
}

/* The result of rank r is the prefix up to r - 1: cotangents move down by one rank. */
static struct diff_tensor *exscan_finish(struct diff_node *node, struct diff_request *adjoint)
{
    const struct collective *c = node->extra;
    struct diff_tensor *bars = collective_part(adjoint->parts[0]);
    size_t total = bars->count;
    struct diff_tensor *shifted =
        local_pad(local_window(bars, c->count, total - c->count), 0, total);
    struct diff_tensor *x_bar = pulled_back(node, shifted, collective_part(adjoint->parts[1]));
    if (c->in_place && node->channel->rank == 0) /* nothing was written there */
        x_bar =
            cotangent_add(local_shaped(x_bar, 1, &x_bar->count), local_window(bars, 0, c->count));
    return x_bar;
}

static struct diff_tensor *scan_tangent_to(struct diff_node *node, struct diff_tensor *x_dot,
                                           int last)
{
    const struct collective *c = node->extra;
    if (c->op == MPI_SUM) {
        struct collective spec = collective_for_tangent(node);
        return collective_issue(&spec, x_dot);
    }
    struct diff_tensor *all = collective_gather(node, node->inputs[0]);
    struct diff_tensor *all_dot = collective_gather(node, x_dot);
    if (last < 0)
        return tensor_zeros_like(x_dot);
    return fold_tangent(c->op, all, all_dot, node->channel->size, last);
}

static struct diff_tensor *scan_tangent(struct diff_node *node, struct diff_tensor *x_dot)
{
    return scan_tangent_to(node, x_dot, node->channel->rank);
}

static struct diff_tensor *exscan_tangent(struct diff_node *node, struct diff_tensor *x_dot)
{
    const struct collective *c = node->extra;
    struct diff_tensor *y_dot = scan_tangent_to(node, x_dot, node->channel->rank - 1);
    return c->in_place && node->channel->rank == 0 ? x_dot : y_dot;
}

static void scan_reference(const struct reference_case *all)
{
    for (int r = 0; r < all->ranks; r++)
        reference_fold(all, all->x, 0, all->x[0].count, r, all->y[r].values);
}

static void exscan_reference(const struct reference_case *all)
{
    memset(all->y[0].values, 0, all->y[0].count * all->parts * sizeof(double));
    for (int r = 1; r < all->ranks; r++)
        reference_fold(all, all->x, 0, all->x[0].count, r - 1, all->y[r].values);
}

const struct collective_rule rule_scan = {COLLECTIVE_ROWS("Scan", OP_SCAN, SAVES_INPUTS),
                                          .call = scan_call,
                                          .launch = scan_launch,
                                          .finish = scan_finish,
                                          .tangent = scan_tangent,
                                          .reference = scan_reference};
const struct collective_rule rule_exscan = {COLLECTIVE_ROWS("Exscan", OP_EXSCAN, SAVES_INPUTS),
                                            .call = exscan_call,
                                            .launch = scan_launch,
                                            .finish = exscan_finish,
                                            .tangent = exscan_tangent,
                                            .reference = exscan_reference};
