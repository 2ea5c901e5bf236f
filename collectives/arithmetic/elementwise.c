/* Elementwise arithmetic: add, sub, mul, div, affine (scale, neg, shift), conj. */
#include "collectives/arithmetic/local.h"

#define ELEMENTWISE(node, EXPRESSION)                                                              \
    TYPE_SWITCH((node)->outputs[0]->type, {                                                        \
        const T *a = (node)->inputs[0]->storage->data;                                             \
        const T *b = (node)->inputs[(node)->input_count - 1]->storage->data;                       \
        T *y = (node)->outputs[0]->storage->data;                                                  \
        size_t n = (node)->outputs[0]->count;                                                      \
        (void)b;                                                                                   \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = (EXPRESSION);                                                                   \
    })

/* ---- add ---- */

static void add_forward(struct diff_node *node)
{
    ELEMENTWISE(node, a[i] + b[i])
}

static void add_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                        struct diff_tensor **x_bar)
{
    (void)node;
    x_bar[0] = x_bar[1] = y_bar[0];
}

static void add_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                        struct diff_tensor **y_dot)
{
    (void)node;
    y_dot[0] = cotangent_add(x_dot[0], x_dot[1]);
}

static const struct diff_operation add_operation = {.name = "add",
                                                    .kind = OP_COMPUTE,
                                                    .forward = add_forward,
                                                    .adjoint = add_adjoint,
                                                    .tangent = add_tangent};

/* ---- sub ---- */

static void sub_forward(struct diff_node *node)
{
    ELEMENTWISE(node, a[i] - b[i])
}

static void sub_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                        struct diff_tensor **x_bar)
{
    (void)node;
    x_bar[0] = y_bar[0];
    x_bar[1] = y_bar[0] ? diff_scale(y_bar[0], -1) : NULL;
}

static void sub_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                        struct diff_tensor **y_dot)
{
    (void)node;
    y_dot[0] = cotangent_add(x_dot[0], x_dot[1] ? diff_scale(x_dot[1], -1) : NULL);
}

static const struct diff_operation sub_operation = {.name = "sub",
                                                    .kind = OP_COMPUTE,
                                                    .forward = sub_forward,
                                                    .adjoint = sub_adjoint,
                                                    .tangent = sub_tangent};

/* ---- mul ---- */

static void mul_forward(struct diff_node *node)
{
    ELEMENTWISE(node, a[i] * b[i])
}

static void mul_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                        struct diff_tensor **x_bar)
{
    struct diff_tensor *a = node->inputs[0], *b = node->inputs[1];
    if (!y_bar[0])
        return;
    if (a->requires_gradient)
        x_bar[0] = diff_mul(y_bar[0], local_conj(b));
    if (b->requires_gradient)
        x_bar[1] = diff_mul(y_bar[0], local_conj(a));
}

static void mul_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                        struct diff_tensor **y_dot)
{
    struct diff_tensor *by_a = x_dot[0] ? diff_mul(x_dot[0], node->inputs[1]) : NULL;
    struct diff_tensor *by_b = x_dot[1] ? diff_mul(node->inputs[0], x_dot[1]) : NULL;
    y_dot[0] = cotangent_add(by_a, by_b);
}

static const struct diff_operation mul_operation = {.name = "mul",
                                                    .kind = OP_COMPUTE,
                                                    .saves = SAVES_INPUTS,
                                                    .forward = mul_forward,
                                                    .adjoint = mul_adjoint,
                                                    .tangent = mul_tangent};

/* ---- div ---- */

static void div_forward(struct diff_node *node)
{
    ELEMENTWISE(node, a[i] / b[i])
}

static void div_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                        struct diff_tensor **x_bar)
{
    struct diff_tensor *b = node->inputs[1], *y = node->outputs[0];
    if (!y_bar[0])
        return;
    struct diff_tensor *quotient = diff_div(y_bar[0], local_conj(b));
    x_bar[0] = quotient;
    if (b->requires_gradient)
        x_bar[1] = diff_scale(diff_mul(quotient, local_conj(y)), -1);
}

static void div_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                        struct diff_tensor **y_dot)
{
    struct diff_tensor *b = node->inputs[1], *y = node->outputs[0];
    struct diff_tensor *part = x_dot[1] ? diff_scale(diff_mul(y, x_dot[1]), -1) : NULL;
    struct diff_tensor *sum = cotangent_add(x_dot[0], part);
    y_dot[0] = sum ? diff_div(sum, b) : NULL;
}

static const struct diff_operation div_operation = {.name = "div",
                                                    .kind = OP_COMPUTE,
                                                    .saves = SAVES_INPUTS | SAVES_OUTPUTS,
                                                    .forward = div_forward,
                                                    .adjoint = div_adjoint,
                                                    .tangent = div_tangent};

