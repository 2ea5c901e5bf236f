/* One way of misbehaving, at one moment of a run, on one rank: misbehave WAY MOMENT RANK.
 *
 * The table of ways is at the end. Moments: first (before MPI_Init), middle (between collectives),
 * pending (with a receive under way), op (within a user's reduction), thread (on a thread of the
 * rank's own), last (after MPI_Finalize). Rank -1: all of them. */
#define _GNU_SOURCE
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
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static volatile int zero;
static jmp_buf away;
static const char *argument;

static int deeper(int n)
{
    volatile char room[4096];
    room[0] = room[4095] = (char)n;
    return deeper(n + 1) + room[0];
}

static void w_abort(void)
{
    abort();
}
static void w_read(void)
{
    zero = *(volatile int *)16;
}
static void w_write(void)
{
    *(volatile int *)16 = 1;
}
static void w_high(void)
{
    *(volatile int *)0x7ffffffff000 = 1;
}
static void w_text(void)
{
    *(volatile char *)(uintptr_t)&w_abort = 1;
}
static void w_call(void)
{
    ((void (*)(void))(uintptr_t)8)();
}
static void w_divide(void)
{
    zero = 7 / zero;
}
static void w_trap(void)
{
    __builtin_trap();
}
static void w_stack(void)
{
    deeper(0);
}
static void w_assert(void)
{
    fprintf(stderr, "invariant broken\n"), abort();
}
static void w_exit(void)
{
    exit(0);
}
static void w_exit3(void)
{
    exit(3);
}
static void w_leave(void)
{
    _exit(0);
}
static void w_leave3(void)
{
    _exit(3);
}
static void w_quick(void)
{
    quick_exit(0);
}
static void w_group(void)
{
    syscall(SYS_exit_group, 0);
}
static void w_group3(void)
{
    syscall(SYS_exit_group, 3);
}
static void w_exec(void)
{
    execl("/bin/true", "true", (char *)0);
}
static void w_kill(void)
{
    kill(getpid(), SIGKILL);
}
static void w_stop(void)
{
    kill(getpid(), SIGSTOP);
}
static void w_term(void)
{
    raise(SIGTERM);
}
static void w_user(void)
{
    raise(SIGUSR1);
}
static void w_pipe(void)
{
    raise(SIGABRT);
}
static void w_mpi_abort(void)
{
    MPI_Abort(MPI_COMM_WORLD, 7);
}
static void w_jump(void)
{
    longjmp(away, 1);
}
static void w_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}
static void w_pthread_exit(void)
{
    pthread_exit(NULL);
}
static void w_forever(void)
{
    for (;;)
        zero = 0;
}
static void w_polls(void)
{
    int flag = 0;
    while (!flag) {
        MPI_Wtime();
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
}
static void w_flood(void)
{
    for (;;)
        MPI_Allreduce(MPI_IN_PLACE, (int[]){1}, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}
static void w_blocked(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    w_write();
}
static void w_unmap(void)
{
    munmap((void *)0x10000, 0x7ffffffff000 - 0x10000);
}
/* A signal that comes while the rank is in MPI or out of it, nobody knows. */
static volatile sig_atomic_t rung;
static void until_it_rings(void (*handler)(int))
{
    signal(SIGALRM, handler);
    ualarm(2000, 0);
    while (!rung)
        MPI_Allreduce(MPI_IN_PLACE, (int[]){1}, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}
static void on_mark(int number)
{
    (void)number;
    rung = 1;
}
static void on_call(int number)
{
    (void)number;
    MPI_Barrier(MPI_COMM_WORLD);
    rung = 1;
}
static void on_exchange(int number)
{
    double in = 0, out = 0;
    MPI_Request request;
    (void)number;
    MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 9, MPI_COMM_SELF, &request);
    MPI_Send(&out, 1, MPI_DOUBLE, 0, 9, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    rung = 1;
}
static void on_jump(int number)
{
    (void)number;
    siglongjmp(away, 1);
}
static void w_alarm_mark(void)
{
    until_it_rings(on_mark);
}
static void w_alarm_call(void)
{
    until_it_rings(on_call);
}
static void w_alarm_exchange(void)
{
    until_it_rings(on_exchange);
}
static void w_alarm_jump(void)
{
    signal(SIGALRM, on_jump);
    ualarm(2000, 0);
    for (;;)
        zero = 0;
}
static void w_cpu(void)
{
    setrlimit(RLIMIT_CPU, &(struct rlimit){1, 2});
    w_forever();
}
static void w_memory(void)
{
    struct rlimit limit = {(rlim_t)1 << 20, (rlim_t)1 << 20};
    setrlimit(RLIMIT_AS, &limit);
    memset(malloc((size_t)1 << 30), 1, (size_t)1 << 30);
}
static void w_free(void)
{
    free((char *)malloc(100) + 8);
}
static void w_twice(void)
{
    char *block = malloc(100);
    free(block), free(block);
}
static void w_smash(void)
{
    char room[16];
    memset(room, 0x41, (size_t)(400 + zero));
    zero = room[3];
}
static void w_descriptors(void)
{
    for (int i = 3; i < 64; i++)
        dprintf(i, "a line of a program's own\n");
}
static void w_close(void)
{
    for (int i = 3; i < 4096; i++)
        close(i);
}
static void w_child(void)
{
    if (fork() == 0)
        for (;;)
            pause();
}
/* Every shared writable mapping of the process: what its judge reads. */
static void fill(uint64_t (*value)(void))
{
    char line[512], access[8];
    unsigned long from, to;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s", &from, &to, access) != 3 || access[1] != 'w' ||
            access[3] != 's')
            continue;
        for (unsigned long a = from; a < to && a < from + (1ul << 20); a += 8)
            *(volatile uint64_t *)a = value();
    }
    fclose(maps);
}
static uint64_t next_random(void)
{
    static uint64_t state;
    if (!state)
        state = (uint64_t)strtoull(argument ? argument : "1", NULL, 10) * 0x9e3779b97f4a7c15u + 1;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}
static uint64_t pattern(void)
{
    return 0x4141414141414141u;
}
static uint64_t nothing(void)
{
    return 0;
}
static void w_fill(void)
{
    fill(pattern);
}
static void w_clear(void)
{
    fill(nothing);
}
static void w_random(void)
{
    fill(next_random);
}
/* Now and then a word: what is written over is only part of something. */
static void w_sprinkle(void)
{
    char line[512], access[8];
    unsigned long from, to;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s", &from, &to, access) != 3 || access[1] != 'w' ||
            access[3] != 's')
            continue;
        to = to > from + (1ul << 16) ? from + (1ul << 16) : to;
        for (int i = 0; i < 16; i++)
            *(volatile uint64_t *)(from + next_random() % ((to - from) / 8) * 8) = next_random();
    }
    fclose(maps);
}

