/* Matrices: product, transposition, softmax of the rows and its cross entropy. */
#include "collectives/arithmetic/local.h"

#include <math.h>
#include <string.h>

/* ---- transpose ---- */

static struct diff_tensor *transposed(struct diff_tensor *a);

static void transpose_forward(struct diff_node *node)
{
    const struct diff_tensor *a = node->inputs[0];
    size_t rows = a->shape[0], columns = a->shape[1];
    TYPE_SWITCH(a->type, {
        const T *from = a->storage->data;
        T *to = node->outputs[0]->storage->data;
        for (size_t i = 0; i < rows; i++)
            for (size_t k = 0; k < columns; k++)
                to[k * rows + i] = from[i * columns + k];
    })
}

static void transpose_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                              struct diff_tensor **x_bar)
{
    (void)node;
    if (y_bar[0])
        x_bar[0] = transposed(y_bar[0]);
}

static const struct diff_operation transpose_operation = {.name = "transpose",
                                                          .kind = OP_COMPUTE,
                                                          .forward = transpose_forward,
                                                          .adjoint = transpose_adjoint,
                                                          .tangent = transpose_adjoint};

static struct diff_tensor *transposed(struct diff_tensor *a)
{
    struct diff_node *node = node_begin(&transpose_operation, 1, &a);
    struct diff_tensor *y =
        node_output(node, tensor_new(a->tape, a->type, 2, (size_t[]){a->shape[1], a->shape[0]}));
    node_run(node);
    return y;
}

static void needs_matrix(struct diff_tensor *a, const char *name)
{
    if (a->dims != 2)
        state_fail(a->tape->state, "M009", "%s of a tensor with %zu dimensions", name, a->dims);
}

struct diff_tensor *diff_transpose(struct diff_tensor *a)
{
    ENTER(a->tape->state);
    needs_matrix(a, "transpose");
    struct diff_tensor *y = transposed(a);
    state_leave(a->tape->state);
    return y;
}

/* ---- matmul ---- */

static struct diff_tensor *product(struct diff_tensor *a, struct diff_tensor *b);

static void matmul_forward(struct diff_node *node)
{
    const struct diff_tensor *a = node->inputs[0], *b = node->inputs[1];
    size_t rows = a->shape[0], inner = a->shape[1], columns = b->shape[1];
    TYPE_SWITCH(a->type, {
        const T *left = a->storage->data;
        const T *right = b->storage->data;
        T *y = node->outputs[0]->storage->data;
        memset(y, 0, rows * columns * sizeof *y);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < inner; j++)
                for (size_t k = 0; k < columns; k++)
                    y[i * columns + k] += left[i * inner + j] * right[j * columns + k];
    })
}

static void matmul_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                           struct diff_tensor **x_bar)
{
    struct diff_tensor *a = node->inputs[0], *b = node->inputs[1];
    if (y_bar[0] && a->requires_gradient)
        x_bar[0] = product(y_bar[0], transposed(local_conj(b)));
    if (y_bar[0] && b->requires_gradient)
        x_bar[1] = product(transposed(local_conj(a)), y_bar[0]);
}

static void matmul_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                           struct diff_tensor **y_dot)
{
    if (x_dot[0])
        y_dot[0] = product(x_dot[0], node->inputs[1]);
    if (x_dot[1])
        y_dot[0] = cotangent_add(y_dot[0], product(node->inputs[0], x_dot[1]));
}

static const struct diff_operation matmul_operation = {.name = "matmul",
                                                       .kind = OP_COMPUTE,
                                                       .saves = SAVES_INPUTS,
                                                       .forward = matmul_forward,
                                                       .adjoint = matmul_adjoint,
                                                       .tangent = matmul_tangent};

static struct diff_tensor *product(struct diff_tensor *a, struct diff_tensor *b)
{
    struct diff_node *node = node_begin(&matmul_operation, 2, (struct diff_tensor *[]){a, b});
    struct diff_tensor *y =
        node_output(node, tensor_new(a->tape, a->type, 2, (size_t[]){a->shape[0], b->shape[1]}));
    node_run(node);
    return y;
}

struct diff_tensor *diff_matmul(struct diff_tensor *a, struct diff_tensor *b)
{
    struct diff_state *state = a->tape->state;
    ENTER(state);
    needs_matrix(a, "matmul");
    needs_matrix(b, "matmul");
    if (a->shape[1] != b->shape[0] || a->type != b->type)
        state_fail(state, "M009", "matmul of [%zu, %zu] %s and [%zu, %zu] %s", a->shape[0],
                   a->shape[1], diff_type_name(a->type), b->shape[0], b->shape[1],
                   diff_type_name(b->type));
    struct diff_tensor *y = product(a, b);
    state_leave(state);
    return y;
}

/* ---- row sums, and spreading over a row: each the other's adjoint ---- */

static struct diff_tensor *ones(const struct diff_tensor *like, size_t rows, size_t columns)
{
    struct diff_tensor *matrix = tensor_new(like->tape, like->type, 2, (size_t[]){rows, columns});
    for (size_t i = 0; i < matrix->count; i++)
        tensor_part_set(matrix, i, 1);
    return matrix;
}

