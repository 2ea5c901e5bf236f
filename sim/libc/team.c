/* OpenMP regions of a rank: see hooks.h.
 *
 * The threads of a team outlive it: the runtime keeps them for the next region of the same OS
 * thread, which may be another rank's. So a team's thread belongs to a rank for the length of a
 * region only. The functions that compiled code calls to run a region, gcc's and clang's, are
 * exported here; for a rank, the region's body is wrapped in one that says whose it is. */
#include "sim/libc/common.h"

#include <omp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef void region_body(void *);

/* A region of a rank, by address: a thread of its team may begin when the rank, which was stopped
 * within, is gone. So it is not on the rank's stack, and stays where the rank never came back. */
struct libc_region {
    region_body *body;
    void *data;
    struct sim_libc_state *rank;
    _Atomic bool abandoned;
    bool direct;               /* the rank's own thread began it, outside of others */
    struct libc_region *outer; /* of the rank's own thread; then, of those that are abandoned */
    struct libc_pace pace;
};

static struct libc_region *abandoned;
static pthread_mutex_t abandoned_lock = PTHREAD_MUTEX_INITIALIZER;

/* Of `size` bytes, which begin with a struct libc_region. */
static void *region_new(size_t size, struct sim_libc_state *rank)
{
    struct libc_region *region = calloc(1, size);
    if (!region)
        abort();
    region->rank = rank;
    region->direct = !libc_thread_started && !rank->regions;
    region->pace.late = rank->late;
    if (libc_thread_started)
        return region;
    if (libc_hooks->region_begin)
        libc_hooks->region_begin(rank);
    region->outer = rank->open;
    rank->open = region;
    return region;
}

/* Told once the rank is outside of all its regions. */
static void region_left(struct libc_region *region)
{
    struct sim_libc_state *rank = region->rank;
    if (region->direct)
        libc_hooks->team(rank, SIM_TEAM_END, 0);
    if (!libc_thread_started)
        rank->open = region->outer;
    free(region);
    if (!rank->regions && !libc_thread_started)
        libc_hooks->region_end(rank);
}

void sim_libc_regions_abandon(struct sim_libc_state *state)
{
    pthread_mutex_lock(&abandoned_lock);
    for (struct libc_region *region = state->open, *outer; region; region = outer) {
        outer = region->outer;
        region->abandoned = true;
        region->outer = abandoned;
        abandoned = region;
    }
    pthread_mutex_unlock(&abandoned_lock);
    state->open = NULL;
}

static _Thread_local struct libc_region *within_direct; /* NULL: in none */

bool sim_libc_in_team(void)
{
    return within_direct != NULL;
}

static SIM_INTO_PROGRAM void body_call(const struct libc_region *region)
{
    region->body(region->data);
    SIM_INTO_PROGRAM_END;
}

/* The body, and the end of the region, where a team waits for the last of its threads. */
static void body_run(struct libc_region *region)
{
    if (region->direct)
        libc_ordered_begin();
    if (region->direct)
        libc_team_tell(region, SIM_TEAM_BEGIN, (uintptr_t)omp_get_num_threads());
    body_call(region);
    if (region->direct)
        libc_team_tell(region, SIM_TEAM_MEET, 0);
}

bool libc_team_lend(struct libc_region *region)
{
    if (!libc_thread_started || libc_hooks->number() >= 0)
        return false;
    libc_hooks->thread_begin(region->rank);
    libc_thread_enter(region->rank);
    within_direct = region;
    return true;
}

void libc_team_give_back(const struct libc_region *region)
{
    within_direct = NULL;
    libc_hooks->thread_end(region->rank);
}

bool libc_team_tell(struct libc_region *region, enum sim_team_event event, uintptr_t what)
{
    if (event == SIM_TEAM_BEGIN && what > 1 && !libc_thread_started)
        region->rank->company = true;
    if (event == SIM_TEAM_MEET) /* the machine may keep it there */
        libc_pace_tell(&region->pace, event, what);
    bool done = libc_hooks->team(region->rank, event, what);
    if (event != SIM_TEAM_MEET)
        libc_pace_tell(&region->pace, event, what);
    return done;
}

