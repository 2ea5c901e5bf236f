/* Fibers carried by several OS threads: see wide.h.
 *
 * Rules, all in the monitor:
 *  1. The turn is that of one rank, which is RUNNING, or the world is over. Who has it is not in the
 *     ready queue; who is in the queue waits for it, whether it is suspended or computes ahead.
 *  2. A rank is carried by at most one thread. Its stack pointer is valid while it is by none.
 *  3. A suspended rank is resumed when it has the turn, or ahead of it once: after it was woken from
 *     a wait that allows that, or before it has begun.
 *  4. The host carries nobody. The world is narrow again when no thread carries a rank.
 *  5. Nothing thread-local is used across a switch. */
#include "sim/worlds/wide.h"

#include "sim/libc/output.h"
#include "sim/worlds/turns.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

enum { CARRIERS_MAX = 256 };

/* An idle carrier takes who has been free for so many looks: who is woken by one that blocks in a moment
 * is resumed by that one's carrier, which has in its cache what they share. Between two looks it pauses, so
 * that it does not take lines of the cache from those that work. */
enum { PATIENCE = 3, PAUSES = 8 };

/* In vain, it lets others have its core so often before it sleeps: who wakes up may be given a core on which
 * another carrier computes, and waits there for milliseconds. */
enum { YIELDS = 3000 };

struct sim_wide {
    pthread_cond_t work;  /* for carriers: somebody can be resumed, or it is over */
    pthread_cond_t quiet; /* for the host: nobody is carried any more; for the dying: a turn */
    struct sim_rank *early_head, **early_tail;
    int carried, idle, dying;
    atomic_int ahead;        /* ranks that may be resumed ahead of their turn */
    atomic_bool narrowing;   /* nobody is resumed any more */
    atomic_bool done;        /* nobody can go on any more: carriers go home */
    struct sim_rank *hosted; /* whom the host carries since the world became wide */
    int carriers;
    pthread_t threads[CARRIERS_MAX];
};

/* Where the thread's own loop stands while it carries a rank, NULL: it carries none, and speaks for one
 * at most when the world is over. */
static _Thread_local void *home;

static int cores(const struct sim_world *world)
{
    cpu_set_t allowed;
    int count = sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : CPU_COUNT(&allowed);
    if (world->options.cores > 0 &&
        (count > world->options.cores || world->options.wide == SIM_WIDE_AT_ONCE))
        count = world->options.cores;
    if (count > world->size)
        count = world->size;
    return count < CARRIERS_MAX ? count : CARRIERS_MAX;
}

bool sim_wide_thinkable(const struct sim_world_options *options)
{
    return options->executor == SIM_FIBERS && options->ranks > 1 && !options->delay_wildcards &&
           !options->delay_receives && !options->late_receives && !options->fault_count &&
           !options->memory && options->send_model != SIM_SEND_BATCH;
}

bool sim_wide_possible(const struct sim_world *world)
{
    const struct sim_world_options *options = &world->options;
    return options->wide != SIM_WIDE_NEVER && sim_wide_thinkable(options) && !world->never_wide &&
           sim_fiber_may_move() && (cores(world) > 1 || options->wide == SIM_WIDE_AT_ONCE);
}

/* --- whose turn it is --- */

static void early_add(struct sim_world *world, struct sim_rank *rank)
{
    struct sim_wide *wide = world->wide;
    atomic_fetch_add_explicit(&wide->ahead, !rank->may_go_ahead, memory_order_relaxed);
    rank->may_go_ahead = true;
    if (!rank->in_early) {
        rank->in_early = true;
        rank->next_early = NULL;
        *wide->early_tail = rank;
        wide->early_tail = &rank->next_early;
    }
    if (wide->idle)
        pthread_cond_signal(&wide->work);
}

static struct sim_rank *early_take(struct sim_wide *wide)
{
    while (wide->early_head) {
        struct sim_rank *rank = wide->early_head;
        wide->early_head = rank->next_early;
        if (!wide->early_head)
            wide->early_tail = &wide->early_head;
        rank->in_early = false;
        if (rank->may_go_ahead && !rank->carried)
            return rank;
    }
    return NULL;
}

