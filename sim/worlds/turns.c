/* Ranks on all cores with one answer: the monitor of a world of OS threads, entered in turns.
 *
 * What a rank computes between its calls runs at any time, on any core. What it does in a call
 * happens in its turn. The ranks that are not blocked stand in a queue, in the order of their
 * numbers at first; the one at its head enters, and only that one. When it leaves it goes to the
 * end; when it blocks it leaves the queue, and whoever wakes it puts it at the end. So the order of
 * all calls depends on the program alone, not on the number of cores or on who is faster, and with
 * it the matches of wildcards, what polls are told, and the trace. The price is that everybody waits
 * for the head of the queue while it computes.
 *
 * `turn` repeats who is at the head, for those who wait without the mutex; nobody once the world is
 * over. */
#include "sim/worlds/turns.h"

#include <sched.h>
#include <unistd.h>

/* A core to spare for each rank: then the next turn is near enough to wait for it awake. */
enum { SPINS = 4000 };

static void announce(struct sim_world *world)
{
    struct sim_rank *head = world->ready_head;
    atomic_store_explicit(&world->turn, head, memory_order_release);
    if (head && head->awaits_turn)
        pthread_cond_signal(head->wakeup);
}

void sim_turns_begin(struct sim_world *world)
{
    for (int i = 0; i < world->size; i++)
        sim_fiber_enqueue(world, &world->ranks[i]);
    cpu_set_t allowed;
    int cores = sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : CPU_COUNT(&allowed);
    if (world->options.cores > 0 && world->options.cores < cores)
        cores = world->options.cores;
    world->spins = world->size <= cores ? SPINS : 0;
    announce(world);
}

bool sim_turns_has(const struct sim_rank *rank)
{
    return rank && rank->world->ready_head == rank;
}

void sim_turns_near(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    for (int i = 0; i < world->spins; i++) {
        const struct sim_rank *turn = atomic_load_explicit(&world->turn, memory_order_acquire);
        if (turn == rank || !turn)
            return;
#if defined __x86_64__
        __builtin_ia32_pause();
#endif
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

static void step_back(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    world->ready_head = rank->next_ready;
    if (!world->ready_head)
        world->ready_tail = &world->ready_head;
}

void sim_turns_drop(struct sim_rank *rank)
{
    if (sim_turns_has(rank))
        step_back(rank);
}

void sim_turns_next(struct sim_world *world)
{
    announce(world);
}

void sim_turns_pass(struct sim_rank *rank)
{
    if (!sim_turns_has(rank))
        return;
    if (rank->next_ready) {
        step_back(rank);
        sim_fiber_enqueue(rank->world, rank);
    }
    announce(rank->world);
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
