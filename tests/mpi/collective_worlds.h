/* Worlds that test collectives, one a seed: each is recorded, and what the machine remarked in it is looked at. */
#ifndef TESTS_MPI_COLLECTIVE_WORLDS_H
#define TESTS_MPI_COLLECTIVE_WORLDS_H

#include "recorder/recording.h"
#include "sim/worlds/world.h"
#include "tests/dice.h"
#include "tests/mpi/collective_calls.h"
#include "tests/tap.h"
#include "traces/trace/trace.h"

#include <string.h>

/* What is known of one world, whatever else its test keeps. */
struct tried {
    unsigned long long seed;
    struct recording *recording;
    int wrong_count, looked_at;
    char text[300]; /* of the first that is wrong */
};

struct trial {
    void *world; /* the test's own, of `size` bytes, cleared before each world */
    size_t size;
    struct tried *tried; /* in it */
    void (*choose)(struct sim_world_options *options, unsigned long long seed);
    int (*run_rank)(void *world, int rank);
    int (*look_at_notes)(void *world, const struct trace *trace); /* how many remarks there were */
};

struct totals {
    int wrong, looked_at, remarks;
};

static inline int trial_one(const struct trial *trial, unsigned long long seed)
{
    struct failure failure = {0};
    struct sim_world_options options;
    struct tried *tried = trial->tried;
    int remarks = 0;
    sim_world_options_init(&options);
    options.ranks = RANKS;
    trial->choose(&options, seed);
    memset(trial->world, 0, trial->size);
    tried->seed = seed;
    tried->recording = recording_new(RANKS, RECORD_LEVEL_OPS, &failure);
    struct sim_world *machine = sim_world_new(&options, &failure);
    struct recording_result result = {.outcome =
                                          sim_world_run(machine, trial->run_rank, trial->world)};
    if (result.outcome != OUTCOME_FINISHED && !tried->wrong_count++)
        snprintf(tried->text, sizeof tried->text, "it ends by outcome %d", (int)result.outcome);
    sim_world_free(machine);
    struct trace *trace = recording_load(tried->recording, &result, &failure);
    if (trace)
        remarks = trial->look_at_notes(trial->world, trace);
    else if (!tried->wrong_count++)
        snprintf(tried->text, sizeof tried->text, "no trace: %.200s", failure.text);
    trace_free(trace);
    recording_ranks_release(tried->recording);
    recording_free(tried->recording);
    return remarks;
}

static inline struct totals trial_all(const struct trial *trial, struct dice_seeds seeds)
{
    struct totals totals = {0};
    for (unsigned long long i = 0; i < seeds.count; i++) {
        totals.remarks += trial_one(trial, seeds.first + i);
        if (trial->tried->wrong_count && totals.wrong++ < 5)
            tap_note("seed %llu: %s", trial->tried->seed, trial->tried->text);
        totals.looked_at += trial->tried->looked_at;
    }
    return totals;
}

#endif
