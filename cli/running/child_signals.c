/* Signals in the child process: see child_signals.h. */
#include "cli/running/child.h"

#include "cli/processes/sandbox.h"
#include "recorder/recorder.h"
#include "sim/libc/hooks.h"
#include "sim/libc/signal.h"
#include "sim/programs/run_program.h"

#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

/* Signal handlers have no arguments of ours: what they need stands here, for the one run of this
 * process. */
static struct board *board;
static struct sim_world *world;
static pid_t process; /* a forked one has none of the ranks' threads */
/* Whether the world that this thread runs is the one on the board. */
static _Thread_local bool judged;

void child_signals_world(struct sim_world *on_board)
{
    world = on_board;
}

void child_signals_judge(bool is_judged)
{
    judged = is_judged;
}

bool child_signals_is_judged(void)
{
    return judged;
}

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

struct search {
    uint64_t bias, found;
};

/* The innermost frame of the program's own; of a call, the call. */
static _Unwind_Reason_Code look(struct _Unwind_Context *frame, void *argument)
{
    struct search *search = argument;
    int exact = 0;
    uint64_t pc = (uint64_t)_Unwind_GetIPInfo(frame, &exact) - !exact;
    if (pc - search->bias >= board->image_size)
        return _URC_NO_REASON;
    search->found = pc;
    return _URC_END_OF_STACK;
}

/* A call of an address where no function is: its return address is all there is to go by. */
static uint64_t call_of_nothing(const struct search *search, const void *context)
{
    uint64_t back = 0;
#if defined __x86_64__
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    if ((uint64_t)registers[REG_RIP] < 4096)
        back = *(const uint64_t *)registers[REG_RSP];
#elif defined __aarch64__
    const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
    if (machine->pc < 4096)
        back = machine->regs[30];
#endif
    return back && back - 1 - search->bias < board->image_size ? back - 1 : 0;
}

static _Thread_local volatile sig_atomic_t searching;

/* Where in the program: a rank that dies in a library does so because of a call of its own. A stack
 * in ruins may end the search by another crash; then the place is where it happened. */
static uint64_t program_place(int rank, const void *context)
{
    struct search search = {.bias = board->ranks[rank].bias};
    if (!search.bias || searching)
        return place_of(context);
    searching = 1;
    search.found = call_of_nothing(&search, context);
    if (!search.found)
        _Unwind_Backtrace(look, &search);
    searching = 0;
    return search.found ? search.found : place_of(context);
}

/* Sent to the launcher: by a terminal, or by whoever wants the run to end, which is the parent's
 * business. */
static bool is_for_launcher(int number, const siginfo_t *info)
{
    return (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT) &&
           info->si_pid != getpid();
}

/* The machine, or a library for it, touched the first page: a call was given NULL where its result
 * goes, or where it finds a handle. Of an address that no memory can have (of a heap that was written
 * over) the kernel says 0, too, and another code; and libc's functions go through the launcher. */
static bool is_null_argument(int rank, const siginfo_t *info, const void *context)
{
    if (!board->ranks[rank].bias || (uintptr_t)info->si_addr >= 4096 || info->si_code <= 0 ||
        info->si_code == SI_KERNEL || place_of(context) == (uintptr_t)info->si_addr)
        return false;
    uint64_t place = program_place(rank, context);
    if (place - board->ranks[rank].bias >= board->image_size)
        return false; /* the stack is in ruins: nobody knows who called */
    const char *called = sim_libc_called_at((const char *)(uintptr_t)place + 1);
    if (sim_libc_in_launcher((const void *)(uintptr_t)place_of(context)))
        return !called || strncmp(called, "__wrap_", 7) != 0;
    return place != place_of(context) && called && strncmp(called, "MPI_", 4) == 0;
}

