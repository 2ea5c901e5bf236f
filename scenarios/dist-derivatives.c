/* about: tangents and second order through remote calls, against one process that does all by itself
 * ranks: 4
 * expect: OK
 * variant: forward; arguments: forward; expect: OK
 * variant: twice; arguments: twice; expect: OK
 * variant: sums; arguments: sums mark; expect: OK
 * variant: over; arguments: over; expect: OK
 * variant: under; arguments: under; expect: OK
 * variant: third; arguments: third; expect: OK
 * variant: contexts; arguments: contexts; expect: OK
 * variant: unrecorded; arguments: unrecorded; expect: OK
 * variant: failing; arguments: failing; expect: OK
 * variant: fast-part; arguments: part fast; expect: D001
 * variant: smart-part; arguments: part lineage; expect: OK
 * variant: mark-part; arguments: part mark; expect: OK
 * variant: here-forward; arguments: here-forward; expect: M009
 * variant: here-backward; arguments: here-backward; expect: M009
 * variant: late; arguments: late; expect: M009
 *
 * Words: form, mode; without a form every one that can end, without a mode every mode. Worker 0 asks the others, who ask
 * each other and worker 0; each has a weight. Forward: a tangent of every leaf travels with the calls. The products of the
 * Hessian with that direction come three ways: backward twice (twice), the tangents of recorded gradients (over), the
 * gradient of a tangent (under). Of a recorded pass the gradient messages count as sends: a second loss that uses only
 * some of the gradients (part) is one FAST waits for ever on. diff_jvp and diff_backward stay on one worker, and a
 * tangent set after its tensor was sent came too late: they say so. */
#include "dist_compare.h"

#include <words.h>

enum { LEAVES = WORKERS + 2 };

/* Linear in no answer: FAST waits for the gradient of every call, and where an answer only adds to the loss, the loss's
 * gradients do not depend on it. */
static struct diff_tensor *loss(void)
{
    struct diff_tensor *a = diff_mul(call_one(2, "weigh", x), y);
    struct diff_tensor *b = call_one(1, "chain", diff_mul(x, y));
    return diff_sum(diff_mul(diff_mul(a, b), call_one(1, "back", y)));
}

/* ---- directions: of x, y, and each worker's weight ---- */

static struct diff_tensor *direction(struct diff_tape *tape, int leaf)
{
    double values[2] = {0.3 + 0.1 * leaf, 0.2 * leaf - 0.7};
    return diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){2}, values);
}

static void direct_handler(struct rpc_call *remote)
{
    (void)remote;
    dist_tangent_set(dist_context_current(), weights[here], direction(rpc_tape(), 2 + here));
}

/* The gradient of this worker's weight times the direction. */
static void along_handler(struct rpc_call *remote)
{
    struct diff_tensor *gradient = dist_gradient(dist_context_current(), weights[here]);
    struct diff_tensor *product = diff_dot(gradient, direction(rpc_tape(), 2 + here));
    rpc_reply(remote, 1, &product);
}

static void bend_handler(struct rpc_call *remote)
{
    uint64_t context = dist_context_current();
    struct diff_tensor *gradient = dist_gradient(context, weights[here]);
    rpc_reply_bytes(remote, diff_values(dist_tangent(context, gradient)), 2 * sizeof(double));
}

static void told(int worker, const char *name)
{
    struct rpc_future *future = rpc_sync(worker, name, 0, NULL);
    check(!rpc_error(future), name);
}

static void directions_set(uint64_t context)
{
    dist_tangent_set(context, x, direction(rpc_tape(), 0));
    dist_tangent_set(context, y, direction(rpc_tape(), 1));
    dist_tangent_set(context, weights[0], direction(rpc_tape(), 2));
    for (int worker = 1; worker < WORKERS; worker++)
        told(worker, "direct");
}

