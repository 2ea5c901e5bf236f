/* Of dist-autograd: cases that differ in what is computed where. */
#ifndef SCENARIOS_DIST_VALUES_H
#define SCENARIOS_DIST_VALUES_H

#include "dist_compare.h"

/* A leaf that the gradient check does not vary: for what must fail, or is known otherwise. */
static struct diff_tensor *unchecked(void)
{
    return rpc_variable(DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){0.25, 0.75});
}

static struct diff_tensor *loss_builtin(void)
{
    return diff_sum(diff_mul(call(1, "add", 2, (struct diff_tensor *[]){x, y}), x));
}

static struct diff_tensor *loss_function(void)
{
    return diff_sum(diff_mul(call_one(2, "weigh", x), y));
}

static struct diff_tensor *loss_remote(void)
{
    struct diff_tensor *result;
    if (serial) {
        result = call_one(3, "weigh", x);
    } else {
        struct rpc_reference *reference = rpc_remote(3, "weigh", 1, &x);
        struct rpc_future *future = rpc_reference_fetch(reference);
        rpc_wait(future);
        result = rpc_result(future, 0);
        rpc_reference_free(reference);
    }
    return diff_sum(diff_mul(result, result));
}

static struct diff_tensor *loss_nested(void)
{
    return diff_sum(call_one(1, "chain", x));
}

static struct diff_tensor *loss_back(void)
{
    return diff_sum(diff_mul(call_one(1, "back", x), y));
}

static struct diff_tensor *loss_self(void)
{
    return diff_sum(diff_mul(call_one(0, "weigh", x), call_one(2, "weigh", call_one(0, "weigh", y))));
}

static struct diff_tensor *loss_alternate(void)
{
    struct diff_tensor *constant = diff_constant(rpc_tape(), DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){2, 3});
    return diff_sum(call(1, "alternate", 4, (struct diff_tensor *[]){x, constant, y, constant}));
}

static struct diff_tensor *loss_only_result(void)
{
    struct diff_tensor *constant = diff_constant(rpc_tape(), DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){2, 3});
    return diff_sum(diff_mul(call_one(3, "weight-only", constant), constant));
}

static struct diff_tensor *loss_unused_output(void)
{
    struct diff_tensor *results[3];
    split(1, x, results);
    return diff_sum(diff_mul(results[1], y));
}

static struct diff_tensor *loss_outputs(void)
{
    struct diff_tensor *results[3];
    split(2, diff_mul(x, y), results);
    return diff_add(diff_mul(diff_sum(results[0]), results[2]), diff_sum(diff_mul(results[1], results[0])));
}

static struct diff_tensor *loss_trips(void)
{
    struct diff_tensor *value = x;
    for (int i = 0; i < 9; i++) {
        value = call_one(1 + i % 3, "weigh", diff_add(value, y));
        if (i % 4 == 3)
            value = diff_mul(value, x);
    }
    return diff_sum(value);
}

static struct diff_tensor *loss_shapes(void)
{
    struct diff_tensor *left = diff_reshape(diff_concat(2, (struct diff_tensor *[]){x, y}), 2, (size_t[]){2, 2});
    struct diff_tensor *right = diff_reshape(diff_concat(3, (struct diff_tensor *[]){y, x, y}), 2, (size_t[]){2, 3});
    struct diff_tensor *result = call(2, "product", 2, (struct diff_tensor *[]){left, right});
    struct diff_tensor *column = diff_reshape(diff_slice(result, 1, 2), 2, (size_t[]){2, 1});
    return diff_sum(call(3, "product", 2, (struct diff_tensor *[]){left, column}));
}

static struct diff_tensor *root_one(void)
{
    return diff_sum(call_one(1, "weigh", x));
}

static struct diff_tensor *root_two(void)
{
    return diff_sum(call_one(2, "weigh", diff_mul(x, y)));
}

static struct diff_tensor *loss_roots(void)
{
    return diff_add(root_one(), root_two());
}