static _Noreturn void refuse_null(int rank, const void *context)
{
    const char *site = (const char *)(uintptr_t)program_place(rank, context) + 1;
    const char *function = sim_libc_called_at(site);
    if (judged) {
        board->ranks[rank].state = RANK_ABORTED;
        board->ranks[rank].exit_code = MPI_ERR_ARG;
        board->ranks[rank].place = (uint64_t)(uintptr_t)site;
        board_seal(board, rank);
        record_failure(MPI_ERR_ARG, site);
        record_refusal("M009", site,
                       "%s: MPI_ERR_ARG: an argument is NULL that must point to something",
                       function ? function : "MPI");
    }
    sim_rank_refuse(MPI_ERR_ARG);
}

/* A signal for a rank: it has a handler, or it dies; note where, let the others go on. */
static void on_crash(int number, siginfo_t *info, void *context)
{
    if (searching && info->si_code <= 0 && number == SIGSEGV)
        return; /* sent once more to a rank that dies of it already */
    if ((number == SIGSYS && sandbox_trap(info, context)) || is_for_launcher(number, info) ||
        sim_libc_signal(number, info, context))
        return;
    sim_libc_handler_left(); /* it dies in a handler */
    int rank = sim_world_current_rank();
    bool everywhere = info->si_code <= 0 || number == SIGALRM; /* not of this thread's own doing */
    if (world && everywhere && getpid() == process && sim_world_pass_on(world, number))
        return;
    if (rank < 0 || rank >= board->ranks_count) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    record_abandon();
    sim_rank_await_dying();
    if (number == SIGSEGV && is_null_argument(rank, info, context))
        refuse_null(rank, context);
    if (!judged)
        sim_rank_crash(number);
    struct board_rank *row = &board->ranks[rank];
    bool overflow =
        (number == SIGSEGV || number == SIGBUS) && sim_rank_stack_overflow(info->si_addr);
    uint64_t place = overflow ? place_of(context) : program_place(rank, context);
    row->state = RANK_CRASHED; /* now: the search for the place may have ended in another crash */
    row->exit_code = number;
    row->overflow = overflow;
    row->place = place;
    board_seal(board, rank);
    sim_rank_crash(number);
}

/* Signals that clocks and other processes send, as often as they like. */
static const int sent[] = {SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2};

static sigset_t sent_set(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++)
        sigaddset(&set, sent[i]);
    return set;
}

static bool is_on_signal_stack(const ucontext_t *interrupted)
{
#if defined __x86_64__
    uintptr_t at = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RSP];
#elif defined __aarch64__
    uintptr_t at = interrupted->uc_mcontext.sp;
#else
    uintptr_t at = 0;
#endif
    return at - (uintptr_t)interrupted->uc_stack.ss_sp < interrupted->uc_stack.ss_size;
}

/* Such a signal comes while all of them are blocked, and finds out whether one of its kind is being
 * taken on this stack: then it is one more of that, as if it had stayed blocked, and a clock that
 * ticks faster than it is heard does not fill the stack. What is taken is not blocked: a rank that
 * dies, or a handler that jumps, never returns from here. */
static void on_sent(int number, siginfo_t *info, void *context)
{
    static _Thread_local volatile sig_atomic_t under_way[_NSIG], again[_NSIG];
    const sigset_t all = sent_set();
    if (under_way[number] && is_on_signal_stack(context)) {
        again[number] = 1;
        return;
    }
    under_way[number] = 1;
    pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    do {
        again[number] = 0;
        on_crash(number, info, context);
    } while (again[number]);
    under_way[number] = 0;
}

/* The program called, so that nothing of the recorder's is under way. A thing refused again and
 * again at one place is one finding. */
void child_signals_refused(const char *text, const void *context)
{
    static _Atomic uint64_t last[64];
    int rank = sim_world_current_rank();
    if (rank < 0 || !judged) {
        fprintf(stderr, "simrun: %s\n", text);
        if (!board->refused[0])
            snprintf(board->refused, sizeof board->refused, "%s", text);
        return;
    }
    uint64_t place = program_place(rank, context);
    if (atomic_exchange(&last[rank % 64], place) != place)
        record_note_of(0, (const void *)(uintptr_t)(place + 1), "X011", text);
}

