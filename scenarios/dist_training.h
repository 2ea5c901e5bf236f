/* Of dist-autograd: hooks, trainers that share a weight, optimizers at the owners of parameters. */
#ifndef SCENARIOS_DIST_TRAINING_H
#define SCENARIOS_DIST_TRAINING_H

#include "dist_compare.h"

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

#endif