static struct diff_tensor *row_sums_spread(struct diff_tensor *a)
{
    struct diff_tensor *sums = product(a, ones(a, a->shape[1], 1));
    return product(sums, ones(a, 1, a->shape[1]));
}

/* ---- softmax ---- */

static void softmax_forward(struct diff_node *node)
{
    const struct diff_tensor *a = node->inputs[0];
    size_t columns = a->shape[1];
    for (size_t i = 0; i < a->shape[0]; i++) {
        double largest = -INFINITY, sum = 0;
        for (size_t k = 0; k < columns; k++)
            largest = fmax(largest, tensor_part(a, i * columns + k));
        for (size_t k = 0; k < columns; k++)
            sum += exp(tensor_part(a, i * columns + k) - largest);
        for (size_t k = 0; k < columns; k++)
            tensor_part_set(node->outputs[0], i * columns + k,
                            exp(tensor_part(a, i * columns + k) - largest) / sum);
    }
}

/* The Jacobian is symmetric: y_bar -> y * (y_bar - sum of y_bar * y over the row). */
static void softmax_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                            struct diff_tensor **x_bar)
{
    struct diff_tensor *y = node->outputs[0];
    if (y_bar[0])
        x_bar[0] = diff_mul(y, diff_sub(y_bar[0], row_sums_spread(diff_mul(y_bar[0], y))));
}

static const struct diff_operation softmax_operation = {.name = "softmax",
                                                        .kind = OP_COMPUTE,
                                                        .saves = SAVES_OUTPUTS,
                                                        .forward = softmax_forward,
                                                        .adjoint = softmax_adjoint,
                                                        .tangent = softmax_adjoint};

static void needs_real_matrix(struct diff_tensor *a, const char *name)
{
    needs_matrix(a, name);
    if (diff_type_is_complex(a->type))
        state_fail(a->tape->state, "M009", "%s of complex numbers", name);
}

struct diff_tensor *diff_softmax(struct diff_tensor *a)
{
    ENTER(a->tape->state);
    needs_real_matrix(a, "softmax");
    struct diff_tensor *y = node_unary(&softmax_operation, a);
    state_leave(a->tape->state);
    return y;
}

/* ---- cross entropy ---- */

struct labels {
    int *values;
};

static void entropy_forward(struct diff_node *node)
{
    const struct diff_tensor *a = node->inputs[0];
    const struct labels *labels = node->extra;
    size_t rows = a->shape[0], columns = a->shape[1];
    double loss = 0;
    for (size_t i = 0; i < rows; i++) {
        double largest = -INFINITY, sum = 0;
        for (size_t k = 0; k < columns; k++)
            largest = fmax(largest, tensor_part(a, i * columns + k));
        for (size_t k = 0; k < columns; k++)
            sum += exp(tensor_part(a, i * columns + k) - largest);
        loss += log(sum) + largest - tensor_part(a, i * columns + (size_t)labels->values[i]);
    }
    tensor_part_set(node->outputs[0], 0, loss / (double)rows);
}

/* (softmax(a) - one at the labels) / rows */
static struct diff_tensor *entropy_derivative(struct diff_node *node)
{
    struct diff_tensor *a = node->inputs[0], *hits = tensor_zeros_like(a);
    const struct labels *labels = node->extra;
    for (size_t i = 0; i < a->shape[0]; i++)
        tensor_part_set(hits, i * a->shape[1] + (size_t)labels->values[i], 1);
    return diff_scale(diff_sub(diff_softmax(a), hits), 1.0 / (double)a->shape[0]);
}

static void entropy_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                            struct diff_tensor **x_bar)
{
    if (y_bar[0])
        x_bar[0] = local_scale_by(entropy_derivative(node), y_bar[0]);
}

static void entropy_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                            struct diff_tensor **y_dot)
{
    if (x_dot[0])
        y_dot[0] = diff_dot(x_dot[0], entropy_derivative(node));
}

static const struct diff_operation entropy_operation = {.name = "cross entropy",
                                                        .kind = OP_COMPUTE,
                                                        .saves = SAVES_INPUTS,
                                                        .forward = entropy_forward,
                                                        .adjoint = entropy_adjoint,
                                                        .tangent = entropy_tangent};

struct diff_tensor *diff_cross_entropy(struct diff_tensor *a, const int *labels)
{
    struct diff_state *state = a->tape->state;
    ENTER(state);
    needs_real_matrix(a, "cross entropy");
    struct diff_node *node = node_begin(&entropy_operation, 1, &a);
    struct labels *own = node_take(node, sizeof *own);
    own->values = node_take(node, (a->shape[0] + 1) * sizeof *own->values);
    for (size_t i = 0; i < a->shape[0]; i++) {
        own->values[i] = labels[i];
        if (labels[i] < 0 || (size_t)labels[i] >= a->shape[1])
            state_fail(state, "M009", "label %d of row %zu, of %zu classes", labels[i], i,
                       a->shape[1]);
    }
    node->extra = own;
    struct diff_tensor *y = node_output(node, tensor_new_flat(a->tape, a->type, 1));
    node_run(node);
    state_leave(state);
    return y;
}
