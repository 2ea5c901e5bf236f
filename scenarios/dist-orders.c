/* about: gradients that meet at one leaf in every order of arrival: the same sum within its rounding
 * ranks: 2,3
 * expect: OK
 * variant: broken; arguments: order-matters; options: --no-gradients; expect: X002
 *
 * Worker 0 asks all others at once (a single one three times), so that calls, answers and gradients overtake each other. The terms of the
 * gradient differ in size and cannot be added exactly: each order rounds differently, by at most one unit in the last place
 * per addition of the sum of magnitudes. `simrun explore dist-orders` runs every order there is; a run whose gradient is
 * outside that bound exits with 1. */
#include <float.h>
#include <math.h>
#include <mpi.h>
#include <rpc.h>
#include <stdio.h>
#include <words.h>

static struct diff_tensor *weight;

static void weigh(struct rpc_call *call)
{
    struct diff_tensor *y = diff_mul(rpc_argument(call, 0), weight);
    rpc_reply(call, 1, &y);
}

static double weight_of(int worker)
{
    return 1.0 / (3 + 4 * worker * worker * worker);
}

static int drive(struct diff_tensor *x)
{
    uint64_t context = dist_context_new(DIST_FAST);
    struct rpc_future *futures[8];
    int count = 0, others = rpc_workers() - 1, rounds = others == 1 ? 3 : 1;
    for (int round = 0; round < rounds && others <= 8; round++)
        for (int worker = 1; worker <= others; worker++)
            futures[count++] = rpc_async(worker, "weigh", 1, &x);
    struct diff_tensor *sum = x;
    double expected = 1, magnitude = 1;
    for (int i = 0; i < count; i++) {
        double factor = 0.1 * (1 + i) * (i % 2 ? -1 : 1);
        rpc_wait(futures[i]);
        sum = diff_add(sum, diff_scale(rpc_result(futures[i], 0), factor));
        expected += factor * weight_of(1 + i % others);
        magnitude += fabs(factor * weight_of(1 + i % others));
    }
    sum = diff_sum(sum);
    bool good = dist_backward(context, 1, &sum, 0);
    struct diff_tensor *gradient = dist_gradient(context, x);
    double value = gradient ? diff_scalar(gradient) : expected;
    double error = fabs(value - expected) / (DBL_EPSILON * magnitude);
    /* The order of arrival may change the last digits: what is printed is the same in every order that is right. */
    bool near = error <= 2 * count + 2;
    printf("gradient %.10g, %s %d units of rounding of the serial sum\n", value, near ? "within" : "NOT within", 2 * count + 2);
    dist_context_leave();
    return !(good && dist_context_release(context) && near);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    rpc_init(MPI_COMM_WORLD);
    rpc_register("weigh", weigh);
    if (argc > 1)
        rpc_break(word_alone(argc, argv, "rule to break", "", "order-matters"));
    double value = 0.7, factor = weight_of(rpc_worker());
    weight = diff_input(rpc_tape(), "weight", DIFF_DOUBLE, 1, (size_t[]){1}, &factor);
    struct diff_tensor *x = diff_input(rpc_tape(), "x", DIFF_DOUBLE, 1, (size_t[]){1}, &value);
    int wrong = rpc_worker() == 0 ? drive(x) : 0;
    rpc_shutdown();
    MPI_Finalize();
    return wrong;
}
