/* Exploration of real worlds: as many runs as there are different matchings, whatever the number of
 * threads. */
#include "checker/explore/explore.h"
#include "sim/base/dependence_sets.h"
#include "sim/worlds/world.h"
#include "tests/dice.h"
#include "tests/tap.h"

#include <mpi.h>
#include <mpix.h>
#include <stdlib.h>

/* What a world runs, and what its rank 0 saw. */
struct scene {
    sim_rank_body *body;
    int ranks;
};

struct seen {
    uint64_t hash; /* of the sources in order, at every rank */
};

static uint64_t mix(uint64_t hash, int source)
{
    return (hash ^ (uint64_t)(source + 1)) * UINT64_C(0x100000001b3);
}

static int take_any(int tag)
{
    MPI_Status status;
    int value;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
    return status.MPI_SOURCE;
}

static void give(int to, int tag)
{
    int value = 1;
    MPI_Send(&value, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
}

/* Rank 0 takes one of two messages, then the other by name, after everybody has exchanged with
 * everybody. */
static int alltoall_and_race(void *context, int rank)
{
    uint64_t *hash = (uint64_t *)context + rank;
    int out[4] = {0}, in[4];
    MPI_Init(NULL, NULL);
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    if (rank == 0) {
        int first = take_any(0), value;
        *hash = mix(*hash, first);
        MPI_Recv(&value, 1, MPI_INT, 3 - first, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank < 3) {
        give(0, 0);
    }
    MPI_Finalize();
    return 0;
}

/* Rank 0 takes three messages from anybody: 3! orders. */
static int three_to_one(void *context, int rank)
{
    uint64_t *hash = (uint64_t *)context + rank;
    MPI_Init(NULL, NULL);
    for (int i = 0; rank == 0 && i < 3; i++)
        *hash = mix(*hash, take_any(0));
    if (rank)
        give(0, 0);
    MPI_Finalize();
    return 0;
}

/* Two receivers with two senders each: 2 x 2 matchings, whatever the order in which the receivers
 * are served. */
static int two_receivers(void *context, int rank)
{
    uint64_t *hash = (uint64_t *)context + rank;
    MPI_Init(NULL, NULL);
    if (rank < 2)
        for (int i = 0; i < 2; i++)
            *hash = mix(*hash, take_any(0));
    else
        for (int to = 0; to < 2; to++)
            give(to, 0);
    MPI_Finalize();
    return 0;
}

/* Three receivers with two senders each, which they hear of twice: 6 orders each, 216 matchings. */
static int three_receivers(void *context, int rank)
{
    uint64_t *hash = (uint64_t *)context + rank;
    MPI_Init(NULL, NULL);
    for (int i = 0; i < 4 && rank < 3; i++)
        *hash = mix(*hash, take_any(0));
    for (int i = 0; i < 6 && rank >= 3; i++)
        give(i % 3, 0);
    MPI_Finalize();
    return 0;
}

/* Rank 0 hangs when the wildcard takes the message of rank 2, which it then waits for by name. */
static int hangs_sometimes(void *context, int rank)
{
    MPI_Init(NULL, NULL);
    if (rank == 0) {
        int value;
        ((uint64_t *)context)[0] = mix(0, take_any(0));
        MPI_Recv(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        give(0, 0);
    }
    MPI_Finalize();
    return 0;
}

/* Both complete four requests in any order; then rank 1 asks again and again for what rank 0 sends it. What it asks
 * before rank 0 has sent is told "not yet" as often as that is so: how often is no choice of the program's. */
static int any_order_and_poll(void *context, int rank)
{
    int index, got[3], done = 0, other = 1 - rank;
    MPI_Request requests[4], last;
    (void)context;
    MPI_Init(NULL, NULL);
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(&got[i], 1, MPI_INT, i ? other : rank, 0, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(&rank, 1, MPI_INT, i ? other : rank, 0, MPI_COMM_WORLD, &requests[2 + i]);
    }
    for (int i = 0; i < 4; i++)
        MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
    MPI_Irecv(&got[2], 1, MPI_INT, other, 1, MPI_COMM_WORLD, &last);
    give(other, 1);
    if (rank == 0)
        MPI_Wait(&last, MPI_STATUS_IGNORE);
    while (rank == 1 && !done)
        MPI_Test(&last, &done, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}

static bool run_world(void *context, unsigned worker, struct explore_steer *steer,
                      struct explore_run *run)
{
    const struct scene *scene = context;
    struct sim_world_options options;
    struct failure failure;
    uint64_t seen[8] = {0};
    (void)worker;
    sim_world_options_init(&options);
    options.ranks = scene->ranks;
    explore_steer_world(steer, &options);
    struct sim_world *world = sim_world_new(&options, &failure);
    if (!world)
        return false;
    run->outcome = sim_world_run(world, scene->body, seen);
    for (int rank = 0; rank < scene->ranks; rank++)
        run->fingerprint = run->fingerprint * 31 + seen[rank];
    explore_run_take(run, sim_world_choices(world));
    sim_world_free(world);
    return true;
}

static struct explore_report explore_scene(sim_rank_body *body, int ranks, unsigned workers,
                                           uint64_t runs_max)
{
    struct explore_options options;
    struct explore_report report;
    struct scene scene = {.body = body, .ranks = ranks};
    explore_options_init(&options);
    options.workers = workers;
    options.runs_max = runs_max;
    explore(&options, run_world, &scene, &report);
    return report;
}

static void expect(sim_rank_body *body, int ranks, uint64_t runs, const char *name)
{
    for (unsigned workers = 1; workers <= 2; workers++) {
        struct explore_report report = explore_scene(body, ranks, workers, 0);
        tap_is_int(report.runs, runs, "%s, %u thread%s", name, workers, workers > 1 ? "s" : "");
        tap_is_int(report.results, runs, "each of them with a result of its own");
        tap_ok(report.complete && !report.diverged, "and the space is exhausted");
        tap_is_int(report.redundant, 0, "no run is begun for nothing");
        explore_report_release(&report);
    }
}

static void finds_the_hang(void)
{
    struct explore_report report = explore_scene(hangs_sometimes, 3, 2, 0);
    tap_is_int(report.by_outcome[OUTCOME_DEADLOCK], 1, "one of two matchings hangs");
    tap_is_int(report.by_outcome[OUTCOME_FINISHED], 1, "the other ends well");
    struct explore_run run = {0};
    struct scene scene = {.body = hangs_sometimes, .ranks = 3};
    bool kept = report.failure_count == 1;
    struct explore_steer *steer =
        kept ? explore_steer_new(report.failures[0].choices, report.failures[0].choice_count)
             : NULL;
    if (kept)
        run_world(&scene, 0, steer, &run);
    tap_ok(kept && run.outcome == OUTCOME_DEADLOCK, "its choices make it hang again");
    explore_steer_free(steer);
    explore_steer_free(NULL); /* nothing is done */
    free(run.log.choices);
    free(run.log.alternatives);
    free(run.log.events);
    explore_report_release(&report);
}

static void polls_as_often_as_it_may(void)
{
    struct explore_report report = explore_scene(any_order_and_poll, 2, 1, 0);
    tap_ok(!report.diverged && report.exhausted, "a poll that is told less often is no divergence");
    tap_ok(report.runs >= 24 * 24 * 2,
           "each order is explored, with a poll in time and one before");
    tap_ok(!report.complete && report.gaps == SIM_GAP_POLLS,
           "that it may be told 'not yet' more often is a gap");
    explore_report_release(&report);
}

static void says_when_bounded(void)
{
    struct explore_report report = explore_scene(three_to_one, 4, 1, 3);
    tap_ok(!report.complete && report.runs + report.redundant == 3,
           "a bound is kept and not called complete");
    explore_report_release(&report);
}

/* Every run another conduct; the result is another one from run number `odd` on, 0: never. */
struct kinds {
    struct scene scene;
    unsigned runs, odd;
};

static bool run_kind(void *context, unsigned worker, struct explore_steer *steer,
                     struct explore_run *run)
{
    struct kinds *kinds = context;
    bool good = run_world(&kinds->scene, worker, steer, run);
    run->conduct = run->fingerprint;
    run->fingerprint = kinds->odd && ++kinds->runs >= kinds->odd ? 3 : 2;
    return good;
}

static void keeps_few_examples(unsigned odd, size_t kept)
{
    struct explore_options options;
    struct explore_report report;
    struct kinds kinds = {.scene = {.body = three_to_one, .ranks = 4}, .odd = odd};
    explore_options_init(&options);
    options.workers = 1;
    options.examples_max = 2;
    explore(&options, run_kind, &kinds, &report);
    tap_is_int(report.kinds, 6, "six kinds of runs");
    tap_is_int(report.example_count, kept, "are kept up to the bound%s",
               odd ? ", and the first with another result besides" : "");
    tap_ok(!odd || report.examples[kept - 1].fingerprint == 3, "which is the last of them");
    explore_report_release(&report);
}

/* Rank 0 takes five messages of each of three from anybody, in 756,756 orders. It tells the sources
 * of the first three, or of the last three: 27 each. */
static int fifteen(int rank, int from)
{
    uint64_t told = 0;
    MPI_Init(NULL, NULL);
    for (int i = 0; i < 15; i++)
        if (rank == 0) {
            int source = take_any(0);
            told = i / 3 == from / 3 ? 4 * told + (uint64_t)source : told;
        } else if (i < 5) {
            give(0, 0);
        }
    MPI_Finalize();
    return (int)told;
}

static int first_three(void *context, int rank)
{
    ((uint64_t *)context)[rank] = (uint64_t)fifteen(rank, 0);
    return 0;
}

static int middle_three(void *context, int rank)
{
    ((uint64_t *)context)[rank] = (uint64_t)fifteen(rank, 6);
    return 0;
}

static int last_three(void *context, int rank)
{
    ((uint64_t *)context)[rank] = (uint64_t)fifteen(rank, 12);
    return 0;
}

static void looks_early_and_late(void)
{
    struct explore_report report = explore_scene(first_three, 4, 2, 2000);
    tap_ok(report.results >= 20, "2,000 of 756,756 orders are most there are of the first three");
    explore_report_release(&report);
    report = explore_scene(middle_three, 4, 2, 1000);
    tap_ok(report.results >= 20, "1,000 are enough for most there are in the middle");
    explore_report_release(&report);
    report = explore_scene(last_three, 4, 2, 2000);
    tap_ok(report.results >= 20, "and most there are of the last three");
    explore_report_release(&report);
}

int main(void)
{
    if (dice_takes_group(DICE_DEAR))
        looks_early_and_late();
    if (dice_takes_group(0))
        expect(two_receivers, 4, 4, "independent receivers are not interleaved");
    if (dice_takes_group(1)) {
        keeps_few_examples(0, 2);
        keeps_few_examples(6, 3);
    }
    if (dice_takes_group(2)) {
        expect(alltoall_and_race, 4, 2,
               "an alltoall and a wildcard that two sends race for are two runs");
        expect(three_to_one, 4, 6, "three messages for three wildcards are six runs");
    }
    if (dice_takes_group(DICE_DEAR))
        expect(three_receivers, 5, 216, "nor are three that take two messages of each");
    if (dice_takes_group(3))
        finds_the_hang();
    if (dice_takes_group(4))
        says_when_bounded();
    if (dice_takes_group(5))
        polls_as_often_as_it_may();
    return tap_done();
}
