/* Worlds: creation, the run, quiescence, polling, the end. See world.h and rank.h. */
#include "sim/worlds/world.h"

#include "sim/worlds/rank.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef NDEBUG
#error "the machine's assertions are part of it: build without NDEBUG"
#endif

_Thread_local struct sim_rank *sim_current_rank, *sim_thread_parent;

enum { EAGER_LIMIT = 64 * 1024, LIVELOCK_ROUNDS = 10000 };

/* With more ranks than that a switch finds nothing in the caches of the one it switches to. */
enum { GIVE_WAY_MAX = 512 };

/* So many fruitless polls are a whole round of what a rank looks at, more or less. */
enum { ROUND_POLLS = 16 };

void sim_world_options_init(struct sim_world_options *options)
{
    *options = (struct sim_world_options){.ranks = 16,
                                          .executor = SIM_FIBERS,
                                          .send_model = SIM_SEND_EAGER,
                                          .eager_limit = EAGER_LIMIT,
                                          .not_yet_max = 1};
}

/* What a grant costs is how much there is to choose from. */
enum { ADVERSE_COST_MOST = 1 << 22, ADVERSE_POLLS = 200 };

static uint32_t pick_last(void *context, uint32_t kind, uint32_t rank, uint32_t n,
                          const struct sim_alternative *alternatives)
{
    uint64_t *cost = context;
    (void)rank;
    (void)alternatives;
    *cost += n;
    if (*cost > ADVERSE_COST_MOST)
        return SIM_GUIDE_STOP;
    return kind == MPIX_CHOOSE_WILDCARD ? n - 1 : 0;
}