/* Single and complex values; a tensor without values; one that is larger than a message. */
static void case_types(void)
{
    enum { LARGE = 3000 };
    static double many[LARGE];
    uint64_t context = open_context();
    float single[3] = {0.5f, -2, 3};
    double complex_values[4] = {1, 2, 3, -4};
    for (int i = 0; i < LARGE; i++)
        many[i] = 1.0 / (1 + i);
    struct diff_tensor *leaves[3] = {rpc_variable(DIFF_FLOAT, 1, (size_t[]){3}, single),
                                     rpc_variable(DIFF_COMPLEX_DOUBLE, 2, (size_t[]){1, 2}, complex_values),
                                     rpc_variable(DIFF_DOUBLE, 2, (size_t[]){30, 100}, many)};
    struct diff_tensor *results[3], *empty = diff_zeros(rpc_tape(), DIFF_DOUBLE, 1, (size_t[]){0});
    for (int i = 0; i < 3; i++)
        results[i] = call(1 + i, "add", 2, (struct diff_tensor *[]){leaves[i], leaves[i]});
    check(diff_count(call(1, "add", 2, (struct diff_tensor *[]){empty, empty})) == 0, "a tensor without values");
    check(diff_type_of(results[0]) == DIFF_FLOAT && diff_count(results[2]) == LARGE, "types and counts travel");
    struct diff_tensor *roots[3] = {diff_sum(diff_mul(results[0], results[0])), diff_dot(results[1], results[1]),
                                    diff_sum(results[2])};
    check(dist_backward(context, 3, roots, 0), "roots of three types");
    struct diff_tensor *gradients[3];
    for (int i = 0; i < 3; i++)
        gradients[i] = dist_gradient(context, leaves[i]);
    if (gradients[0]) {
        const float *singles = diff_values(gradients[0]);
        const double *pairs = diff_values(gradients[1]), *ones = diff_values(gradients[2]);
        check(singles[1] == 8 * single[1], "a gradient in single precision");
        check(pairs[3] == 8 * complex_values[3], "a complex gradient");
        check(ones[0] == 2 && ones[LARGE - 1] == 2, "a gradient larger than a message");
    }
    close_context(context);
}

static void case_builtin(void) { case_of(loss_builtin); }
static void case_function(void) { case_of(loss_function); }
static void case_remote(void) { case_of(loss_remote); }
static void case_nested(void) { case_of(loss_nested); }
static void case_back(void)
{
    case_of(loss_back);
    case_of(loss_self);
}
static void case_alternate(void) { case_of(loss_alternate); }
static void case_only_result(void) { case_of(loss_only_result); }
static void case_unused_output(void) { case_of(loss_unused_output); }
static void case_outputs(void) { case_of(loss_outputs); }
static void case_trips(void) { case_of(loss_trips); }

static void case_shapes(void)
{
    case_of(loss_shapes);
    case_types();
}

static void case_roots(void)
{
    uint64_t context = open_context();
    struct diff_tensor *roots[2] = {root_one(), root_two()};
    check(dist_backward(context, 2, roots, 0), "two roots");
    dist_context_leave();
    compare(context, loss_roots, 1);
    close_context(context);
}

/* No tensor needs a gradient: the calls are plain, yet the other end knows the context. */
static void case_plain(void)
{
    uint64_t context = open_context();
    struct diff_tensor *constant = diff_constant(rpc_tape(), DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){2, 3});
    struct diff_tensor *sum = diff_sum(call(1, "add", 2, (struct diff_tensor *[]){constant, constant}));
    check(!diff_requires_gradient(sum), "a plain result needs a gradient");
    check(diff_scalar(sum) == 10, "a plain call's value");
    dist_context_leave();
    check(ask(1, "known", context)[0] == 1, "the context is not known where a plain call went");
    check(ask(2, "known", context)[0] == 0, "the context is known where no call went");
    close_context(context);
}

/* Rounding adds up over a thousand passes: too much for the gradient check, so the derivative is known. */
static void case_thousand(void)
{
    uint64_t context = open_context();
    struct diff_tensor *z = unchecked(), *root = diff_sum(call_one(2, "first", z));
    for (int i = 0; i < 1000; i++)
        if (!dist_backward(context, 1, &root, DIST_RETAIN))
            check(false, dist_error());
    struct diff_tensor *gradient = dist_gradient(context, z);
    for (int i = 0; gradient && i < 2; i++)
        check(near(((const double *)diff_values(gradient))[i], 2000 * ((const double *)diff_values(z))[i]),
              "a thousand passes add up");
    close_context(context);
}

#endif