/* ---- affine: factor * x + shift ---- */

struct affine {
    double factor, shift;
};

static void affine_forward(struct diff_node *node)
{
    const struct affine *rule = node->extra;
    REAL_SWITCH(diff_type_real(node->outputs[0]->type), {
        const T *x = node->inputs[0]->storage->data;
        T *y = node->outputs[0]->storage->data;
        size_t step = diff_type_parts(node->outputs[0]->type);
        size_t parts = node->outputs[0]->count * step;
        T factor = (T)rule->factor;
        T shift = (T)rule->shift;
        for (size_t i = 0; i < parts; i++)
            y[i] = factor * x[i];
        for (size_t i = 0; shift != 0 && i < parts; i += step)
            y[i] += shift;
    })
}

static void affine_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                           struct diff_tensor **x_bar)
{
    const struct affine *rule = node->extra;
    x_bar[0] = y_bar[0] ? diff_scale(y_bar[0], rule->factor) : NULL;
}

static const struct diff_operation affine_operation = {.name = "scale",
                                                       .kind = OP_COMPUTE,
                                                       .numbers = 2,
                                                       .forward = affine_forward,
                                                       .adjoint = affine_adjoint,
                                                       .tangent = affine_adjoint};

struct diff_tensor *local_affine(struct diff_tensor *x, double factor, double shift)
{
    struct diff_node *node = node_begin(&affine_operation, 1, &x);
    struct affine *rule = node_take(node, sizeof *rule);
    *rule = (struct affine){factor, shift};
    node->extra = rule;
    struct diff_tensor *y = node_output(node, tensor_new_like(x));
    node_run(node);
    return y;
}

/* ---- conj ---- */

static void conj_forward(struct diff_node *node)
{
    const struct diff_tensor *x = node->inputs[0];
    REAL_SWITCH(diff_type_real(x->type), {
        const T *from = x->storage->data;
        T *y = node->outputs[0]->storage->data;
        for (size_t i = 0; i < 2 * x->count; i += 2) {
            y[i] = from[i];
            y[i + 1] = -from[i + 1];
        }
    })
}

static void conj_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                         struct diff_tensor **x_bar)
{
    (void)node;
    x_bar[0] = y_bar[0] ? local_conj(y_bar[0]) : NULL;
}

static const struct diff_operation conj_operation = {.name = "conj",
                                                     .kind = OP_COMPUTE,
                                                     .forward = conj_forward,
                                                     .adjoint = conj_adjoint,
                                                     .tangent = conj_adjoint};

struct diff_tensor *local_conj(struct diff_tensor *x)
{
    return diff_type_is_complex(x->type) ? node_unary(&conj_operation, x) : x;
}

/* ---- public ---- */

static struct diff_tensor *binary_checked(const struct diff_operation *operation,
                                          struct diff_tensor *a, struct diff_tensor *b,
                                          const void *site)
{
    struct diff_state *state = a->tape->state;
    state_enter(state, site);
    if (!tensor_same_shape(a, b))
        state_fail(state, "M009", "%s of tensors of different shapes (%zu and %zu values)",
                   operation->name, a->count, b->count);
    struct diff_tensor *y = node_binary(operation, a, b);
    state_leave(state);
    return y;
}

struct diff_tensor *diff_add(struct diff_tensor *a, struct diff_tensor *b)
{
    return binary_checked(&add_operation, a, b, __builtin_return_address(0));
}

struct diff_tensor *diff_sub(struct diff_tensor *a, struct diff_tensor *b)
{
    return binary_checked(&sub_operation, a, b, __builtin_return_address(0));
}

struct diff_tensor *diff_mul(struct diff_tensor *a, struct diff_tensor *b)
{
    return binary_checked(&mul_operation, a, b, __builtin_return_address(0));
}

struct diff_tensor *diff_div(struct diff_tensor *a, struct diff_tensor *b)
{
    return binary_checked(&div_operation, a, b, __builtin_return_address(0));
}

struct diff_tensor *diff_scale(struct diff_tensor *a, double factor)
{
    ENTER(a->tape->state);
    struct diff_tensor *y = local_affine(a, factor, 0);
    state_leave(a->tape->state);
    return y;
}

struct diff_tensor *diff_neg(struct diff_tensor *a)
{
    ENTER(a->tape->state);
    struct diff_tensor *y = local_affine(a, -1, 0);
    state_leave(a->tape->state);
    return y;
}

struct diff_tensor *diff_shift(struct diff_tensor *a, double shift)
{
    ENTER(a->tape->state);
    struct diff_tensor *y = local_affine(a, 1, shift);
    state_leave(a->tape->state);
    return y;
}
