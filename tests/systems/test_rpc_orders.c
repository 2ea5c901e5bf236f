/* Every order of arrival: real worlds of two and three workers in which calls, answers and
 * gradients overtake each other, explored to exhaustion. The gradient may differ by its rounding
 * and by nothing else, and a pass that fails does so in every order, leaving nothing. */
#include "checker/explore/explore.h"
#include "collectives/experiment/probe.h"
#include "collectives/tape/state.h"
#include "sim/worlds/world.h"
#include "tests/tap.h"

#include <float.h>
#include <math.h>
#include <mpi.h>
#include <mpix.h>
#include <rpc.h>
#include <stdlib.h>

struct scene {
    int ranks, calls;
    const char *rule; /* broken, or NULL */
    bool fails;
};

struct seen {
    const struct scene *scene;
    double gradient;
    bool good, left;
};

static double least, greatest;
static uint64_t wrong, runs_seen;

static double weight_of(int worker)
{
    return 1.0 / (3 + 4 * worker * worker * worker);
}

static void weigh(struct rpc_call *call)
{
    double factor = weight_of(rpc_worker());
    struct diff_tensor *y = diff_scale(rpc_argument(call, 0), factor);
    rpc_reply(call, 1, &y);
}

static const char *hook_fail(struct diff_tensor *gradient, void *context)
{
    (void)gradient, (void)context;
    return "simulated error";
}

static void fragile(struct rpc_call *call)
{
    struct diff_tensor *y = diff_exp(rpc_argument(call, 0));
    dist_hook_add(y, DIST_BEFORE, hook_fail, NULL);
    rpc_reply(call, 1, &y);
}

static double factor_of(int i)
{
    return 0.1 * (1 + i) * (i % 2 ? -1 : 1);
}

static void drive(struct seen *seen)
{
    const struct scene *scene = seen->scene;
    struct diff_tensor *x = rpc_variable(DIFF_DOUBLE, 1, (size_t[]){1}, &(double){0.7}), *sum = x;
    uint64_t context = dist_context_new(DIST_FAST);
    struct rpc_future *futures[8];
    for (int i = 0; i < scene->calls; i++)
        futures[i] = rpc_async(1 + i % (scene->ranks - 1),
                               scene->fails && i == 0 ? "fragile" : "weigh", 1, &x);
    for (int i = 0; i < scene->calls; i++) {
        rpc_wait(futures[i]);
        sum = diff_add(sum, diff_scale(rpc_result(futures[i], 0), factor_of(i)));
    }
    sum = diff_sum(sum);
    seen->good = dist_backward(context, 1, &sum, 0);
    struct diff_tensor *gradient = dist_gradient(context, x);
    seen->gradient = gradient ? diff_scalar(gradient) : NAN;
    dist_context_leave();
    seen->left = !dist_context_release(context) || dist_contexts() > 0;
}

static int body(void *context, int rank)
{
    struct seen *seen = context;
    MPI_Init(NULL, NULL);
    rpc_init(MPI_COMM_WORLD);
    rpc_register("weigh", weigh);
    rpc_register("fragile", fragile);
    if (seen->scene->rule)
        rpc_break(seen->scene->rule);
    if (rank == 0)
        drive(seen);
    rpc_shutdown();
    MPI_Finalize();
    return 0;
}

static bool run_world(void *context, unsigned worker, struct explore_steer *steer,
                      struct explore_run *run)
{
    struct seen seen = {.scene = context};
    struct sim_world_options options;
    struct failure failure;
    (void)worker;
    sim_world_options_init(&options);
    options.ranks = seen.scene->ranks;
    explore_steer_world(steer, &options);
    struct sim_world *world = sim_world_new(&options, &failure);
    if (!world)
        return false;
    run->outcome = sim_world_run(world, body, &seen);
    explore_run_take(run, sim_world_choices(world));
    for (int rank = 0; rank < options.ranks; rank++)
        diff_state_release(sim_world_slots(world, rank)[MPIX_SLOT_DIFF]);
    sim_world_free(world);
    if (run->outcome != OUTCOME_FINISHED)
        return true; /* also one given up because it repeats another */
    runs_seen++;
    wrong +=
        seen.good == seen.scene->fails || seen.left || (seen.scene->fails && !isnan(seen.gradient));
    least = fmin(least, seen.gradient);
    greatest = fmax(greatest, seen.gradient);
    return true;
}

static struct explore_report explore_scene(struct scene *scene)
{
    struct explore_options options;
    struct explore_report report;
    explore_options_init(&options);
    options.workers = 1;
    least = INFINITY;
    greatest = -INFINITY;
    wrong = runs_seen = 0;
    explore(&options, run_world, scene, &report);
    return report;
}

/* In units of rounding of the sum of magnitudes: from the value that exact arithmetic gives. */
static double spread(const struct scene *scene)
{
    long double expected = 1, magnitude = 1;
    for (int i = 0; i < scene->calls; i++) {
        double term = factor_of(i) * weight_of(1 + i % (scene->ranks - 1));
        expected += (long double)term;
        magnitude += (long double)fabs(term);
    }
    return (double)(fmaxl(fabsl((long double)least - expected),
                          fabsl((long double)greatest - expected)) /
                    (DBL_EPSILON * magnitude));
}

static void sums_agree(int ranks, int calls)
{
    struct scene scene = {.ranks = ranks, .calls = calls};
    struct explore_report report = explore_scene(&scene);
    double ulps = spread(&scene);
    tap_ok(report.complete && !report.diverged && report.failure_count == 0 && runs_seen > 1,
           "%d workers, %d calls: all %llu orders end well", ranks, calls,
           (unsigned long long)report.runs);
    tap_ok(wrong == 0 && ulps <= calls + 1,
           "and every gradient is within %.2f of the %d units of rounding allowed", ulps,
           calls + 1);
    printf("# from %.17g to %.17g\n", least, greatest);
    explore_report_release(&report);
}

int main(void)
{
    sums_agree(2, 2);
    sums_agree(2, 3);
    sums_agree(3, 2);

    struct scene failing = {.ranks = 3, .calls = 2, .fails = true};
    struct explore_report report = explore_scene(&failing);
    tap_ok(report.complete && report.failure_count == 0 && wrong == 0 && runs_seen > 1,
           "a pass that fails returns in all %llu orders, and nothing is left",
           (unsigned long long)report.runs);
    explore_report_release(&report);

    struct scene broken = {.ranks = 3, .calls = 2, .rule = "order-matters"};
    report = explore_scene(&broken);
    tap_ok(spread(&broken) > 3, "a sum that depends on the order is noticed (%.3g units)",
           spread(&broken));
    explore_report_release(&report);
    return tap_done();
}