static _Noreturn void end_of_time(int rank)
{
    if (rank >= 0 && judged && board->out_of_time) {
        record_site_enter((const void *)(uintptr_t)(board->computing.place + 1));
        if (board->computing.calls)
            record_note("X003",
                        "the time limit passed while rank %d called MPI again and again; look for "
                        "the end of its loop, or give it more time",
                        rank);
        else
            record_note("X003",
                        "the time limit passed while rank %d was computing without an MPI call; if "
                        "it waits for another rank, --os-threads lets both run",
                        rank);
    }
    _exit(0);
}

/* How the stack came about, from the innermost frame on: a handler, the program, whoever called it. */
struct descent {
    uint64_t bias;
    bool in, left, again;
};

static _Unwind_Reason_Code descend(struct _Unwind_Context *frame, void *argument)
{
    struct descent *descent = argument;
    int exact = 0;
    uint64_t pc = (uint64_t)_Unwind_GetIPInfo(frame, &exact) - !exact;
    bool program = pc - descent->bias < board->image_size;
    descent->again |= program && descent->left;
    descent->left |= descent->in && sim_libc_in_launcher((const void *)(uintptr_t)pc);
    descent->in |= program;
    return descent->again ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* Whoever looks after the world asks whether the program computes. It may go on on all cores where
 * the machine has not called it: then something of the machine would be under way. False: the
 * question was another one. */
static bool answer_look(const void *context)
{
    if (!world || !sim_world_looked_at(world))
        return false;
    int rank = sim_world_current_rank();
    uint64_t bias = rank >= 0 && judged ? board->ranks[rank].bias : 0;
    if (!bias || place_of(context) - bias >= board->image_size || !sim_world_computes(world))
        return true;
    struct descent descent = {.bias = bias};
    _Unwind_Backtrace(descend, &descent);
    if (descent.left && !descent.again)
        sim_world_widen(world);
    return true;
}

/* The parent asks who computes where, or has lost patience. Ranks that are threads of their own
 * wait in their calls: the question goes on to one that does not. */
static void on_question(int number, siginfo_t *info, void *context)
{
    if (info->si_code == SI_TKILL && (sim_world_called_out() || answer_look(context)))
        return;
    int rank = sim_world_current_rank();
    int vanished = world ? sim_world_vanished(world) : -1;
    if (vanished >= 0 && judged) { /* the others may wait for ever */
        board->vanished = true;
        board->running = vanished;
        _exit(0);
    }
    if (world && sim_world_pass_on(world, number))
        return;
    uint64_t steps = MPIX_Steps();
    board->computing.calls = board->answers && steps != board->computing.steps;
    board->computing.rank = rank;
    board->computing.place = rank >= 0 && judged ? program_place(rank, context) : 0;
    board->computing.steps = steps;
    if (board->impatient)
        end_of_time(rank);
    board->answers++;
}

static void catch (int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_sigaction = handler,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART};
    sigaction(number, &action, NULL);
}

void child_signals_install(struct board *of_child)
{
    static const int crashes[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,  SIGABRT, SIGSYS, SIGTRAP,
                                  SIGXCPU, SIGXFSZ, SIGINT, SIGTERM, SIGHUP,  SIGQUIT};
    board = of_child;
    process = getpid();
    sim_run_signal_stack();
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        catch (crashes[i], on_crash);
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++)
        sigaction(sent[i],
                  &(struct sigaction){.sa_sigaction = on_sent,
                                      .sa_mask = sent_set(),
                                      .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART},
                  NULL);
    catch (BOARD_QUESTION, on_question);
    signal(SIGPIPE, SIG_IGN);
}
