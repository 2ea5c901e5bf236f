/* about: distributed autograd: every case of remote calls, against one process that does all by itself
 * ranks: 4
 * expect: OK
 * variant: builtin; arguments: builtin; expect: OK
 * variant: function; arguments: function; expect: OK
 * variant: remote; arguments: remote; expect: OK
 * variant: nested; arguments: nested; expect: OK
 * variant: back; arguments: back; expect: OK
 * variant: alternate; arguments: alternate; expect: OK
 * variant: only-result; arguments: only-result; expect: OK
 * variant: plain; arguments: plain; expect: OK
 * variant: unused-output; arguments: unused-output; expect: OK
 * variant: trips; arguments: trips; expect: OK
 * variant: roots; arguments: roots; expect: OK
 * variant: shapes; arguments: shapes; expect: OK
 * variant: outputs; arguments: outputs; expect: OK
 * variant: thousand; arguments: thousand; expect: OK
 * variant: second-pass; arguments: second-pass; expect: OK
 * variant: refusals; arguments: refusals; expect: OK
 * variant: deep-error; arguments: deep-error; expect: OK
 * variant: release-in-pass; arguments: release-in-pass; expect: OK
 * variant: contexts; arguments: contexts; expect: OK
 * variant: recovery; arguments: recovery; expect: OK
 * variant: hooks; arguments: hooks; expect: OK
 * variant: server; arguments: server; expect: OK
 * variant: optimizer; arguments: optimizer; expect: OK
 * variant: fast-unused-send; arguments: unused-send fast; expect: D001
 * variant: smart-unused-send; arguments: unused-send lineage; expect: OK
 * variant: mark-unused-send; arguments: unused-send mark; expect: OK
 * variant: fast-detached; arguments: detached fast; expect: D001
 * variant: smart-detached; arguments: detached lineage; expect: OK
 * variant: mark-detached; arguments: detached mark; expect: OK
 * variant: fast-added; arguments: added fast; expect: D001
 * variant: smart-added; arguments: added lineage; expect: OK
 * variant: mark-added; arguments: added mark; expect: OK
 *
 * Worker 0 drives, the others serve; each worker has a weight. Every case runs twice: by remote calls within a context and
 * dist_backward, and with all calls done locally on copies of the weights and diff_backward. All gradients on all workers
 * must agree. Without arguments every case runs in every mode that can run it (large ones in one mode): FAST counts every send of the context, so
 * that a send no gradient returns for makes it wait for ever; SMART knows which sends lie on a path to the roots. */
#include <math.h>
#include <mpi.h>
#include <rpc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 4, RESULTS_MAX = 4 };

static const char *const mode_names[] = {"fast", "lineage", "mark"};
static enum dist_mode mode;
static const char *running;
static int failures, checks;

static struct diff_tensor *weights[WORKERS]; /* the own one is the real one, the others are copies */
static struct diff_tensor *x, *y;            /* worker 0's */
static bool serial;                          /* all calls are done here */
static int here;                             /* the worker that the code stands for */

static void check(bool good, const char *what)
{
    checks++;
    if (good)
        return;
    failures++;
    printf("%s in mode %s: %s\n", running, mode_names[mode], what);
}

/* ---- what workers do for others ---- */

static struct diff_tensor *call(int worker, const char *name, size_t count, struct diff_tensor *const *arguments);

static struct diff_tensor *call_one(int worker, const char *name, struct diff_tensor *argument)
{
    return call(worker, name, 1, &argument);
}

static struct diff_tensor *add(size_t count, struct diff_tensor *const *a)
{
    (void)count;
    return diff_add(a[0], a[1]);
}

static struct diff_tensor *weigh(size_t count, struct diff_tensor *const *a)
{
    (void)count;
    return diff_mul(diff_tanh(a[0]), weights[here]);
}

static struct diff_tensor *weight_only(size_t count, struct diff_tensor *const *a)
{
    (void)count, (void)a;
    return diff_exp(weights[here]);
}

/* On to the next worker, back to 0 in the end. */
static struct diff_tensor *chain(size_t count, struct diff_tensor *const *a)
{
    (void)count;
    struct diff_tensor *mine = diff_mul(a[0], weights[here]);
    return here + 1 < WORKERS ? diff_add(call_one(here + 1, "chain", mine), mine) : diff_tanh(mine);
}

