/* The conformance suite of the differentiable collectives on worlds of many sizes.
 *
 * Every case of the matrix, twice for every size: nothing is sampled. Run with a number of ranks
 * and a divisor it runs that part alone. */
#include "tests/diff_conformance_body.c" /* one object per test program: the suite is part of this one */

#include "tests/world_harness.h"

#include <omp.h>

static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 16};
enum { SIZES = sizeof sizes / sizeof *sizes };

struct totals {
    long cases, checks, failed;
    uint64_t hash;
    char text[300];
};

struct world_context {
    struct conf_options options;
    struct conf_result *results; /* [ranks] */
};

static int body(void *context, int rank)
{
    struct world_context *world = context;
    MPI_Init(NULL, NULL);
    conformance_run(&world->options, &world->results[rank]);
    MPI_Finalize();
    return 0;
}

static bool world_pass(int ranks, unsigned thin, enum sim_executor_kind executor,
                       enum sim_send_model model, struct totals *totals)
{
    struct sim_world_options options = world_options(ranks);
    struct failure failure = {0};
    options.executor = executor;
    options.send_model = model;
    options.stack_size = 0;
    struct world_context context = {{.thin = thin, .exact_forward = true},
                                    calloc((size_t)ranks, sizeof(struct conf_result))};
    struct sim_world *world = sim_world_new(&options, &failure);
    if (!world || !context.results)
        return false;
    enum trace_outcome outcome = sim_world_run(world, body, &context);
    for (int rank = 0; rank < ranks; rank++)
        diff_state_release(sim_world_slots(world, rank)[MPIX_SLOT_DIFF]);
    sim_world_free(world);
    *totals = (struct totals){.hash = 1};
    for (int r = 0; r < ranks; r++) {
        const struct conf_result *result = &context.results[r];
        totals->checks += result->checks;
        totals->hash = totals->hash * 31 + result->hash;
        if (result->failed && !totals->failed) {
            char text[200];
            conformance_text(&result->first.at, text, sizeof text);
            snprintf(totals->text, sizeof totals->text, "%s of %s: %.17g, not %.17g +- %.3g",
                     result->first.what, text, result->first.got, result->first.expected,
                     result->first.tolerance);
        }
        totals->failed += result->failed;
    }
    totals->cases = context.results[0].cases;
    free(context.results);
    if (outcome != OUTCOME_FINISHED && !totals->text[0])
        snprintf(totals->text, sizeof totals->text, "%s", world_outcomes[outcome]);
    return outcome == OUTCOME_FINISHED;
}

int main(int argc, char **argv)
{
    struct totals all[SIZES], again[SIZES];
    bool finished[SIZES];
    if (argc > 2) { /* one size, thinned: for profiles */
        world_pass(atoi(argv[1]), (unsigned)atoi(argv[2]), SIM_FIBERS, SIM_SEND_EAGER, &all[0]);
        printf("%ld cases, %ld failed %s\n", all[0].cases, all[0].failed, all[0].text);
        return 0;
    }
    tap_plan(SIZES + 3);
#pragma omp parallel for schedule(dynamic)
    for (int i = SIZES - 1; i >= 0; i--) {
        finished[i] = world_pass(sizes[i], 1, SIM_FIBERS, SIM_SEND_EAGER, &all[i]);
        world_pass(sizes[i], 1, SIM_FIBERS, SIM_SEND_EAGER, &again[i]);
    }
    long cases = 0, checks = 0;
    bool same = true;
    for (int i = 0; i < SIZES; i++) {
        cases += all[i].cases;
        checks += all[i].checks;
        same = same && all[i].hash == again[i].hash;
        tap_test_ok(finished[i] && all[i].failed == 0 && all[i].checks > 0, TAP_HERE, all[i].text,
                    "every collective agrees with reference, finite differences, dot products and "
                    "second derivatives on %d ranks",
                    sizes[i]);
    }
    tap_ok(same && checks > 0, "a second run gives the same bits");
    struct totals threads, rendezvous;
    tap_test_ok(world_pass(4, 400, SIM_THREADS, SIM_SEND_EAGER, &threads) && threads.failed == 0,
                TAP_HERE, threads.text, "ranks on OS threads agree too");
    tap_test_ok(world_pass(4, 400, SIM_FIBERS, SIM_SEND_RENDEZVOUS, &rendezvous) &&
                    rendezvous.failed == 0,
                TAP_HERE, rendezvous.text, "and worlds where sends wait for their receives");
    tap_note("%ld combinations, %ld values compared", cases, checks);
    return tap_done();
}
