/* world_harness.h: runs an ordinary MPI function as every rank of many worlds.
 *
 *   static void greet(int rank, int size)
 *   {
 *       int got = -1;
 *       MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
 *       expect(got == size - 1, "rank %d got %d", rank, got);
 *   }
 *   world_test("the maximum reaches everybody", greet, WORLD_ANY);
 *
 * A body runs between MPI_Init and MPI_Finalize. One TAP test per sentence: it passes when in every
 * world all ranks came to their end, no expectation failed, and at least one was looked at. The
 * worlds are the sizes of the test under every variant: fibers and OS threads, eager and
 * rendezvous, minimal and strict collectives, seeded choices, delayed wildcards; the largest on OS
 * threads without the other traits, unless FULL=1.
 *
 * Single worlds with other outcomes: world_try. */
#ifndef TESTS_WORLD_HARNESS_H
#define TESTS_WORLD_HARNESS_H

#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>

#include <mpi.h>
#include <mpix.h>

#include "collectives/experiment/probe.h"
#include "collectives/tape/state.h"
#include "sim/worlds/world.h"
#include "tests/dice.h"
#include "tests/tap.h"

typedef void world_body(int rank, int size);

/* What a test needs of its worlds. */
enum {
    WORLD_ANY = 0,
    WORLD_BUFFERS = 1, /* a standard send completes before it is matched */
    WORLD_FIBERS = 2,  /* depends on the order in which fibers run */
    WORLD_DEFAULT = 4, /* default choices only */
    WORLD_MINIMAL = 8  /* collectives that do not synchronise more than they must */
};

struct world_report {
    pthread_mutex_t lock;
    world_body *body;
    int size;
    int looked_at, failed;
    char text[400];
};

struct world_result {
    enum trace_outcome outcome;
    int looked_at, failed;
    char text[400];
};

