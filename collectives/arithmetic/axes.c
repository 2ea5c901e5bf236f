/* Tensors of several dimensions: broadcasting, sums and maxima along an axis, single elements, stack
 * and split, batches of matrices, layer norm. All are made of take, put and shapes, whose adjoints
 * are each other. */
#include "collectives/arithmetic/local.h"

#include <stdint.h>
#include <string.h>

static size_t *indices(struct diff_tape *tape, size_t count)
{
    return arena_take(&tape->arena, (count + 1) * sizeof(size_t));
}

/* ---- broadcasting ---- */

/* Where value `i` of the larger shape comes from; SIZE_MAX: the shapes do not fit. */
static size_t source_of(const struct diff_tensor *x, size_t dims, const size_t *shape, size_t i)
{
    size_t from = 0, stride = 1;
    for (size_t k = 0; k < dims; k++) {
        size_t at = shape[dims - 1 - k] ? i % shape[dims - 1 - k] : 0;
        i = shape[dims - 1 - k] ? i / shape[dims - 1 - k] : 0;
        if (k >= x->dims)
            continue;
        size_t own = x->shape[x->dims - 1 - k];
        from += own == 1 ? 0 : at * stride;
        stride *= own;
    }
    return from;
}

static bool fits(const struct diff_tensor *x, size_t dims, const size_t *shape)
{
    if (x->dims > dims)
        return false;
    for (size_t k = 0; k < x->dims; k++) {
        size_t own = x->shape[x->dims - 1 - k];
        if (own != 1 && own != shape[dims - 1 - k])
            return false;
    }
    return true;
}

static struct diff_tensor *broadcast(struct diff_tensor *x, size_t dims, const size_t *shape)
{
    size_t count = 1;
    for (size_t k = 0; k < dims; k++)
        count *= shape[k];
    size_t *index = indices(x->tape, count);
    for (size_t i = 0; i < count; i++)
        index[i] = source_of(x, dims, shape, i);
    return local_shaped(local_take(x, index, count), dims, shape);
}

struct diff_tensor *diff_broadcast(struct diff_tensor *x, size_t dims, const size_t *shape)
{
    struct diff_state *state = x->tape->state;
    ENTER(state);
    if (!fits(x, dims, shape))
        state_fail(state, "M009",
                   "broadcast to a shape that does not fit: compared from the last one on, every "
                   "dimension must be equal or 1");
    struct diff_tensor *y = broadcast(x, dims, shape);
    state_leave(state);
    return y;
}

/* ---- along an axis ---- */

/* The values before, along and after an axis; the shape without it. */
struct axis {
    size_t outer, length, inner, dims, *shape;
};

static struct axis axis_of(struct diff_tensor *x, size_t axis, const char *name)
{
    struct axis parts = {.outer = 1, .inner = 1, .dims = x->dims - 1};
    if (axis >= x->dims)
        state_fail(x->tape->state, "M009", "%s along axis %zu of a tensor with %zu dimensions",
                   name, axis, x->dims);
    parts.shape = indices(x->tape, x->dims);
    parts.length = x->shape[axis];
    for (size_t k = 0, kept = 0; k < x->dims; k++) {
        if (k == axis)
            continue;
        parts.shape[kept++] = x->shape[k];
        *(k < axis ? &parts.outer : &parts.inner) *= x->shape[k];
    }
    return parts;
}

static struct diff_tensor *sum_along(struct diff_tensor *x, const struct axis *axis)
{
    size_t *index = indices(x->tape, x->count), i = 0;
    for (size_t o = 0; o < axis->outer; o++)
        for (size_t k = 0; k < axis->length; k++)
            for (size_t n = 0; n < axis->inner; n++)
                index[i++] = o * axis->inner + n;
    return local_shaped(local_put(x, index, axis->outer * axis->inner), axis->dims, axis->shape);
}

struct diff_tensor *diff_sum_axis(struct diff_tensor *x, size_t axis)
{
    ENTER(x->tape->state);
    struct axis along = axis_of(x, axis, "sum");
    struct diff_tensor *y = sum_along(x, &along);
    state_leave(x->tape->state);
    return y;
}

struct diff_tensor *diff_max_axis(struct diff_tensor *x, size_t axis)
{
    struct diff_state *state = x->tape->state;
    ENTER(state);
    struct axis along = axis_of(x, axis, "maximum");
    if (diff_type_is_complex(x->type) || along.length == 0)
        state_fail(state, "M009", "maximum of %s",
                   along.length ? "complex numbers, which have no order" : "no values");
    size_t count = along.outer * along.inner, *index = indices(x->tape, count);
    for (size_t i = 0; i < count; i++) {
        size_t best = i / along.inner * along.length * along.inner + i % along.inner, at = best;
        for (size_t k = 1; k < along.length; k++) {
            at += along.inner;
            if (!(tensor_part(x, at) <= tensor_part(x, best)))
                best = at;
        }
        index[i] = best;
    }
    struct diff_tensor *y = local_shaped(local_take(x, index, count), along.dims, along.shape);
    state_leave(state);
    return y;
}

