/* Megatron's f and g: values that every rank holds alike.
 *
 * f (diff_replicate): identity forward; its adjoint sums the cotangents of the copies. g
 * (diff_reduce_invariant): sum forward, identity backward. Each is the other's adjoint. g is right
 * only when all ranks' cotangents are equal, which is compared at every backward pass. */
#include "collectives/experiment/mutant.h"
#include "collectives/operations/collective.h"
#include "recorder/recorder.h"

#include <float.h>
#include <math.h>
#include <string.h>

static struct diff_tensor *replicate_on(struct diff_channel *channel, struct diff_tensor *x);
static struct diff_tensor *invariant_on(struct diff_channel *channel, struct diff_tensor *x);

static void replicate_forward(struct diff_node *node)
{
    node_collective(node); /* the output shares the input's values; its adjoint communicates */
}

static void replicate_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                              struct diff_tensor **x_bar)
{
    x_bar[0] = invariant_on(channel_adjoint(node->channel),
                            cotangent_or_zeros(y_bar[0], node->outputs[0]));
}

static void replicate_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                              struct diff_tensor **y_dot)
{
    (void)node;
    y_dot[0] = x_dot[0];
}

static const struct diff_operation replicate_operation = {.name = "replicate",
                                                          .kind = OP_COMPUTE,
                                                          .communicates = true,
                                                          .forward = replicate_forward,
                                                          .adjoint = replicate_adjoint,
                                                          .tangent = replicate_tangent};

static void invariant_forward(struct diff_node *node)
{
    const struct diff_tensor *x = node->inputs[0];
    node_collective(node);
    MPI_Allreduce(x->storage->data, node->outputs[0]->storage->data, (int)x->count,
                  diff_type_mpi(x->type), MPI_SUM, node->channel->comm);
}

/* Compares a cotangent with the other ranks'; rounding of a replicated computation is not a breach.
 */
static void cotangents_compare(const struct diff_node *node, const struct diff_tensor *y_bar)
{
    struct diff_tape *tape = node->tape;
    size_t parts = y_bar->count * diff_type_parts(y_bar->type);
    double *extremes = arena_take(&tape->arena, (2 * parts + 1) * sizeof *extremes);
    for (size_t i = 0; i < parts; i++) {
        extremes[2 * i] = tensor_part(y_bar, i);
        extremes[2 * i + 1] = -tensor_part(y_bar, i);
    }
    MPI_Allreduce(MPI_IN_PLACE, extremes, (int)(2 * parts), MPI_DOUBLE, MPI_MAX,
                  channel_adjoint(node->channel)->comm);
    double epsilon = diff_type_is_single(y_bar->type) ? FLT_EPSILON : DBL_EPSILON;
    for (size_t i = 0; i < parts; i++) {
        double high = extremes[2 * i], low = -extremes[2 * i + 1];
        if (high - low <= 16 * epsilon * fmax(fabs(high), fabs(low)))
            continue;
        record_note(
            "G005",
            "the cotangents of reduce_invariant differ between ranks: element %zu from %g to "
            "%g; the gradient is right only when they are equal (is the loss replicated?)",
            i / diff_type_parts(y_bar->type), low, high);
        return;
    }
}

static void invariant_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                              struct diff_tensor **x_bar)
{
    struct diff_tensor *bar = cotangent_or_zeros(y_bar[0], node->outputs[0]);
    cotangents_compare(node, bar);
    struct diff_channel *channel = channel_adjoint(node->channel);
    x_bar[0] = node->tape->state->mutant == MUTANT_DOUBLE_COUNT ? invariant_on(channel, bar)
                                                                : replicate_on(channel, bar);
}

static void invariant_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                              struct diff_tensor **y_dot)
{
    y_dot[0] =
        invariant_on(channel_adjoint(node->channel), cotangent_or_zeros(x_dot[0], node->inputs[0]));
}

static const struct diff_operation invariant_operation = {.name = "reduce_invariant",
                                                          .kind = OP_ALLREDUCE,
                                                          .communicates = true,
                                                          .forward = invariant_forward,
                                                          .adjoint = invariant_adjoint,
                                                          .tangent = invariant_tangent};

static struct diff_tensor *replicate_on(struct diff_channel *channel, struct diff_tensor *x)
{
    struct diff_node *node = node_begin(&replicate_operation, 1, &x);
    node->channel = channel;
    struct diff_tensor *y = node_output(node, tensor_view(x, x->dims, x->shape));
    node_run(node);
    return y;
}

static struct diff_tensor *invariant_on(struct diff_channel *channel, struct diff_tensor *x)
{
    struct diff_node *node = node_begin(&invariant_operation, 1, &x);
    node->channel = channel;
    struct diff_tensor *y = node_output(node, tensor_new_like(x));
    node_run(node);
    return y;
}

static struct diff_channel *channel_of(struct diff_tensor *x, MPI_Comm comm)
{
    struct diff_channel *channel = channel_find(x->tape, comm, true);
    if (channel->intercomm)
        state_fail(x->tape->state, "M009",
                   "an intercommunicator's two groups hold no copies of "
                   "one value");
    return channel;
}

struct diff_tensor *diff_replicate(struct diff_tensor *x, MPI_Comm comm)
{
    ENTER(x->tape->state);
    struct diff_tensor *y = replicate_on(channel_of(x, comm), x);
    state_leave(x->tape->state);
    return y;
}

struct diff_tensor *diff_reduce_invariant(struct diff_tensor *x, MPI_Comm comm)
{
    ENTER(x->tape->state);
    struct diff_tensor *y = invariant_on(channel_of(x, comm), x);
    state_leave(x->tape->state);
    return y;
}
