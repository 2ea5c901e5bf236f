/* More ways of misbehaving between two collectives: abuse WAY RANK. Beside misbehave.c: what a rank
 * does with handlers, children, limits, its stack, and handles that are none. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, size;
static volatile int zero;
static sigjmp_buf away;

static void die(void)
{
    *(volatile int *)16 = 1;
}
static void spin(void)
{
    for (;;)
        zero = 0;
}
static void own_kill(void)
{
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGKILL);
}
static void at_exit_abort(void)
{
    atexit(abort);
    exit(0);
}
static void at_exit_crash(void)
{
    atexit(die);
    exit(0);
}
static void mpi_abort_now(void)
{
    MPI_Abort(MPI_COMM_WORLD, 3);
}
static void at_exit_mpi_abort(void)
{
    atexit(mpi_abort_now);
    exit(0);
}
static void mpi_abort_zero(void)
{
    MPI_Abort(MPI_COMM_WORLD, 0);
}
static void stopped(void)
{
    raise(SIGSTOP);
}
static void terminal_stop(void)
{
    raise(SIGTSTP);
}
static void exec_nothing(void)
{
    execl("/nonexistent/program", "program", (char *)0);
}
static void fork_wait(void)
{
    pid_t child = fork();
    if (child == 0)
        exit(7);
    waitpid(child, NULL, 0);
}
static void fork_mpi(void)
{
    pid_t child = fork();
    if (child == 0) {
        MPI_Send(&rank, 1, MPI_INT, 0, 77, MPI_COMM_WORLD);
        MPI_Finalize();
        _exit(0);
    }
    waitpid(child, NULL, 0);
}
static void fork_crash(void)
{
    pid_t child = fork();
    if (child == 0)
        die();
    waitpid(child, NULL, 0);
}
static void fork_many(void)
{
    for (int i = 0; i < 50; i++)
        if (fork() == 0)
            for (;;)
                pause();
}
static void away_daemon(void)
{
    if (daemon(1, 1) == 0)
        for (;;)
            pause();
}
static void session(void)
{
    if (fork() == 0) {
        setsid();
        if (fork() == 0)
            for (;;)
                pause();
        _exit(0);
    }
}
static void init_twice(void)
{
    MPI_Init(NULL, NULL);
}
static void finalize_twice(void)
{
    MPI_Finalize();
    MPI_Finalize();
}
static void after_finalize(void)
{
    MPI_Finalize();
    MPI_Barrier(MPI_COMM_WORLD);
}
static void no_output(void)
{
    fclose(stdout);
    close(1);
    close(2);
}
static void no_text(void)
{
    uintptr_t page = (uintptr_t)&die & ~(uintptr_t)4095;
    mprotect((void *)page, 4096, PROT_READ);
    die();
}
static void alarm_default(void)
{
    ualarm(2000, 0);
    spin();
}
static void profile_timer(void)
{
    struct itimerval soon = {.it_value.tv_usec = 2000};
    setitimer(ITIMER_PROF, &soon, NULL);
    spin();
}
static void file_limit(void)
{
    char name[] = "abuse-XXXXXX", room[8192] = "";
    int out = mkstemp(name);
    unlink(name);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096});
    for (int i = 0; i < 4; i++)
        if (write(out, room, sizeof room) < 0)
            return;
}
static void no_descriptors(void)
{
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
    if (open("/dev/null", O_RDONLY) >= 0)
        abort();
}
static void *crash_on_thread(void *unused)
{
    (void)unused;
    die();
    return NULL;
}
static void detached(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, crash_on_thread, NULL);
    pthread_detach(thread);
    spin();
}
static void thread_signal(void)
{
    pthread_kill(pthread_self(), SIGTERM);
}
static void cancelled(void)
{
    pthread_cancel(pthread_self());
    pthread_testcancel();
}
static void no_handler_stack(void)
{
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    die();
}
static void raw_default(void)
{
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } usual = {.handler = SIG_DFL};
    syscall(SYS_rt_sigaction, SIGSEGV, &usual, NULL, 8);
    die();
}
static void on_return(int number)
{
    (void)number;
}
static void on_leave(int number)
{
    _exit(number ? 0 : 1);
}
static void on_exit_code(int number)
{
    exit(number);
}
static void on_away(int number)
{
    siglongjmp(away, number);
}
static void on_abort(int number)
{
    MPI_Abort(MPI_COMM_WORLD, number);
}
static void on_crash(int number)
{
    zero = number;
    die();
}
static void handler_returns(void)
{
    signal(SIGSEGV, on_return);
    die();
}
static void handler_leaves(void)
{
    signal(SIGSEGV, on_leave);
    die();
}
static void handler_exits(void)
{
    signal(SIGFPE, on_exit_code);
    zero = 1 / zero;
}
static void handler_jumps(void)
{
    signal(SIGSEGV, on_away);
    die();
}
static void handler_aborts(void)
{
    signal(SIGSEGV, on_abort);
    die();
}
static void handler_crashes(void)
{
    signal(SIGUSR1, on_crash);
    raise(SIGUSR1);
}
static void kill_crashes(void)
{
    signal(SIGUSR2, on_crash);
    kill(getpid(), SIGUSR2);
    for (int i = 0; i < 1000; i++)
        MPI_Allreduce(MPI_IN_PLACE, (int[]){1}, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}
static void alarm_aborts(void)
{
    signal(SIGALRM, on_abort);
    ualarm(2000, 0);
    spin();
}
static void alarm_exits(void)
{
    signal(SIGALRM, on_exit_code);
    ualarm(2000, 0);
    spin();
}
static void blocked_spin(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    spin();
}
static void group_kill(void)
{
    kill(0, SIGKILL);
}
static void parent_kill(void)
{
    if (kill(getppid(), SIGKILL) == 0)
        abort();
}
static void traced(void)
{
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGTRAP);
}
static void exit_256(void)
{
    exit(256);
}
static void bad_comm(void)
{
    MPI_Barrier((MPI_Comm)(uintptr_t)0x12345670);
}
static void bad_request(void)
{
    MPI_Request request = (MPI_Request)(uintptr_t)0x12345670;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void bad_type(void)
{
    MPI_Allreduce(MPI_IN_PLACE, &zero, 1, (MPI_Datatype)(uintptr_t)0x77, MPI_SUM, MPI_COMM_SELF);
}
static void bad_buffer(void)
{
    MPI_Send((void *)(uintptr_t)0x1000, 1 << 20, MPI_CHAR, rank, 3, MPI_COMM_WORLD);
}
static void calls_back(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
}
static void error_loop(void)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(calls_back, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
}
static int on_delete(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)value, (void)state;
    die();
    return MPI_SUCCESS;
}
static void delete_crashes(void)
{
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
}
static void much_output(void)
{
    for (int i = 0; i < 200000; i++)
        printf("a line of some length that nobody reads\n");
}
static void long_line(void)
{
    for (int i = 0; i < 2000000; i++)
        putchar('x');
}
static void elsewhere(void)
{
    if (chdir("/"))
        abort();
}
static void no_environment(void)
{
    clearenv();
}

static const struct way {
    const char *name;
    void (*happens)(void);
} ways[] = {
    {"own-kill", own_kill},
    {"at-exit-abort", at_exit_abort},
    {"at-exit-crash", at_exit_crash},
    {"at-exit-mpi-abort", at_exit_mpi_abort},
    {"mpi-abort-zero", mpi_abort_zero},
    {"stopped", stopped},
    {"terminal-stop", terminal_stop},
    {"exec-nothing", exec_nothing},
    {"fork-wait", fork_wait},
    {"fork-mpi", fork_mpi},
    {"fork-crash", fork_crash},
    {"fork-many", fork_many},
    {"daemon", away_daemon},
    {"session", session},
    {"init-twice", init_twice},
    {"finalize-twice", finalize_twice},
    {"after-finalize", after_finalize},
    {"no-output", no_output},
    {"no-text", no_text},
    {"alarm-default", alarm_default},
    {"profile-timer", profile_timer},
    {"file-limit", file_limit},
    {"no-descriptors", no_descriptors},
    {"detached", detached},
    {"thread-signal", thread_signal},
    {"cancelled", cancelled},
    {"no-handler-stack", no_handler_stack},
    {"raw-default", raw_default},
    {"handler-returns", handler_returns},
    {"handler-leaves", handler_leaves},
    {"handler-exits", handler_exits},
    {"handler-jumps", handler_jumps},
    {"handler-aborts", handler_aborts},
    {"handler-crashes", handler_crashes},
    {"kill-crashes", kill_crashes},
    {"alarm-aborts", alarm_aborts},
    {"alarm-exits", alarm_exits},
    {"blocked-spin", blocked_spin},
    {"group-kill", group_kill},
    {"parent-kill", parent_kill},
    {"traced", traced},
    {"exit-256", exit_256},
    {"bad-comm", bad_comm},
    {"bad-request", bad_request},
    {"bad-type", bad_type},
    {"bad-buffer", bad_buffer},
    {"error-loop", error_loop},
    {"delete-crashes", delete_crashes},
    {"much-output", much_output},
    {"long-line", long_line},
    {"elsewhere", elsewhere},
    {"no-environment", no_environment},
};

int main(int argc, char **argv)
{
    double value = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (size_t i = 0; argc > 2 && atoi(argv[2]) == rank && i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(ways[i].name, argv[1]) && !sigsetjmp(away, 1))
            ways[i].happens();
    int finalized;
    MPI_Finalized(&finalized);
    if (finalized)
        return 0;
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
