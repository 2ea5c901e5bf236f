/* Of dist-autograd: passes that must fail, and what is right afterwards. */
#ifndef SCENARIOS_DIST_ERRORS_H
#define SCENARIOS_DIST_ERRORS_H

#include "dist_values.h"

static bool fails(uint64_t context, size_t count, struct diff_tensor *const *roots, unsigned flags, const char *with)
{
    bool good = dist_backward(context, count, roots, flags);
    /* A world of the gradient check has no backward passes, and nothing in them fails. */
    bool perturbed = good && !dist_gradients(context, NULL, 0);
    if (!good && !strstr(dist_error(), with))
        printf("%s: '%s' should say '%s'\n", running, dist_error(), with);
    return perturbed || (!good && strstr(dist_error(), with));
}

static void case_second_pass(void)
{
    uint64_t context = open_context();
    struct diff_tensor *z = unchecked(), *result = call(1, "add", 2, (struct diff_tensor *[]){z, z});
    struct diff_tensor *root = diff_sum(result), *other = diff_sum(diff_mul(result, result));
    dist_backward(context, 1, &root, 0);
    struct diff_tensor *gradient = dist_gradient(context, z);
    check(fails(context, 1, &root, 0, "a second time"), "a second pass through released operations");
    check(fails(context, 1, &other, 0, "a second time"), "a second pass through a released call");
    check(dist_gradient(context, z) == gradient, "a pass that failed left something");
    close_context(context);
}

static void case_refusals(void)
{
    struct diff_tensor *z = unchecked();
    struct diff_tensor *scalar = rpc_variable(DIFF_DOUBLE, 1, (size_t[]){1}, &(double){1});
    struct diff_tensor *constant = diff_zeros(rpc_tape(), DIFF_DOUBLE, 1, (size_t[]){1});
    struct diff_tensor *both[2] = {diff_sum(z), constant};
    uint64_t none = 77;
    check(fails(none, 1, &scalar, 0, "does not exist"), "no context");
    uint64_t context = open_context();
    check(fails(context, 0, NULL, 0, "no roots"), "no roots");
    check(fails(context, 2, both, 0, "does not require a gradient"), "a root without gradient");
    check(fails(context, 1, &z, 0, "not a scalar"), "a root of two values");
    check(fails(context, 1, &scalar, 0, "no history"), "a root without history");
    check(fails(none, 0, NULL, 0, "does not exist"), "the context is looked at first");
    struct rpc_future *future = rpc_sync(1, "nobody", 0, NULL);
    check(rpc_error(future) && strstr(rpc_error(future), "Error on Node 1: no function is registered as 'nobody'"),
          "a function that is not there");
    close_context(context);
}

static int failing; /* hooks here fail this many more times */

static const char *hook_fail(struct diff_tensor *gradient, void *counter)
{
    (void)gradient, (void)counter;
    return failing > 0 && failing-- > 0 ? "simulated error" : NULL;
}

/* The last of the chain hangs a hook on its argument that fails; the count comes in the bytes. */
static void fragile_handler(struct rpc_call *remote)
{
    size_t size;
    struct diff_tensor *value = rpc_argument(remote, 0), *result;
    const void *bytes = rpc_argument_bytes(remote, &size);
    if (here + 1 < WORKERS) {
        struct rpc_future *future = rpc_async_with(
            here + 1, "fragile",
            &(struct rpc_arguments){.count = 1, .tensors = &value, .size = size, .bytes = bytes});
        rpc_wait(future);
        result = rpc_result(future, 0);
    } else {
        memcpy(&failing, bytes, sizeof failing);
        result = diff_mul(value, value);
        dist_hook_add(result, DIST_BEFORE, hook_fail, NULL);
    }
    rpc_reply(remote, 1, &result);
}

static struct diff_tensor *fragile(struct diff_tensor *value, int failures_wanted)
{
    struct rpc_future *future =
        rpc_async_with(1, "fragile",
                       &(struct rpc_arguments){.count = 1,
                                               .tensors = &value,
                                               .size = sizeof failures_wanted,
                                               .bytes = &failures_wanted});
    rpc_wait(future);
    return rpc_result(future, 0);
}