/* The sum over all leaves of <gradient, direction>. */
static struct diff_tensor *slope(uint64_t context)
{
    struct diff_tensor *leaves[] = {x, y, weights[0]}, *sum = NULL;
    for (int i = 0; i < 3; i++) {
        struct diff_tensor *part = diff_dot(dist_gradient(context, leaves[i]), direction(rpc_tape(), i));
        sum = sum ? diff_add(sum, part) : part;
    }
    for (int worker = 1; worker < WORKERS; worker++)
        sum = diff_add(sum, rpc_result(rpc_sync(worker, "along", 0, NULL), 0));
    return sum;
}

/* ---- the same alone, on a tape of its own ---- */

static struct alone {
    double tangent, second, third, gradient[LEAVES][2], bend[LEAVES][2];
} alone;

/* Backward along the direction `order` times; the last gradients. */
static double derive(struct diff_tape *tape, struct diff_tensor **leaves, int order, double last[LEAVES][2])
{
    struct diff_tensor *root = loss(), *seed = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){1}, (double[]){1});
    double value = 0;
    for (int k = 0; k < order; k++) {
        for (int i = 0; i < LEAVES; i++)
            diff_gradient_clear(leaves[i]);
        diff_backward_from(tape, 1, &root, &seed, DIFF_GRAPH);
        root = NULL;
        for (int i = 0; i < LEAVES; i++) {
            struct diff_tensor *gradient = diff_gradient_tensor(leaves[i]);
            struct diff_tensor *part = diff_dot(gradient, direction(tape, i));
            memcpy(last[i], diff_values(gradient), sizeof last[i]);
            root = root ? diff_add(root, part) : part;
        }
        value = diff_scalar(root);
    }
    return value;
}

static void alone_run(void)
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_SELF);
    struct diff_tensor **const places[LEAVES] = {&x, &y, &weights[0], &weights[1], &weights[2], &weights[3]};
    struct diff_tensor *old[LEAVES], *leaves[LEAVES], *tangents[LEAVES];
    char name[16];
    for (int i = 0; i < LEAVES; i++) {
        old[i] = *places[i];
        snprintf(name, sizeof name, "alone.%d", i);
        leaves[i] = *places[i] = diff_input(tape, name, DIFF_DOUBLE, 1, (size_t[]){2}, diff_values(old[i]));
        tangents[i] = direction(tape, i);
    }
    serial = true;
    struct diff_tensor *root = loss();
    diff_jvp(tape, LEAVES, leaves, tangents);
    alone.tangent = diff_scalar(diff_tangent(root));
    derive(tape, leaves, 1, alone.gradient);
    alone.second = derive(tape, leaves, 2, alone.bend);
    double last[LEAVES][2];
    alone.third = derive(tape, leaves, 3, last);
    serial = false;
    for (int i = 0; i < LEAVES; i++) /* no objective of the gradient check's depends on them */
        diff_gradient_clear(leaves[i]);
    diff_backward_none(tape);
    for (int i = 0; i < LEAVES; i++)
        *places[i] = old[i];
    diff_tape_free(tape);
}

/* ---- comparisons ---- */

/* What was said once need not be said of every perturbed run, in which nothing is differentiated. */
static void compare_value(double got, double expected, const char *what, int leaf)
{
    char text[160];
    snprintf(text, sizeof text, "%s %d is %.17g, alone it is %.17g", what, leaf, got, expected);
    check(diff_is_repeated() || near(got, expected), text);
}

static void compare_leaf(int leaf, const double *got, double gradients, double bends, const char *what)
{
    for (int i = 0; i < 2; i++)
        compare_value(got[i], gradients * alone.gradient[leaf][i] + bends * alone.bend[leaf][i], what, leaf);
}

/* All leaves' gradients in the context are so many gradients and Hessian products. */
static void compare_gradients(uint64_t context, double gradients, double bends)
{
    struct diff_tensor *leaves[] = {x, y, weights[0]};
    for (int i = 0; i < 3; i++) {
        struct diff_tensor *gradient = dist_gradient(context, leaves[i]);
        compare_leaf(i, gradient ? diff_values(gradient) : (double[]){0, 0}, gradients, bends, "gradient");
    }
    for (int worker = 1; worker < WORKERS; worker++)
        compare_leaf(2 + worker, ask(worker, "report", context) + 1, gradients, bends, "gradient");
}