#define expect(condition, ...)                                                                     \
    world_expect((condition), __FILE__, __LINE__, #condition, __VA_ARGS__)

static inline bool __attribute__((format(printf, 5, 6)))
world_expect(bool holds, const char *file, int line, const char *condition, const char *format, ...)
{
    struct world_report *report = MPIX_Rank_slots()[MPIX_SLOT_SPARE1];
    pthread_mutex_lock(&report->lock);
    report->looked_at++;
    if (!holds && !report->failed++) {
        size_t room = sizeof report->text;
        int used = snprintf(report->text, room, "%s:%d: rank %d: %s: ", file, line,
                            MPIX_World_rank(), condition);
        va_list arguments;
        va_start(arguments, format);
        if (used > 0 && (size_t)used < room)
            vsnprintf(report->text + used, room - (size_t)used, format, arguments);
        va_end(arguments);
    }
    pthread_mutex_unlock(&report->lock);
    return holds;
}

/* Expects an MPI call to succeed. */
#define expect_ok(call) expect_class(call, MPI_SUCCESS)
/* Expects an MPI call to return a code of this class. */
#define expect_class(call, wanted)                                                                 \
    do {                                                                                           \
        int expect_got_ = (call), expect_class_ = -1;                                              \
        MPI_Error_class(expect_got_, &expect_class_);                                              \
        expect(expect_class_ == (wanted), "%s gave class %d, not %d", #call, expect_class_,        \
               (wanted));                                                                          \
    } while (0)

/* A rank's program has left every function of the differentiable library that it has entered: what follows
 * would be of the wrong place in the program, otherwise. */
static inline void world_calls_left(void)
{
    const struct diff_state *state = MPIX_Rank_slots()[MPIX_SLOT_DIFF];
    assert(!state || state->depth == 0);
}

static int world_enter(void *context, int rank)
{
    struct world_report *report = context;
    MPI_Init(NULL, NULL);
    report->body(rank, report->size);
    world_calls_left();
    MPI_Finalize();
    return 0;
}

/* Options of a small world: `ranks` fibers, a small stack. */
static inline struct sim_world_options world_options(int ranks)
{
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = ranks;
    options.livelock_rounds = 200;
    return options;
}

/* Runs one world whose body is `body`; `look`, if not NULL, may inspect the world afterwards. */
static inline struct world_result world_try_look(struct sim_world_options options, world_body *body,
                                                 void (*look)(struct sim_world *, void *),
                                                 void *context)
{
    struct world_report report = {.body = body, .size = options.ranks};
    pthread_mutex_init(&report.lock, NULL);
    options.slots[MPIX_SLOT_SPARE1] = &report;
    struct failure failure = {0};
    struct sim_world *world = sim_world_new(&options, &failure);
    struct world_result result = {.outcome = OUTCOME_INTERRUPTED};
    if (!world) {
        snprintf(result.text, sizeof result.text, "%.300s", failure.text);
        return result;
    }
    result.outcome = sim_world_run(world, world_enter, &report);
    if (look)
        look(world, context);
    for (int rank = 0; rank < options.ranks; rank++)
        diff_state_release(sim_world_slots(world, rank)[MPIX_SLOT_DIFF]);
    sim_world_free(world);
    pthread_mutex_destroy(&report.lock);
    result.looked_at = report.looked_at;
    result.failed = report.failed;
    memcpy(result.text, report.text, sizeof result.text);
    return result;
}

static inline struct world_result world_try(struct sim_world_options options, world_body *body)
{
    return world_try_look(options, body, NULL, NULL);
}

static const char *const world_outcomes[] = {"finished", "deadlock", "livelock",    "aborted",
                                             "crashed",  "timeout",  "interrupted", "imported"};

struct world_variant {
    const char *name;
    enum sim_executor_kind executor;
    enum sim_send_model send_model;
    bool strict, delay, seeded;
};

static const struct world_variant world_variants[] = {
    {"fibers", SIM_FIBERS, SIM_SEND_EAGER, false, false, false},
    {"OS threads", SIM_THREADS, SIM_SEND_EAGER, false, false, false},
    {"turns", SIM_TURNS, SIM_SEND_EAGER, false, false, false},
    {"rendezvous", SIM_FIBERS, SIM_SEND_RENDEZVOUS, false, false, false},
    {"strict collectives", SIM_FIBERS, SIM_SEND_EAGER, true, false, false},
    {"strict rendezvous on OS threads", SIM_THREADS, SIM_SEND_RENDEZVOUS, true, false, false},
    {"rendezvous in turns", SIM_TURNS, SIM_SEND_RENDEZVOUS, false, false, false},
    {"batches in turns, seeded", SIM_TURNS, SIM_SEND_BATCH, false, false, true},
    {"batches", SIM_FIBERS, SIM_SEND_BATCH, false, false, false},
    {"seeded choices", SIM_FIBERS, SIM_SEND_EAGER, false, false, true},
    {"delayed wildcards", SIM_FIBERS, SIM_SEND_EAGER, false, true, true},
};

static inline bool world_suits(const struct world_variant *variant, int needs)
{
    return !((needs & WORLD_BUFFERS && variant->send_model != SIM_SEND_EAGER) ||
             (needs & WORLD_FIBERS && variant->executor != SIM_FIBERS) ||
             (needs & WORLD_DEFAULT && (variant->seeded || variant->delay)) ||
             (needs & WORLD_MINIMAL && (variant->strict || variant->send_model != SIM_SEND_EAGER)));
}

/* Large worlds of OS threads take turns for long: they are asked without a variant's other traits,
 * and not under AddressSanitizer. FULL=1: with all, everywhere. */
static inline bool world_is_dear(const struct world_variant *variant, int ranks)
{
    bool plain = variant->send_model == SIM_SEND_EAGER && !variant->strict && !variant->seeded;
    return ranks > 5 && variant->executor != SIM_FIBERS && !(plain && !SANITIZED_ADDRESS) &&
           !getenv("FULL");
}

static unsigned long long
    world_number; /* of the worlds of all tests of the program, which SIMRUN_PART chooses from */

/* Runs a body on worlds of these sizes (ended by 0) under every variant that suits its needs. */
static inline void world_test_sizes(const char *name, world_body *body, int needs, const int *sizes)
{
    char got[600] = "";
    bool passed = true;
    for (size_t v = 0; v < sizeof world_variants / sizeof *world_variants && passed; v++) {
        const struct world_variant *variant = &world_variants[v];
        for (int i = 0; sizes[i] && passed && world_suits(variant, needs); i++) {
            if (!dice_takes(world_number++) || world_is_dear(variant, sizes[i]))
                continue;
            struct sim_world_options options = world_options(sizes[i]);
            options.executor = variant->executor;
            options.send_model = variant->send_model;
            options.strict_collectives = variant->strict;
            options.delay_wildcards = variant->delay;
            options.driver = variant->seeded ? SIM_CHOOSE_SEED : SIM_CHOOSE_DEFAULT;
            options.seed = 17u + (unsigned)sizes[i];
            struct world_result result = world_try(options, body);
            passed = result.outcome == OUTCOME_FINISHED && !result.failed && result.looked_at;
            if (!passed)
                snprintf(got, sizeof got, "%d ranks, %s: %s%s; %s", sizes[i], variant->name,
                         world_outcomes[result.outcome],
                         result.looked_at ? "" : ", nothing looked at", result.text);
        }
    }
    tap_test_str(passed ? "all worlds as they should be" : got, "all worlds as they should be",
                 TAP_HERE, "%s", name);
}

#define WORLD_SIZES(...) ((const int[]){__VA_ARGS__, 0})

/* Worlds of 1, 2, 3, 5 and 16 ranks. */
static inline void world_test(const char *name, world_body *body, int needs)
{
    world_test_sizes(name, body, needs, WORLD_SIZES(1, 2, 3, 5, 16));
}

/* The same without the world of one rank. */
static inline void world_test_pairs(const char *name, world_body *body, int needs)
{
    world_test_sizes(name, body, needs, WORLD_SIZES(2, 3, 5, 16));
}

/* One world, of which only the outcome matters, under every executor. */
static inline void world_outcome_is(const char *name, struct sim_world_options options,
                                    world_body *body, enum trace_outcome expected)
{
    char got[600];
    const char *wanted = world_outcomes[expected];
    for (int executor = SIM_FIBERS; executor <= SIM_TURNS; executor++) {
        options.executor = (enum sim_executor_kind)executor;
        struct world_result result = world_try(options, body);
        snprintf(got, sizeof got, "%s", world_outcomes[result.outcome]);
        if (result.failed)
            snprintf(got, sizeof got, "%s", result.text);
        if (strcmp(got, wanted))
            break;
    }
    tap_test_str(got, wanted, TAP_HERE, "%s", name);
}

#endif
