/* Ranks as OS threads: each rank is one thread of an OpenMP team, for real concurrency and for
 * ThreadSanitizer.
 *
 * The world is a monitor: one mutex, one condition variable per rank. A rank that must stop for
 * good (the world is over, it has ended) unwinds to its first frame with longjmp, since a thread of
 * a team has to return from the parallel region. */
#include "recorder/recorder.h"
#include "sim/base/asleep.h"
#include "sim/worlds/error.h"
#include "sim/worlds/rank.h"
#include "sim/worlds/turns.h"
#include "sim/worlds/wide.h"

#include <assert.h>
#include <errno.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* OpenMP's runtime starts and joins the team out of ThreadSanitizer's sight: these say what its
 * barriers order. */
#if defined(__SANITIZE_THREAD__)
#define THREAD_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_TSAN 1
#endif
#endif
#ifdef THREAD_TSAN
#include <sanitizer/tsan_interface.h>
static char fork_and_join; /* an address to speak of; the same for all worlds, since a thread cannot
                              look at its world before */
#define TEAM_RELEASE() __tsan_release(&fork_and_join)
#define TEAM_ACQUIRE() __tsan_acquire(&fork_and_join)
/* What LLVM's OpenMP runtime does with mutexes of its own; threads that the end of a world ends,
 * whom nobody joins any more. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:libomp.so\nthread:sim_libc_thread_start";
}
#else
#define TEAM_RELEASE() ((void)0)
#define TEAM_ACQUIRE() ((void)0)
#endif

/* The calling thread stops for good; not in the monitor. A rank's own returns from its first frame,
 * a POSIX thread ends, one of a rank's OpenMP team sleeps until the process ends, since its team
 * waits for it in any case; out of a task it goes on, since others wait for the task in the runtime. */
static _Noreturn void stop_here(struct sim_rank *rank)
{
    if (sim_libc_place() != SIM_LIBC_THREAD) {
        sim_libc_regions_abandon(&rank->libc);
        longjmp(*rank->unwind, 1);
    }
    if (sim_libc_thread_is_counted())
        pthread_exit(NULL);
    sim_libc_task_leave();
    for (;;)
        pause();
}

static void stop_world_if_stuck(struct sim_world *world)
{
    if (!world->runnable && !world->over && world->live && !sim_world_quiescent(world))
        sim_world_stop(world, OUTCOME_DEADLOCK);
}

static _Noreturn void thread_leave(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    if (world->turns)
        sim_turns_drop(rank);
    stop_world_if_stuck(world);
    if (world->turns)
        sim_turns_next(world);
    pthread_cond_broadcast(rank->wakeup); /* others of its threads, which have ended with it */
    sim_world_leave(world);
    stop_here(rank);
}

/* The world ended while this rank was under way: it stops where it stands, its state says where
 * that was. So does every other thread of a rank that one of its threads has ended. */
static void stop_if_over(struct sim_rank *rank)
{
    if (!rank->world->over && rank->state <= SIM_BLOCKED)
        return;
    sim_world_leave(rank->world);
    stop_here(rank);
}

/* In how many critical sections, ordered ones and locks the calling thread is. */
static _Thread_local int orderings;

/* Calls of two threads of a team between which the team has not met, and which are not both within
 * something that orders threads, may be made at once. What tasks do is not judged: they wait for each
 * other in ways that are not seen. */
static bool at_once_with(struct sim_rank *rank, struct sim_team_call *call)
{
    static _Thread_local char self;
    struct sim_team *team = rank->team;
    bool in_team =
        sim_libc_place() == SIM_LIBC_THREAD ? sim_libc_in_team() : rank->libc.regions == 1;
    if (!team || team->size < 2 || !in_team || team->made || team->begun)
        return false;
    struct sim_team_call last = *call;
    *call = (struct sim_team_call){(uintptr_t)&self, team->round, orderings > 0, last.told};
    bool at_once = last.thread && last.thread != (uintptr_t)&self && last.round == team->round &&
                   !(last.ordered && orderings) && !last.told;
    call->told |= at_once;
    return at_once;
}