static struct sim_rank *turn_of(struct sim_world *world)
{
    return atomic_load_explicit(&world->turn, memory_order_relaxed);
}

static void give_notice(struct sim_world *world)
{
    world->wide->done = true;
    pthread_cond_broadcast(&world->wide->work);
    pthread_cond_broadcast(&world->wide->quiet);
}

/* Who had the turn blocks, yields or has ended. The thread that carries it comes to look for another
 * rank next. */
static void pass_turn(struct sim_world *world)
{
    struct sim_rank *next = sim_fiber_next(world);
    if (next) { /* which may see at once that it has the turn */
        sim_rank_move(next, SIM_RUNNING);
        next->turned = world->steps;
        world->switches++;
    }
    atomic_store_explicit(&world->turn, next, memory_order_release);
    if (world->wide->dying)
        pthread_cond_broadcast(&world->wide->quiet);
    if (!next)
        give_notice(world);
}

/* Whom this carrier may resume. */
static struct sim_rank *pick(struct sim_world *world)
{
    struct sim_wide *wide = world->wide;
    if (wide->narrowing || wide->done)
        return NULL;
    struct sim_rank *turn = turn_of(world);
    return turn && !turn->carried ? turn : early_take(wide);
}

/* --- carrying --- */

static void carry(struct sim_world *world, struct sim_rank *rank)
{
    rank->carried = true;
    rank->inside = true; /* of a call, or before the first; it leaves the monitor by itself */
    atomic_fetch_sub_explicit(&world->wide->ahead, rank->may_go_ahead, memory_order_relaxed);
    rank->may_go_ahead = false;
    rank->thread = pthread_self();
    world->wide->carried++;
    sim_current_rank = rank;
    errno = rank->saved_errno;
    sim_fiber_announce_switch(NULL, rank, false);
    sim_fiber_switch(&home, rank->stack_pointer);
    sim_fiber_announce_arrival(NULL, NULL);
    sim_current_rank = NULL;
    home = NULL;
    rank->carried = false;
    if (!--world->wide->carried && (world->wide->narrowing || world->wide->done))
        pthread_cond_broadcast(&world->wide->quiet);
}

/* To the loop of the thread that carries it; comes back when some thread resumes it. */
static __attribute__((noinline)) void go_home(struct sim_rank *rank, bool ends)
{
    rank->saved_errno = errno;
    sim_fiber_announce_switch(rank, NULL, ends);
    sim_fiber_switch(&rank->stack_pointer, home);
    sim_fiber_announce_arrival(rank, NULL);
    if (!rank->world->wide) { /* it has its turn */
        *rank->world->errno_address = rank->saved_errno;
        rank->turned = rank->world->steps;
    }
}

/* Whether a carrier could find something to do, or none is needed any more. Not in the monitor. */
static bool anything_to_do(struct sim_world *world)
{
    struct sim_wide *wide = world->wide;
    const struct sim_rank *turn = turn_of(world);
    return (turn && !atomic_load_explicit(&turn->carried, memory_order_relaxed)) ||
           atomic_load_explicit(&wide->ahead, memory_order_relaxed) ||
           atomic_load_explicit(&wide->done, memory_order_relaxed) ||
           atomic_load_explicit(&wide->narrowing, memory_order_relaxed);
}

/* An idle carrier, in the monitor, looks around for a moment before it sleeps. False: in vain. */
static bool stay_awake(struct sim_world *world)
{
    pthread_mutex_unlock(&world->monitor);
    int found = 0;
    for (int i = 1; i < world->spins && found < PATIENCE; i++) {
        sim_awake_pause();
        if (i % PAUSES == 0)
            found = anything_to_do(world) ? found + 1 : 0;
    }
    for (int i = 0; i < YIELDS && world->spins && !found; i++) {
        sched_yield();
        found = anything_to_do(world);
    }
    sim_awake_lock(world);
    return found;
}

