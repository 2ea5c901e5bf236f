/* Sum and fill, dot and scaling by a tensor: each the adjoint of the other. */
#include "collectives/arithmetic/local.h"

/* ---- sum ---- */

static void sum_forward(struct diff_node *node)
{
    TYPE_SWITCH(node->inputs[0]->type, {
        const T *x = node->inputs[0]->storage->data;
        T sum = 0;
        for (size_t i = 0; i < node->inputs[0]->count; i++)
            sum += x[i];
        *(T *)node->outputs[0]->storage->data = sum;
    })
}

static void sum_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                        struct diff_tensor **x_bar)
{
    const struct diff_tensor *x = node->inputs[0];
    x_bar[0] = y_bar[0] ? local_fill(y_bar[0], x->dims, x->shape) : NULL;
}

static void sum_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                        struct diff_tensor **y_dot)
{
    (void)node;
    y_dot[0] = x_dot[0] ? diff_sum(x_dot[0]) : NULL;
}

static const struct diff_operation sum_operation = {.name = "sum",
                                                    .kind = OP_COMPUTE,
                                                    .forward = sum_forward,
                                                    .adjoint = sum_adjoint,
                                                    .tangent = sum_tangent};

struct diff_tensor *diff_sum(struct diff_tensor *a)
{
    ENTER(a->tape->state);
    struct diff_node *node = node_begin(&sum_operation, 1, &a);
    struct diff_tensor *y = node_output(node, tensor_new_flat(a->tape, a->type, 1));
    node_run(node);
    state_leave(a->tape->state);
    return y;
}

struct diff_tensor *diff_mean(struct diff_tensor *a)
{
    ENTER(a->tape->state);
    struct diff_tensor *y = diff_scale(diff_sum(a), 1.0 / (double)a->count);
    state_leave(a->tape->state);
    return y;
}

/* ---- fill ---- */

static void fill_forward(struct diff_node *node)
{
    TYPE_SWITCH(node->inputs[0]->type, {
        T value = *(const T *)node->inputs[0]->storage->data;
        T *y = node->outputs[0]->storage->data;
        for (size_t i = 0; i < node->outputs[0]->count; i++)
            y[i] = value;
    })
}

static void fill_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                         struct diff_tensor **x_bar)
{
    const struct diff_tensor *x = node->inputs[0];
    x_bar[0] = y_bar[0] ? local_shaped_like(diff_sum(y_bar[0]), x) : NULL;
}

static void fill_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                         struct diff_tensor **y_dot)
{
    const struct diff_tensor *y = node->outputs[0];
    y_dot[0] = x_dot[0] ? local_fill(x_dot[0], y->dims, y->shape) : NULL;
}

static const struct diff_operation fill_operation = {.name = "fill",
                                                     .kind = OP_COMPUTE,
                                                     .forward = fill_forward,
                                                     .adjoint = fill_adjoint,
                                                     .tangent = fill_tangent};

struct diff_tensor *local_fill(struct diff_tensor *scalar, size_t dims, const size_t *shape)
{
    struct diff_node *node = node_begin(&fill_operation, 1, &scalar);
    struct diff_tensor *y = node_output(node, tensor_new(scalar->tape, scalar->type, dims, shape));
    node_run(node);
    return y;
}

/* ---- dot: Re(sum conj(b) a), the inner product of the convention ---- */

static void dot_forward(struct diff_node *node)
{
    const struct diff_tensor *a = node->inputs[0];
    size_t parts = a->count * diff_type_parts(a->type);
    REAL_SWITCH(diff_type_real(a->type), {
        const T *left = a->storage->data;
        const T *right = node->inputs[1]->storage->data;
        T sum = 0;
        for (size_t i = 0; i < parts; i++)
            sum += left[i] * right[i];
        *(T *)node->outputs[0]->storage->data = sum;
    })
}