/* Siblings of the one that fails are in the pass, too: nobody stays in it, and nothing is kept. */
static void case_deep_error(void)
{
    uint64_t context = open_context();
    struct diff_tensor *z = unchecked(), *root = diff_sum(fragile(z, 2));
    check(fails(context, 1, &root, DIST_RETAIN,
                "Error on Node 0: Error on Node 1: Error on Node 2: Error on Node 3: simulated error"),
          "the error of a pass names every hop");
    close_context(context);
    context = open_context();
    struct diff_tensor *sibling = call(2, "add", 2, (struct diff_tensor *[]){z, z});
    root = diff_sum(diff_mul(fragile(z, 1), sibling));
    check(fails(context, 1, &root, DIST_RETAIN, "Error on Node 3: simulated error"), "an error with siblings");
    check(!dist_gradient(context, z), "a pass that failed left something");
    struct rpc_future *future = rpc_sync(1, "deep", 0, NULL);
    check(rpc_error(future) && strstr(rpc_error(future), "Error on Node 1: Error on Node 2: Error on Node 3: refused"),
          "an error of a call names every hop");
    close_context(context);
}

static void deep_handler(struct rpc_call *remote)
{
    struct rpc_future *future = here + 1 < WORKERS ? rpc_sync(here + 1, "deep", 0, NULL) : NULL;
    rpc_fail(remote, "%s", future ? rpc_error(future) : "refused");
}

static uint64_t victim;

static const char *hook_release(struct diff_tensor *gradient, void *unused)
{
    (void)gradient, (void)unused;
    dist_context_release(victim);
    return NULL;
}

static void case_release_in_pass(void)
{
    uint64_t context = victim = open_context();
    struct diff_tensor *z = unchecked(), *inner = diff_mul(z, z);
    dist_hook_add(inner, DIST_AFTER, hook_release, NULL);
    struct diff_tensor *root = diff_sum(call_one(1, "first", call_one(2, "first", inner)));
    bool good = dist_backward(context, 1, &root, 0);
    check(good || strstr(dist_error(), "released"), good ? "" : dist_error());
    if (good) { /* a world of the gradient check has no pass that could release it */
        dist_context_release(context);
    }
    dist_context_leave();
    check(!dist_context_known(context), "released in a pass and still known");
}

enum { CONTEXTS = 20 };

static void case_contexts(void)
{
    uint64_t contexts[CONTEXTS];
    struct diff_tensor *roots[CONTEXTS];
    for (int i = 0; i < CONTEXTS; i++) {
        contexts[i] = open_context();
        roots[i] = loss_nested();
        dist_context_leave();
    }
    for (int i = CONTEXTS; i-- > 0;)
        check(dist_backward(contexts[i], 1, &roots[i], 0), "one of twenty contexts");
    for (int i = 0; i < CONTEXTS; i += 7)
        compare(contexts[i], loss_nested, 1);
    for (int i = 0; i < CONTEXTS; i++)
        check(dist_context_release(contexts[i]), "release of one of twenty");
}

static void case_recovery(void)
{
    uint64_t context = open_context();
    struct diff_tensor *z = unchecked(), *root = diff_sum(diff_mul(fragile(z, 50), z));
    int failed = 0;
    for (int i = 0; i < 99; i++)
        failed += !dist_backward(context, 1, &root, DIST_RETAIN);
    struct diff_tensor *gradient = dist_gradient(context, z);
    const double *values = gradient ? diff_values(gradient) : NULL, *at = diff_values(z);
    check(!gradient || failed == 50, "fifty passes fail");
    for (int i = 0; gradient && i < 2; i++) /* d z^3 = 3 z^2 */
        check(near(values[i], 49 * 3 * at[i] * at[i]), "forty-nine passes count");
    close_context(context);
}

#endif