static void pass(uint64_t context, struct diff_tensor *root, unsigned flags)
{
    bool good = dist_backward(context, 1, &root, flags);
    check(good, good ? "" : dist_error());
}

/* ---- forms ---- */

static void form_forward(void)
{
    uint64_t context = open_context();
    directions_set(context);
    struct diff_tensor *root = loss();
    compare_value(diff_scalar(dist_tangent(context, root)), alone.tangent, "tangent", 0);
    close_context(context);
}

static void form_twice(void)
{
    uint64_t context = open_context();
    pass(context, loss(), DIST_GRAPH);
    compare_gradients(context, 1, 0);
    pass(context, slope(context), 0);
    compare_gradients(context, 1, 1);
    close_context(context);
}

/* Gradients that two recorded passes have added up are differentiated as the sum they are. */
static void form_sums(void)
{
    uint64_t context = open_context();
    pass(context, loss(), DIST_GRAPH);
    pass(context, loss(), DIST_GRAPH);
    pass(context, slope(context), 0);
    compare_gradients(context, 2, 2);
    close_context(context);
}

static void form_over(void)
{
    uint64_t context = open_context();
    directions_set(context);
    pass(context, loss(), DIST_GRAPH);
    struct diff_tensor *leaves[] = {x, y, weights[0]};
    for (int i = 0; i < 3; i++)
        compare_leaf(i, diff_values(dist_tangent(context, dist_gradient(context, leaves[i]))), 0, 1, "bend");
    for (int worker = 1; worker < WORKERS; worker++) {
        size_t size;
        struct rpc_future *future = rpc_sync(worker, "bend", 0, NULL);
        compare_leaf(2 + worker, rpc_result_bytes(future, &size), 0, 1, "bend");
    }
    close_context(context);
}

static void form_under(void)
{
    uint64_t context = open_context();
    directions_set(context);
    pass(context, dist_tangent(context, loss()), 0);
    compare_gradients(context, 0, 1);
    close_context(context);
}

/* Forward, then backward twice: the third derivative along the direction. Gradients of both passes add up. */
static void form_third(void)
{
    uint64_t context = open_context();
    directions_set(context);
    pass(context, dist_tangent(context, loss()), DIST_GRAPH);
    struct diff_tensor *second = slope(context);
    compare_value(diff_scalar(second), alone.second, "second derivative", 0);
    pass(context, second, DIST_GRAPH);
    compare_value(diff_scalar(slope(context)), alone.second + alone.third, "third derivative", 0);
    close_context(context);
}

/* Two contexts, one with tangents: nothing of them is in the other. */
static void form_contexts(void)
{
    uint64_t plain = open_context();
    struct diff_tensor *shared = diff_mul(x, y);
    dist_context_leave();
    uint64_t context = open_context();
    directions_set(context);
    struct diff_tensor *with = diff_sum(call_one(2, "weigh", shared));
    dist_context_leave();
    dist_context_enter(plain);
    struct diff_tensor *without = diff_sum(call_one(2, "weigh", shared));
    check(diff_scalar(dist_tangent(plain, without)) == 0, "a tangent where none was set");
    check(diff_scalar(dist_tangent(plain, with)) == 0, "a tangent of another context");
    check(diff_is_repeated() || diff_scalar(dist_tangent(context, with)) != 0, "no tangent where one was set");
    close_context(plain);
    check(dist_context_release(context), "release");
}

