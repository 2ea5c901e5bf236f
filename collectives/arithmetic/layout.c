/* Moving values about: window and pad, take and put (adjoint pairs), shapes, concatenation, masks.
 */
#include "collectives/arithmetic/local.h"

#include <string.h>

static const char *bytes_of(const struct diff_tensor *x)
{
    return x->storage->data;
}

/* ---- window and pad ---- */

struct window {
    size_t begin, count;
};

static struct diff_tensor *window_build(const struct diff_operation *operation,
                                        struct diff_tensor *x, size_t begin, size_t count)
{
    struct diff_node *node = node_begin(operation, 1, &x);
    struct window *window = node_take(node, sizeof *window);
    *window = (struct window){begin, count};
    node->extra = window;
    struct diff_tensor *y = node_output(node, tensor_new_flat(x->tape, x->type, count));
    node_run(node);
    return y;
}

static void window_forward(struct diff_node *node)
{
    const struct window *window = node->extra;
    size_t size = diff_type_size(node->inputs[0]->type);
    memcpy(node->outputs[0]->storage->data, bytes_of(node->inputs[0]) + window->begin * size,
           window->count * size);
}

static void window_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                           struct diff_tensor **x_bar)
{
    const struct window *window = node->extra;
    struct diff_tensor *x = node->inputs[0];
    if (y_bar[0])
        x_bar[0] = local_shaped_like(local_pad(y_bar[0], window->begin, x->count), x);
}

static void window_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                           struct diff_tensor **y_dot)
{
    const struct window *window = node->extra;
    if (x_dot[0])
        y_dot[0] = local_window(x_dot[0], window->begin, window->count);
}

static const struct diff_operation window_operation = {.name = "slice",
                                                       .kind = OP_COMPUTE,
                                                       .forward = window_forward,
                                                       .adjoint = window_adjoint,
                                                       .tangent = window_tangent};

struct diff_tensor *local_window(struct diff_tensor *x, size_t begin, size_t count)
{
    if (begin == 0 && count == x->count && x->dims == 1)
        return x;
    return window_build(&window_operation, x, begin, count);
}

static void pad_forward(struct diff_node *node)
{
    const struct window *window = node->extra;
    const struct diff_tensor *x = node->inputs[0];
    size_t size = diff_type_size(x->type);
    char *y = node->outputs[0]->storage->data;
    memset(y, 0, window->begin * size);
    memcpy(y + window->begin * size, bytes_of(x), x->count * size);
    size_t end = window->begin + x->count;
    memset(y + end * size, 0, (window->count - end) * size);
}

static void pad_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                        struct diff_tensor **x_bar)
{
    const struct window *window = node->extra;
    struct diff_tensor *x = node->inputs[0];
    if (y_bar[0])
        x_bar[0] = local_shaped_like(local_window(y_bar[0], window->begin, x->count), x);
}

static void pad_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                        struct diff_tensor **y_dot)
{
    const struct window *window = node->extra;
    if (x_dot[0])
        y_dot[0] = local_pad(x_dot[0], window->begin, window->count);
}

static const struct diff_operation pad_operation = {.name = "pad",
                                                    .kind = OP_COMPUTE,
                                                    .forward = pad_forward,
                                                    .adjoint = pad_adjoint,
                                                    .tangent = pad_tangent};

struct diff_tensor *local_pad(struct diff_tensor *x, size_t begin, size_t count)
{
    if (begin == 0 && count == x->count && x->dims == 1)
        return x;
    return window_build(&pad_operation, x, begin, count);
}

/* ---- shapes ---- */

static void view_forward(struct diff_node *node)
{
    (void)node; /* the output shares the input's values */
}

static void view_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                         struct diff_tensor **x_bar)
{
    if (y_bar[0])
        x_bar[0] = local_shaped_like(y_bar[0], node->inputs[0]);
}

static void view_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                         struct diff_tensor **y_dot)
{
    if (x_dot[0])
        y_dot[0] = local_shaped_like(x_dot[0], node->outputs[0]);
}

static const struct diff_operation view_operation = {.name = "reshape",
                                                     .kind = OP_COMPUTE,
                                                     .forward = view_forward,
                                                     .adjoint = view_adjoint,
                                                     .tangent = view_tangent};

struct diff_tensor *local_shaped(struct diff_tensor *x, size_t dims, const size_t *shape)
{
    struct diff_node *node = node_begin(&view_operation, 1, &x);
    struct diff_tensor *y = node_output(node, tensor_view(x, dims, shape));
    node_run(node);
    return y;
}

