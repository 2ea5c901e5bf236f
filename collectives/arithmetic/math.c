/* Elementwise functions: exp, log, tanh, sigmoid, relu, and conversion between precisions. */
#include "collectives/arithmetic/holomorphic.h"

#include "collectives/experiment/probe.h"

#include <float.h>
#include <math.h>

/* ---- exp ---- */

static void exp_forward(struct diff_node *node)
{
    APPLY(node, expf, exp, cexpf, cexp);
}

static struct diff_tensor *exp_derivative(struct diff_node *node)
{
    return node->outputs[0];
}

HOLOMORPHIC(exp, SAVES_OUTPUTS)

/* ---- log ---- */

static void log_forward(struct diff_node *node)
{
    APPLY(node, logf, log, clogf, clog);
}

static struct diff_tensor *log_derivative(struct diff_node *node)
{
    struct diff_tensor *x = node->inputs[0];
    return diff_div(local_affine(tensor_zeros_like(x), 1, 1), x);
}

HOLOMORPHIC(log, SAVES_INPUTS)

/* ---- tanh ---- */

static void tanh_forward(struct diff_node *node)
{
    APPLY(node, tanhf, tanh, ctanhf, ctanh);
}

static struct diff_tensor *tanh_derivative(struct diff_node *node)
{
    struct diff_tensor *y = node->outputs[0];
    return local_affine(diff_mul(y, y), -1, 1);
}

HOLOMORPHIC(tanh, SAVES_OUTPUTS)

/* ---- sigmoid ---- */

static float sigmoid_float(float x)
{
    return 1 / (1 + expf(-x));
}

static double sigmoid_double(double x)
{
    return 1 / (1 + exp(-x));
}

static float complex sigmoid_complex_float(float complex x)
{
    return 1 / (1 + cexpf(-x));
}

static double complex sigmoid_complex_double(double complex x)
{
    return 1 / (1 + cexp(-x));
}

static void sigmoid_forward(struct diff_node *node)
{
    APPLY(node, sigmoid_float, sigmoid_double, sigmoid_complex_float, sigmoid_complex_double);
}

static struct diff_tensor *sigmoid_derivative(struct diff_node *node)
{
    struct diff_tensor *y = node->outputs[0];
    return diff_mul(y, local_affine(y, -1, 1));
}

HOLOMORPHIC(sigmoid, SAVES_OUTPUTS)

/* ---- relu ---- */

static void relu_forward(struct diff_node *node)
{
    struct diff_probe_rank *row = node->tape->state->row;
    const struct diff_tensor *x = node->inputs[0];
    for (size_t i = 0; i < x->count; i++) {
        double value = tensor_part(x, i);
        tensor_part_set(node->outputs[0], i, value > 0 ? value : value < 0 ? 0 : value);
        if (row && fabs(value) < row->kink_distance)
            row->kink_distance = fabs(value);
    }
}

static double *positive(const struct diff_tensor *x)
{
    double *mask = arena_take(&x->tape->arena, (x->count + 1) * sizeof *mask);
    for (size_t i = 0; i < x->count; i++)
        mask[i] = tensor_part(x, i) > 0;
    return mask;
}

static void relu_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                         struct diff_tensor **x_bar)
{
    if (y_bar[0])
        x_bar[0] = local_mask(y_bar[0], positive(node->inputs[0]));
}

static const struct diff_operation relu_operation = {.name = "relu",
                                                     .kind = OP_COMPUTE,
                                                     .saves = SAVES_INPUTS,
                                                     .forward = relu_forward,
                                                     .adjoint = relu_adjoint,
                                                     .tangent = relu_adjoint};

struct diff_tensor *diff_relu(struct diff_tensor *a)
{
    ENTER(a->tape->state);
    if (diff_type_is_complex(a->type))
        state_fail(a->tape->state, "M009", "relu of complex numbers, which have no order");
    struct diff_tensor *y = node_unary(&relu_operation, a);
    state_leave(a->tape->state);
    return y;
}

/* ---- cast ---- */

static struct diff_tensor *cast_to(struct diff_tensor *x, enum diff_type type);

static void cast_forward(struct diff_node *node)
{
    const struct diff_tensor *x = node->inputs[0];
    for (size_t i = 0; i < x->count * diff_type_parts(x->type); i++)
        tensor_part_set(node->outputs[0], i, tensor_part(x, i));
}

static void cast_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                         struct diff_tensor **x_bar)
{
    if (y_bar[0])
        x_bar[0] = cast_to(y_bar[0], node->inputs[0]->type);
}

static void cast_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                         struct diff_tensor **y_dot)
{
    if (x_dot[0])
        y_dot[0] = cast_to(x_dot[0], node->outputs[0]->type);
}

static const struct diff_operation cast_operation = {.name = "cast",
                                                     .kind = OP_COMPUTE,
                                                     .forward = cast_forward,
                                                     .adjoint = cast_adjoint,
                                                     .tangent = cast_tangent};

static struct diff_tensor *cast_to(struct diff_tensor *x, enum diff_type type)
{
    struct diff_node *node = node_begin(&cast_operation, 1, &x);
    struct diff_tensor *y = node_output(node, tensor_new(x->tape, type, x->dims, x->shape));
    node_run(node);
    return y;
}

struct diff_tensor *diff_cast(struct diff_tensor *x, enum diff_type type)
{
    ENTER(x->tape->state);
    if (type > DIFF_COMPLEX_DOUBLE || diff_type_is_complex(x->type) != diff_type_is_complex(type))
        state_fail(x->tape->state, "M009", "cast of %s values: only the precision can change",
                   diff_type_name(x->type));
    struct diff_tensor *y = x->type == type ? x : cast_to(x, type);
    state_leave(x->tape->state);
    return y;
}
