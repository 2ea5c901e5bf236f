/* Of dist-autograd: the workers, what they do for others, and the same done by one process alone. */
#ifndef SCENARIOS_DIST_CALLS_H
#define SCENARIOS_DIST_CALLS_H

#include <math.h>
#include <mpi.h>
#include <rpc.h>
#include <stdio.h>
#include <stdlib.h>
#include <words.h>

enum { WORKERS = 4 };

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

#endif