struct diff_tensor *local_shaped_like(struct diff_tensor *x, const struct diff_tensor *like)
{
    return tensor_same_shape(x, like) ? x : local_shaped(x, like->dims, like->shape);
}

struct diff_tensor *diff_reshape(struct diff_tensor *x, size_t dims, const size_t *shape)
{
    struct diff_state *state = x->tape->state;
    ENTER(state);
    size_t count = 1;
    for (size_t i = 0; i < dims; i++)
        count *= shape[i];
    if (count != x->count)
        state_fail(state, "M009", "reshape of %zu values into %zu", x->count, count);
    struct diff_tensor *y = local_shaped(x, dims, shape);
    state_leave(state);
    return y;
}

/* ---- concat ---- */

static void concat_forward(struct diff_node *node)
{
    char *y = node->outputs[0]->storage->data;
    for (uint32_t i = 0; i < node->input_count; i++) {
        size_t bytes = node->inputs[i]->count * diff_type_size(node->inputs[i]->type);
        memcpy(y, node->inputs[i]->storage->data, bytes);
        y += bytes;
    }
}

static void concat_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                           struct diff_tensor **x_bar)
{
    if (!y_bar[0])
        return;
    size_t begin = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        struct diff_tensor *x = node->inputs[i];
        x_bar[i] = local_shaped_like(
            local_window(local_shaped(y_bar[0], 1, &y_bar[0]->count), begin, x->count), x);
        begin += x->count;
    }
}

static void concat_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                           struct diff_tensor **y_dot)
{
    struct diff_tensor **parts =
        arena_take(&node->tape->arena, node->input_count * sizeof(struct diff_tensor *));
    for (uint32_t i = 0; i < node->input_count; i++)
        parts[i] = cotangent_or_zeros(x_dot[i], node->inputs[i]);
    y_dot[0] = local_shaped_like(
        local_concat(node->tape, node->outputs[0]->type, node->input_count, parts),
        node->outputs[0]);
}

static const struct diff_operation concat_operation = {.name = "concat",
                                                       .kind = OP_COMPUTE,
                                                       .forward = concat_forward,
                                                       .adjoint = concat_adjoint,
                                                       .tangent = concat_tangent};

struct diff_tensor *local_concat(struct diff_tape *tape, enum diff_type type, size_t count,
                                 struct diff_tensor *const *parts)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += parts[i]->count;
    struct diff_node *node = node_begin_on(tape, &concat_operation, (uint32_t)count, parts);
    struct diff_tensor *y = node_output(node, tensor_new_flat(tape, type, total));
    node_run(node);
    return y;
}

struct diff_tensor *diff_concat(size_t count, struct diff_tensor *const *parts)
{
    struct diff_state *state = parts[0]->tape->state;
    ENTER(state);
    for (size_t i = 1; i < count; i++)
        if (parts[i]->type != parts[0]->type)
            state_fail(state, "M009", "concat of %s and %s tensors", diff_type_name(parts[0]->type),
                       diff_type_name(parts[i]->type));
    struct diff_tensor *y = local_concat(parts[0]->tape, parts[0]->type, count, parts);
    state_leave(state);
    return y;
}

struct diff_tensor *diff_slice(struct diff_tensor *x, size_t begin, size_t count)
{
    struct diff_state *state = x->tape->state;
    ENTER(state);
    if (begin > x->count || count > x->count - begin)
        state_fail(state, "M009", "a slice of %zu values from %zu on, of %zu", count, begin,
                   x->count);
    struct diff_tensor *y = window_build(&window_operation, x, begin, count);
    state_leave(state);
    return y;
}

/* ---- take and put ---- */

struct take {
    const size_t *index;
    size_t count; /* of the indices */
};

static struct diff_tensor *take_build(const struct diff_operation *operation, struct diff_tensor *x,
                                      const size_t *index, size_t index_count, size_t count)
{
    struct diff_node *node = node_begin(operation, 1, &x);
    struct take *take = node_take(node, sizeof *take);
    *take = (struct take){index, index_count};
    node->extra = take;
    struct diff_tensor *y = node_output(node, tensor_new_flat(x->tape, x->type, count));
    node_run(node);
    return y;
}

static void take_forward(struct diff_node *node)
{
    const struct take *take = node->extra;
    TYPE_SWITCH(node->inputs[0]->type, {
        const T *x = node->inputs[0]->storage->data;
        T *y = node->outputs[0]->storage->data;
        for (size_t i = 0; i < take->count; i++)
            y[i] = x[take->index[i]];
    })
}

