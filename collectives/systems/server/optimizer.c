/* The steps of torch.optim.SGD and torch.optim.Adam, in their order of operations. */
#include "collectives/systems/server/private.h"

#include <math.h>
#include <stdlib.h>

struct server_optimizer server_sgd(double learning_rate)
{
    return (struct server_optimizer){.rule = SERVER_SGD, .learning_rate = learning_rate};
}

struct server_optimizer server_adam(double learning_rate)
{
    return (struct server_optimizer){.rule = SERVER_ADAM,
                                     .learning_rate = learning_rate,
                                     .beta1 = 0.9,
                                     .beta2 = 0.999,
                                     .epsilon = 1e-8};
}

/* The first gradient becomes the momentum as it is, without dampening. */
static void sgd(const struct server_optimizer *rule, struct server_moments *moments, double *values,
                const double *gradient, size_t count)
{
    bool first = moments->steps == 1;
    for (size_t i = 0; i < count; i++) {
        double step = gradient[i] + rule->weight_decay * values[i];
        if (rule->momentum != 0) {
            double *velocity = &moments->first[i];
            *velocity = first ? step : rule->momentum * *velocity + (1 - rule->dampening) * step;
            step = rule->nesterov ? step + rule->momentum * *velocity : *velocity;
        }
        values[i] -= rule->learning_rate * step;
    }
}

static void adam(const struct server_optimizer *rule, struct server_moments *moments,
                 double *values, const double *gradient, size_t count)
{
    double bias1 = 1 - pow(rule->beta1, (double)moments->steps);
    double bias2 = 1 - pow(rule->beta2, (double)moments->steps);
    for (size_t i = 0; i < count; i++) {
        double step = gradient[i] + rule->weight_decay * values[i];
        double *first = &moments->first[i], *second = &moments->second[i];
        *first = rule->beta1 * *first + (1 - rule->beta1) * step;
        *second = rule->beta2 * *second + (1 - rule->beta2) * step * step;
        double scale = sqrt(*second) / sqrt(bias2) + rule->epsilon;
        values[i] -= rule->learning_rate / bias1 * (*first / scale);
    }
}

/* From 0 on, below `end`. */
static void setting_check(const char *what, double value, double end)
{
    if (value >= 0 && value < end)
        return;
    if (end < INFINITY)
        server_fail("M009", "server: %s is %g; it must be 0 or more, and less than %g", what, value,
                    end);
    server_fail("M009", "server: %s is %g; it must be a number, 0 or more", what, value);
}

void server_optimizer_check(const struct server_optimizer *optimizer)
{
    setting_check("the learning rate", optimizer->learning_rate, INFINITY);
    setting_check("the weight decay", optimizer->weight_decay, INFINITY);
    setting_check("the momentum", optimizer->momentum, INFINITY);
    if (optimizer->nesterov && (optimizer->momentum <= 0 || optimizer->dampening != 0))
        server_fail("M009", "server: nesterov needs a momentum above 0 and no dampening");
    if (optimizer->rule != SERVER_ADAM)
        return;
    setting_check("Adam's beta1", optimizer->beta1, 1);
    setting_check("Adam's beta2", optimizer->beta2, 1);
    setting_check("Adam's epsilon", optimizer->epsilon, INFINITY);
}

void server_optimizer_apply(const struct server_optimizer *optimizer,
                            struct server_moments *moments, double *values, const double *gradient,
                            size_t count)
{
    bool is_adam = optimizer->rule == SERVER_ADAM;
    server_optimizer_check(optimizer);
    if (!moments->first && (is_adam || optimizer->momentum != 0))
        moments->first = server_take(count, sizeof *moments->first);
    if (!moments->second && is_adam)
        moments->second = server_take(count, sizeof *moments->second);
    moments->steps++;
    (is_adam ? adam : sgd)(optimizer, moments, values, gradient, count);
}

void server_moments_release(struct server_moments *moments)
{
    free(moments->first);
    free(moments->second);
    *moments = (struct server_moments){0};
}