void sim_world_options_adverse(struct sim_world_options *options, uint64_t *cost)
{
    *cost = 0;
    options->delay_wildcards = options->delay_receives = options->late_receives = true;
    options->livelock_rounds = ADVERSE_POLLS; /* who polls waits as long for each message */
    options->driver = SIM_CHOOSE_GUIDED;
    options->guide = pick_last;
    options->guide_context = cost;
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool make_ranks(struct sim_world *world)
{
    size_t bytes = (size_t)world->size * sizeof *world->ranks;
    world->ranks = aligned_alloc(_Alignof(struct sim_rank), bytes);
    if (!world->ranks)
        return false;
    memset(world->ranks, 0, bytes);
    for (int i = 0; i < world->size; i++) {
        struct sim_rank *rank = &world->ranks[i];
        rank->world = world;
        rank->id = i;
        rank->state = SIM_READY;
        memcpy(rank->slots, world->options.slots, sizeof rank->slots);
    }
    return world->rooms->begin(world);
}

struct sim_world *sim_world_compose(const struct sim_world_options *options,
                                    const struct sim_rooms *rooms, struct failure *failure)
{
    if (options->ranks < 1) {
        failure_set(failure, FAILURE_USAGE, "a world needs at least one rank, not %d",
                    options->ranks);
        return NULL;
    }
    struct sim_world *world = calloc(1, sizeof *world);
    if (!world)
        goto out_of_memory;
    world->options = *options;
    world->rooms = rooms;
    if (!world->options.livelock_rounds)
        world->options.livelock_rounds = LIVELOCK_ROUNDS;
    world->size = world->live = world->runnable = options->ranks;
    world->ready_tail = &world->ready_head;
    world->delayed_tail = &world->delayed;
    world->threaded = options->executor != SIM_FIBERS;
    world->turns = options->executor == SIM_TURNS;
    world->multiple = options->executor == SIM_THREADS;
    world->guarded = world->threaded || sim_world_always_guarded(world);
    world->executor = world->threaded ? &sim_threads : &sim_fibers;
    world->running = options->running && !world->threaded ? options->running : &world->nobody;
    pthread_mutex_init(&world->monitor, NULL);
    sim_chooser_init(&world->chooser, options->driver, options->seed);
    world->options.choose_run |= options->driver == SIM_CHOOSE_SEED;
    world->out_of_turn = world->options.choose_run;
    world->chooser.forced = options->forced;
    world->chooser.forced_count = options->forced_count;
    world->chooser.guide = options->guide;
    world->chooser.guide_context = options->guide_context;
    world->chooser.logging = options->log_choices;
    world->exploring = options->delay_wildcards && options->log_choices;
    world->gives_way = sim_wide_thinkable(options) && options->ranks <= GIVE_WAY_MAX;
    if (make_ranks(world))
        return world;
    sim_world_free(world);
out_of_memory:
    failure_set(failure, FAILURE_INTERNAL, "out of memory for a world of %d ranks", options->ranks);
    return NULL;
}

void sim_world_free(struct sim_world *world)
{
    if (!world)
        return;
    sim_wide_end(world);
    world->rooms->end(world);
    sim_pool_release(world);
    sim_fibers_release(world);
    sim_chooser_release(&world->chooser);
    pthread_mutex_destroy(&world->monitor);
    for (int i = 0; world->ranks && i < world->size; i++) {
        free(world->ranks[i].bsend); /* of a rank that did not come to detach it */
        free(world->ranks[i].team);
    }
    free(world->ranks);
    free(world->failed);
    free(world);
}

enum trace_outcome sim_world_run(struct sim_world *world, sim_rank_body *body, void *context)
{
    assert(world->steps == 0 && "a world runs once");
    world->body = body;
    world->context = context;
    world->outcome = OUTCOME_FINISHED;
    struct sim_rank *outer = sim_current_rank;
    struct failure failure = {0};
    if (!world->executor->run(world, &failure)) {
        if (world->options.unable)
            *world->options.unable = failure;
        else
            fprintf(stderr, "simrun: %s\n", failure.text);
        world->outcome = OUTCOME_ABORTED;
    } else if (world->live && !world->over) {
        sim_world_stop(world, OUTCOME_DEADLOCK);
    }
    sim_current_rank = outer;
    return world->outcome;
}

void sim_world_stop(struct sim_world *world, enum trace_outcome outcome)
{
    if (world->over)
        return;
    __atomic_store_n(&world->over, true, __ATOMIC_RELAXED); /* sim_rank_leave looks from outside */
    world->out_of_turn = true;
    /* Ranks that wait for a crashed one are stuck because of the crash. */
    if (!(world->outcome == OUTCOME_CRASHED && outcome == OUTCOME_DEADLOCK))
        world->outcome = outcome;
    world->stopped_ns = monotonic_ns();
    if (!world->threaded)
        return;
    atomic_store_explicit(&world->turn, NULL, memory_order_release); /* nobody's */
    for (int i = 0; i < world->size; i++)
        if (world->ranks[i].wakeup)
            pthread_cond_broadcast(world->ranks[i].wakeup);
}

bool sim_world_quiescent(struct sim_world *world)
{
    return world->rooms->quiescent(world);
}

/* No other thread of the rank can bring about what it polls for: there is none, or it waits. */
static bool only_polls(const struct sim_rank *rank)
{
    return !rank->libc.regions && rank->waiting + rank->joining == rank->threads;
}

/* Counts a fruitless poll: how many ranks have done nothing else for a round, and for so long that it
 * is a livelock, since anything changed. */
static void count_poll(struct sim_world *world, struct sim_rank *rank)
{
    if (world->saturated_at != world->changes) {
        world->saturated_at = world->changes;
        world->saturated = world->settled = 0;
    }
    if (rank->idle_since != world->changes) {
        rank->idle_since = world->changes;
        rank->idle_polls = 0;
        rank->saturated = rank->libc.reads_clock = false;
    }
    if (!only_polls(rank))
        return;
    rank->idle_polls++;
    if (rank->idle_polls == ROUND_POLLS)
        world->settled++;
    if (rank->idle_polls % world->options.livelock_rounds == 0) {
        world->saturated += !rank->libc.reads_clock - rank->saturated;
        rank->saturated = !rank->libc.reads_clock;
        rank->libc.reads_clock = false;
    }
}

/* Every rank that can run only polls, and nothing changes. */
static bool is_livelock(const struct sim_world *world)
{
    return world->saturated && world->saturated == world->runnable;
}

/* The same for a round only: what waits for quiescence is decided then, as nobody else will go on. */
static bool is_settled(const struct sim_world *world, const struct sim_rank *rank)
{
    return (world->delayed || world->looks) && rank->idle_polls == ROUND_POLLS &&
           world->settled == world->runnable && !rank->was_held;
}

void sim_rank_poll_failed(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    sim_world_order_matters(world);
    if (rank->place.in_vain) { /* it was not looked: nobody has to do anything before it goes on */
        rank->place.in_vain = rank->was_held = false;
        return;
    }
    count_poll(world, rank);
    if (is_livelock(world) && !sim_world_quiescent(world)) {
        sim_world_stop(world, OUTCOME_LIVELOCK);
        rank->idle_polls = 0;
    } else if (is_settled(world, rank)) {
        sim_world_quiescent(world);
    }
    rank->was_held = false;
    world->executor->yield(rank);
}

static void failure_note(const struct sim_rank *rank, bool crashed)
{
    struct sim_first_failure *first = rank->world->options.first_failure;
    if (!first || first->rank >= 0)
        return;
    first->exit_code = rank->exit_code;
    first->crashed = crashed;
    first->aborted = rank->aborted;
    first->rank = rank->id;
}

/* Its process is gone, and the others may want to go on without it. */
static void note_failed(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    if (!world->failed)
        world->failed = malloc((size_t)world->size * sizeof *world->failed);
    assert(world->failed && "out of memory for a failed rank");
    rank->failed = true;
    world->failed[world->failed_count++] = rank->id;
    world->rooms->rank_failed(rank);
}

void sim_rank_leave(struct sim_rank *rank, enum sim_rank_state state, int exit_code)
{
    struct sim_world *world = rank->world;
    sim_guard_abandon(rank);
    rank->exit_code = exit_code;
    if (state == SIM_DONE && !__atomic_load_n(&world->over, __ATOMIC_RELAXED))
        world->rooms->rank_over(rank);
    sim_world_enter(world);
    if (state == SIM_CRASHED || exit_code)
        failure_note(rank, state == SIM_CRASHED);
    sim_rank_move(rank, state);
    world->live--;
    sim_world_changed(world);
    if (state == SIM_CRASHED && !rank->injected)
        world->outcome = OUTCOME_CRASHED;
    if (rank->initialized && !rank->finalized && !world->over)
        note_failed(rank);
    world->executor->leave(rank);
    abort(); /* leave does not return */
}

void sim_rank_abort(struct sim_rank *rank, int exit_code)
{
    sim_guard_abandon(rank);
    sim_world_enter(rank->world);
    rank->aborted = true;
    rank->exit_code = exit_code;
    failure_note(rank, false);
    sim_world_stop(rank->world, OUTCOME_ABORTED);
    rank->world->executor->leave(rank);
    abort(); /* leave does not return */
}

void sim_rank_end(int exit_code)
{
    assert(sim_current_rank);
    sim_rank_leave(sim_current_rank, SIM_DONE, exit_code);
}

void sim_rank_crash(int signal_number)
{
    assert(sim_current_rank);
    sim_rank_leave(sim_current_rank, SIM_CRASHED, signal_number);
}

void sim_rank_refuse(int error_class)
{
    assert(sim_current_rank);
    sim_rank_abort(sim_current_rank, error_class);
}

void sim_rank_await_dying(void)
{
    sim_wide_await_dying();
}

bool sim_rank_stack_overflow(const void *address)
{
    const struct sim_rank *rank = sim_current_rank;
    if (!rank || !rank->stack_base)
        return false;
    const char *at = address;
    return at < rank->stack_base + 256 && at >= rank->stack_base - rank->world->guard - 4096;
}

void sim_thread_stack(uintptr_t *low, uintptr_t *high)
{
    pthread_attr_t attributes;
    void *lowest;
    size_t size;
    *low = *high = 1;
    if (pthread_getattr_np(pthread_self(), &attributes))
        return;
    if (!pthread_attr_getstack(&attributes, &lowest, &size)) {
        *low = (uintptr_t)lowest;
        *high = *low + size;
    }
    pthread_attr_destroy(&attributes);
}

bool sim_rank_stack_holds(uintptr_t address)
{
    static _Thread_local uintptr_t thread_low, thread_high;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const struct sim_rank *rank = sim_current_rank;
    if (rank && rank->world->stacks) {
        uintptr_t low = (uintptr_t)rank->stack_base;
        uintptr_t size = rank->world->stack_stride - rank->world->guard;
        if (here - low < size)
            return address - low < size;
    }
    if (!thread_low)
        sim_thread_stack(&thread_low, &thread_high);
    return here - thread_low < thread_high - thread_low &&
           address - thread_low < thread_high - thread_low;
}

enum rank_state sim_world_rank_state(const struct sim_world *world, int rank)
{
    const struct sim_rank *r = &world->ranks[rank];
    switch (r->state) {
    case SIM_DONE:
        return r->aborted ? RANK_ABORTED : RANK_FINISHED;
    case SIM_CRASHED:
        return RANK_CRASHED;
    case SIM_BLOCKED:
        return RANK_BLOCKED;
    case SIM_READY:
    case SIM_RUNNING:
        break;
    }
    return r->aborted                           ? RANK_ABORTED
           : world->outcome == OUTCOME_LIVELOCK ? RANK_POLLING
                                                : RANK_RUNNING;
}

bool sim_world_rank_left(const struct sim_world *world, int rank)
{
    const struct sim_rank *r = &world->ranks[rank];
    return r->state == SIM_DONE && !r->aborted && r->initialized && !r->finalized;
}

const void *sim_world_rank_left_at(const struct sim_world *world, int rank)
{
    return world->ranks[rank].left_at;
}

bool sim_world_rank_finalized(const struct sim_world *world, int rank)
{
    return world->ranks[rank].finalized;
}

bool sim_world_rank_initialized(const struct sim_world *world, int rank)
{
    return world->ranks[rank].initialized || world->ranks[rank].used_session;
}

int sim_world_exit_code(const struct sim_world *world, int rank)
{
    return world->ranks[rank].exit_code;
}

uint64_t sim_world_steps(const struct sim_world *world)
{
    return world->steps;
}

uint64_t sim_world_switches(const struct sim_world *world)
{
    return world->switches;
}

const struct sim_choice_log *sim_world_choices(const struct sim_world *world)
{
    return &world->chooser.log;
}

bool sim_world_diverged(const struct sim_world *world)
{
    return world->chooser.diverged;
}

void **sim_world_slots(struct sim_world *world, int rank)
{
    return world->ranks[rank].slots;
}

uint64_t sim_world_stopped_ns(const struct sim_world *world)
{
    return world->stopped_ns;
}

void sim_world_impersonate(struct sim_world *world, int rank)
{
    sim_current_rank = rank < 0 ? NULL : &world->ranks[rank];
}

int sim_world_current_rank(void)
{
    return sim_current_rank ? sim_current_rank->id : -1;
}

/* The extensions of mpix.h that need nothing but the rank. */

void **MPIX_Rank_slots(void)
{
    return sim_current_rank ? sim_current_rank->slots : NULL;
}

int MPIX_World_rank(void)
{
    return sim_current_rank ? sim_current_rank->id : -1;
}

int MPIX_World_size(void)
{
    return sim_current_rank ? sim_current_rank->world->size : 0;
}

uint64_t MPIX_Steps(void)
{
    if (!sim_current_rank)
        return 0;
    return sim_current_rank->world->threaded && !sim_current_rank->world->wide
               ? atomic_load_explicit(&sim_current_rank->own_steps, memory_order_relaxed)
               : sim_current_rank->world->steps;
}

bool MPIX_Pace(struct mpix_pace *pace)
{
    const struct sim_rank *rank = sim_current_rank;
    if (!rank || rank->world->executor == &sim_threads)
        return false;
    *pace = (struct mpix_pace){&rank->world->steps, &rank->turned, &rank->world->threaded};
    return true;
}

void MPIX_Turn(void)
{
    struct sim_rank *rank = sim_current_rank;
    struct sim_world *world = rank ? rank->world : NULL;
    if (!world || !world->wide || rank->inside ||
        atomic_load_explicit(&world->turn, memory_order_acquire) == rank)
        return;
    sim_wide_enter(world);
    sim_world_leave(world);
}

bool MPIX_Ahead(void)
{
    struct sim_rank *rank = sim_current_rank;
    if (!rank || !rank->world->wide)
        return false;
    if (!rank->inside && !atomic_load_explicit(&rank->world->turn, memory_order_acquire))
        sim_wide_enter(rank->world);
    return sim_wide_is_ahead();
}

bool MPIX_Alone(void)
{
    return sim_current_rank && !sim_current_rank->world->multiple;
}

uint32_t sim_rank_choose(struct sim_rank *rank, uint32_t kind, uint32_t n,
                         const struct sim_alternative *alternatives)
{
    struct sim_world *world = rank->world;
    struct sim_choice_log *log = &world->chooser.log;
    size_t before = log->count;
    uint32_t pick = sim_choose(&world->chooser, kind, (uint32_t)rank->id, n, alternatives);
    if (world->exploring && log->count > before) {
        log->choices[before].past = rank->causes;
        sim_dependences_add(&rank->causes, before);
    }
    return pick;
}

int MPIX_Choose(int kind, int n)
{
    return MPIX_Choose_named(kind, n, NULL);
}

int MPIX_Choose_named(int kind, int n, const unsigned *names)
{
    struct sim_rank *rank = sim_current_rank; /* of this thread: entering may lead to another one */
    if (!rank || n < 2)
        return 0;
    struct sim_world *world = rank->world;
    struct sim_alternative few[16] = {{0}}, *alternatives = few;
    if (n > 16 && names)
        alternatives = calloc((size_t)n, sizeof *alternatives);
    assert(alternatives && "out of memory for a choice");
    for (int i = 0; i < n && names; i++)
        alternatives[i] = (struct sim_alternative){
            .rank = (uint32_t)rank->id, .object = names[i], .taker = SIM_TAKER_NAMED};
    sim_world_enter(world);
    uint32_t pick = sim_rank_choose(rank, (uint32_t)kind, (uint32_t)n, names ? alternatives : NULL);
    sim_world_leave(world);
    if (alternatives != few)
        free(alternatives);
    return (int)pick;
}

void MPIX_Yield(void)
{
    struct sim_rank *rank = sim_current_rank; /* of this thread: entering may lead to another one */
    if (!rank || sim_guard_in_op())
        return;
    sim_world_enter(rank->world);
    rank->world->executor->yield(rank);
    sim_world_leave(rank->world);
}