static void *carrier(void *argument)
{
    struct sim_world *world = argument;
    sim_libc_thread_carries();
    if (world->options.carrier)
        world->options.carrier();
    pthread_mutex_lock(&world->monitor);
    struct sim_wide *wide = world->wide;
    for (bool tired = false;;) {
        struct sim_rank *rank = pick(world);
        if (rank) {
            carry(world, rank);
            tired = false;
        } else if (wide->done || wide->narrowing) {
            break;
        } else if (!tired) {
            tired = !stay_awake(world);
        } else {
            wide->idle++;
            pthread_cond_wait(&wide->work, &world->monitor);
            wide->idle--;
            tired = false;
        }
    }
    pthread_mutex_unlock(&world->monitor);
    return NULL;
}

static bool carrier_start(struct sim_world *world)
{
    struct sim_wide *wide = world->wide;
    if (wide->carriers == CARRIERS_MAX ||
        pthread_create(&wide->threads[wide->carriers], NULL, carrier, world))
        return false;
    wide->carriers++;
    return true;
}

/* --- wide and narrow --- */

static void flags_set(struct sim_world *world, bool wide)
{
    world->threaded = wide;
    world->guarded = wide || sim_world_always_guarded(world);
    world->executor = wide ? &sim_wide_fibers : &sim_fibers;
    for (int i = 0; i < world->size; i++) {
        struct sim_rank *rank = &world->ranks[i];
        rank->plain = sim_rank_plain(rank) && !rank->stray.state;
        rank->asleep = rank->state == SIM_BLOCKED;
        rank->inside = rank->in_early = rank->may_go_ahead = false;
    }
}

static void wide_free(struct sim_world *world)
{
    struct sim_wide *wide = world->wide;
    for (int i = 0; i < wide->carriers; i++)
        pthread_join(wide->threads[i], NULL);
    pthread_cond_destroy(&wide->work);
    pthread_cond_destroy(&wide->quiet);
    free(wide);
    world->wide = NULL;
    flags_set(world, false);
}

/* The turn, and those that may go on ahead of theirs, as the world stands. */
static void begin_turns(struct sim_world *world)
{
    struct sim_rank *hosted = sim_current_rank;
    for (struct sim_rank *rank = world->ready_head; rank; rank = rank->next_ready)
        if (rank->fresh || rank->early)
            early_add(world, rank);
    if (!hosted) {
        pass_turn(world);
        return;
    }
    hosted->carried = true;
    hosted->thread = pthread_self();
    home = world->host_stack_pointer;
    world->wide->hosted = hosted;
    world->wide->carried++;
    atomic_store_explicit(&world->turn, hosted, memory_order_release);
}

bool sim_wide_begin(struct sim_world *world)
{
    struct sim_wide *wide = sim_wide_possible(world) ? calloc(1, sizeof *wide) : NULL;
    if (!wide)
        return false;
    pthread_cond_init(&wide->work, NULL);
    pthread_cond_init(&wide->quiet, NULL);
    wide->early_tail = &wide->early_head;
    pthread_mutex_lock(&world->monitor);
    world->wide = wide;
    world->spins = sim_awake_looks(cores(world));
    bool started = true;
    for (int i = 0, n = cores(world); i < n && started; i++)
        started = carrier_start(world);
    wide->done = !wide->carriers;
    if (!wide->done) {
        world->widened++;
        atomic_store_explicit(world->running, -1, memory_order_relaxed);
        flags_set(world, true);
        begin_turns(world);
    }
    pthread_mutex_unlock(&world->monitor);
    if (wide->done)
        wide_free(world);
    return world->wide;
}

struct sim_rank *sim_wide_host(struct sim_world *world)
{
    struct sim_wide *wide = world->wide;
    if (wide->hosted) { /* has come home, in the monitor */
        wide->hosted->carried = false;
        wide->carried--;
        wide->hosted = NULL;
        home = NULL;
        pthread_cond_broadcast(&wide->work); /* it does not look for another one */
    } else {
        pthread_mutex_lock(&world->monitor);
    }
    while (!world->over && (wide->carried || !(wide->done || wide->narrowing)))
        pthread_cond_wait(&wide->quiet, &world->monitor);
    bool left_behind = wide->carried; /* the world is over for them, which they do not know yet */
    struct sim_rank *next = world->over ? NULL : turn_of(world);
    pthread_mutex_unlock(&world->monitor);
    if (!left_behind)
        wide_free(world);
    if (next)
        world->switches--; /* to whom is counted again */
    return next;
}

