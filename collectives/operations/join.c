/* Joins: edges without a value, which order the backward pass in data order. */
#include "collectives/arithmetic/local.h"
#include "collectives/tape/request.h"

static void join_forward(struct diff_node *node)
{
    (void)node;
}

static void join_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                         struct diff_tensor **x_bar)
{
    (void)node;
    x_bar[0] = y_bar[0];
}

static void join_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                         struct diff_tensor **y_dot)
{
    (void)node;
    y_dot[0] = x_dot[0];
}

static const struct diff_operation join_operation = {.name = "join",
                                                     .kind = OP_COMPUTE,
                                                     .takes_handles = true,
                                                     .forward = join_forward,
                                                     .adjoint = join_adjoint,
                                                     .tangent = join_tangent};

static struct diff_tensor *join_build(struct diff_tensor *x, size_t count,
                                      struct diff_tensor *const *dependencies)
{
    struct diff_tape *tape = x->tape;
    struct diff_tensor **inputs =
        arena_take(&tape->arena, (count + 1) * sizeof(struct diff_tensor *));
    inputs[0] = x;
    for (size_t i = 0; i < count; i++)
        inputs[i + 1] = dependencies[i];
    struct diff_node *node = node_begin_on(tape, &join_operation, (uint32_t)count + 1, inputs);
    node->order_only = true;
    struct diff_tensor *y = node_output(node, tensor_view(x, x->dims, x->shape));
    node_run(node);
    return y;
}

struct diff_tensor *diff_join(struct diff_tensor *x, size_t count,
                              struct diff_tensor *const *dependencies)
{
    struct diff_state *state = x->tape->state;
    ENTER(state);
    if (x->type == DIFF_HANDLE)
        state_fail(state, "M009", "diff_join of a handle: use diff_join_handle");
    struct diff_tensor *y = join_build(x, count, dependencies);
    state_leave(state);
    return y;
}

struct diff_tensor *diff_join_handle(struct diff_tensor *handle, size_t count,
                                     struct diff_tensor *const *dependencies)
{
    struct diff_state *state = handle->tape->state;
    ENTER(state);
    request_take(handle, "diff_join_handle");
    struct diff_tensor *y = join_build(handle, count, dependencies);
    state_leave(state);
    return y;
}
