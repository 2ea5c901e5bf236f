/* recorded_world.h: a world whose ranks are recorded, and the trace of that.
 *
 *   struct recorded run = recorded_world(&options, enter);
 *   if (run.trace) ...
 *   recorded_release(&run);
 *
 * Each rank's function gets the recording, and begins it. */
#ifndef TESTS_RECORDER_RECORDED_WORLD_H
#define TESTS_RECORDER_RECORDED_WORLD_H

#include "recorder/recording.h"
#include "sim/worlds/world.h"
#include "tests/dice.h"
#include "tests/tap.h"

struct recorded {
    struct recording *recording;
    struct trace *trace; /* NULL: it cannot be loaded, or the world did not end as it must */
};

static inline struct sim_world_options recorded_options(int ranks)
{
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = ranks;
    return options;
}

static inline struct recorded recorded_until(const struct sim_world_options *options,
                                             int (*enter)(void *recording, int rank),
                                             enum trace_outcome end)
{
    struct failure failure = {0};
    struct recorded run = {.recording =
                               recording_new((uint32_t)options->ranks, RECORD_LEVEL_OPS, &failure)};
    struct sim_world *world = sim_world_new(options, &failure);
    struct recording_result result = {.outcome = sim_world_run(world, enter, run.recording)};
    sim_world_free(world);
    run.trace = recording_load(run.recording, &result, &failure);
    if (run.trace && result.outcome == end)
        return run;
    tap_note("outcome %d: %s", (int)result.outcome, failure.text);
    trace_free(run.trace);
    run.trace = NULL;
    return run;
}

/* All ranks come to their end. */
static inline struct recorded recorded_world(const struct sim_world_options *options,
                                             int (*enter)(void *recording, int rank))
{
    return recorded_until(options, enter, OUTCOME_FINISHED);
}

static inline void recorded_release(struct recorded *run)
{
    trace_free(run->trace);
    recording_ranks_release(run->recording);
    recording_free(run->recording);
}

/* How many of the worlds that the seeds stand for are not what they must be. */
static inline int recorded_wrongly(unsigned long long usual,
                                   bool (*is_recorded)(unsigned long long seed))
{
    struct dice_seeds seeds = dice_seeds(usual);
    int wrong = 0;
    for (unsigned long long i = 0; i < seeds.count; i++)
        if (!is_recorded(seeds.first + i) && !wrong++)
            tap_note("seed %llu", seeds.first + i);
    return wrong;
}

#endif