/* What it has of its own for that is not seen. */
static bool may_order(const struct sim_rank *rank)
{
    const struct sim_team *team = rank->team;
    return rank->world->options.wide == SIM_WIDE_NEVER ||
           __atomic_load_n(&team->looked, __ATOMIC_RELAXED) == team->round + 1;
}

bool sim_threads_collective(struct sim_rank *rank, struct sim_team_call **last, bool *perhaps)
{
    if (!rank->team || rank->team->size < 2)
        return false;
    if (!*last)
        *last = calloc(1, sizeof **last);
    assert(*last && "out of memory for a team");
    *perhaps = may_order(rank);
    return at_once_with(rank, *last);
}

/* With MPI_THREAD_SERIALIZED the program sees to it that its threads call one at a time. */
static void check_serialized(struct sim_rank *rank)
{
    pthread_mutex_lock(&rank->world->monitor);
    bool at_once = rank->team && at_once_with(rank, &rank->team->call);
    pthread_mutex_unlock(&rank->world->monitor);
    if (at_once && rank->world->options.wide == SIM_WIDE_NEVER) /* it may have mutexes of its own */
        record_gap("threads", 1,
                   "calls of two threads with MPI_THREAD_SERIALIZED, which only mutexes of the "
                   "program can keep apart (M009)");
    else if (at_once)
        record_refusal("M009", sim_libc_call_site(),
                       "MPI_%s: called by a thread while another thread of its team may be in MPI: "
                       "MPI_THREAD_SERIALIZED allows one at a time",
                       sim_error_function("?"));
}

/* Below MPI_THREAD_SERIALIZED the thread that initialized MPI calls, and no other. Some calls come here
 * twice. */
static void check_funneled(const struct sim_rank *rank)
{
    static _Thread_local const void *told;
    if (!rank->initialized || rank->finalized || rank->used_session || rank->begun_elsewhere ||
        sim_libc_place() != SIM_LIBC_THREAD)
        return;
    const void *site = sim_libc_call_site();
    const char *function = sim_error_function("");
    if ((site && site == told) || !*function) /* a thread that ends calls nothing */
        return;
    told = site;
    record_refusal("M009", site,
                   "MPI_%s: called by a thread that is not the rank's main one: %s allows that one "
                   "alone",
                   function,
                   rank->thread_level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED"
                                                             : "MPI_THREAD_SINGLE");
}

void sim_threads_enter(struct sim_world *world)
{
    if (world->wide) {
        sim_wide_enter(world);
        return;
    }
    bool member = sim_current_rank && sim_current_rank->world == world;
    if (member && sim_current_rank->thread_level == MPI_THREAD_SERIALIZED && !world->turns)
        check_serialized(sim_current_rank);
    if (member && sim_current_rank->thread_level < MPI_THREAD_SERIALIZED)
        check_funneled(sim_current_rank);
    if (member && world->turns)
        sim_turns_near(sim_current_rank);
    sim_awake_lock(world);
    if (!member)
        return;
    if (world->turns)
        sim_turns_wait(sim_current_rank);
    if (world->exploring && sim_libc_place() != SIM_LIBC_RANK)
        world->chooser.log.gaps |= SIM_GAP_THREADS;
    uint64_t steps = atomic_load_explicit(&sim_current_rank->own_steps, memory_order_relaxed);
    atomic_store_explicit(&sim_current_rank->own_steps, steps + 1, memory_order_relaxed);
    stop_if_over(sim_current_rank);
}

void sim_threads_leave(struct sim_world *world)
{
    if (world->wide && sim_current_rank)
        sim_current_rank->inside = false;
    if (world->turns && sim_current_rank && sim_current_rank->world == world)
        sim_turns_pass(sim_current_rank);
    pthread_mutex_unlock(&world->monitor);
}

/* Whether a thread that blocks brings its rank nearer to being blocked. In a region within another,
 * or one of a runtime that does not say how many threads it has, others may go on: such a rank is
 * never taken for blocked. */
