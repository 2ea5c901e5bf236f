/* Further ways of misbehaving between two collectives: wander WAY RANK. What a rank does to its process through the kernel: stacks
 * of handlers, limits, shared pages, tracing, filters, timers, groups and children. linger.c has what waits, prints and calls back. */
#include "ways.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/timerfd.h>
#include <time.h>

/* Stacks of handlers. */
static void stack_of(int protection, size_t bytes)
{
    char *room = mmap(NULL, 1 << 16, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t other = {.ss_sp = room, .ss_size = bytes};
    sigaltstack(&other, NULL);
}
static void no_room(void)
{
    stack_of(PROT_NONE, 1 << 16);
    die();
}
static void small_room(void)
{
    stack_of(PROT_READ | PROT_WRITE, 2048);
    die();
}
static void on_signal(int number)
{
    zero = number;
    zero = 0;
}
static void own_handler_no_room(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    stack_of(PROT_NONE, 1 << 16);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}
static void gone_room(void)
{
    stack_t mine;
    if (sigaltstack(NULL, &mine) == 0 && !(mine.ss_flags & SS_DISABLE))
        munmap(mine.ss_sp, mine.ss_size);
    die();
}
static void on_jump(int number)
{
    longjmp(away, number);
}
static void jump_from_stack(void)
{
    struct sigaction action = {.sa_handler = on_jump, .sa_flags = SA_ONSTACK};
    stack_of(PROT_READ | PROT_WRITE, 1 << 16);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

/* Limits. */
static void limit(int what, rlim_t value)
{
    struct rlimit small = {value, value};
    setrlimit((__rlimit_resource_t)what, &small);
}
static void no_stack(void)
{
    limit(RLIMIT_STACK, 0);
}
static void little_memory(void)
{
    limit(RLIMIT_AS, 1 << 20);
    for (int i = 0; i < 100; i++)
        zero = malloc(1 << 20) == (void *)1;
    zero = 0;
}
static void no_data(void)
{
    limit(RLIMIT_DATA, 0);
    if (malloc((size_t)1 << 30))
        abort();
}
static void no_processes(void)
{
    limit(RLIMIT_NPROC, 0);
}
static void no_files(void)
{
    limit(RLIMIT_FSIZE, 0);
    printf("after the limit\n");
}
static void no_limits_left(void)
{
    for (int what = 0; what < RLIM_NLIMITS; what++)
        if (what != RLIMIT_CPU)
            limit(what, 0);
}
static void until_refused(void)
{
    limit(RLIMIT_AS, (rlim_t)1 << 20);
    for (;;)
        memset(malloc(1 << 20), 1, 1 << 20);
}
static void all_descriptors(void)
{
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
}

/* Pages that are shared with whoever watches. */
static void each_shared(void (*happens)(void *, size_t))
{
    static unsigned long from[256], to[256];
    char line[512], access[8];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (count < 256 && fgets(line, sizeof line, maps))
        count +=
            sscanf(line, "%lx-%lx %7s", &from[count], &to[count], access) == 3 && access[3] == 's';
    fclose(maps);
    for (int i = 0; i < count; i++)
        happens((void *)from[i], to[i] - from[i]);
}
static void look_only(void *at, size_t bytes)
{
    mprotect(at, bytes, PROT_READ);
}
static void look_not(void *at, size_t bytes)
{
    mprotect(at, bytes, PROT_NONE);
}
static void lay_over(void *at, size_t bytes)
{
    mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
         -1, 0);
}
static void take_away(void *at, size_t bytes)
{
    munmap(at, bytes);
}
static void forget(void *at, size_t bytes)
{
    madvise(at, bytes, MADV_REMOVE);
}
static void read_only(void)
{
    each_shared(look_only);
}
static void unreadable(void)
{
    each_shared(look_not);
}
static void laid_over(void)
{
    each_shared(lay_over);
}
static void taken_away(void)
{
    each_shared(take_away);
}
static void forgotten(void)
{
    each_shared(forget);
}

/* Tracing, filters and attributes of the process. */
static void traces_itself(void)
{
    int ends[2], byte = 0;
    if (pipe(ends) == 0 && fork() == 0) {
        byte = (int)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
        if (write(ends[1], &byte, 1) < 0)
            abort();
        for (;;)
            pause();
    }
    if (read(ends[0], &byte, 1) < 0)
        abort();
}
static void traces_judge(void)
{
    if (ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0 ||
        syscall(SYS_ptrace, PTRACE_SEIZE, getppid(), 0L, 0L) == 0)
        abort();
}
static void child_traces_judge(void)
{
    pid_t judge = getppid(), child = fork();
    int status = 0;
    if (child == 0)
        _exit(syscall(SYS_ptrace, PTRACE_ATTACH, judge, 0L, 0L) == 0 ? 1 : 0);
    if (waitpid(child, &status, 0) == child && status)
        abort();
}
static void attributes(void)
{
    prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    prctl(PR_SET_NAME, "\033[2J\n", 0, 0, 0);
    prctl(PR_SET_TIMERSLACK, 1000000000, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    nice(1);
}
static void filter(uint32_t answer)
{
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, answer)};
    struct sock_fprog program = {1, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}
static void filter_kills(void)
{
    filter(SECCOMP_RET_KILL_PROCESS);
    syscall(SYS_getppid);
}
static void filter_kills_thread(void)
{
    filter(SECCOMP_RET_KILL_THREAD);
    syscall(SYS_getppid);
}
static void filter_traps(void)
{
    filter(SECCOMP_RET_TRAP);
    syscall(SYS_getppid);
}
static void filter_refuses(void)
{
    filter(SECCOMP_RET_ERRNO | EPERM);
}
static void other_user(void)
{
    if (geteuid() == 0 && syscall(SYS_setresuid, 65534, 65534, 65534) < 0)
        abort();
}
static void unshared(void)
{
    unshare(CLONE_FS | CLONE_FILES);
    unshare(CLONE_NEWNS);
    unshare(CLONE_NEWUSER);
    unshare(CLONE_NEWPID);
}
static void one_processor(void)
{
    cpu_set_t none;
    CPU_ZERO(&none);
    CPU_SET(0, &none);
    sched_setaffinity(0, sizeof none, &none);
}

/* Timers and rings. */
static void timer_descriptor(void)
{
    uint64_t ticks;
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec soon = {.it_value.tv_nsec = 1000000};
    timerfd_settime(timer, 0, &soon, NULL);
    if (read(timer, &ticks, sizeof ticks) != sizeof ticks)
        abort();
}
static void timer_never(void)
{
    uint64_t ticks;
    if (read(timerfd_create(CLOCK_MONOTONIC, 0), &ticks, sizeof ticks) < 0)
        abort();
}
static void timer_kills(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec soon = {.it_value.tv_nsec = 1000000};
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &soon, NULL);
    spin();
}
static void on_expiry(union sigval value)
{
    (void)value;
    die();
}
static void timer_thread(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_expiry};
    struct itimerspec soon = {.it_value.tv_nsec = 1000000};
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &soon, NULL);
    spin();
}
static void ring(void)
{
    uint32_t parameters[30] = {0};
    long ring = syscall(SYS_io_uring_setup, 8, parameters);
    if (ring >= 0)
        syscall(SYS_io_uring_enter, ring, 0, 0, 0, NULL, 0);
}

