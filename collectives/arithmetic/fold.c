/* Derivatives of folds: see fold.h. */
#include "collectives/arithmetic/fold.h"

#include "collectives/experiment/mutant.h"
#include "collectives/experiment/probe.h"

#include <string.h>

/* ---- user operations as differentiable nodes ---- */

enum part { PART_VALUE, PART_BY_A, PART_BY_B, PART_BY_AA, PART_BY_AB, PART_BY_BB };

struct user_node {
    const struct diff_user_op *op;
    enum part part;
};

static const struct diff_operation combine_operation;

static struct diff_tensor *user_apply(const struct diff_user_op *op, enum part part,
                                      struct diff_tensor *a, struct diff_tensor *b)
{
    struct diff_node *node = node_begin(&combine_operation, 2, (struct diff_tensor *[]){a, b});
    struct user_node *user = node_take(node, sizeof *user);
    *user = (struct user_node){op, part};
    node->extra = user;
    struct diff_tensor *y = node_output(node, tensor_new_like(a));
    node_run(node);
    return y;
}

static void combine_forward(struct diff_node *node)
{
    const struct user_node *user = node->extra;
    const struct diff_op_rules *rules = &user->op->rules;
    struct diff_tensor *y = node->outputs[0];
    const void *a = node->inputs[0]->storage->data, *b = node->inputs[1]->storage->data;
    void *values[3], *result = y->storage->data;
    for (int i = 0; i < 3; i++)
        values[i] = user->part == PART_VALUE ? NULL : tensor_new_like(y)->storage->data;
    if (user->part == PART_VALUE) {
        rules->combine(y->type, y->count, a, b, result);
        return;
    }
    bool first = user->part <= PART_BY_B;
    if (!first && !rules->second)
        node_fail(node, "M009", "the operation registers no second derivatives");
    values[user->part - (first ? PART_BY_A : PART_BY_AA)] = result;
    if (first)
        rules->partials(y->type, y->count, a, b, values[0], values[1]);
    else
        rules->second(y->type, y->count, a, b, values[0], values[1], values[2]);
}

/* The derivatives of a part: value -> a, b; by a -> aa, ab; by b -> ab, bb. */
static const enum part derivative[3][2] = {[PART_VALUE] = {PART_BY_A, PART_BY_B},
                                           [PART_BY_A] = {PART_BY_AA, PART_BY_AB},
                                           [PART_BY_B] = {PART_BY_AB, PART_BY_BB}};

static struct diff_tensor *user_derivative(struct diff_node *node, int by)
{
    const struct user_node *user = node->extra;
    if (user->part > PART_BY_B)
        node_fail(node, "M009", "a user operation is differentiable twice only");
    return user_apply(user->op, derivative[user->part][by], node->inputs[0], node->inputs[1]);
}

static void combine_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                            struct diff_tensor **x_bar)
{
    for (int i = 0; i < 2 && y_bar[0]; i++)
        if (node->inputs[i]->requires_gradient)
            x_bar[i] = diff_mul(y_bar[0], local_conj(user_derivative(node, i)));
}

static void combine_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                            struct diff_tensor **y_dot)
{
    for (int i = 0; i < 2; i++)
        if (x_dot[i])
            y_dot[0] = cotangent_add(y_dot[0], diff_mul(user_derivative(node, i), x_dot[i]));
}

static const struct diff_operation combine_operation = {.name = "user op",
                                                        .kind = OP_COMPUTE,
                                                        .saves = SAVES_INPUTS,
                                                        .forward = combine_forward,
                                                        .adjoint = combine_adjoint,
                                                        .tangent = combine_tangent};

/* ---- the elementary combination ---- */

static bool is_sum(MPI_Op op)
{
    return op == MPI_SUM || op == DIFF_AVG;
}

static bool is_maximum(MPI_Op op)
{
    return op == MPI_MAX || op == MPI_MAXLOC;
}

static bool is_extremum(MPI_Op op)
{
    return is_maximum(op) || op == MPI_MIN || op == MPI_MINLOC;
}

static const struct diff_user_op *user_op_of(const struct diff_tensor *x, MPI_Op op)
{
    const struct diff_user_op *known = x->tape->state->user_ops;
    while (known && known->op != op)
        known = known->next;
    return known;
}

/* The elementary combination of what is no extremum: those have their shares below. */
static struct diff_tensor *combine(MPI_Op op, struct diff_tensor *a, struct diff_tensor *b)
{
    if (is_sum(op))
        return diff_add(a, b);
    if (op == MPI_PROD)
        return diff_mul(a, b);
    return user_apply(user_op_of(a, op), PART_VALUE, a, b);
}

/* c times the derivative of f(a, b) by a (0) or b (1), transposed. */
static struct diff_tensor *pull(MPI_Op op, struct diff_tensor *a, struct diff_tensor *b, int by,
                                struct diff_tensor *c)
{
    if (is_sum(op))
        return c;
    if (op == MPI_PROD)
        return diff_mul(c, local_conj(by == 0 ? b : a));
    return diff_mul(
        c, local_conj(user_apply(user_op_of(a, op), by == 0 ? PART_BY_A : PART_BY_B, a, b)));
}

/* ---- folds ---- */

static struct diff_tensor *contribution(struct diff_tensor *all, size_t count, int rank)
{
    return local_window(all, (size_t)rank * count, count);
}

static struct diff_tensor *flat(struct diff_tensor *x)
{
    return x->dims == 1 ? x : local_shaped(x, 1, &x->count);
}

