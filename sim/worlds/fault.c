/* Faults on demand: see fault.h. */
#include "sim/worlds/fault.h"

#include "recorder/recorder.h"
#include "sim/worlds/rank.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { SLOW_TURNS = 64 };

static const char *const names[SIM_FAULT_KINDS] = {"crash", "hang",      "slow",    "oom", "drop",
                                                   "delay", "duplicate", "corrupt", "cut"};

const char *sim_fault_name(enum sim_fault_kind kind)
{
    return names[kind];
}

int sim_fault_kind(const char *name, size_t length)
{
    for (int i = 0; i < SIM_FAULT_KINDS; i++)
        if (strlen(names[i]) == length && !strncmp(names[i], name, length))
            return i;
    return -1;
}

bool sim_fault_struck(const struct sim_world *world, size_t which)
{
    return atomic_load(&world->faults_struck) >> which & 1;
}

/* Says so once; whether this call was the first to. */
static bool strike(struct sim_rank *rank, size_t which)
{
    struct sim_world *world = rank->world;
    const struct sim_fault *fault = &world->options.faults[which];
    uint64_t bit = (uint64_t)1 << which;
    char link[24] = "";
    if (atomic_fetch_or(&world->faults_struck, bit) & bit)
        return false;
    if (fault->kind == SIM_FAULT_CUT)
        snprintf(link, sizeof link, "-%d", fault->peer);
    record_note("X010", "injected fault: %s; --fault %s:%d%s@%u struck in its operation %u",
                names[fault->kind], names[fault->kind], fault->rank, link, fault->op,
                record_position());
    return true;
}

static bool is_due(const struct sim_rank *rank, const struct sim_fault *fault)
{
    uint32_t position = record_position();
    return fault->rank == rank->id && position && position >= fault->op;
}

/* Where a rank stands for ever: others see one that computes. */
static _Noreturn void hang(struct sim_rank *rank)
{
    if (rank->world->threaded)
        sim_threads_enter(rank->world);
    for (;;)
        sim_rank_block(rank);
}

void sim_fault_enter(struct sim_rank *rank)
{
    const struct sim_world_options *options = &rank->world->options;
    for (size_t i = 0; i < options->fault_count; i++) {
        const struct sim_fault *fault = &options->faults[i];
        if (!is_due(rank, fault) || rank->state > SIM_BLOCKED)
            continue;
        if (fault->kind == SIM_FAULT_CRASH && strike(rank, i)) {
            rank->injected = true;
            sim_rank_crash(SIGKILL);
        }
        if (fault->kind == SIM_FAULT_HANG && strike(rank, i))
            hang(rank);
        if (fault->kind == SIM_FAULT_SLOW) {
            strike(rank, i);
            rank->slow = true;
        }
        if (fault->kind == SIM_FAULT_OOM)
            rank->starved = true;
        if (fault->kind == SIM_FAULT_CUT)
            strike(rank, i);
    }
    for (int turn = 0; rank->slow && turn < SLOW_TURNS && rank->world->runnable > 1; turn++) {
        if (rank->world->threaded)
            sim_threads_enter(rank->world);
        rank->world->executor->yield(rank);
        sim_world_leave(rank->world);
    }
}

enum sim_fault_kind sim_fault_message(struct sim_rank *rank, int destination)
{
    const struct sim_world *world = rank->world;
    for (size_t i = 0; i < world->options.fault_count; i++) {
        const struct sim_fault *fault = &world->options.faults[i];
        if (fault->kind == SIM_FAULT_CUT) {
            bool mine = rank->id == fault->rank && destination == fault->peer;
            bool theirs = rank->id == fault->peer && destination == fault->rank;
            if ((mine || theirs) && sim_fault_struck(world, i))
                return SIM_FAULT_CUT;
        } else if (fault->kind >= SIM_FAULT_DROP && is_due(rank, fault) && strike(rank, i)) {
            return fault->kind;
        }
    }
    return SIM_FAULT_KINDS;
}

void sim_fault_killed(struct sim_rank *rank, int number)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Errhandler handler = rank->world->rooms->error_target(rank, &world);
    rank->injected = rank->initialized && !rank->finalized && handler != MPI_ERRORS_ARE_FATAL &&
                     handler != MPI_ERRORS_ABORT;
    if (rank->injected)
        record_note("X010",
                    "the rank killed itself by signal %d; its error handler returns, so that the "
                    "others may go on",
                    number);
    sim_rank_leave(rank, SIM_CRASHED, number);
}

bool sim_fault_no_memory(struct sim_rank *rank)
{
    if (!rank->starved)
        return false;
    const struct sim_world_options *options = &rank->world->options;
    for (size_t i = 0; i < options->fault_count; i++)
        if (options->faults[i].kind == SIM_FAULT_OOM && options->faults[i].rank == rank->id &&
            strike(rank, i)) {
            return true;
        }
    return false;
}
