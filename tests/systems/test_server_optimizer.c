/* Optimizers against sums written out: every step from the whole history of gradients, where the
 * library keeps running moments. tests/systems/server_torch.t compares with torch itself. */
#include "tests/tap.h"

#include <math.h>
#include <server.h>

enum { STEPS = 12, COUNT = 3 };

static double gradient_at(double x, int step, int element)
{
    return 0.7 * x + sin(1.3 * step + element);
}

/* velocity_t = sum over j of momentum^(t-j) weight_j g_j, where the first weight is 1. */
static double velocity(const struct server_optimizer *rule, const double *gradients, int step)
{
    double sum = 0;
    for (int j = 0; j <= step; j++)
        sum += pow(rule->momentum, step - j) * (j ? 1 - rule->dampening : 1) * gradients[j];
    return sum;
}

static double sgd_reference(const struct server_optimizer *rule, const double *gradients, int step)
{
    if (rule->momentum == 0)
        return rule->learning_rate * gradients[step];
    double moved = velocity(rule, gradients, step);
    if (rule->nesterov)
        moved = gradients[step] + rule->momentum * moved;
    return rule->learning_rate * moved;
}

static double adam_reference(const struct server_optimizer *rule, const double *gradients, int step)
{
    double first = 0, second = 0, weights1 = 0, weights2 = 0;
    for (int j = 0; j <= step; j++) {
        double weight1 = pow(rule->beta1, step - j), weight2 = pow(rule->beta2, step - j);
        first += weight1 * gradients[j];
        second += weight2 * gradients[j] * gradients[j];
        weights1 += weight1; /* bias correction: weighted means */
        weights2 += weight2;
    }
    return rule->learning_rate * (first / weights1) / (sqrt(second / weights2) + rule->epsilon);
}

static void compare(const char *name, const struct server_optimizer *rule)
{
    double values[COUNT] = {1, -2, 0.5}, gradient[COUNT], expected[COUNT], worst = 0;
    double history[COUNT][STEPS];
    struct server_moments moments = {0};
    memcpy(expected, values, sizeof expected);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < COUNT; i++) {
            gradient[i] = gradient_at(values[i], step, i);
            history[i][step] = gradient_at(expected[i], step, i) + rule->weight_decay * expected[i];
            expected[i] -= (rule->rule == SERVER_ADAM ? adam_reference
                                                      : sgd_reference)(rule, history[i], step);
        }
        server_optimizer_apply(rule, &moments, values, gradient, COUNT);
        for (int i = 0; i < COUNT; i++)
            worst = fmax(worst, fabs(values[i] - expected[i]));
    }
    server_moments_release(&moments);
    tap_is_double(worst, 0, 1e-13, "%s: twelve steps equal the sums over all gradients", name);
}

int main(void)
{
    struct server_optimizer sgd = server_sgd(0.1), adam = server_adam(0.05), rule;
    compare("SGD", &sgd);
    rule = sgd;
    rule.weight_decay = 0.3;
    compare("SGD with weight decay", &rule);
    rule.momentum = 0.9;
    compare("SGD with momentum", &rule);
    rule.dampening = 0.4;
    compare("SGD with dampening", &rule);
    rule.dampening = 0;
    rule.nesterov = true;
    compare("SGD with Nesterov's momentum", &rule);
    compare("Adam", &adam);
    adam.weight_decay = 0.2;
    compare("Adam with weight decay", &adam);
    adam.beta1 = 0.5;
    adam.beta2 = 0.7;
    adam.epsilon = 1e-2;
    compare("Adam with other constants", &adam);
    return tap_done();
}