void sim_libc_team_pause(struct sim_libc_state *state)
{
    struct libc_region *region = libc_thread_started ? within_direct : state->open;
    if (region && region->direct)
        libc_pace_pause(&region->pace);
}

bool libc_team_is_abandoned(const struct libc_region *region)
{
    return region->abandoned;
}

static void region_run(void *argument)
{
    struct libc_region *region = argument;
    if (region->abandoned)
        return;
    if (libc_thread_started) {
        libc_hooks->thread_begin(region->rank);
        libc_thread_enter(region->rank);
        struct libc_region *before = within_direct;
        within_direct = region->direct ? region : NULL;
        libc_tasks_begin();
        body_run(region);
        within_direct = before;
        libc_hooks->thread_end(region->rank);
    } else {
        region->rank->regions++;
        body_run(region);
        region->rank->regions--;
    }
}

enum sim_libc_place sim_libc_place(void)
{
    if (libc_thread_started)
        return SIM_LIBC_THREAD;
    const struct sim_libc_state *state = libc_hooks->current();
    return state && state->regions ? SIM_LIBC_REGION : SIM_LIBC_RANK;
}

/* How many threads a rank asked for is its own affair; libgomp would ask them of the OS thread. */
void omp_set_num_threads(int threads);
void omp_set_num_threads(int threads)
{
    LIBC_REAL(omp_set_num_threads);
    struct sim_libc_state *state = libc_rank(LIBC_CALLER);
    if (state && !state->regions && !libc_thread_started && libc_team_is_gomp())
        state->team_size = threads > 0 ? threads : 1;
    else
        real(threads);
}

int omp_get_max_threads(void);
int omp_get_max_threads(void)
{
    LIBC_REAL(omp_get_max_threads);
    struct sim_libc_state *state = libc_rank(LIBC_CALLER);
    bool own = state && state->team_size && !state->regions && !libc_thread_started;
    return own ? state->team_size : real();
}

/* Regions within regions are run by the same threads or by new ones, all of the same rank. */
#define REGION(caller)                                                                             \
    struct sim_libc_state *rank = libc_rank(caller);                                               \
    struct libc_region *region = rank ? region_new(sizeof *region, rank) : NULL;                   \
    if (rank) {                                                                                    \
        region->body = body;                                                                       \
        region->data = data;                                                                       \
    }                                                                                              \
    region_body *run = rank ? region_run : body;                                                   \
    if (rank && !threads && !rank->regions && !libc_thread_started)                                \
        threads = (unsigned)rank->team_size;                                                       \
    void *with = rank ? (void *)region : data
#define REGION_END rank ? region_left(region) : (void)0

void GOMP_parallel(region_body *body, void *data, unsigned threads, unsigned flags);
void GOMP_parallel(region_body *body, void *data, unsigned threads, unsigned flags)
{
    LIBC_REAL(GOMP_parallel);
    REGION(LIBC_CALLER);
    real(run, with, threads, flags);
    REGION_END;
}

unsigned GOMP_parallel_reductions(region_body *body, void *data, unsigned threads, unsigned flags);
unsigned GOMP_parallel_reductions(region_body *body, void *data, unsigned threads, unsigned flags)
{
    LIBC_REAL(GOMP_parallel_reductions);
    REGION(LIBC_CALLER);
    unsigned got = real(run, with, threads, flags);
    REGION_END;
    return got;
}

void GOMP_parallel_sections(region_body *body, void *data, unsigned threads, unsigned count,
                            unsigned flags);
void GOMP_parallel_sections(region_body *body, void *data, unsigned threads, unsigned count,
                            unsigned flags)
{
    LIBC_REAL(GOMP_parallel_sections);
    REGION(LIBC_CALLER);
    real(run, with, threads, count, flags);
    REGION_END;
}

