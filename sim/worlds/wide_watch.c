/* Whether the ranks of a world compute, by looking at it now and then: see wide.h. */
#include "sim/worlds/wide.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

/* Each `LOOK_NS` the thread that runs the ranks is asked where it is, unless there were many calls. While
 * there are many it is looked at less and less often, up to `PAUSE_MAX` times: on a machine that others
 * use, too, each look may cost the thread its processor and what it has in the caches. */
enum {
    LOOK_NS = 1000000,
    PAUSE_WIDE = 2,
    PAUSE_MAX = 16,
    FEW_CALLS = 100,
    MANY_CALLS = 200,
    LOOKS_WIDE = 3,
    LOOKS_NARROW = 16
};

struct sim_wide_watch {
    pthread_t thread, host;
    pthread_mutex_t mutex;
    pthread_cond_t stop;
    bool stopped;
    atomic_int computed; /* looks in a row that found it in the program's code */
};

enum sim_wide_answer sim_wide_look(struct sim_wide_looks *looks, bool wide, bool never,
                                   uint64_t calls)
{
    bool many = calls >= MANY_CALLS;
    looks->busy = wide && many ? looks->busy + 1 : 0;
    if (wide)
        looks->pause = PAUSE_WIDE;
    else if (!many)
        looks->pause = 1;
    else
        looks->pause = looks->pause < PAUSE_MAX ? 2 * looks->pause : PAUSE_MAX;
    if (wide)
        return looks->busy == LOOKS_NARROW ? SIM_WIDE_BUSY : SIM_WIDE_CALLS;
    return calls < FEW_CALLS && !never ? SIM_WIDE_COMPUTES : SIM_WIDE_CALLS;
}

static void look(struct sim_world *world, struct sim_wide_watch *watch,
                 struct sim_wide_looks *looks, uint64_t calls)
{
    bool wide = atomic_load(&world->running[0]) < 0 && world->wide;
    enum sim_wide_answer answer = sim_wide_look(looks, wide, world->never_wide, calls);
    if (answer == SIM_WIDE_COMPUTES) {
        pthread_kill(watch->host, world->options.wide_signal);
        return;
    }
    atomic_store(&watch->computed, 0);
    if (answer == SIM_WIDE_BUSY)
        sim_wide_narrow(world);
}

/* Processor time of the thread that runs the ranks: on a machine that others use, too, it stands
 * still for a while. */
static uint64_t processor_ns(const struct sim_wide_watch *watch)
{
    clockid_t clock;
    struct timespec used;
    if (pthread_getcpuclockid(watch->host, &clock) || clock_gettime(clock, &used))
        return 0;
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static void *watch_main(void *argument)
{
    struct sim_world *world = argument;
    struct sim_wide_watch *watch = world->wide_watch;
    sim_libc_thread_carries();
    uint64_t steps = 0, used = 0;
    struct sim_wide_looks looks = {.pause = 1};
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    pthread_mutex_lock(&watch->mutex);
    while (!watch->stopped) {
        until.tv_nsec += (long)(LOOK_NS * looks.pause);
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        if (pthread_cond_timedwait(&watch->stop, &watch->mutex, &until) != ETIMEDOUT)
            continue;
        uint64_t now = __atomic_load_n(&world->steps, __ATOMIC_RELAXED), run = processor_ns(watch);
        if (!world->wide && run - used < LOOK_NS / 2 * looks.pause) {
            clock_gettime(CLOCK_MONOTONIC, &until);
            continue;
        }
        used = run;
        look(world, watch, &looks, (now - steps) / looks.pause);
        steps = now;
        clock_gettime(CLOCK_MONOTONIC, &until);
    }
    pthread_mutex_unlock(&watch->mutex);
    return NULL;
}

void sim_wide_watch(struct sim_world *world)
{
    if (!world->options.wide_signal || !sim_wide_possible(world))
        return;
    struct sim_wide_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&watch->stop, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&watch->mutex, NULL);
    watch->host = pthread_self();
    world->wide_watch = watch;
    if (!pthread_create(&watch->thread, NULL, watch_main, world))
        return;
    world->wide_watch = NULL;
    free(watch);
}

void sim_wide_unwatch(struct sim_world *world)
{
    struct sim_wide_watch *watch = world->wide_watch;
    if (!watch)
        return;
    pthread_mutex_lock(&watch->mutex);
    watch->stopped = true;
    pthread_cond_signal(&watch->stop);
    pthread_mutex_unlock(&watch->mutex);
    pthread_join(watch->thread, NULL);
    pthread_cond_destroy(&watch->stop);
    pthread_mutex_destroy(&watch->mutex);
    free(watch);
    world->wide_watch = NULL;
}

bool sim_world_computes(struct sim_world *world)
{
    struct sim_wide_watch *watch = world->wide_watch;
    return watch && !world->wide && pthread_equal(watch->host, pthread_self()) &&
           sim_current_rank && sim_current_rank->world == world &&
           atomic_fetch_add(&watch->computed, 1) + 1 >= LOOKS_WIDE;
}

bool sim_world_looked_at(const struct sim_world *world)
{
    return world->wide_watch && !world->wide;
}

void sim_world_widen(struct sim_world *world)
{
    int error = errno;
    if (sim_current_rank && !world->wide && !world->over)
        sim_wide_begin(world);
    errno = error;
}

uint32_t sim_world_widened(const struct sim_world *world)
{
    return world->widened;
}