/* ---- single elements ---- */

static size_t *index_checked(struct diff_tensor *x, size_t count, const size_t *index, size_t of)
{
    size_t *copy = indices(x->tape, count);
    for (size_t i = 0; i < count; i++) {
        if (index[i] >= of)
            state_fail(x->tape->state, "M009", "element %zu of %zu", index[i], of);
        copy[i] = index[i];
    }
    return copy;
}

struct diff_tensor *diff_take(struct diff_tensor *x, size_t count, const size_t *index)
{
    ENTER(x->tape->state);
    struct diff_tensor *y = local_take(x, index_checked(x, count, index, x->count), count);
    state_leave(x->tape->state);
    return y;
}

struct diff_tensor *diff_put(struct diff_tensor *x, const size_t *index, size_t count)
{
    ENTER(x->tape->state);
    struct diff_tensor *y = local_put(x, index_checked(x, x->count, index, count), count);
    state_leave(x->tape->state);
    return y;
}

/* ---- stack and split ---- */

struct diff_tensor *diff_stack(size_t count, struct diff_tensor *const *parts)
{
    struct diff_state *state = parts[0]->tape->state;
    ENTER(state);
    for (size_t i = 1; i < count; i++)
        if (!tensor_same_shape(parts[0], parts[i]) || parts[0]->type != parts[i]->type)
            state_fail(state, "M009", "stack of tensors of different shapes (%zu and %zu values)",
                       parts[0]->count, parts[i]->count);
    size_t *shape = indices(parts[0]->tape, parts[0]->dims + 1);
    shape[0] = count;
    memcpy(shape + 1, parts[0]->shape, parts[0]->dims * sizeof *shape);
    struct diff_tensor *all = local_concat(parts[0]->tape, parts[0]->type, count, parts);
    struct diff_tensor *y = local_shaped(all, parts[0]->dims + 1, shape);
    state_leave(state);
    return y;
}

void diff_split(struct diff_tensor *x, size_t count, const size_t *sizes,
                struct diff_tensor **parts)
{
    struct diff_state *state = x->tape->state;
    ENTER(state);
    size_t rows = x->dims ? x->shape[0] : 0, begin = 0, total = 0;
    for (size_t i = 0; i < count; i++)
        total += sizes[i];
    if (total != rows)
        state_fail(state, "M009", "split of %zu rows into %zu", rows, total);
    for (size_t i = 0; i < count; i++) {
        size_t *shape = indices(x->tape, x->dims), width = rows ? x->count / rows : 0;
        memcpy(shape, x->shape, x->dims * sizeof *shape);
        shape[0] = sizes[i];
        parts[i] = local_shaped(local_window(x, begin * width, sizes[i] * width), x->dims, shape);
        begin += sizes[i];
    }
    state_leave(state);
}

/* ---- matrices by the batch, layer norm ---- */

struct diff_tensor *diff_matmul_batched(struct diff_tensor *a, struct diff_tensor *b)
{
    struct diff_state *state = a->tape->state;
    ENTER(state);
    if (a->dims != 3 || b->dims != 3 || a->shape[0] != b->shape[0] || a->shape[2] != b->shape[1] ||
        a->type != b->type)
        state_fail(state, "M009",
                   "a batch of products needs [batch, rows, inner] and [batch, inner, columns]");
    size_t batch = a->shape[0], left = a->shape[1] * a->shape[2], right = b->shape[1] * b->shape[2];
    struct diff_tensor **products =
        arena_take(&a->tape->arena, (batch + 1) * sizeof(struct diff_tensor *));
    for (size_t i = 0; i < batch; i++)
        products[i] = diff_matmul(local_shaped(local_window(a, i * left, left), 2, a->shape + 1),
                                  local_shaped(local_window(b, i * right, right), 2, b->shape + 1));
    struct diff_tensor *y = local_shaped(local_concat(a->tape, a->type, batch, products), 3,
                                         (size_t[]){batch, a->shape[1], b->shape[2]});
    state_leave(state);
    return y;
}

struct diff_tensor *diff_layer_norm(struct diff_tensor *x, double epsilon)
{
    struct diff_state *state = x->tape->state;
    ENTER(state);
    if (x->dims != 2 || diff_type_is_complex(x->type))
        state_fail(state, "M009", "layer norm of what is no matrix of real numbers");
    struct axis row = axis_of(x, 1, "layer norm");
    size_t column[] = {row.outer, 1};
    double share = 1.0 / (double)row.length;
    struct diff_tensor *mean = local_affine(sum_along(x, &row), share, 0);
    struct diff_tensor *rest = diff_sub(x, broadcast(local_shaped(mean, 2, column), 2, x->shape));
    struct diff_tensor *variance =
        local_affine(sum_along(diff_mul(rest, rest), &row), share, epsilon);
    struct diff_tensor *deviation = local_shaped(diff_sqrt(variance), 2, column);
    struct diff_tensor *y = diff_div(rest, broadcast(deviation, 2, x->shape));
    state_leave(state);
    return y;
}
