/* Ranks on all cores with one answer: the monitor of a world of OS threads, entered in turns.
 *
 * What a rank computes between its calls runs at any time, on any core. What it does in a call
 * happens in its turn. Every rank has a clock that counts its turns; of the ranks that are not
 * blocked the one whose clock is least enters, the lower number first, and only that one. Who is
 * woken is not behind who woke it. So the order of all that happens in calls depends on the program
 * alone, not on the number of cores or on who is faster, and with it the matches of wildcards, what
 * polls are told, and the trace. The price is that everybody waits in its calls for a rank that
 * computes and is behind. (The idea is Kendo's, Olszewski and others 2009, with calls for
 * instructions.)
 *
 * `turn` repeats whose turn it is, for those who wait without the mutex; nobody's once the world is
 * over. */
#include "sim/worlds/turns.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

/* A turn is waited for awake, for a moment: where every rank has a core by spinning, else by letting
 * others run, so that a core does not fall asleep between two turns. */
enum { SPINS = 4000, YIELDS = 30 };

#define NEVER UINT64_MAX /* the clock of a rank that is blocked, or has ended */

void sim_turns_next(struct sim_world *world)
{
    uint64_t least = NEVER;
    struct sim_rank *next = NULL;
    for (int i = 0; i < world->size; i++)
        if (world->clocks[i] < least) {
            least = world->clocks[i];
            next = &world->ranks[i];
        }
    world->ready_head = next;
    atomic_store_explicit(&world->turn, world->over ? NULL : next, memory_order_release);
    if (next && next->awaits_turn)
        pthread_cond_signal(next->wakeup);
}

int sim_awake_looks(int threads)
{
    cpu_set_t allowed;
    int cores = sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : CPU_COUNT(&allowed);
    return threads <= cores ? SPINS : 0;
}

void sim_awake_lock(struct sim_world *world)
{
    for (int tries = 1; tries < world->spins; tries *= 2) {
        if (!pthread_mutex_trylock(&world->monitor))
            return;
        for (int i = 0; i < tries; i++)
            sim_awake_pause();
    }
    pthread_mutex_lock(&world->monitor);
}

bool sim_turns_begin(struct sim_world *world)
{
    world->clocks = calloc((size_t)world->size, sizeof *world->clocks);
    if (!world->clocks)
        return false;
    sim_turns_next(world);
    return true;
}

void sim_turns_end(struct sim_world *world)
{
    free(world->clocks);
    world->clocks = NULL;
}

bool sim_turns_has(const struct sim_rank *rank)
{
    return rank && rank->world->ready_head == rank;
}

void sim_turns_near(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    for (int i = 0; i < (world->spins ? world->spins : YIELDS); i++) {
        const struct sim_rank *turn = atomic_load_explicit(&world->turn, memory_order_acquire);
        if (turn == rank || !turn)
            return;
        if (world->spins)
            sim_awake_pause();
        else
            sched_yield();
    }
}

void sim_turns_wait(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    rank->awaits_turn = true;
    while (world->ready_head != rank && !world->over && rank->state <= SIM_BLOCKED)
        pthread_cond_wait(rank->wakeup, &world->monitor);
    rank->awaits_turn = false;
}

void sim_turns_drop(struct sim_rank *rank)
{
    uint64_t *clock = &rank->world->clocks[rank->id];
    if (*clock != NEVER)
        rank->clock = *clock;
    *clock = NEVER;
}

void sim_turns_join(struct sim_rank *rank)
{
    const struct sim_rank *waker = sim_current_rank;
    uint64_t *clocks = rank->world->clocks, now = 0;
    if (waker && waker->world == rank->world)
        now = clocks[waker->id] == NEVER ? waker->clock : clocks[waker->id];
    clocks[rank->id] = rank->clock > now ? rank->clock : now;
}

void sim_turns_pass(struct sim_rank *rank)
{
    if (!sim_turns_has(rank))
        return;
    rank->world->clocks[rank->id]++;
    sim_turns_next(rank->world);
}

void sim_turns_pin(const struct sim_world *world, cpu_set_t *before)
{
    cpu_set_t some;
    int left = world->options.cores;
    if (!left || sched_getaffinity(0, sizeof *before, before))
        return;
    CPU_ZERO(&some);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && left; cpu++)
        if (CPU_ISSET(cpu, before)) {
            CPU_SET(cpu, &some);
            left--;
        }
    sched_setaffinity(0, sizeof some, &some);
}

void sim_turns_unpin(const struct sim_world *world, const cpu_set_t *before)
{
    if (world->options.cores)
        sched_setaffinity(0, sizeof *before, before);
}