void sim_wide_end(struct sim_world *world)
{
    if (world->wide)
        wide_free(world);
}

/* --- the calls of ranks --- */

/* In the monitor, and wide; suspended until it has the turn. By then the world may be narrow. */
static void await_turn(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    while (world->wide && turn_of(world) != rank)
        go_home(rank, false);
}

void sim_wide_enter(struct sim_world *world)
{
    struct sim_rank *rank = sim_current_rank;
    bool member = rank && rank->world == world && home;
    if (member && rank->inside)
        return; /* it died within */
    sim_awake_lock(world);
    if (!member)
        return;
    rank->inside = true;
    await_turn(rank);
    sim_libc_output_kept(&rank->libc);
}

bool sim_wide_is_ahead(void)
{
    const struct sim_rank *rank = sim_current_rank;
    return rank && rank->world->wide && home &&
           atomic_load_explicit(&rank->world->turn, memory_order_acquire) != rank;
}

void sim_wide_await_dying(void)
{
    struct sim_rank *rank = sim_current_rank;
    struct sim_world *world = rank ? rank->world : NULL;
    if (!world || !world->wide || rank->inside || !home)
        return;
    pthread_mutex_lock(&world->monitor);
    struct sim_wide *wide = world->wide;
    if (turn_of(world) != rank) {
        carrier_start(world); /* this one is not free any more */
        wide->dying++;
        while (turn_of(world) != rank && !world->over)
            pthread_cond_wait(&wide->quiet, &world->monitor);
        wide->dying--;
    }
    if (world->over)
        go_home(rank, true);
    sim_libc_output_kept(&rank->libc);
    pthread_mutex_unlock(&world->monitor);
}

void sim_wide_never(struct sim_world *world)
{
    struct sim_rank *rank = sim_current_rank;
    atomic_store_explicit(&world->never_wide, true, memory_order_relaxed);
    if (!world->wide || !rank || rank->world != world || rank->inside)
        return;
    sim_wide_enter(world);
    if (world->wide) {
        world->wide->narrowing = true;
        pthread_cond_broadcast(&world->wide->work);
        go_home(rank, false);
    }
    rank->inside = false;
}

static void wide_block(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    if (turn_of(world) == rank) {
        sim_rank_move(rank, SIM_BLOCKED);
        rank->asleep = 1;
        pass_turn(world);
    } /* else it came back ahead of its turn, too early: it looks again in its turn */
    go_home(rank, false);
}

static void wide_wake(struct sim_rank *rank)
{
    rank->asleep = 0;
    sim_fiber_enqueue(rank->world, rank);
    if (rank->early)
        early_add(rank->world, rank);
}

static void wide_yield(struct sim_rank *rank)
{
    sim_rank_move(rank, SIM_READY);
    sim_fiber_enqueue(rank->world, rank);
    pass_turn(rank->world);
    go_home(rank, false);
}

static _Noreturn void wide_leave(struct sim_rank *rank)
{
    if (!rank->world->over)
        pass_turn(rank->world);
    else
        give_notice(rank->world);
    go_home(rank, true);
    abort(); /* a rank that has left is never resumed */
}

/* It goes on ahead of its next turn; who has the turn now is carried by another. */
static void wide_give_way(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    if (turn_of(world) != rank)
        return; /* not in its turn: it has waited */
    sim_rank_move(rank, SIM_READY);
    sim_fiber_enqueue(world, rank);
    pass_turn(world);
    if (world->wide->idle)
        pthread_cond_signal(&world->wide->work);
}

const struct sim_executor sim_wide_fibers = {NULL,       wide_block,    wide_wake,
                                             wide_yield, wide_give_way, wide_leave};

void sim_wide_narrow(struct sim_world *world)
{
    pthread_mutex_lock(&world->monitor);
    if (world->wide && !world->wide->done) {
        world->wide->narrowing = true;
        pthread_cond_broadcast(&world->wide->work);
        if (!world->wide->carried)
            pthread_cond_broadcast(&world->wide->quiet);
    }
    pthread_mutex_unlock(&world->monitor);
}