/* Asks the caller, worker 0, for something. */
static struct diff_tensor *back(size_t count, struct diff_tensor *const *a)
{
    (void)count;
    return diff_mul(call_one(0, "weigh", diff_mul(a[0], weights[here])), a[0]);
}

/* Uses every second argument. */
static struct diff_tensor *alternate(size_t count, struct diff_tensor *const *a)
{
    struct diff_tensor *sum = weights[here];
    for (size_t i = 0; i < count; i++)
        sum = diff_add(sum, i % 2 ? diff_mul(a[i], a[i - 1]) : a[i]);
    return sum;
}

static struct diff_tensor *first_of_two(size_t count, struct diff_tensor *const *a)
{
    (void)count;
    return diff_mul(a[0], a[0]);
}

static struct diff_tensor *product(size_t count, struct diff_tensor *const *a)
{
    (void)count;
    return diff_matmul(a[0], a[1]);
}

static const struct {
    const char *name;
    struct diff_tensor *(*body)(size_t count, struct diff_tensor *const *arguments);
} functions[] = {{"add", add},         {"weigh", weigh},         {"weight-only", weight_only},
                 {"chain", chain},     {"back", back},           {"alternate", alternate},
                 {"first", first_of_two}, {"product", product}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static void function_handler(struct rpc_call *remote, size_t number)
{
    struct diff_tensor *arguments[16], *result;
    size_t count = rpc_argument_count(remote);
    for (size_t i = 0; i < count && i < 16; i++)
        arguments[i] = rpc_argument(remote, i);
    result = functions[number].body(count, arguments);
    rpc_reply(remote, 1, &result);
}

#define HANDLER(n)                                                                                                     \
    static void handler_##n(struct rpc_call *remote)                                                                   \
    {                                                                                                                  \
        function_handler(remote, n);                                                                                   \
    }
HANDLER(0) HANDLER(1) HANDLER(2) HANDLER(3) HANDLER(4) HANDLER(5) HANDLER(6) HANDLER(7)
static rpc_function *const handlers[FUNCTIONS] = {handler_0, handler_1, handler_2, handler_3,
                                                  handler_4, handler_5, handler_6, handler_7};

/* The call itself: by message, or here on the copies. */
static struct diff_tensor *call(int worker, const char *name, size_t count, struct diff_tensor *const *arguments)
{
    if (!serial)
        return rpc_result(rpc_sync(worker, name, count, arguments), 0);
    int caller = here;
    size_t number = 0;
    while (strcmp(functions[number].name, name))
        number++;
    here = worker;
    struct diff_tensor *result = functions[number].body(count, arguments);
    here = caller;
    return result;
}

/* Two outputs, three outputs: by hand, since a body has one result. */
static void split_handler(struct rpc_call *remote)
{
    struct diff_tensor *a = rpc_argument(remote, 0);
    rpc_reply(remote, 3, (struct diff_tensor *[]){diff_exp(a), diff_mul(a, weights[here]), diff_sum(a)});
}

static void split(int worker, struct diff_tensor *argument, struct diff_tensor *results[3])
{
    if (serial) {
        results[0] = diff_exp(argument);
        results[1] = diff_mul(argument, weights[worker]);
        results[2] = diff_sum(argument);
        return;
    }
    struct rpc_future *future = rpc_sync(worker, "split", 1, &argument);
    for (size_t i = 0; i < 3; i++)
        results[i] = rpc_result(future, i);
}

/* The gradient of this worker's weight in the context that the bytes name. */
static void report_handler(struct rpc_call *remote)
{
    size_t size;
    uint64_t context;
    memcpy(&context, rpc_argument_bytes(remote, &size), sizeof context);
    struct diff_tensor *gradient = dist_gradient(context, weights[here]);
    double values[3] = {gradient != NULL, 0, 0};
    if (gradient)
        memcpy(values + 1, diff_values(gradient), 2 * sizeof *values);
    rpc_reply_bytes(remote, values, sizeof values);
}

static void known_handler(struct rpc_call *remote)
{
    size_t size;
    uint64_t context;
    memcpy(&context, rpc_argument_bytes(remote, &size), sizeof context);
    rpc_reply_bytes(remote, &(double){dist_context_known(context)}, sizeof(double));
}

static const double *ask(int worker, const char *name, uint64_t context)
{
    size_t size;
    struct rpc_future *future =
        rpc_async_with(worker, name, &(struct rpc_arguments){.size = sizeof context, .bytes = &context});
    rpc_wait(future);
    return rpc_result_bytes(future, &size);
}

/* ---- comparing ---- */

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * (1 + fabs(b));
}