static bool is_counted(const struct sim_rank *rank)
{
    enum sim_libc_place place = sim_libc_place();
    bool in_team = rank->team && rank->team->size &&
                   (place == SIM_LIBC_THREAD ? sim_libc_in_team() : rank->libc.regions == 1);
    return rank->state <= SIM_BLOCKED &&
           (place == SIM_LIBC_RANK || sim_libc_thread_is_counted() || in_team);
}

/* Threads that wait in the runtime where a team meets and are in no task: for those that have not come
 * yet, or for the tasks that others of the team are in. */
static int resting(const struct sim_team *team)
{
    if (!team || !team->size || team->made)
        return 0;
    bool stay = team->met ? team->met == team->size && team->begun : team->arrived > 0;
    return stay ? team->idle : 0;
}

/* None of its threads can go on by itself. One that joins a thread cannot, as long as some other
 * waits in a call. */
static bool all_wait(const struct sim_rank *rank)
{
    return rank->waiting &&
           rank->waiting + rank->joining + resting(rank->team) == 1 + rank->threads;
}

static void stop_if_all_wait(struct sim_rank *rank)
{
    if (rank->state > SIM_RUNNING || !all_wait(rank))
        return;
    sim_rank_move(rank, SIM_BLOCKED);
    stop_world_if_stuck(rank->world);
}

/* The world ended while this POSIX thread of a rank slept: it is waited for until it has told its
 * end. */
static _Thread_local bool woken_to_end;

static void block_until_turn(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    rank->asleep++;
    sim_rank_move(rank, SIM_BLOCKED);
    sim_turns_drop(rank);
    stop_world_if_stuck(world);
    sim_turns_next(world);
    if (!world->over) {
        pthread_mutex_unlock(&world->monitor);
        sim_turns_near(rank);
        pthread_mutex_lock(&world->monitor);
    }
    sim_turns_wait(rank); /* it has turns again once it is woken */
}

/* Whom somebody may wake in a moment. */
static void stay_awake(struct sim_rank *rank, uint64_t seen)
{
    struct sim_world *world = rank->world;
    pthread_mutex_unlock(&world->monitor);
    for (int i = 0; i < world->spins; i++) {
        if (atomic_load_explicit(&rank->wakes, memory_order_relaxed) != seen)
            break;
        sim_awake_pause();
    }
    sim_awake_lock(world);
}

static void block_until_woken(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    uint64_t seen = atomic_load_explicit(&rank->wakes, memory_order_relaxed);
    int child = sim_libc_place() == SIM_LIBC_THREAD;
    rank->asleep++;
    rank->waiting += is_counted(rank);
    if (is_counted(rank) && all_wait(rank))
        sim_rank_move(rank, SIM_BLOCKED);
    stop_world_if_stuck(world);
    world->sleeping_children += child;
    if (world->spins && !world->over)
        stay_awake(rank, seen);
    while (rank->wakes == seen && !world->over && rank->state <= SIM_BLOCKED)
        pthread_cond_wait(rank->wakeup, &world->monitor);
    woken_to_end = child && world->over && sim_libc_thread_is_counted();
    world->sleeping_children -= child && !woken_to_end;
}

static void thread_block(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    if (world->turns)
        block_until_turn(rank);
    else
        block_until_woken(rank);
    stop_if_over(rank);
    if (rank->state == SIM_READY)
        sim_rank_move(rank, SIM_RUNNING);
    world->switches++;
}

static void thread_wake(struct sim_rank *rank)
{
    rank->waiting = rank->asleep = 0;
    rank->wakes++;
    if (rank->world->turns) {
        sim_turns_join(rank);
        return;
    }
    pthread_cond_broadcast(rank->wakeup);
}

static uint64_t moves(void *context)
{
    static _Atomic uint64_t busy = UINT64_MAX / 2; /* another number each time */
    struct sim_world *world = context;
    if (pthread_mutex_trylock(&world->monitor)) /* somebody is there, and moves */
        return atomic_fetch_add(&busy, 1);
    uint64_t steps = world->steps;
    pthread_mutex_unlock(&world->monitor);
    return steps;
}