/* Groups, sessions, children. */
static void own_group(void)
{
    setpgid(0, 0);
    setsid();
    spin();
}
static void sibling(void)
{
    if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL) == 0)
        _exit(7);
    usleep(20000);
}
static void sibling_stays(void)
{
    if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL) == 0)
        for (;;)
            pause();
}
static void borrowed(void)
{
    pid_t child = vfork();
    if (child == 0)
        for (;;)
            pause();
}
static void borrowed_crash(void)
{
    pid_t child = vfork();
    if (child == 0)
        die();
    waitpid(child, NULL, 0);
}
static void keeps_pipes(void)
{
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            for (int number = 1; number < 32; number++)
                signal(number, SIG_IGN);
            for (;;)
                pause();
        }
        _exit(0);
    }
}
static void floods_from_afar(void)
{
    if (fork() == 0) {
        setsid();
        if (fork() == 0)
            for (;;)
                if (write(1, "from afar\n", 10) < 0)
                    usleep(1000);
        _exit(0);
    }
}
static void two_of_me(void)
{
    fork();
}
static void exec_itself(void)
{
    char *words[] = {"again", NULL};
    execv("/proc/self/exe", words);
}

/* Signals to every thread, and to those who watch. */
static void every_task(int number)
{
    for (pid_t task = getpid(); task < getpid() + 300; task++)
        syscall(SYS_tgkill, getpid(), task, number);
}
static void tasks_crash(void)
{
    every_task(SIGSEGV);
    spin();
}
static void tasks_end(void)
{
    every_task(SIGTERM);
    spin();
}
static void every_number(void)
{
    for (int number = 1; number < 65; number++)
        signal(number, SIG_IGN);
    for (int number = 1; number < 65; number++)
        if (number != SIGKILL && number != SIGSTOP && number != 32 && number != 33)
            kill(getpid(), number);
}
static void everything_blocked(void)
{
    sigset_t all;
    sigfillset(&all);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, 8);
    for (int number = 34; number < 65; number++)
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

int main(int argc, char **argv)
{
    static const struct way ways[] = {WAY(no_room),
                                      WAY(small_room),
                                      WAY(own_handler_no_room),
                                      WAY(gone_room),
                                      WAY(jump_from_stack),
                                      WAY(no_stack),
                                      WAY(little_memory),
                                      WAY(no_data),
                                      WAY(no_processes),
                                      WAY(no_files),
                                      WAY(no_limits_left),
                                      WAY(until_refused),
                                      WAY(all_descriptors),
                                      WAY(read_only),
                                      WAY(unreadable),
                                      WAY(laid_over),
                                      WAY(taken_away),
                                      WAY(forgotten),
                                      WAY(traces_itself),
                                      WAY(traces_judge),
                                      WAY(child_traces_judge),
                                      WAY(attributes),
                                      WAY(filter_kills),
                                      WAY(filter_kills_thread),
                                      WAY(filter_traps),
                                      WAY(filter_refuses),
                                      WAY(other_user),
                                      WAY(unshared),
                                      WAY(one_processor),
                                      WAY(timer_descriptor),
                                      WAY(timer_never),
                                      WAY(timer_kills),
                                      WAY(timer_thread),
                                      WAY(ring),
                                      WAY(own_group),
                                      WAY(sibling),
                                      WAY(sibling_stays),
                                      WAY(borrowed),
                                      WAY(borrowed_crash),
                                      WAY(keeps_pipes),
                                      WAY(floods_from_afar),
                                      WAY(two_of_me),
                                      WAY(exec_itself),
                                      WAY(tasks_crash),
                                      WAY(tasks_end),
                                      WAY(every_number),
                                      WAY(everything_blocked)};
    return run(argc, argv, ways, sizeof ways / sizeof *ways);
}