static void compare_values(const double *got, struct diff_tensor *leaf, double passes, const char *what)
{
    const double *expected = diff_gradient(leaf);
    char text[160];
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "gradient of %s[%d] is %.17g, alone it is %.17g", what, i, got ? got[i] : 0,
                 passes * expected[i]);
        check(near(got ? got[i] : 0, passes * expected[i]), text);
    }
}

/* The loss once more in one process, and every gradient compared. */
static void compare(uint64_t context, struct diff_tensor *(*loss)(void), double passes)
{
    struct diff_tensor *leaves[] = {x, y, weights[0], weights[1], weights[2], weights[3]};
    for (int i = 0; i < 6; i++)
        diff_gradient_clear(leaves[i]);
    serial = true;
    struct diff_tensor *root = loss();
    double one = 1;
    struct diff_tensor *seed = diff_constant(rpc_tape(), DIFF_DOUBLE, 1, (size_t[]){1}, &one);
    diff_backward_from(rpc_tape(), 1, &root, &seed, 0);
    serial = false;
    struct diff_tensor *gradient = dist_gradient(context, x);
    compare_values(gradient ? diff_values(gradient) : NULL, x, passes, "x");
    gradient = dist_gradient(context, y);
    compare_values(gradient ? diff_values(gradient) : NULL, y, passes, "y");
    gradient = dist_gradient(context, weights[0]);
    compare_values(gradient ? diff_values(gradient) : NULL, weights[0], passes, "weight 0");
    for (int worker = 1; worker < WORKERS; worker++) {
        char what[16];
        snprintf(what, sizeof what, "weight %d", worker);
        compare_values(ask(worker, "report", context) + 1, weights[worker], passes, what);
    }
}

static uint64_t open_context(void)
{
    return dist_context_new(mode);
}

static void close_context(uint64_t context)
{
    dist_context_leave();
    check(dist_context_release(context), "release");
    for (int worker = 1; worker < WORKERS; worker++)
        check(ask(worker, "known", context)[0] == 0, "a released context is still known");
}

/* A case whose loss is a function. */
static void case_of(struct diff_tensor *(*loss)(void))
{
    uint64_t context = open_context();
    struct diff_tensor *root = loss();
    bool good = dist_backward(context, 1, &root, 0);
    check(good, good ? "" : dist_error());
    dist_context_leave();
    compare(context, loss, 1);
    close_context(context);
}

/* ---- the cases ---- */

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

static double before[2], after[2];
static int before_calls, after_calls;

static const char *hook_before(struct diff_tensor *gradient, void *unused)
{
    (void)unused;
    before_calls++;
    memcpy(before, diff_values(gradient), sizeof before);
    return after_calls < before_calls ? NULL : "after before before";
}

static const char *hook_after(struct diff_tensor *gradient, void *unused)
{
    (void)unused;
    after_calls++;
    memcpy(after, diff_values(gradient), sizeof after);
    return NULL;
}

static void case_hooks(void)
{
    uint64_t context = open_context();
    struct diff_tensor *z = unchecked();
    struct diff_tensor *first = call_one(1, "first", z), *second = call_one(2, "first", z);
    before_calls = after_calls = 0;
    dist_hook_add(z, DIST_BEFORE, hook_before, NULL);
    dist_hook_add(z, DIST_AFTER, hook_after, NULL);
    struct diff_tensor *root = diff_sum(diff_add(first, second));
    check(dist_backward(context, 1, &root, 0), "a pass with hooks");
    struct diff_tensor *gradient = dist_gradient(context, z);
    check(!gradient || (before_calls == 1 && after_calls == 1), "a leaf's hooks are called once in a pass");
    check(!gradient || (before[0] == 1 && after[1] == 3 && !memcmp(before, after, sizeof after)),
          "hooks see the whole gradient");
    close_context(context);
}

/* Two trainers with contexts of their own on the server's weight. */
static void train_handler(struct rpc_call *remote)
{
    uint64_t context = dist_context_new(mode);
    double factor = 1 + here;
    struct diff_tensor *constant = diff_constant(rpc_tape(), DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){factor, factor});
    struct diff_tensor *shared = rpc_result(rpc_sync(0, "shared", 0, NULL), 0);
    struct diff_tensor *root = diff_sum(diff_mul(diff_mul(shared, shared), constant));
    bool good = dist_backward(context, 1, &root, 0);
    const double *values = ask(0, "shared-gradient", context);
    double report[4] = {good, factor, values[0], values[1]};
    dist_context_leave();
    dist_context_release(context);
    rpc_reply_bytes(remote, report, sizeof report);
}

