/* The child process of a run: see child.h. */
#include "cli/child.h"

#include "sim/loader.h"
#include "sim/run_program.h"
#include "traces/recording.h"

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

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Signal handlers have no arguments of ours: what they need stands here, for the one run of this process. */
static struct {
    struct board *board;
} current;

static uint64_t place_of(const void *context)
{
#if defined __x86_64__
    return (uint64_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    return ((const ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
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
    row->place = place_of(context);
    row->overflow = (number == SIGSEGV || number == SIGBUS) && sim_rank_stack_overflow(info->si_addr);
    sim_rank_crash(number);
}

/* The watchdog in the parent lost patience: note who runs, and end. */
static void on_watchdog(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    int rank = sim_world_current_rank();
    current.board->interrupted_rank = rank;
    current.board->interrupted_place = place_of(context);
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

/* What the world's body needs besides the program. */
struct child {
    const struct job *job;
    struct board *board;
    struct recording *recording; /* NULL: nothing is recorded */
    struct sim_run run;
};

static void note_image(void *context, int rank, uintptr_t pc, uint64_t address)
{
    struct child *child = context;
    child->board->ranks[rank].bias = pc - address;
}

static int recorded_body(void *context, int rank)
{
    struct child *child = context;
    if (child->recording)
        recording_rank_begin(child->recording);
    return sim_run_body(&child->run, rank);
}

static void note_ranks(struct child *child, struct sim_world *world)
{
    for (int r = 0; r < child->board->ranks_count; r++) {
        struct board_rank *row = &child->board->ranks[r];
        row->state = (int32_t)sim_world_rank_state(world, r);
        row->exit_code = sim_world_exit_code(world, r);
        row->finalized = sim_world_rank_finalized(world, r);
    }
}

void child_main(const struct job *job, struct board *board, struct recording *recording)
{
    struct failure failure = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(STDERR_FILENO, STDOUT_FILENO); /* the ranks' output; the result is the parent's */
    current.board = board;
    struct sim_program_options options = {
        .kind = job->loader, .images = job->world.ranks, .own_threads = job->world.executor == SIM_THREADS};
    struct sim_program *program = sim_program_open_as(job->object, &options, &failure);
    if (!program)
        give_up(board, &failure);
    board->image_size = sim_program_image_size(program);
    install_handlers();
    struct sim_world *world = sim_world_new(&job->world, &failure);
    if (!world)
        give_up(board, &failure);
    struct child child = {.job = job, .board = board, .recording = recording};
    child.run = (struct sim_run){.program = program, .argc = job->argc, .argv = job->argv, .placed = note_image, .context = &child};
    if (recording)
        recording_images_scan(recording);
    board->started_ns = monotonic_ns();
    enum trace_outcome outcome = sim_world_run(world, recorded_body, &child);
    board->steps = sim_world_steps(world);
    board->switches = sim_world_switches(world);
    board->stopped_ns = sim_world_stopped_ns(world);
    note_ranks(&child, world);
    board->outcome = (int)outcome;
    fflush(NULL);
    _exit(0);
}