#define LOOP(name)                                                                                 \
    void name(region_body *body, void *data, unsigned threads, long start, long end, long step,    \
              long chunk, unsigned flags);                                                         \
    void name(region_body *body, void *data, unsigned threads, long start, long end, long step,    \
              long chunk, unsigned flags)                                                          \
    {                                                                                              \
        LIBC_REAL(name);                                                                           \
        REGION(LIBC_CALLER);                                                                       \
        real(run, with, threads, start, end, step, chunk, flags);                                  \
        REGION_END;                                                                                \
    }

LOOP(GOMP_parallel_loop_static)
LOOP(GOMP_parallel_loop_dynamic)
LOOP(GOMP_parallel_loop_guided)
LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
LOOP(GOMP_parallel_loop_nonmonotonic_guided)

#define RUNTIME_LOOP(name)                                                                         \
    void name(region_body *body, void *data, unsigned threads, long start, long end, long step,    \
              unsigned flags);                                                                     \
    void name(region_body *body, void *data, unsigned threads, long start, long end, long step,    \
              unsigned flags)                                                                      \
    {                                                                                              \
        LIBC_REAL(name);                                                                           \
        REGION(LIBC_CALLER);                                                                       \
        real(run, with, threads, start, end, step, flags);                                         \
        REGION_END;                                                                                \
    }

RUNTIME_LOOP(GOMP_parallel_loop_runtime)
RUNTIME_LOOP(GOMP_parallel_loop_nonmonotonic_runtime)
RUNTIME_LOOP(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

struct libc_region *libc_team_direct(const void *caller)
{
    struct sim_libc_state *rank = libc_rank(caller);
    if (!rank || libc_thread_started)
        return rank ? within_direct : NULL;
    return rank->regions <= 1 && rank->open && rank->open->direct ? rank->open : NULL;
}

/* Where the threads of a team wait for each other, the machine is told: a rank all of whose threads
 * wait is blocked. What the runtime does then is to run the tasks there are. */
#define MEETING(name)                                                                              \
    void name(void);                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
        LIBC_REAL(name);                                                                           \
        struct libc_region *region = libc_team_direct(LIBC_CALLER);                                \
        if (region)                                                                                \
            libc_team_tell(region, SIM_TEAM_MEET, 0);                                              \
        real();                                                                                    \
        if (region && !region->abandoned)                                                          \
            libc_team_tell(region, SIM_TEAM_MET, 0);                                               \
    }

MEETING(GOMP_barrier)
MEETING(GOMP_loop_end)
MEETING(GOMP_sections_end)

/* The runtime has one section without a name for all ranks of the process: a rank that waits for a
 * message within it would keep the others out. */
void GOMP_critical_start(void);
void GOMP_critical_start(void)
{
    LIBC_REAL(GOMP_critical_start);
    struct sim_libc_state *rank = libc_rank(LIBC_CALLER);
    if (!rank)
        real();
    else if (!libc_hooks->team(rank, SIM_TEAM_CRITICAL, 0))
        pthread_mutex_lock(&rank->critical);
}

void GOMP_critical_end(void);
void GOMP_critical_end(void)
{
    LIBC_REAL(GOMP_critical_end);
    struct sim_libc_state *rank = libc_rank(LIBC_CALLER);
    if (!rank)
        real();
    else if (!libc_hooks->team(rank, SIM_TEAM_UNCRITICAL, 0))
        pthread_mutex_unlock(&rank->critical);
}

void GOMP_critical_name_start(void **name);
void GOMP_critical_name_start(void **name)
{
    LIBC_REAL(GOMP_critical_name_start);
    struct sim_libc_state *rank = libc_rank(LIBC_CALLER);
    if (!rank || !libc_hooks->team(rank, SIM_TEAM_CRITICAL, (uintptr_t)name))
        real(name);
}

void GOMP_critical_name_end(void **name);
void GOMP_critical_name_end(void **name)
{
    LIBC_REAL(GOMP_critical_name_end);
    struct sim_libc_state *rank = libc_rank(LIBC_CALLER);
    if (!rank || !libc_hooks->team(rank, SIM_TEAM_UNCRITICAL, (uintptr_t)name))
        real(name);
}

