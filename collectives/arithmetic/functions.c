/* More functions of every value: sqrt, sin, cos, powers; and those that choose: where, maximum,
 * minimum, abs. */
#include "collectives/arithmetic/holomorphic.h"

#include "collectives/experiment/probe.h"

#include <math.h>

/* ---- sqrt ---- */

static void sqrt_forward(struct diff_node *node)
{
    APPLY(node, sqrtf, sqrt, csqrtf, csqrt);
}

static struct diff_tensor *sqrt_derivative(struct diff_node *node)
{
    struct diff_tensor *y = node->outputs[0];
    return diff_div(local_affine(tensor_zeros_like(y), 1, 0.5), y);
}

HOLOMORPHIC(sqrt, SAVES_OUTPUTS)

/* ---- sin and cos ---- */

static void sin_forward(struct diff_node *node)
{
    APPLY(node, sinf, sin, csinf, csin);
}

static struct diff_tensor *sin_derivative(struct diff_node *node)
{
    return diff_cos(node->inputs[0]);
}

HOLOMORPHIC(sin, SAVES_INPUTS)

static void cos_forward(struct diff_node *node)
{
    APPLY(node, cosf, cos, ccosf, ccos);
}

static struct diff_tensor *cos_derivative(struct diff_node *node)
{
    return local_affine(diff_sin(node->inputs[0]), -1, 0);
}

HOLOMORPHIC(cos, SAVES_INPUTS)

/* ---- powers with a constant exponent ---- */

static struct diff_tensor *power(struct diff_tensor *x, double exponent);

static void power_forward(struct diff_node *node)
{
    double exponent = *(const double *)node->extra;
    const struct diff_tensor *x = node->inputs[0];
    for (size_t i = 0; i < x->count; i++)
        if (x->type == DIFF_FLOAT)
            ((float *)node->outputs[0]->storage->data)[i] =
                powf(((const float *)x->storage->data)[i], (float)exponent);
        else
            ((double *)node->outputs[0]->storage->data)[i] =
                pow(((const double *)x->storage->data)[i], exponent);
}

static struct diff_tensor *power_derivative(struct diff_node *node)
{
    double exponent = *(const double *)node->extra;
    if (exponent == 0)
        return tensor_zeros_like(node->inputs[0]);
    return local_affine(power(node->inputs[0], exponent - 1), exponent, 0);
}

static void power_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                          struct diff_tensor **x_bar)
{
    if (y_bar[0])
        x_bar[0] = diff_mul(y_bar[0], power_derivative(node));
}

static const struct diff_operation power_operation = {.name = "power",
                                                      .kind = OP_COMPUTE,
                                                      .saves = SAVES_INPUTS,
                                                      .numbers = 1,
                                                      .forward = power_forward,
                                                      .adjoint = power_adjoint,
                                                      .tangent = power_adjoint};

static struct diff_tensor *power(struct diff_tensor *x, double exponent)
{
    struct diff_node *node = node_begin(&power_operation, 1, &x);
    double *extra = node_take(node, sizeof *extra);
    *extra = exponent;
    node->extra = extra;
    struct diff_tensor *y = node_output(node, tensor_new_like(x));
    node_run(node);
    return y;
}

struct diff_tensor *diff_power(struct diff_tensor *a, double exponent)
{
    ENTER(a->tape->state);
    if (diff_type_is_complex(a->type))
        state_fail(a->tape->state, "M009", "power of complex numbers: use exp and log");
    struct diff_tensor *y = power(a, exponent);
    state_leave(a->tape->state);
    return y;
}

/* ---- choices ---- */

static void kink_note(struct diff_tape *tape, double distance)
{
    struct diff_probe_rank *row = tape->state->row;
    if (row && fabs(distance) < row->kink_distance)
        row->kink_distance = fabs(distance);
}

/* Taken, not multiplied by zero: what is not chosen may be no number. */
static struct diff_tensor *chosen(const bool *condition, struct diff_tensor *a,
                                  struct diff_tensor *b)
{
    size_t *index = arena_take(&a->tape->arena, (a->count + 1) * sizeof *index);
    struct diff_tensor *both = local_concat(a->tape, a->type, 2, (struct diff_tensor *[]){a, b});
    for (size_t i = 0; i < a->count; i++)
        index[i] = condition[i] ? i : a->count + i;
    return local_shaped_like(local_take(both, index, a->count), a);
}

static void needs_pair(struct diff_tensor *a, struct diff_tensor *b, const char *name, bool order)
{
    if (!tensor_same_shape(a, b) || a->type != b->type)
        state_fail(a->tape->state, "M009", "%s of tensors of different shapes (%zu and %zu values)",
                   name, a->count, b->count);
    if (order && diff_type_is_complex(a->type))
        state_fail(a->tape->state, "M009", "%s of complex numbers, which have no order", name);
}

struct diff_tensor *diff_where(const bool *condition, struct diff_tensor *a, struct diff_tensor *b)
{
    ENTER(a->tape->state);
    needs_pair(a, b, "where", false);
    struct diff_tensor *y = chosen(condition, a, b);
    state_leave(a->tape->state);
    return y;
}

static struct diff_tensor *extreme(struct diff_tensor *a, struct diff_tensor *b, double sign)
{
    bool *condition = arena_take(&a->tape->arena, (a->count + 1) * sizeof *condition);
    for (size_t i = 0; i < a->count; i++) {
        double left = tensor_part(a, i), right = tensor_part(b, i);
        condition[i] = sign * left >= sign * right || isnan(left);
        kink_note(a->tape, left - right);
    }
    return chosen(condition, a, b);
}

struct diff_tensor *diff_maximum(struct diff_tensor *a, struct diff_tensor *b)
{
    ENTER(a->tape->state);
    needs_pair(a, b, "maximum", true);
    struct diff_tensor *y = extreme(a, b, 1);
    state_leave(a->tape->state);
    return y;
}

struct diff_tensor *diff_minimum(struct diff_tensor *a, struct diff_tensor *b)
{
    ENTER(a->tape->state);
    needs_pair(a, b, "minimum", true);
    struct diff_tensor *y = extreme(a, b, -1);
    state_leave(a->tape->state);
    return y;
}

struct diff_tensor *diff_abs(struct diff_tensor *a)
{
    ENTER(a->tape->state);
    needs_pair(a, a, "abs", true);
    double *signs = arena_take(&a->tape->arena, (a->count + 1) * sizeof *signs);
    for (size_t i = 0; i < a->count; i++) {
        double value = tensor_part(a, i);
        signs[i] = value > 0 ? 1 : value < 0 ? -1 : value;
        kink_note(a->tape, value);
    }
    struct diff_tensor *y = local_mask(a, signs);
    state_leave(a->tape->state);
    return y;
}