static bool somebody_waits(const struct sim_world *world)
{
    for (int i = 0; i < world->size; i++)
        if (world->ranks[i].asleep && world->ranks[i].state <= SIM_BLOCKED)
            return true;
    return false;
}

/* Nobody goes on by itself: the world ends, and then whoever is in OpenMP's runtime is called out of
 * there. */
static void end_all_asleep(void *context)
{
    struct sim_world *world = context;
    if (pthread_mutex_trylock(&world->monitor))
        return;
    if (!world->over && somebody_waits(world) && !sim_world_quiescent(world))
        sim_world_stop(world, OUTCOME_DEADLOCK);
    else if (world->over && world->options.wide_signal)
        for (int i = 0; i < world->size; i++)
            if (world->ranks[i].unwind)
                pthread_kill(world->ranks[i].thread, world->options.wide_signal);
    pthread_mutex_unlock(&world->monitor);
}

bool sim_world_called_out(void)
{
    struct sim_rank *rank = sim_current_rank;
    if (!rank || !rank->world->threaded || !rank->world->over || !rank->unwind ||
        sim_libc_place() == SIM_LIBC_THREAD)
        return false;
    sim_libc_regions_abandon(&rank->libc);
    longjmp(*rank->unwind, 1);
}

/* What a runtime makes threads wait for is not known to the machine in every case. In the monitor. */
static void watch_threads(struct sim_world *world)
{
    if (!world->asleep && !world->over && !world->turns)
        world->asleep = asleep_watch_begin(moves, end_all_asleep, world);
}

void sim_threads_changed(struct sim_rank *rank, int threads, int joining)
{
    struct sim_world *world = rank->world;
    pthread_mutex_lock(&world->monitor);
    sim_world_changed(world);
    rank->threads += threads;
    rank->joining += joining;
    if (threads > 0)
        watch_threads(world);
    if (threads < 0 && woken_to_end)
        world->sleeping_children--;
    stop_if_all_wait(rank);
    pthread_mutex_unlock(&world->monitor);
}

/* The calling thread waits for others of its rank's team until the number has grown so far. Who
 * lets it go on takes it from those that join. */
static void team_wait(struct sim_rank *rank, const uint64_t *number, uint64_t far)
{
    struct sim_world *world = rank->world;
    int child = sim_libc_place() == SIM_LIBC_THREAD;
    rank->joining++;
    stop_if_all_wait(rank);
    world->sleeping_children += child;
    while (*number < far && !world->over && rank->state <= SIM_BLOCKED)
        pthread_cond_wait(rank->wakeup, &world->monitor);
    world->sleeping_children -= child;
    if (!child || *number < far) /* else the others wait for it in the runtime by now */
        stop_if_over(rank);
}

/* The calling thread is where its team meets, in the runtime. */
static _Thread_local bool at_meeting;

/* Whoever has come to a meeting runs the tasks there are, in the runtime. So it waits there, not in
 * the machine, once there are some. */
static void team_call_to_tasks(struct sim_rank *rank)
{
    struct sim_team *team = rank->team;
    int waiting = team->arrived - team->entered;
    if (!waiting)
        return;
    rank->joining -= waiting;
    team->idle += waiting;
    team->entered += waiting;
    team->called++;
    pthread_cond_broadcast(rank->wakeup);
}

/* Until all have come, or there are tasks. */
static void team_await(struct sim_rank *rank, uint64_t round, uint64_t called)
{
    const struct sim_team *team = rank->team;
    struct sim_world *world = rank->world;
    int child = sim_libc_place() == SIM_LIBC_THREAD;
    world->sleeping_children += child;
    while (team->round == round && team->called == called && !world->over &&
           rank->state <= SIM_BLOCKED)
        pthread_cond_wait(rank->wakeup, &world->monitor);
    world->sleeping_children -= child;
    if (!child || (team->round == round && team->called == called))
        stop_if_over(rank);
}