static const struct way {
    const char *name;
    void (*happens)(void);
} ways[] = {
    {"abort", w_abort},
    {"read", w_read},
    {"write", w_write},
    {"high", w_high},
    {"text", w_text},
    {"call", w_call},
    {"divide", w_divide},
    {"trap", w_trap},
    {"stack", w_stack},
    {"assert", w_assert},
    {"exit", w_exit},
    {"exit3", w_exit3},
    {"leave", w_leave},
    {"leave3", w_leave3},
    {"quick", w_quick},
    {"group", w_group},
    {"group3", w_group3},
    {"exec", w_exec},
    {"kill", w_kill},
    {"stop", w_stop},
    {"term", w_term},
    {"user", w_user},
    {"pipe", w_pipe},
    {"mpi-abort", w_mpi_abort},
    {"jump", w_jump},
    {"barrier", w_barrier},
    {"pthread-exit", w_pthread_exit},
    {"forever", w_forever},
    {"polls", w_polls},
    {"flood", w_flood},
    {"blocked", w_blocked},
    {"unmap", w_unmap},
    {"alarm-mark", w_alarm_mark},
    {"alarm-call", w_alarm_call},
    {"alarm-exchange", w_alarm_exchange},
    {"alarm-jump", w_alarm_jump},
    {"cpu", w_cpu},
    {"memory", w_memory},
    {"free", w_free},
    {"twice", w_twice},
    {"smash", w_smash},
    {"descriptors", w_descriptors},
    {"close", w_close},
    {"child", w_child},
    {"fill", w_fill},
    {"clear", w_clear},
    {"random", w_random},
    {"sprinkle", w_sprinkle},
};

static const char *wanted, *moment;
static int victim;

static void misbehave(void)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(ways[i].name, wanted))
            ways[i].happens();
}

static void at(const char *now)
{
    if (!strcmp(moment, now) && (victim < 0 || victim == rank) && !setjmp(away))
        misbehave();
}

static void reduce(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
    if (!strcmp(moment, "op"))
        misbehave();
}

static void *on_thread(void *unused)
{
    (void)unused;
    misbehave();
    return NULL;
}

int main(int argc, char **argv)
{
    double values[4] = {1, 2, 3, 4}, sum[4];
    MPI_Op op;
    MPI_Request request = MPI_REQUEST_NULL;
    pthread_t thread;
    if (argc < 4)
        return 0;
    wanted = argv[1], moment = argv[2], victim = atoi(argv[3]);
    argument = argc > 4 ? argv[4] : NULL;
    if (victim < 0)
        at("first");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(values, sum, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    at("middle");
    if (!strcmp(moment, "pending"))
        MPI_Irecv(values, 4, MPI_DOUBLE, (rank + 1) % size, 5, MPI_COMM_WORLD, &request);
    at("pending");
    if (request != MPI_REQUEST_NULL) {
        MPI_Send(sum, 4, MPI_DOUBLE, (rank + size - 1) % size, 5, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (!strcmp(moment, "thread") && (victim < 0 || victim == rank)) {
        pthread_create(&thread, NULL, on_thread, NULL);
        pthread_join(thread, NULL);
    }
    MPI_Op_create(reduce, 1, &op);
    if (!setjmp(away))
        MPI_Allreduce(values, sum, 4, MPI_DOUBLE, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    at("last");
    return 0;
}