static struct diff_tensor *shared_value;

static void shared_handler(struct rpc_call *remote)
{
    rpc_reply(remote, 1, &shared_value);
}

static void shared_gradient_handler(struct rpc_call *remote)
{
    size_t size;
    uint64_t context;
    memcpy(&context, rpc_argument_bytes(remote, &size), sizeof context);
    struct diff_tensor *gradient = dist_gradient(context, shared_value);
    rpc_reply_bytes(remote, gradient ? diff_values(gradient) : (double[]){0, 0}, 2 * sizeof(double));
}

static void case_server(void)
{
    shared_value = unchecked();
    const double *at = diff_values(shared_value);
    struct rpc_future *futures[2];
    for (int i = 0; i < 2; i++)
        futures[i] = rpc_async(1 + i, "train", 0, NULL);
    for (int i = 0; i < 2; i++) {
        size_t size;
        check(rpc_wait(futures[i]), "a trainer");
        const double *report = rpc_result_bytes(futures[i], &size);
        bool perturbed = report[2] == 0;
        for (int k = 0; k < 2; k++)
            check(perturbed || near(report[2 + k], 2 * at[k] * report[1]), "a trainer's own gradient");
    }
}

/* Each worker owns a parameter; the loss is the sum of their squares, weighted: known after any number of steps. */
static void parameter_handler(struct rpc_call *remote)
{
    struct diff_tensor *parameter = rpc_variable(DIFF_DOUBLE, 1, (size_t[]){1}, &(double){1.0 + here});
    rpc_reply(remote, 1, &parameter);
}

static double adam_alone(double value, double factor, int steps, double rate)
{
    double first = 0, second = 0;
    for (int i = 1; i <= steps; i++) {
        double gradient = 2 * factor * value;
        first = 0.9 * first + 0.1 * gradient;
        second = 0.999 * second + 0.001 * gradient * gradient;
        value -= rate * (first / (1 - pow(0.9, i))) / (sqrt(second / (1 - pow(0.999, i))) + 1e-8);
    }
    return value;
}