/* All of a team meet: at a barrier, or at the end of its region. */
static void team_meet(struct sim_rank *rank)
{
    struct sim_team *team = rank->team;
    uint64_t round = team->round, called = team->called;
    if (++team->arrived == team->size) {
        rank->joining -= team->size - 1 - team->entered;
        team->idle += team->size - team->entered;
        team->arrived = team->entered = 0;
        team->met = team->size;
        team->round++;
        pthread_cond_broadcast(rank->wakeup);
        stop_if_all_wait(rank);
    } else {
        rank->joining++;
        if (team->made || team->begun)
            team_call_to_tasks(rank);
        stop_if_all_wait(rank);
        team_await(rank, round, called);
    }
    at_meeting = true;
}

static void team_met(struct sim_team *team)
{
    at_meeting = false;
    team->met--;
    team->idle--;
}

/* A critical section of the rank, NULL: there are too many. */
static struct sim_critical *critical_of(struct sim_team *team, uintptr_t name)
{
    for (size_t i = 0; i < sizeof team->criticals / sizeof *team->criticals; i++) {
        struct sim_critical *critical = &team->criticals[i];
        if (!critical->tickets)
            critical->name = name;
        if (critical->name == name)
            return critical;
    }
    return NULL;
}

static void critical_enter(struct sim_rank *rank, struct sim_critical *critical)
{
    uint64_t ticket = critical->tickets++;
    if (ticket > critical->served)
        team_wait(rank, &critical->served, ticket);
}

static void critical_leave(struct sim_rank *rank, struct sim_critical *critical)
{
    critical->served++;
    rank->joining -= critical->tickets > critical->served;
    pthread_cond_broadcast(rank->wakeup);
}

/* Waits for the turn of a chunk, as long as there is a place to say so: who ends the chunk before
 * takes it from those that join. */
static void turn_wait(struct sim_rank *rank, struct sim_turns_of_loop *turns, long first)
{
    struct sim_world *world = rank->world;
    if (turns->next == first || turns->waiting == sizeof turns->waits / sizeof *turns->waits)
        return;
    int child = sim_libc_place() == SIM_LIBC_THREAD;
    turns->waits[turns->waiting++] = first;
    rank->joining++;
    stop_if_all_wait(rank);
    world->sleeping_children += child;
    while (turns->next != first && !world->over && rank->state <= SIM_BLOCKED)
        pthread_cond_wait(rank->wakeup, &world->monitor);
    world->sleeping_children -= child;
    if (!child || turns->next != first)
        stop_if_over(rank);
}

static void turn_done(struct sim_rank *rank, struct sim_turns_of_loop *turns, long end)
{
    turns->next = end;
    for (int i = 0; i < turns->waiting; i++)
        if (turns->waits[i] == end) {
            turns->waits[i] = turns->waits[--turns->waiting];
            rank->joining--;
            break;
        }
    pthread_cond_broadcast(rank->wakeup);
}

static void team_tell_turn(struct sim_rank *rank, enum sim_team_event event,
                           const struct sim_team_turn *turn)
{
    struct sim_turns_of_loop *turns = &rank->team->ordered[turn->loop % 4];
    if (event == SIM_TEAM_TURNS && turns->loop != turn->loop)
        *turns = (struct sim_turns_of_loop){.loop = turn->loop, .next = turn->first};
    else if (event == SIM_TEAM_TURN)
        turn_wait(rank, turns, turn->first);
    else if (event == SIM_TEAM_TURN_DONE)
        turn_done(rank, turns, turn->end);
}

