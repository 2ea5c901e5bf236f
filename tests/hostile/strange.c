/* Still more ways of misbehaving between two collectives: strange WAY RANK. Beside misbehave.c and
 * abuse.c: what a rank does to the ways out of it, to its process's memory and limits, and to the
 * process that watches it. odd.c has the rest. */
#include "ways.h"

/* Ends. */
static void thread_end(void)
{
    syscall(SYS_exit, 0);
}
static void *exec_now(void *unused)
{
    (void)unused;
    execl("/bin/true", "true", (char *)0);
    return NULL;
}
static void thread_exec(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, exec_now, NULL);
    pthread_join(thread, NULL);
    spin();
}
static void vfork_exit(void)
{
    pid_t child = vfork();
    if (child == 0)
        _exit(5);
    waitpid(child, NULL, 0);
}
static void spawn(void)
{
    pid_t child;
    char *words[] = {"sh", "-c", "exit 9", NULL};
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ) == 0)
        waitpid(child, NULL, 0);
}
static void endless_pipe(void)
{
    char line[64];
    FILE *pipe = popen("yes", "r");
    for (int i = 0; pipe && i < 100; i++)
        if (!fgets(line, sizeof line, pipe))
            abort();
    if (pipe)
        pclose(pipe);
}
static void small_bomb(void)
{
    if (fork() != 0)
        return;
    for (int depth = 0; depth < 4; depth++)
        fork();
    for (;;)
        pause();
}
static void again(void)
{
    atexit(again);
}
static void at_exit_again(void)
{
    atexit(again);
    exit(0);
}
static void at_exit_spins(void)
{
    atexit(spin);
    exit(0);
}
static void exit_in_exit(void)
{
    exit(3);
}
static void at_exit_exits(void)
{
    atexit(exit_in_exit);
    exit(0);
}
static void quick_crash(void)
{
    at_quick_exit(die);
    quick_exit(0);
}

/* Signals. */
static void ignored_crash(void)
{
    signal(SIGSEGV, SIG_IGN);
    die();
}
static void on_tick(int number)
{
    (void)number;
}
static void many_ticks(void)
{
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, on_tick);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 2000; i++)
        MPI_Allreduce(MPI_IN_PLACE, (int[]){1}, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    setitimer(ITIMER_REAL, &never, NULL);
}
static void waits_for_signal(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigsuspend(&none);
}
static void processor_time(void)
{
    setrlimit(RLIMIT_CPU, &(struct rlimit){1, 1});
    spin();
}
static void to_parent(int number)
{
    syscall(SYS_kill, getppid(), number);
    sigqueue(getppid(), number, (union sigval){0});
}
static void parent_stop(void)
{
    to_parent(SIGSTOP);
}
static void parent_int(void)
{
    to_parent(SIGINT);
}
static void everybody(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    kill(0, SIGTERM);
}

/* The parent. */
static void parent_limits(void)
{
    struct rlimit nothing = {0, 0};
    for (int what = 0; what < RLIM_NLIMITS; what++)
        if (syscall(SYS_prlimit64, getppid(), what, &nothing, NULL) == 0 ||
            prlimit(getppid(), what, &nothing, NULL) == 0)
            abort();
}
static void parent_memory(void)
{
    static char bytes[4096];
    char name[64];
    unsigned long from = 0x10000;
    snprintf(name, sizeof name, "/proc/%d/mem", (int)getppid());
    int memory = open(name, O_RDWR);
    for (int i = 0; i < 64; i++, from += 4096) {
        struct iovec mine = {bytes, sizeof bytes}, theirs = {(void *)from, sizeof bytes};
        if (process_vm_writev(getppid(), &mine, 1, &theirs, 1, 0) > 0)
            abort();
        if (memory >= 0 && pwrite(memory, bytes, sizeof bytes, (off_t)from) > 0)
            abort();
    }
}

/* Memory. */
static void no_access(void)
{
    static char bytes[3 * 4096];
    uintptr_t page = ((uintptr_t)bytes + 4095) & ~(uintptr_t)4095;
    mprotect((void *)page, 4096, PROT_NONE);
    zero = *(volatile int *)page;
}
static void own_text(void)
{
    uintptr_t page = (uintptr_t)&die & ~(uintptr_t)4095;
    mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
    memset((void *)(uintptr_t)&die, 0xf4, 16); /* hlt */
    die();
}
static void through_mem(void)
{
    int memory = open("/proc/self/mem", O_RDWR);
    char trap[16];
    memset(trap, 0xcc, sizeof trap);
    if (memory < 0 || pwrite(memory, trap, sizeof trap, (off_t)(uintptr_t)&die) < 0)
        abort();
    die();
}
static void huge(void)
{
    if (malloc((size_t)1 << 46) || calloc((size_t)1 << 23, (size_t)1 << 23))
        abort();
    if (mmap(NULL, (size_t)1 << 47, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        abort();
}
static void big_frame(void)
{
    size_t bytes = ((size_t)1 << 30) + (size_t)zero;
    volatile char *room = __builtin_alloca(bytes);
    for (size_t at = bytes; at > 4096; at -= 4096)
        room[at - 1] = 1;
}
static void unmap_stack(void)
{
    uintptr_t here = (uintptr_t)&here & ~(uintptr_t)4095;
    munmap((void *)(here - 8192), 16384);
    zero = (int)*(volatile uintptr_t *)here;
}
static void no_thread_pointer(void)
{
    syscall(SYS_arch_prctl, 0x1002, 0L); /* ARCH_SET_FS */
    zero = errno;
}
static void strict_mode(void)
{
    prctl(PR_SET_SECCOMP, 1, 0, 0, 0);
    syscall(SYS_getppid);
}
static ucontext_t here, there;
static void on_other_stack(void)
{
    MPI_Allreduce(MPI_IN_PLACE, (int[]){1}, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}
static void falls_off(void)
{
    deeper(0);
}
static void switch_to(void (*body)(void))
{
    char *stack = mmap(NULL, 1 << 17, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack, 1 << 16, PROT_NONE);
    getcontext(&there);
    there.uc_stack.ss_sp = stack + (1 << 16);
    there.uc_stack.ss_size = 1 << 16;
    there.uc_link = &here;
    makecontext(&there, body, 0);
    swapcontext(&here, &there);
}
static void other_stack(void)
{
    switch_to(on_other_stack);
}
static void other_overflow(void)
{
    switch_to(falls_off);
}
static void arguments(void)
{
    char name[64];
    FILE *file = fopen("/proc/self/comm", "w");
    snprintf(name, sizeof name, "\033]0;x\a\n%d", rank);
    if (file)
        fputs(name, file), fclose(file);
    environ = NULL;
}

int main(int argc, char **argv)
{
    static const struct way ways[] = {
        WAY(thread_end),       WAY(thread_exec),       WAY(vfork_exit),    WAY(spawn),
        WAY(endless_pipe),     WAY(small_bomb),        WAY(at_exit_again), WAY(at_exit_spins),
        WAY(at_exit_exits),    WAY(quick_crash),       WAY(ignored_crash), WAY(many_ticks),
        WAY(waits_for_signal), WAY(processor_time),    WAY(parent_stop),   WAY(parent_int),
        WAY(everybody),        WAY(parent_limits),     WAY(parent_memory), WAY(no_access),
        WAY(own_text),         WAY(through_mem),       WAY(huge),          WAY(big_frame),
        WAY(unmap_stack),      WAY(no_thread_pointer), WAY(strict_mode),   WAY(other_stack),
        WAY(other_overflow),   WAY(arguments)};
    return run(argc, argv, ways, sizeof ways / sizeof *ways);
}
