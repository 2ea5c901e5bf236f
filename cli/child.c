/* The child process of a run: see child.h. */
#include "cli/child.h"

#include "sim/loader.h"
#include "sim/run_program.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { SIGNAL_STACK = 64 * 1024 };

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Signal handlers have no arguments of ours: what they need stands here, for the one run of this process. */
static struct {
    struct board *board;
    struct sim_program *program;
} current;

static uint64_t place_of(int rank, const void *context)
{
    uint64_t offset = 0;
#if defined __x86_64__
    uintptr_t pc = (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    uintptr_t pc = (uintptr_t)((const ucontext_t *)context)->uc_mcontext.pc;
#else
    uintptr_t pc = 0;
#endif
    if (rank >= 0 && current.program && sim_program_locate(current.program, rank, pc, &offset))
        return offset;
    return 0;
}

/* A rank died by a signal: note where, let the others go on. */
static void on_crash(int number, siginfo_t *info, void *context)
{
    int rank = sim_world_current_rank();
    if (rank < 0 || rank >= current.board->ranks_count) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    struct board_rank *row = &current.board->ranks[rank];
    row->state = RANK_CRASHED;
    row->exit_code = number;
    row->place = place_of(rank, context);
    row->overflow = (number == SIGSEGV || number == SIGBUS) && sim_rank_stack_overflow(info->si_addr);
    sim_rank_crash(number);
}

/* The watchdog in the parent lost patience: note who runs, and end. */
static void on_watchdog(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    int rank = sim_world_current_rank();
    current.board->interrupted_rank = rank;
    current.board->interrupted_place = place_of(rank, context);
    _exit(0);
}

static void catch(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigaction(number, &action, NULL);
}

static void install_handlers(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};
    sim_run_signal_stack();
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        catch (crashes[i], on_crash);
    catch (SIGUSR1, on_watchdog);
    signal(SIGPIPE, SIG_IGN);
}

static _Noreturn void give_up(struct board *board, const struct failure *failure)
{
    board->failure_code = failure->code;
    snprintf(board->failure, sizeof board->failure, "%s", failure->text);
    _exit(0);
}

static void note_ranks(struct board *board, struct sim_world *world)
{
    for (int r = 0; r < board->ranks_count; r++) {
        struct board_rank *row = &board->ranks[r];
        row->state = (int32_t)sim_world_rank_state(world, r);
        row->exit_code = sim_world_exit_code(world, r);
        row->finalized = sim_world_rank_finalized(world, r);
    }
}

void child_main(const struct job *job, struct board *board, struct buffers *buffers)
{
    (void)buffers;
    struct failure failure = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(STDERR_FILENO, STDOUT_FILENO); /* the ranks' output; the result is the parent's */
    current.board = board;
    struct sim_program *program = sim_program_open(job->object, job->loader, job->world.ranks, &failure);
    if (!program)
        give_up(board, &failure);
    current.program = program;
    install_handlers();
    struct sim_world *world = sim_world_new(&job->world, &failure);
    if (!world)
        give_up(board, &failure);
    board->started_ns = monotonic_ns();
    struct sim_run run = {.program = program, .argc = job->argc, .argv = job->argv};
    enum trace_outcome outcome = sim_world_run(world, sim_run_body, &run);
    board->steps = sim_world_steps(world);
    board->switches = sim_world_switches(world);
    board->stopped_ns = sim_world_stopped_ns(world);
    note_ranks(board, world);
    board->outcome = (int)outcome;
    fflush(NULL);
    _exit(0);
}