/* What worker 0 serves while its own program records nothing is recorded all the same; what it asks then is not. */
static void form_unrecorded(void)
{
    uint64_t context = open_context();
    struct rpc_future *asked = rpc_async(1, "back", 1, &y); /* which asks back */
    diff_no_grad_begin(rpc_tape());
    struct diff_tensor *unseen = call_one(2, "first", rpc_variable(DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){0.25, 0.75}));
    rpc_wait(asked);
    diff_no_grad_end(rpc_tape());
    check(!diff_requires_gradient(unseen), "what was asked without recording is recorded");
    struct diff_tensor *root = diff_sum(rpc_result(asked, 0));
    check(diff_requires_gradient(root) || diff_is_repeated(), "the answer is not recorded");
    pass(context, root, 0);
    close_context(context);
}

static const char *refuse(struct diff_tensor *gradient, void *context)
{
    (void)gradient;
    return *(bool *)context ? "not this time" : NULL;
}

/* The sends of a recorded pass that failed are none that the next one waits for. */
static void form_failing(void)
{
    uint64_t context = open_context();
    static bool refusing;
    refusing = true;
    struct diff_tensor *mine = diff_mul(x, y);
    if (diff_requires_gradient(mine))
        dist_hook_add(mine, DIST_BEFORE, refuse, &refusing);
    struct diff_tensor *result = call_one(1, "chain", mine), *root = diff_sum(diff_mul(result, result));
    check(!dist_backward(context, 1, &root, DIST_GRAPH), "a pass that a hook refuses");
    refusing = false;
    pass(context, root, DIST_RETAIN);
    close_context(context);
}

static void form_part(void)
{
    uint64_t context = open_context();
    pass(context, loss(), DIST_GRAPH);
    pass(context, rpc_result(rpc_sync(2, "along", 0, NULL), 0), 0);
    close_context(context);
}

static void form_here_forward(void)
{
    struct diff_tensor *one = direction(rpc_tape(), 0);
    open_context();
    loss();
    diff_jvp(rpc_tape(), 1, &x, &one);
}

static void form_here_backward(void)
{
    open_context();
    diff_backward(loss());
}

static void form_late(void)
{
    uint64_t context = open_context();
    loss();
    dist_tangent_set(context, x, direction(rpc_tape(), 0));
}

/* ---- the program ---- */

static const struct dist_program forms[] = {{"forward", form_forward, ALWAYS},
             {"twice", form_twice, ALWAYS},
             {"sums", form_sums, SMART_ONLY},
             {"over", form_over, ALWAYS},
             {"under", form_under, ALWAYS},
             {"third", form_third, ALWAYS},
             {"contexts", form_contexts, ALWAYS},
             {"unrecorded", form_unrecorded, ALWAYS},
             {"failing", form_failing, ALWAYS},
             {"part", form_part, SMART_ONLY},
             {"here-forward", form_here_forward, NAMED},
             {"here-backward", form_here_backward, NAMED},
             {"late", form_late, NAMED}};

static void drive(const char *wanted, const char *wanted_mode)
{
    alone_run();
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (mode = DIST_FAST; mode <= DIST_SMART_MARK; mode++) {
            bool usual = forms[i].kind == ALWAYS || (forms[i].kind == SMART_ONLY && mode != DIST_FAST);
            running = forms[i].name;
            if ((wanted ? strcmp(wanted, running) != 0 : !usual) ||
                (wanted_mode ? strcmp(wanted_mode, mode_names[mode]) != 0 : wanted && forms[i].kind != ALWAYS && mode))
                continue;
            forms[i].run();
        }
}

int main(int argc, char **argv)
{
    const char *wanted, *wanted_mode;
    MPI_Init(&argc, &argv);
    read_words(argc, argv, "form", forms, sizeof forms / sizeof *forms, &wanted, &wanted_mode);
    workers_begin();
    rpc_register("report", report_handler);
    rpc_register("known", known_handler);
    rpc_register("direct", direct_handler);
    rpc_register("along", along_handler);
    rpc_register("bend", bend_handler);
    leaves_make(false);
    if (rpc_workers() != WORKERS)
        failures = here == 0 && printf("this program is for %d ranks\n", WORKERS);
    else if (here == 0)
        drive(wanted, wanted_mode);
    rpc_shutdown();
    MPI_Finalize();
    return failures > 0;
}