/* A thread that waits for a lock is known to wait, as for a critical section of the lock's name; so
 * it never waits in the runtime. */
void omp_set_lock(omp_lock_t *lock)
{
    LIBC_REAL(omp_set_lock);
    struct sim_libc_state *rank = libc_rank(LIBC_CALLER);
    if (rank)
        libc_hooks->team(rank, SIM_TEAM_CRITICAL, (uintptr_t)lock);
    real(lock);
}

void omp_unset_lock(omp_lock_t *lock)
{
    LIBC_REAL(omp_unset_lock);
    struct sim_libc_state *rank = libc_rank(LIBC_CALLER);
    real(lock);
    if (rank)
        libc_hooks->team(rank, SIM_TEAM_UNCRITICAL, (uintptr_t)lock);
}

int omp_test_lock(omp_lock_t *lock)
{
    LIBC_REAL(omp_test_lock);
    struct sim_libc_state *rank = libc_rank(LIBC_CALLER);
    int taken = real(lock);
    if (rank && taken)
        libc_hooks->team(rank, SIM_TEAM_CRITICAL, (uintptr_t)lock);
    return taken;
}

/* clang's. A body is called with two pointers of the runtime's and the addresses of the region's
 * variables. Passing it more than it takes is harmless in the calling conventions of x86-64 and
 * aarch64, so that one call serves all. */
enum { VARIABLES_MAX = 32 };
typedef void clang_body(int32_t *, int32_t *, ...);

struct clang_region {
    struct libc_region region;
    clang_body *body;
    void *v[VARIABLES_MAX];
};

/* By one of its threads. */
struct clang_call {
    clang_body *body;
    int32_t *thread, *bound;
    void *v[VARIABLES_MAX];
};

static SIM_INTO_PROGRAM void clang_region_call(void *argument)
{
    const struct clang_call *r = argument;
    void *const *v = r->v;
    r->body(r->thread, r->bound, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10],
            v[11], v[12], v[13], v[14], v[15], v[16], v[17], v[18], v[19], v[20], v[21], v[22],
            v[23], v[24], v[25], v[26], v[27], v[28], v[29], v[30], v[31]);
    SIM_INTO_PROGRAM_END;
}

static void clang_region_run(int32_t *thread, int32_t *bound, struct clang_region *shared)
{
    if (!libc_thread_started)
        shared->region.rank->company = true; /* how many they are is not known */
    struct clang_call mine = {.body = shared->body, .thread = thread, .bound = bound};
    memcpy(mine.v, shared->v, sizeof mine.v);
    if (!shared->region.abandoned)
        region_run(&(struct libc_region){
            .body = clang_region_call, .data = &mine, .rank = shared->region.rank});
}

void __kmpc_fork_call(void *place, int32_t count, clang_body *body, ...);
void __kmpc_fork_call(void *place, int32_t count, clang_body *body, ...)
{
    LIBC_REAL(__kmpc_fork_call);
    struct sim_libc_state *rank = libc_rank(LIBC_CALLER);
    struct clang_region here = {.body = body}, *region = &here;
    if (rank) {
        region = region_new(sizeof *region, rank);
        region->body = body;
    }
    va_list arguments;
    if (count > VARIABLES_MAX)
        __builtin_trap(); /* clang packs the variables of a large region into a structure long
                             before */
    va_start(arguments, body);
    for (int32_t i = 0; i < count; i++)
        region->v[i] = va_arg(arguments, void *);
    va_end(arguments);
    void *const *v = region->v;
    if (rank) {
        real(place, 1, (clang_body *)clang_region_run, region);
        region_left(&region->region);
    } else
        real(place, count, body, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10],
             v[11], v[12], v[13], v[14], v[15], v[16], v[17], v[18], v[19], v[20], v[21], v[22],
             v[23], v[24], v[25], v[26], v[27], v[28], v[29], v[30], v[31]);
}
