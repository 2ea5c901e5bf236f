/* The distributed optimizer: one stepper per owner of parameters, called by name.
 *
 * A stepper keeps its own references, so that its parameters outlive those of whoever made it. A
 * parameter that the context has no gradient for is left as it is. */
#include "collectives/systems/rpc/call.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rpc_stepper {
    struct rpc_stepper *next;
    uint64_t id;
    enum dist_rule rule;
    double rate;
    size_t count;
    struct rpc_reference **references;
    double **moments; /* two of each value's, for Adam */
    unsigned steps;
};

struct request { /* what the bytes of a call hold */
    uint64_t id, context, rule;
    double rate;
};

struct dist_optimizer {
    struct dist_optimizer *next;
    struct rpc_worker *worker;
    uint64_t *ids; /* per worker, 0: it owns none of the parameters */
};

static const double adam_first = 0.9, adam_second = 0.999, adam_small = 1e-8;

/* ---- at the owner ---- */

static struct request request_of(const struct rpc_call *call)
{
    struct request request = {0};
    size_t size;
    const void *bytes = rpc_argument_bytes(call, &size);
    if (size == sizeof request)
        memcpy(&request, bytes, sizeof request);
    return request;
}

static void stepper_new(struct rpc_call *call)
{
    struct rpc_worker *worker = call->worker;
    struct request request = request_of(call);
    struct rpc_stepper *stepper = rpc_take(sizeof *stepper);
    *stepper = (struct rpc_stepper){.next = worker->steppers,
                                    .id = ++worker->numbers.references,
                                    .rule = (enum dist_rule)request.rule,
                                    .rate = request.rate,
                                    .count = call->reference_count};
    stepper->references = rpc_take(stepper->count * sizeof *stepper->references);
    stepper->moments = rpc_take(stepper->count * sizeof *stepper->moments);
    for (size_t i = 0; i < stepper->count; i++)
        stepper->references[i] = rpc_argument_reference(call, i);
    worker->steppers = stepper;
    rpc_reply_bytes(call, &stepper->id, sizeof stepper->id);
}

static struct rpc_stepper *stepper_find(const struct rpc_worker *worker, uint64_t id)
{
    struct rpc_stepper *stepper = worker->steppers;
    while (stepper && stepper->id != id)
        stepper = stepper->next;
    return stepper;
}

static double step_of(struct rpc_stepper *stepper, double *moments, double gradient)
{
    if (stepper->rule == DIST_SGD)
        return stepper->rate * gradient;
    moments[0] = adam_first * moments[0] + (1 - adam_first) * gradient;
    moments[1] = adam_second * moments[1] + (1 - adam_second) * gradient * gradient;
    double first = moments[0] / (1 - pow(adam_first, stepper->steps));
    double second = moments[1] / (1 - pow(adam_second, stepper->steps));
    return stepper->rate * first / (sqrt(second) + adam_small);
}

static void parameter_step(struct rpc_stepper *stepper, size_t index, struct diff_tensor *x,
                           const struct diff_tensor *gradient)
{
    size_t parts = x->count * diff_type_parts(x->type);
    if (!stepper->moments[index])
        stepper->moments[index] = rpc_take(2 * parts * sizeof(double));
    diff_values_modify(x);
    for (size_t i = 0; i < parts; i++)
        tensor_part_set(x, i,
                        tensor_part(x, i) - step_of(stepper, stepper->moments[index] + 2 * i,
                                                    tensor_part(gradient, i)));
}

static void stepper_step(struct rpc_call *call)
{
    struct request request = request_of(call);
    struct rpc_stepper *stepper = stepper_find(call->worker, request.id);
    char text[32];
    if (!stepper || !context_find(call->worker, request.context)) {
        rpc_fail(call,
                 stepper ? "an optimizer's step in context %s, which is not known here"
                         : "a step of an optimizer that was freed, in context %s",
                 id_text(request.context, text));
        return;
    }
    stepper->steps++;
    for (size_t i = 0; i < stepper->count; i++) {
        struct diff_tensor *x = rpc_reference_local(stepper->references[i], 0);
        struct diff_tensor *gradient = x ? gradient_passed(call->worker, request.context, x) : NULL;
        if (gradient)
            parameter_step(stepper, i, x, gradient);
    }
}

static void stepper_release(struct rpc_stepper *stepper)
{
    for (size_t i = 0; i < stepper->count; i++)
        free(stepper->moments[i]);
    free(stepper->moments);
    free(stepper->references);
    free(stepper);
}