static void dot_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                        struct diff_tensor **x_bar)
{
    struct diff_tensor *a = node->inputs[0], *b = node->inputs[1];
    if (!y_bar[0])
        return;
    if (a->requires_gradient)
        x_bar[0] = local_shaped_like(local_scale_by(b, y_bar[0]), a);
    if (b->requires_gradient)
        x_bar[1] = local_shaped_like(local_scale_by(a, y_bar[0]), b);
}

static void dot_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                        struct diff_tensor **y_dot)
{
    struct diff_tensor *by_a = x_dot[0] ? diff_dot(x_dot[0], node->inputs[1]) : NULL;
    struct diff_tensor *by_b = x_dot[1] ? diff_dot(node->inputs[0], x_dot[1]) : NULL;
    y_dot[0] = cotangent_add(by_a, by_b);
}

static const struct diff_operation dot_operation = {.name = "dot",
                                                    .kind = OP_COMPUTE,
                                                    .saves = SAVES_INPUTS,
                                                    .forward = dot_forward,
                                                    .adjoint = dot_adjoint,
                                                    .tangent = dot_tangent};

struct diff_tensor *diff_dot(struct diff_tensor *a, struct diff_tensor *b)
{
    struct diff_state *state = a->tape->state;
    ENTER(state);
    if (a->type != b->type || a->count != b->count)
        state_fail(state, "M009", "dot of %zu %s and %zu %s values", a->count,
                   diff_type_name(a->type), b->count, diff_type_name(b->type));
    struct diff_node *node = node_begin(&dot_operation, 2, (struct diff_tensor *[]){a, b});
    struct diff_tensor *y = node_output(node, tensor_new_flat(a->tape, diff_type_real(a->type), 1));
    node_run(node);
    state_leave(state);
    return y;
}

/* ---- scale_by: x times a real scalar tensor ---- */

static void scale_by_forward(struct diff_node *node)
{
    const struct diff_tensor *x = node->inputs[0];
    size_t parts = x->count * diff_type_parts(x->type);
    REAL_SWITCH(diff_type_real(x->type), {
        const T *from = x->storage->data;
        T factor = *(const T *)node->inputs[1]->storage->data;
        T *y = node->outputs[0]->storage->data;
        for (size_t i = 0; i < parts; i++)
            y[i] = factor * from[i];
    })
}

static void scale_by_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                             struct diff_tensor **x_bar)
{
    struct diff_tensor *x = node->inputs[0], *factor = node->inputs[1];
    if (!y_bar[0])
        return;
    if (x->requires_gradient)
        x_bar[0] = local_scale_by(y_bar[0], factor);
    if (factor->requires_gradient)
        x_bar[1] = local_shaped_like(diff_dot(y_bar[0], x), factor);
}

static void scale_by_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                             struct diff_tensor **y_dot)
{
    struct diff_tensor *by_x = x_dot[0] ? local_scale_by(x_dot[0], node->inputs[1]) : NULL;
    struct diff_tensor *by_factor = x_dot[1] ? local_scale_by(node->inputs[0], x_dot[1]) : NULL;
    y_dot[0] = cotangent_add(by_x, by_factor);
}

static const struct diff_operation scale_by_operation = {.name = "scale_by",
                                                         .kind = OP_COMPUTE,
                                                         .saves = SAVES_INPUTS,
                                                         .forward = scale_by_forward,
                                                         .adjoint = scale_by_adjoint,
                                                         .tangent = scale_by_tangent};

struct diff_tensor *diff_scale_by(struct diff_tensor *a, struct diff_tensor *factor)
{
    struct diff_state *state = a->tape->state;
    ENTER(state);
    if (factor->count != 1 || factor->type != diff_type_real(a->type))
        state_fail(
            state, "M009",
            "the factor of diff_scale_by is one real number of the precision of the other tensor");
    struct diff_tensor *y = local_scale_by(a, factor);
    state_leave(state);
    return y;
}

struct diff_tensor *local_scale_by(struct diff_tensor *x, struct diff_tensor *factor)
{
    struct diff_node *node =
        node_begin(&scale_by_operation, 2, (struct diff_tensor *[]){x, factor});
    struct diff_tensor *y = node_output(node, tensor_new_like(x));
    node_run(node);
    return y;
}