static void team_tell_task(struct sim_rank *rank, enum sim_team_event event,
                           struct sim_team_task *task)
{
    struct sim_team *team = rank->team;
    team->made += (event == SIM_TEAM_TASK) - (event == SIM_TEAM_TASK_BEGIN);
    int begun = (event == SIM_TEAM_TASK_BEGIN) - (event == SIM_TEAM_TASK_END);
    team->begun += begun;
    team->idle -= begun && at_meeting && !task->within ? begun : 0;
    if (event == SIM_TEAM_TASK_BEGIN)
        task->interrupted = record_task(team->size > 1 ? RECORD_TASK_NEW : RECORD_TASK_NONE);
    else if (event == SIM_TEAM_TASK_END)
        record_task(task->interrupted);
    if (event == SIM_TEAM_TASK)
        team_call_to_tasks(rank);
    if (event == SIM_TEAM_TASK_END)
        stop_if_all_wait(rank);
}

static void team_tell(struct sim_rank *rank, enum sim_team_event event, uintptr_t what)
{
    struct sim_team *team = rank->team;
    if (event == SIM_TEAM_BEGIN) {
        at_meeting = false;
        record_task(RECORD_TASK_NONE);
    }
    if (event == SIM_TEAM_BEGIN && !team->size) {
        team->size = (int)what;
        rank->threads += team->size - 1;
        if (team->size > 1)
            watch_threads(rank->world);
    } else if (event == SIM_TEAM_MEET && team->size) {
        team_meet(rank);
    } else if (event == SIM_TEAM_MET && team->size) {
        team_met(team);
    } else if (event == SIM_TEAM_END && team->size) {
        rank->threads -= team->size - 1;
        team->size = team->met = team->made = team->begun = team->idle = 0;
        memset(team->ordered, 0, sizeof team->ordered);
    } else if (event >= SIM_TEAM_TURNS && event <= SIM_TEAM_TURN_DONE && team->size) {
        team_tell_turn(rank, event, (const struct sim_team_turn *)what);
    } else if (event >= SIM_TEAM_TASK && team->size) {
        team_tell_task(rank, event, (struct sim_team_task *)what);
    }
}

bool sim_threads_team(struct sim_rank *rank, enum sim_team_event event, uintptr_t what)
{
    struct sim_world *world = rank->world;
    orderings += event == SIM_TEAM_CRITICAL || event == SIM_TEAM_ORDERED;
    orderings -= event == SIM_TEAM_UNCRITICAL || event == SIM_TEAM_UNORDERED;
    if (!world->multiple || world->turns)
        return false;
    pthread_mutex_lock(&world->monitor);
    if (!rank->team)
        rank->team = calloc(1, sizeof *rank->team);
    assert(rank->team && "out of memory for a team");
    sim_world_changed(world);
    bool critical = event == SIM_TEAM_CRITICAL || event == SIM_TEAM_UNCRITICAL;
    struct sim_critical *section = critical ? critical_of(rank->team, what) : NULL;
    if (event == SIM_TEAM_CRITICAL && section)
        critical_enter(rank, section);
    else if (event == SIM_TEAM_UNCRITICAL && section)
        critical_leave(rank, section);
    else if (!critical)
        team_tell(rank, event, what);
    if (event == SIM_TEAM_MET || event == SIM_TEAM_END)
        stop_if_over(rank);
    pthread_mutex_unlock(&world->monitor);
    return !critical || section;
}

/* When the world is over its ranks' threads let go of the monitor. */
static void wait_for_children(struct sim_world *world)
{
    for (int sleeping = 1; sleeping; sched_yield()) {
        pthread_mutex_lock(&world->monitor);
        sleeping = world->over ? world->sleeping_children : 0;
        pthread_mutex_unlock(&world->monitor);
    }
}

static void thread_yield(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    sim_world_leave(world);
    if (world->turns)
        sim_turns_near(rank);
    else
        sched_yield();
    pthread_mutex_lock(&world->monitor);
    if (world->turns)
        sim_turns_wait(rank);
    stop_if_over(rank);
}

/* No lock: a handler may have interrupted who holds it, and an answer about a moment ago will do.
 */