static void take_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                         struct diff_tensor **x_bar)
{
    const struct take *take = node->extra;
    struct diff_tensor *x = node->inputs[0];
    if (y_bar[0])
        x_bar[0] = local_shaped_like(local_put(y_bar[0], take->index, x->count), x);
}

static void take_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                         struct diff_tensor **y_dot)
{
    const struct take *take = node->extra;
    if (x_dot[0])
        y_dot[0] =
            local_shaped_like(local_take(x_dot[0], take->index, take->count), node->outputs[0]);
}

static const struct diff_operation take_operation = {.name = "take",
                                                     .kind = OP_COMPUTE,
                                                     .forward = take_forward,
                                                     .adjoint = take_adjoint,
                                                     .tangent = take_tangent};

struct diff_tensor *local_take(struct diff_tensor *x, const size_t *index, size_t count)
{
    return take_build(&take_operation, x, index, count, count);
}

static void put_forward(struct diff_node *node)
{
    const struct take *take = node->extra;
    TYPE_SWITCH(node->inputs[0]->type, {
        const T *x = node->inputs[0]->storage->data;
        T *y = node->outputs[0]->storage->data;
        memset(y, 0, node->outputs[0]->count * sizeof *y);
        for (size_t i = 0; i < take->count; i++)
            y[take->index[i]] += x[i];
    })
}

static void put_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                        struct diff_tensor **x_bar)
{
    const struct take *take = node->extra;
    if (y_bar[0])
        x_bar[0] =
            local_shaped_like(local_take(y_bar[0], take->index, take->count), node->inputs[0]);
}

static void put_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                        struct diff_tensor **y_dot)
{
    const struct take *take = node->extra;
    if (x_dot[0])
        y_dot[0] = local_put(x_dot[0], take->index, node->outputs[0]->count);
}

static const struct diff_operation put_operation = {.name = "put",
                                                    .kind = OP_COMPUTE,
                                                    .forward = put_forward,
                                                    .adjoint = put_adjoint,
                                                    .tangent = put_tangent};

struct diff_tensor *local_put(struct diff_tensor *x, const size_t *index, size_t count)
{
    return take_build(&put_operation, x, index, x->count, count);
}

struct diff_tensor *diff_gather_rows(struct diff_tensor *x, size_t count, const size_t *rows)
{
    struct diff_state *state = x->tape->state;
    ENTER(state);
    if (x->dims == 0)
        state_fail(state, "M009", "rows of a tensor without dimensions");
    size_t width = x->shape[0] > 0 ? x->count / x->shape[0] : 0;
    size_t *index = arena_take(&x->tape->arena, (count * width + 1) * sizeof *index);
    for (size_t i = 0; i < count; i++) {
        if (rows[i] >= x->shape[0])
            state_fail(state, "M009", "row %zu of %zu", rows[i], x->shape[0]);
        for (size_t k = 0; k < width; k++)
            index[i * width + k] = rows[i] * width + k;
    }
    size_t *shape = arena_take(&x->tape->arena, x->dims * sizeof *shape);
    memcpy(shape, x->shape, x->dims * sizeof *shape);
    shape[0] = count;
    struct diff_tensor *y = local_shaped(local_take(x, index, count * width), x->dims, shape);
    state_leave(state);
    return y;
}

/* ---- mask ---- */

static void mask_forward(struct diff_node *node)
{
    const double *mask = node->extra;
    const struct diff_tensor *x = node->inputs[0];
    size_t parts = diff_type_parts(x->type);
    REAL_SWITCH(diff_type_real(x->type), {
        const T *from = x->storage->data;
        T *y = node->outputs[0]->storage->data;
        for (size_t i = 0; i < x->count * parts; i++)
            y[i] = (T)mask[i / parts] * from[i];
    })
}

static void mask_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                         struct diff_tensor **x_bar)
{
    if (y_bar[0])
        x_bar[0] = local_mask(y_bar[0], node->extra);
}

static const struct diff_operation mask_operation = {.name = "mask",
                                                     .kind = OP_COMPUTE,
                                                     .forward = mask_forward,
                                                     .adjoint = mask_adjoint,
                                                     .tangent = mask_adjoint};

struct diff_tensor *local_mask(struct diff_tensor *x, const double *mask)
{
    struct diff_node *node = node_begin(&mask_operation, 1, &x);
    double *copy = node_take(node, (x->count + 1) * sizeof *copy);
    memcpy(copy, mask, x->count * sizeof *copy);
    node->extra = copy;
    struct diff_tensor *y = node_output(node, tensor_new_like(x));
    node_run(node);
    return y;
}