/* A rank's weight in the extremum of ranks 0 .. last: the lowest that attains it has all. */
static double *shares(MPI_Op op, const struct diff_tensor *all, size_t count, int last, int rank)
{
    const struct diff_state *state = all->tape->state;
    double *weights = arena_take_zeroed(&all->tape->arena, (count + 1) * sizeof *weights);
    for (size_t i = 0; i < count; i++) {
        double best = tensor_part(all, i);
        int winner = 0;
        for (int r = 1; r <= last; r++) {
            double value = tensor_part(all, (size_t)r * count + i);
            if (is_maximum(op) ? value > best : value < best) {
                best = value;
                winner = r;
            }
        }
        bool attains = tensor_part(all, (size_t)rank * count + i) == best;
        weights[i] = state->mutant == MUTANT_ALL_TIES ? attains : rank == winner;
    }
    return weights;
}

static struct diff_tensor *product_by_division(struct diff_tensor *all, int size, int rank,
                                               struct diff_tensor *s)
{
    struct diff_tensor *product = contribution(all, s->count, 0);
    for (int r = 1; r < size; r++)
        product = diff_mul(product, contribution(all, s->count, r));
    return diff_mul(s, local_conj(diff_div(product, contribution(all, s->count, rank))));
}

struct diff_tensor *fold_adjoint(MPI_Op op, struct diff_tensor *all, int size, int rank,
                                 struct diff_tensor *s)
{
    s = flat(s);
    size_t n = s->count;
    all = flat(all);
    if (is_extremum(op))
        return local_mask(s, shares(op, all, n, size - 1, rank));
    if (op == MPI_PROD && s->tape->state->mutant == MUTANT_PROD_DIVISION)
        return product_by_division(all, size, rank, s);
    struct diff_tensor *prefix = rank > 0 ? contribution(all, n, 0) : NULL;
    for (int r = 1; r < rank; r++)
        prefix = combine(op, prefix, contribution(all, n, r));
    struct diff_tensor *own = contribution(all, n, rank);
    struct diff_tensor *running = prefix ? combine(op, prefix, own) : own;
    struct diff_tensor *bar = s;
    for (int r = rank + 1; r < size; r++) {
        struct diff_tensor *x = contribution(all, n, r);
        bar = pull(op, running, x, 0, bar);
        if (r + 1 < size)
            running = combine(op, running, x);
    }
    return prefix ? pull(op, prefix, own, 1, bar) : bar;
}

static struct diff_tensor *extremum_scan_adjoint(MPI_Op op, struct diff_tensor *all, int size,
                                                 int rank, struct diff_tensor *bars)
{
    size_t n = bars->count / (size_t)size;
    struct diff_tensor *sum = NULL;
    for (int last = rank; last < size; last++) {
        struct diff_tensor *bar = contribution(bars, n, last);
        sum = cotangent_add(sum, local_mask(bar, shares(op, all, n, last, rank)));
    }
    return sum;
}

struct diff_tensor *fold_scan_adjoint(MPI_Op op, struct diff_tensor *all, int size, int rank,
                                      struct diff_tensor *bars)
{
    all = flat(all);
    bars = flat(bars);
    size_t n = bars->count / (size_t)size;
    if (is_extremum(op))
        return extremum_scan_adjoint(op, all, size, rank, bars);
    struct diff_tensor **running =
        arena_take(&all->tape->arena, (size_t)size * sizeof(struct diff_tensor *));
    running[0] = contribution(all, n, 0);
    for (int r = 1; r < size && !is_sum(op); r++)
        running[r] = combine(op, running[r - 1], contribution(all, n, r));
    struct diff_tensor *bar = contribution(bars, n, size - 1);
    for (int r = size - 2; r >= rank; r--) {
        struct diff_tensor *after = contribution(all, n, r + 1);
        bar = cotangent_add(contribution(bars, n, r),
                            is_sum(op) ? bar : pull(op, running[r], after, 0, bar));
    }
    if (rank == 0 || is_sum(op))
        return bar;
    return pull(op, running[rank - 1], contribution(all, n, rank), 1, bar);
}

/* f's derivative applied forward: by_a * a_dot + by_b * b_dot. For the elementwise operations here
 * that is the transposed product with conjugates taken twice. */
static struct diff_tensor *push(MPI_Op op, struct diff_tensor *a, struct diff_tensor *b, int by,
                                struct diff_tensor *dot)
{
    return local_conj(pull(op, a, b, by, local_conj(dot)));
}

static struct diff_tensor *extremum_tangent(MPI_Op op, struct diff_tensor *all,
                                            struct diff_tensor *all_dot, size_t n, int last)
{
    struct diff_tensor *sum = NULL;
    for (int r = 0; r <= last; r++)
        sum = cotangent_add(sum,
                            local_mask(contribution(all_dot, n, r), shares(op, all, n, last, r)));
    return sum;
}

struct diff_tensor *fold_tangent(MPI_Op op, struct diff_tensor *all, struct diff_tensor *all_dot,
                                 int size, int last)
{
    size_t n = all->count / (size_t)size;
    all = flat(all);
    all_dot = flat(all_dot);
    if (is_extremum(op))
        return extremum_tangent(op, all, all_dot, n, last);
    struct diff_tensor *running = contribution(all, n, 0), *dot = contribution(all_dot, n, 0);
    for (int r = 1; r <= last; r++) {
        struct diff_tensor *x = contribution(all, n, r);
        dot = cotangent_add(push(op, running, x, 0, dot),
                            push(op, running, x, 1, contribution(all_dot, n, r)));
        if (r < last)
            running = combine(op, running, x);
    }
    return dot;
}
