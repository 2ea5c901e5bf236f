/* Worlds for tests of the differentiable library: runs a function as every rank, plainly or under a
 * gradient check. */
#ifndef TESTS_DIFF_WORLD_H
#define TESTS_DIFF_WORLD_H

#include "collectives/gradcheck/gradcheck.h"
#include "recorder/recording.h"
#include "recorder/watch.h"
#include "tests/golden_checked.h"
#include "tests/world_harness.h"

#include <diff.h>

#include <sys/mman.h>
#include <unistd.h>

struct diff_world {
    int ranks;
    void (*body)(void);
    enum sim_send_model model;
    uint64_t seed; /* 0: default choices */
};

struct diff_world_run {
    const struct diff_world *world;
    struct recording *watched; /* NULL: nobody watches */
};

static int diff_world_main(void *context, int rank)
{
    const struct diff_world_run *run = context;
    (void)rank;
    if (run->watched)
        recording_rank_begin(run->watched);
    MPI_Init(NULL, NULL);
    run->world->body();
    world_calls_left();
    MPI_Finalize();
    return 0;
}

static inline int diff_world_run(void *context, struct diff_probe *probe, int worker)
{
    struct diff_world *world = context;
    struct diff_world_run run = {world, NULL};
    (void)worker;
    struct sim_world_options options = world_options(world->ranks);
    struct failure failure = {0};
    options.slots[MPIX_SLOT_PROBE] = probe;
    options.send_model = world->model;
    if (world->seed) {
        options.driver = SIM_CHOOSE_SEED;
        options.seed = world->seed;
    }
    uint64_t cost;
    if (probe->adverse)
        sim_world_options_adverse(&options, &cost);
    if (probe->watch) {
        options.slots[MPIX_SLOT_WATCH] = probe->watch;
        run.watched = recording_new((uint32_t)world->ranks, RECORD_LEVEL_OPS, &failure);
    }
    struct sim_world *made = sim_world_new(&options, &failure);
    if (!made)
        return -1;
    enum trace_outcome outcome = sim_world_run(made, diff_world_main, &run);
    sim_world_free(made);
    if (run.watched) {
        probe->watch->over(probe->watch);
        recording_free(run.watched);
    }
    return (int)outcome;
}

/* The gradient check of a body; release the result. */
static inline struct gradcheck_result diff_world_check(void (*body)(void), int ranks,
                                                       const struct gradcheck_options *options)
{
    struct diff_world world = {ranks, body, SIM_SEND_RENDEZVOUS, 0};
    struct diff_runner runner = {diff_world_run, &world, ranks, 1};
    struct gradcheck_options plain = gradcheck_options_default();
    struct gradcheck_result result;
    gradcheck_run(&runner, options ? options : &plain, &result);
    checked_hold(&result);
    return result;
}

/* True when the check ran on all these sizes and found nothing wrong; `text` gets the trouble. */
static inline bool diff_world_right(void (*body)(void), const int *sizes, char *text, size_t size)
{
    for (int i = 0; sizes[i]; i++) {
        struct gradcheck_result result = diff_world_check(body, sizes[i], NULL);
        bool right = !result.base_failed && result.failed == 0 && result.row_count > 0 &&
                     !result.non_finite && result.broken_worlds == 0;
        if (!right)
            gradcheck_print(&result, text, size);
        gradcheck_release(&result);
        if (!right)
            return false;
    }
    return true;
}

/* One TAP line: the gradients of `body` are right on worlds of these sizes. A case of its own. */
#define gradients_are_right(name, body, ...)                                                       \
    do {                                                                                           \
        if (!checked_takes()) {                                                                    \
            tap_skip(1, "of another part: %s", name);                                              \
            break;                                                                                 \
        }                                                                                          \
        char gradients_text_[2000] = "";                                                           \
        bool gradients_right_ = diff_world_right(body, (const int[]){__VA_ARGS__, 0},              \
                                                 gradients_text_, sizeof gradients_text_);         \
        tap_test_str(gradients_right_ ? "right" : gradients_text_, "right", TAP_HERE, "%s", name); \
    } while (0)

/* What a rank's program ended with: the outcome of one plain world. */
static inline int diff_world_outcome(void (*body)(void), int ranks)
{
    struct diff_world world = {ranks, body, SIM_SEND_EAGER, 0};
    struct diff_probe probe;
    diff_probe_init(&probe, ranks);
    int outcome = diff_world_run(&world, &probe, 0);
    diff_probe_release(&probe);
    return outcome;
}

/* What the ranks said on stderr while `body` ran, in `text`; the outcome of the world. */
static inline int diff_world_heard(void (*body)(void), char *text, size_t size)
{
    fflush(stderr);
    int outside = dup(STDERR_FILENO), inside = memfd_create("stderr", MFD_CLOEXEC);
    dup2(inside, STDERR_FILENO);
    int outcome = diff_world_outcome(body, 2);
    fflush(stderr);
    dup2(outside, STDERR_FILENO);
    ssize_t got = pread(inside, text, size - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    close(inside);
    close(outside);
    return outcome;
}

#endif
