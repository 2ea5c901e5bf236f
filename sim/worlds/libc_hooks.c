/* What the functions of libc ask of the machine: the ranks of worlds, as they see them
 * (sim/libc/hooks.h). */
#include "recorder/recorder.h"
#include "sim/worlds/fault.h"
#include "sim/worlds/interrupt.h"
#include "sim/worlds/wide.h"

#include <signal.h>
#include <stddef.h>

static struct sim_rank *rank_of(struct sim_libc_state *state)
{
    return (struct sim_rank *)(void *)((char *)state - offsetof(struct sim_rank, libc));
}

/* A thread's libc state is that of the rank that started it; its MPI calls are the rank's only
 * where ranks are OS threads, since a fiber can be suspended on its own stack alone. */
static struct sim_libc_state *current(void)
{
    if (sim_current_rank)
        return &sim_current_rank->libc;
    return sim_thread_parent ? &sim_thread_parent->libc : NULL;
}

static int number(void)
{
    const struct sim_rank *rank = sim_current_rank ? sim_current_rank : sim_thread_parent;
    return rank ? rank->id : -1;
}

/* Where ranks are OS threads, calls of its others are the rank's. */
static void threads_begin(struct sim_rank *rank)
{
    if (rank->world->multiple && rank == sim_current_rank)
        rank->world->rooms->threads_begin();
}

static void apart(void)
{
    if (sim_current_rank)
        sim_wide_never(sim_current_rank->world);
    else if (sim_thread_parent)
        sim_wide_never(sim_thread_parent->world);
}

/* Calls of a rank while others of its threads are at work. Whose last thread ends while another one
 * of its threads begins one counts them once. */
static void company_comes(struct sim_rank *rank)
{
    const uint32_t *calls = record_count();
    atomic_store(&rank->company.since, calls ? __atomic_load_n(calls, __ATOMIC_RELAXED) : 0);
    atomic_store(&rank->company.calls, calls);
}

void sim_company_leaves(struct sim_rank *rank)
{
    const uint32_t *calls = atomic_load(&rank->company.calls);
    if (!calls)
        return;
    uint32_t now = __atomic_load_n(calls, __ATOMIC_RELAXED);
    atomic_fetch_add(&rank->company.beside, now - atomic_exchange(&rank->company.since, now));
}

static void region_begin(struct sim_libc_state *state)
{
    struct sim_rank *rank = rank_of(state);
    apart();
    threads_begin(rank);
    if (!state->regions && !rank->company.threads) {
        company_comes(rank);
        state->company = false;
    }
}

static void region_end(struct sim_libc_state *state)
{
    if (state->company)
        sim_company_leaves(rank_of(state));
    if (sim_current_rank && state == &sim_current_rank->libc) /* not another host's */
        sim_rank_stray_check(sim_current_rank);
}

static void rank_exit(int status, enum sim_exit how)
{
    sim_interrupt_over();
    struct sim_rank *rank = sim_current_rank;
    if (!rank)
        return;
    rank->left_at = sim_libc_call_site();
    if (how == SIM_EXIT_KILLED)
        sim_fault_killed(rank, status);
    if (how == SIM_EXIT_ABORT || how == SIM_EXIT_ASSERT) {
        /* The launcher's handler, if there is one, sees the place. */
        struct sigaction now;
        if (!sigaction(SIGABRT, NULL, &now) && now.sa_handler != SIG_DFL)
            raise(SIGABRT);
        sim_rank_leave(rank, SIM_CRASHED, SIGABRT);
    }
    sim_rank_leave(rank, SIM_DONE, status);
}

static void forget(void)
{
    sim_thread_parent = sim_current_rank = NULL;
}

static void yield_turn(void)
{
    MPIX_Yield();
}

static void thread_begin(struct sim_libc_state *parent)
{
    sim_thread_parent = rank_of(parent);
    sim_current_rank = sim_thread_parent->world->multiple ? sim_thread_parent : NULL;
}

static void threads_changed(struct sim_libc_state *parent, int change)
{
    struct sim_rank *rank = rank_of(parent);
    if (change > 0) {
        apart();
        threads_begin(rank);
        if (rank->company.threads++ == 0 && sim_current_rank == rank)
            company_comes(rank);
    } else if (--rank->company.threads == 0) {
        sim_company_leaves(rank);
    }
    if (rank->world->multiple)
        sim_threads_changed(rank, change, 0);
}

static void joining_changed(struct sim_libc_state *parent, int change)
{
    if (rank_of(parent)->world->multiple)
        sim_threads_changed(rank_of(parent), 0, change);
}

static bool team(struct sim_libc_state *state, enum sim_team_event event, uintptr_t what)
{
    return sim_threads_team(rank_of(state), event, what);
}

static void thread_end(struct sim_libc_state *parent)
{
    (void)parent;
    sim_thread_parent = sim_current_rank = NULL;
}

void sim_world_serves_libc(void)
{
    static const struct sim_libc_hooks hooks = {
        .current = current,
        .number = number,
        .exit = rank_exit,
        .forget = forget,
        .ahead = sim_wide_is_ahead,
        .apart = apart,
        .yield = yield_turn,
        .thread_begin = thread_begin,
        .thread_end = thread_end,
        .region_begin = region_begin,
        .region_end = region_end,
        .threads_changed = threads_changed,
        .joining_changed = joining_changed,
        .team = team,
        .handler_begin = sim_interrupt_begin,
        .handler_end = sim_interrupt_end,
        .handler_left = sim_interrupt_over,
    };
    sim_libc_use(&hooks);
}