bool sim_world_pass_on(const struct sim_world *world, int signal_number)
{
    if (!world->threaded || world->over ||
        (sim_current_rank && sim_current_rank->state == SIM_RUNNING))
        return false;
    for (int i = 0; i < world->size; i++) {
        const struct sim_rank *rank = &world->ranks[i];
        if (rank->state != SIM_RUNNING || (!rank->unwind && !rank->carried) ||
            rank == sim_current_rank)
            continue;
        /* Within a handler of the program the thread is no rank's, and may be this one's. */
        return !pthread_equal(rank->thread, pthread_self()) &&
               !pthread_kill(rank->thread, signal_number);
    }
    return false;
}

int sim_world_vanished(const struct sim_world *world)
{
    for (int i = 0; world->threaded && !world->over && i < world->size; i++) {
        const struct sim_rank *rank = &world->ranks[i];
        if (rank->state == SIM_RUNNING && rank->unwind && rank != sim_current_rank &&
            syscall(SYS_tgkill, getpid(), rank->thread_id, 0) && errno == ESRCH)
            return i;
    }
    return -1;
}

__attribute__((noinline)) static void thread_main(struct sim_rank *rank)
{
    jmp_buf unwind;
    cpu_set_t cores = {0};
    struct sim_team_state team; /* the rank's own regions are not within this team's */
    sim_libc_team_aside(&team);
    rank->thread = pthread_self();
    rank->thread_id = gettid();
    rank->unwind = &unwind;
    sim_libc_thread_carries();
    sim_turns_pin(rank->world, &cores);
    sim_current_rank = rank;
    if (!setjmp(unwind)) {
        sim_threads_enter(rank->world);
        sim_rank_move(rank, SIM_RUNNING);
        sim_world_leave(rank->world);
        int code = rank->world->body(rank->world->context, rank->id);
        sim_rank_leave(rank, SIM_DONE, code);
    }
    pthread_mutex_lock(&rank->world->monitor);
    rank->unwind = NULL;
    pthread_mutex_unlock(&rank->world->monitor);
    sim_current_rank = NULL;
    sim_turns_unpin(rank->world, &cores);
    sim_libc_team_back(&team);
}

/* Not looked at by ThreadSanitizer: the compiler hands `world` over behind its back. */
__attribute__((no_sanitize("thread"))) static bool threads_run(struct sim_world *world,
                                                               struct failure *failure)
{
    pthread_cond_t *conditions = calloc((size_t)world->size, sizeof *conditions);
    int cores = world->options.cores;
    world->spins = !cores || world->size <= cores ? sim_awake_looks(world->size) : 0;
    if (!conditions || (world->turns && !sim_turns_begin(world))) {
        free(conditions);
        failure_set(failure, FAILURE_INTERNAL, "out of memory for %d OS threads", world->size);
        return false;
    }
    for (int i = 0; i < world->size; i++) {
        pthread_cond_init(&conditions[i], NULL);
        world->ranks[i].wakeup = &conditions[i];
    }
    int team = 0;
    int levels = omp_get_max_active_levels();
    omp_set_dynamic(0);
    omp_set_max_active_levels(omp_get_level() + 1);
    TEAM_RELEASE();
#pragma omp parallel num_threads(world->size)
    {
        TEAM_ACQUIRE();
        int got = omp_get_num_threads();
        if (got == world->size)
            thread_main(&world->ranks[omp_get_thread_num()]);
        if (omp_get_thread_num() == 0)
            team = got;
        TEAM_RELEASE();
    }
    TEAM_ACQUIRE();
    wait_for_children(world);
    asleep_watch_end(world->asleep);
    world->asleep = NULL;
    omp_set_max_active_levels(levels);
    for (int i = 0; i < world->size; i++)
        pthread_cond_destroy(&conditions[i]);
    free(conditions);
    sim_turns_end(world);
    if (team != world->size) {
        failure_set(failure, FAILURE_INTERNAL,
                    "the OpenMP runtime gave %d threads for %d ranks; use fewer ranks or leave out "
                    "--os-threads",
                    team, world->size);
        return false;
    }
    return true;
}

const struct sim_executor sim_threads = {threads_run,  thread_block, thread_wake,
                                         thread_yield, NULL,         thread_leave};
