/* The conformance suite of the differentiable collectives on worlds of many sizes.
 *
 * Every case of the matrix on four ranks, and on every other number of ranks a part of them, each
 * its own. A second time a smaller part, which must give the same bits. FULL=1: every case twice,
 * for every size. Run with a number of ranks and a divisor it runs that part alone. */
#include "tests/collectives/diff_conformance.h"

#include "collectives/experiment/probe.h"
#include "collectives/tape/state.h"
#include "tests/collectives/diff_public.h"
#include "tests/sanitized.h"
#include "tests/world_harness.h"

#include <omp.h>

static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 16};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* One case of how many. Ten times as dear under a sanitizer, and every case is compared without. */
enum { PART = 16, PART_AGAIN = 160, SANITIZED_PART = 12, SANITIZED_ELSEWHERE = 80 };

static unsigned thin_of(int ranks, bool again)
{
    bool everywhere = getenv("FULL"), whole = ranks == 4 && !again;
    if (SANITIZED_ADDRESS)
        return everywhere || whole ? SANITIZED_PART : again ? PART_AGAIN : SANITIZED_ELSEWHERE;
    return everywhere || whole ? 1 : again ? PART_AGAIN : PART;
}

struct totals {
    long cases, checks, failed;
    uint64_t hash;
    char text[300];
};

struct world_context {
    struct conf_options options;
    struct conf_result *results; /* [ranks] */
};

/* ---- who took part ---- */

enum { TRACED_RANKS = 2 };

static bool has_run(const struct diff_probe *probe, const char *name, bool function)
{
    for (size_t i = 0; i < probe->rows[0].node_count; i++) {
        const struct probe_node *node = &probe->rows[0].nodes[i];
        const char *is = function ? node->function : node->name;
        if (is && strcmp(is, name) == 0)
            return true;
    }
    return false;
}

static int body(void *context, int rank)
{
    struct world_context *world = context;
    MPI_Init(NULL, NULL);
    conformance_run(&world->options, &world->results[rank]);
    world_calls_left();
    MPI_Finalize();
    return 0;
}

static bool world_part(int ranks, unsigned thin, unsigned part, enum sim_executor_kind executor,
                       enum sim_send_model model, struct totals *totals)
{
    struct sim_world_options options = world_options(ranks);
    struct failure failure = {0};
    options.executor = executor;
    options.send_model = model;
    options.stack_size = 0;
    struct world_context context = {{.thin = thin, .part = part % thin, .exact_forward = true},
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

static bool world_pass(int ranks, unsigned thin, enum sim_executor_kind executor,
                       enum sim_send_model model, struct totals *totals)
{
    return world_part(ranks, thin, (unsigned)ranks, executor, model, totals);
}

/* Few cases, each part its own (SIMRUN_PART, tests/dice.h). */
static int small_part(struct dice_part part)
{
    static const int few[] = {3, 4, 2, 5};
    struct totals totals;
    int ranks = few[part.number % 4];
    bool ran = world_part(ranks, PART / 4 * (unsigned)part.of, (unsigned)part.number, SIM_FIBERS,
                          SIM_SEND_EAGER, &totals);
    tap_test_ok(ran && totals.failed == 0 && totals.checks > 0, TAP_HERE, totals.text,
                "some cases on %d ranks", ranks);
    tap_note("%ld combinations, %ld values compared", totals.cases, totals.checks);
    return tap_done();
}

static void missing_add(char *missing, size_t size, const struct diff_probe *probe,
                        const char *name, bool function)
{
    size_t used = strlen(missing);
    if (!has_run(probe, name, function))
        snprintf(missing + used, size - used, "%s ", name);
}

/* Every function of diff.h that communicates, and both forms of every row of the library's table of
 * collectives, took part in some case: of all, so that a sanitizer would see them once more. */
static void coverage_test(void)
{
    struct conf_result results[TRACED_RANKS];
    struct world_context context = {{.thin = 1, .exact_forward = true}, results};
    struct sim_world_options options = world_options(TRACED_RANKS);
    struct failure failure = {0};
    struct diff_probe probe;
    diff_probe_init(&probe, TRACED_RANKS);
    probe.trace = true;
    options.slots[MPIX_SLOT_PROBE] = &probe;
    struct sim_world *world = sim_world_new(&options, &failure);
    bool ran = world && sim_world_run(world, body, &context) == OUTCOME_FINISHED;
    sim_world_free(world);
    struct diff_public list = diff_public_read();
    char missing[2000] = "";
    for (int i = 0; i < list.count; i++)
        missing_add(missing, sizeof missing, &probe, list.name[i], true);
    tap_is_str(missing, "", "all %d functions that communicate are in the matrix", list.count);
    missing[0] = '\0';
    for (int kind = 0; kind < DIFF_COLLECTIVES; kind++) {
        char name[40];
        snprintf(name, sizeof name, "I%s", diff_collective_name((enum diff_collective)kind));
        missing_add(missing, sizeof missing, &probe, name, false);
        missing_add(missing, sizeof missing, &probe, name + 1, false);
    }
    tap_is_str(missing, "", "and both forms of all %d collectives", (int)DIFF_COLLECTIVES);
    tap_ok(ran && list.count > 40, "diff.h has %d functions that communicate", list.count);
    diff_probe_release(&probe);
}

int main(int argc, char **argv)
{
    struct totals all[SIZES], once[SIZES], again[SIZES];
    bool finished[SIZES];
    if (argc > 2) { /* one size, thinned: for profiles */
        world_pass(atoi(argv[1]), (unsigned)atoi(argv[2]), SIM_FIBERS, SIM_SEND_EAGER, &all[0]);
        printf("%ld cases, %ld failed %s\n", all[0].cases, all[0].failed, all[0].text);
        return 0;
    }
    if (dice_part().of > 1)
        return small_part(dice_part());
    tap_plan(SIZES + (SANITIZED_ADDRESS ? 3 : 6));
#pragma omp parallel for schedule(dynamic)
    for (int i = SIZES - 1; i >= 0; i--) {
        unsigned thin = thin_of(sizes[i], false), smaller = thin_of(sizes[i], true);
        finished[i] = world_pass(sizes[i], thin, SIM_FIBERS, SIM_SEND_EAGER, &all[i]);
        once[i] = all[i];
        if (smaller != thin)
            world_pass(sizes[i], smaller, SIM_FIBERS, SIM_SEND_EAGER, &once[i]);
        world_pass(sizes[i], smaller, SIM_FIBERS, SIM_SEND_EAGER, &again[i]);
    }
    long cases = 0, checks = 0;
    bool same = true;
    for (int i = 0; i < SIZES; i++) {
        cases += all[i].cases;
        checks += all[i].checks;
        same = same && once[i].checks > 0 && once[i].hash == again[i].hash;
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
    if (!SANITIZED_ADDRESS)
        coverage_test();
    tap_note("%ld combinations, %ld values compared", cases, checks);
    return tap_done();
}