static void stepper_free(struct rpc_call *call)
{
    struct rpc_stepper **link = &call->worker->steppers;
    struct request request = request_of(call);
    while (*link && (*link)->id != request.id)
        link = &(*link)->next;
    struct rpc_stepper *stepper = *link;
    if (!stepper)
        return;
    *link = stepper->next;
    for (size_t i = 0; i < stepper->count; i++)
        rpc_reference_free(stepper->references[i]);
    stepper_release(stepper);
}

/* ---- at the one who trains ---- */

static struct rpc_future *ask(struct rpc_worker *worker, int to, const char *function,
                              const struct request *request, size_t count,
                              struct rpc_reference *const *references)
{
    struct rpc_arguments arguments = {.size = sizeof *request,
                                      .bytes = request,
                                      .reference_count = count,
                                      .references = references};
    return call_start(worker, to, function, 0, &arguments);
}

/* The same request to every owner, all at once; false when one failed. */
static bool ask_all(struct dist_optimizer *optimizer, const char *function, uint64_t context)
{
    struct rpc_worker *worker = optimizer->worker;
    struct rpc_future **futures = rpc_take((size_t)worker->count * sizeof(struct rpc_future *));
    bool good = true;
    for (int i = 0; i < worker->count; i++)
        if (optimizer->ids[i])
            futures[i] =
                ask(worker, i, function,
                    &(struct request){.id = optimizer->ids[i], .context = context}, 0, NULL);
    for (int i = 0; i < worker->count; i++) {
        if (!futures[i])
            continue;
        future_wait(futures[i]);
        if (futures[i]->failed) {
            good = false;
            strncpy(worker->error, futures[i]->error, sizeof worker->error - 1);
        }
        future_free(futures[i]);
    }
    free(futures);
    return good;
}

struct dist_optimizer *dist_optimizer_new(enum dist_rule rule, double rate, size_t count,
                                          struct rpc_reference *const *parameters)
{
    struct rpc_worker *worker = worker_get("dist_optimizer_new");
    ENTER(worker->state);
    struct dist_optimizer *optimizer = rpc_take(sizeof *optimizer);
    *optimizer = (struct dist_optimizer){.next = worker->optimizers, .worker = worker};
    optimizer->ids = rpc_take((size_t)worker->count * sizeof *optimizer->ids);
    worker->optimizers = optimizer;
    struct rpc_reference **owned = rpc_take(count * sizeof(struct rpc_reference *));
    for (int i = 0; i < worker->count; i++) {
        size_t number = 0, size;
        for (size_t k = 0; k < count; k++)
            if (rpc_reference_owner(parameters[k]) == i)
                owned[number++] = parameters[k];
        if (!number)
            continue;
        struct request request = {.rule = (uint64_t)rule, .rate = rate};
        struct rpc_future *future = ask(worker, i, "rpc.optimizer-new", &request, number, owned);
        future_wait(future);
        memcpy(&optimizer->ids[i], rpc_result_bytes(future, &size), sizeof *optimizer->ids);
        future_free(future);
    }
    free(owned);
    state_leave(worker->state);
    return optimizer;
}

bool dist_optimizer_step(struct dist_optimizer *optimizer, uint64_t context)
{
    ENTER(optimizer->worker->state);
    bool good = ask_all(optimizer, "rpc.optimizer-step", context);
    state_leave(optimizer->worker->state);
    return good;
}

static void optimizer_release(struct dist_optimizer *optimizer)
{
    struct dist_optimizer **link = &optimizer->worker->optimizers;
    while (*link != optimizer)
        link = &(*link)->next;
    *link = optimizer->next;
    free(optimizer->ids);
    free(optimizer);
}

void dist_optimizer_free(struct dist_optimizer *optimizer)
{
    if (!optimizer)
        return;
    struct diff_state *state = optimizer->worker->state;
    ENTER(state);
    ask_all(optimizer, "rpc.optimizer-free", 0);
    optimizer_release(optimizer);
    state_leave(state);
}

void optimizers_init(struct rpc_worker *worker)
{
    (void)worker;
    rpc_register("rpc.optimizer-new", stepper_new);
    rpc_register("rpc.optimizer-step", stepper_step);
    rpc_register("rpc.optimizer-free", stepper_free);
}

void optimizers_release(struct rpc_worker *worker)
{
    while (worker->optimizers)
        optimizer_release(worker->optimizers);
    while (worker->steppers) {
        struct rpc_stepper *stepper = worker->steppers;
        worker->steppers = stepper->next;
        stepper_release(stepper);
    }
}