static void train_by(enum dist_rule rule)
{
    enum { STEPS = 5 };
    const double rate = 0.05;
    struct rpc_reference *parameters[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        parameters[i] = rpc_remote(i, "parameter", 0, NULL);
    struct dist_optimizer *optimizer = dist_optimizer_new(rule, rate, WORKERS, parameters);
    bool passes = true;
    for (int step = 0; step <= STEPS; step++) {
        uint64_t context = open_context();
        struct diff_tensor *loss = NULL;
        for (int i = 0; i < WORKERS; i++) {
            struct rpc_future *future = rpc_reference_fetch(parameters[i]);
            rpc_wait(future);
            struct diff_tensor *value = rpc_result(future, 0);
            double factor = 1 + i, start = 1.0 + i;
            double sgd = start * pow(1 - 2 * rate * factor, step), adam = adam_alone(start, factor, step, rate);
            check(!passes || near(diff_scalar(value), rule == DIST_SGD ? sgd : adam), "a parameter after a step");
            struct diff_tensor *term = diff_scale(diff_mul(value, value), factor);
            loss = loss ? diff_add(loss, term) : term;
        }
        loss = diff_sum(loss);
        check(dist_backward(context, 1, &loss, 0), dist_error());
        check(dist_optimizer_step(optimizer, context), dist_error());
        passes = dist_gradients(context, NULL, 0) > 0; /* the gradient check's worlds have none */
        dist_context_leave();
        check(dist_context_release(context), "release");
    }
    dist_optimizer_free(optimizer);
    for (int i = 0; i < WORKERS; i++)
        rpc_reference_free(parameters[i]);
}

static void case_optimizer(void)
{
    train_by(DIST_SGD);
    train_by(DIST_ADAM);
}

/* ---- cases that FAST can not finish ---- */

static struct diff_tensor *loss_unused_send(void)
{
    call_one(1, "weigh", y); /* its result is not used */
    return diff_sum(call_one(2, "weigh", x));
}

static struct diff_tensor *loss_detached(void)
{
    struct diff_tensor *z = unchecked(); /* what is detached counts for the gradient check */
    return diff_sum(diff_mul(diff_detach(call_one(1, "first", z)), call_one(2, "weigh", x)));
}

static void case_unused_send(void) { case_of(loss_unused_send); }
static void case_detached(void) { case_of(loss_detached); }

static void case_added(void)
{
    uint64_t context = open_context();
    struct diff_tensor *root = loss_function();
    check(dist_backward(context, 1, &root, DIST_RETAIN), "the first pass");
    call_one(1, "weigh", y);
    check(dist_backward(context, 1, &root, DIST_RETAIN), "the pass after the call");
    dist_context_leave();
    compare(context, loss_function, 2);
    close_context(context);
}

/* ---- the program ---- */

static const struct {
    const char *name;
    void (*run)(void);
    enum { EVERY_MODE, SMART_ONLY, LARGE } kind; /* LARGE: of all cases together in one mode only */
} cases[] = {{"builtin", case_builtin, EVERY_MODE},
             {"function", case_function, EVERY_MODE},
             {"remote", case_remote, EVERY_MODE},
             {"nested", case_nested, EVERY_MODE},
             {"back", case_back, EVERY_MODE},
             {"alternate", case_alternate, EVERY_MODE},
             {"only-result", case_only_result, EVERY_MODE},
             {"plain", case_plain, EVERY_MODE},
             {"unused-output", case_unused_output, EVERY_MODE},
             {"trips", case_trips, EVERY_MODE},
             {"roots", case_roots, EVERY_MODE},
             {"shapes", case_shapes, EVERY_MODE},
             {"outputs", case_outputs, EVERY_MODE},
             {"thousand", case_thousand, LARGE},
             {"second-pass", case_second_pass, EVERY_MODE},
             {"refusals", case_refusals, EVERY_MODE},
             {"deep-error", case_deep_error, EVERY_MODE},
             {"release-in-pass", case_release_in_pass, EVERY_MODE},
             {"contexts", case_contexts, LARGE},
             {"recovery", case_recovery, LARGE},
             {"hooks", case_hooks, EVERY_MODE},
             {"server", case_server, EVERY_MODE},
             {"optimizer", case_optimizer, LARGE},
             {"unused-send", case_unused_send, SMART_ONLY},
             {"detached", case_detached, SMART_ONLY},
             {"added", case_added, SMART_ONLY}};

static void drive(const char *wanted, const char *wanted_mode)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (mode = DIST_FAST; mode <= DIST_SMART_MARK; mode++) {
            bool named = wanted && !strcmp(wanted, cases[i].name);
            running = cases[i].name;
            if ((wanted && !named) || (wanted_mode && strcmp(wanted_mode, mode_names[mode])) ||
                (!wanted_mode && cases[i].kind == SMART_ONLY && mode == DIST_FAST) ||
                (!named && cases[i].kind == LARGE && mode != (enum dist_mode)(i % 3)))
                continue;
            cases[i].run();
        }
}

static void leaves_make(void)
{
    for (int worker = 0; worker < WORKERS; worker++) {
        double values[2] = {0.5 + 0.1 * worker, 1.25 - 0.2 * worker};
        weights[worker] = worker == here ? diff_input(rpc_tape(), "weight", DIFF_DOUBLE, 1, (size_t[]){2}, values)
                                         : rpc_variable(DIFF_DOUBLE, 1, (size_t[]){2}, values);
        diff_retain_gradient(weights[worker]);
    }
    if (here)
        return;
    x = diff_input(rpc_tape(), "x", DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){0.5, -0.75});
    y = diff_input(rpc_tape(), "y", DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){1.5, 0.25});
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    rpc_init(MPI_COMM_WORLD);
    here = rpc_worker();
    for (size_t i = 0; i < FUNCTIONS; i++)
        rpc_register(functions[i].name, handlers[i]);
    rpc_register("split", split_handler);
    rpc_register("report", report_handler);
    rpc_register("known", known_handler);
    rpc_register("fragile", fragile_handler);
    rpc_register("deep", deep_handler);
    rpc_register("train", train_handler);
    rpc_register("parameter", parameter_handler);
    rpc_register("shared", shared_handler);
    rpc_register("shared-gradient", shared_gradient_handler);
    leaves_make();
    if (rpc_workers() != WORKERS)
        failures = here == 0 && printf("this program is for %d ranks\n", WORKERS);
    else if (here == 0)
        drive(argc > 1 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL);
    if (here == 0 && !failures)
        printf("%d comparisons\n", checks);
    rpc_shutdown();
    MPI_Finalize();
    return failures != 0;
}
