/* More of wander.c: stray WAY RANK. What the processor can be told, what the kernel can be asked to take away, children that share the
 * memory, arguments of MPI that mean nothing, and several ranks at once. */
#include "ways.h"

#include <limits.h>
#include <linux/memfd.h>

/* The processor. */
static void jump_to_nothing(void)
{
    void (*volatile nowhere)(void) = NULL;
    nowhere();
}
static void jump_to_data(void)
{
    static volatile char data[64] = {(char)0xc3};
    union {
        volatile char *data;
        void (*code)(void);
    } there = {data};
    there.code();
}
static void smallest_by_minus_one(void)
{
    volatile int smallest = INT_MIN, minus = -1;
    zero = smallest / minus;
}
#if defined __x86_64__
static void privileged(void)
{
    __asm__ volatile("hlt");
}
static void breakpoint(void)
{
    __asm__ volatile("int3");
}
static void single_steps(void)
{
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq; nop; nop" ::: "memory", "cc");
}
static void backwards(void) /* the direction flag: whoever copies then copies backwards */
{
    __asm__ volatile("std" ::: "cc");
    MPI_Barrier(MPI_COMM_SELF);
    __asm__ volatile("cld" ::: "cc");
}
static void no_stack_pointer(void)
{
    __asm__ volatile("xorl %%esp, %%esp; pushq $1" ::: "memory");
}
static void old_system_call(void) /* exit(7) of 32 bits; kernels without them crash the rank */
{
    __asm__ volatile("int $0x80" ::"a"(1), "b"(7) : "memory");
}
static void no_such_system_call(void)
{
    for (long n = 5000; n < 5100; n++)
        syscall(n, -1, -1, -1);
}
static __attribute__((noinline)) void smashed_return(void)
{
    void *volatile *frame = __builtin_frame_address(0);
    frame[1] = (void *)0x4141414141414141;
    zero = 1;
}
#else
static void privileged(void)
{
    __builtin_trap();
}
#define breakpoint          privileged
#define single_steps        privileged
#define no_such_system_call privileged
#define no_stack_pointer    privileged
#define smashed_return      privileged
static void old_system_call(void)
{
    syscall(SYS_exit, 7);
}
static void backwards(void)
{
}
#endif

/* Memory. */
static void short_file(void)
{
    FILE *file = tmpfile();
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    page[0] = 1; /* of a file that has no bytes */
}
static void heap_gone(void)
{
    char *room = malloc(100);
    munmap((void *)((uintptr_t)room & ~(uintptr_t)4095), 1 << 20);
    for (int i = 0; i < 1000; i++)
        zero = *(volatile char *)malloc(1000);
}
static void break_back(void)
{
    if (sbrk(-(16 << 20)) == (void *)-1)
        sbrk(0);
    for (int i = 0; i < 100; i++)
        free(malloc(1 << 12));
}
static void forgets_heap(void)
{
    char *room = malloc(1 << 20);
    memset(room, 1, 1 << 20);
    madvise((void *)(((uintptr_t)room + 4095) & ~(uintptr_t)4095), (1 << 20) - 4096, MADV_DONTNEED);
    free(room);
}
static void frees_stack(void)
{
    char here[64];
    void *volatile room = here + 16;
    free(room);
}
static void frees_twice(void)
{
    void *volatile room = malloc(100);
    free(room);
    free(room);
}
static void heap_overrun(void)
{
    char *volatile room = malloc(64), *volatile next = malloc(64);
    for (int i = 0; i < 64 << 20; i++)
        ((volatile char *)room)[i] = 0x41;
    free(next);
    free(room);
    for (int i = 0; i < 100; i++)
        free(malloc((size_t)i * 100));
}
static void locks_everything(void)
{
    mlockall(MCL_CURRENT | MCL_FUTURE);
    munlockall();
}
static void much_memory(void) /* touched and given back, piece by piece */
{
    for (int i = 0; i < 64; i++) {
        char *room = malloc(64 << 20);
        if (room)
            memset(room, 1, 4 << 20);
        free(room);
    }
}

/* Processes. */
static int child_leaves(void *none)
{
    (void)none;
    syscall(SYS_exit_group, 9);
    return 0;
}
static int child_exits(void *none)
{
    (void)none;
    _exit(9);
}
static void share_memory(int (*child)(void *))
{
    static char stack[1 << 16];
    int status;
    if (waitpid(clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL), &status, 0) < 0)
        abort();
}
static void child_shares_memory(void)
{
    share_memory(child_leaves);
}
static void child_shares_and_exits(void)
{
    share_memory(child_exits);
}
static void borrowed_spins(void)
{
    pid_t child = vfork();
    if (child == 0)
        syscall(SYS_pause);
}
static void kills_threads(void) /* of its own process, one by one */
{
    for (int id = getpid(); id < getpid() + 64; id++)
        syscall(SYS_tgkill, getpid(), id, SIGSEGV);
}
static void kills_threads_hard(void)
{
    for (int id = getpid(); id < getpid() + 64; id++)
        syscall(SYS_tgkill, getpid(), id, SIGKILL);
}
static void runs_a_file_of_memory(void)
{
    int file = memfd_create("program", 0), from = open("/bin/true", O_RDONLY);
    char bytes[4096];
    for (ssize_t got; (got = read(from, bytes, sizeof bytes)) > 0;)
        if (write(file, bytes, (size_t)got) < 0)
            return;
    fexecve(file, (char *[]){"true", NULL}, environ);
}
static void dies_with_nobody(void)
{
    prctl(PR_SET_PDEATHSIG, 0);
    spin();
}
static void wants_a_core(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    raise(SIGQUIT);
}
static void nobody_waits(void)
{
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 20; i++)
        if (fork() == 0)
            _exit(i);
    while (wait(NULL) > 0)
        ;
}
static void sixteen_children_spin(void)
{
    for (int i = 0; i < 16; i++)
        if (fork() == 0)
            spin();
}
static void new_session_child(void)
{
    if (fork() == 0) {
        setsid();
        signal(SIGTERM, SIG_IGN), signal(SIGHUP, SIG_IGN), signal(SIGINT, SIG_IGN);
        if (fork() == 0)
            spin();
        _exit(0);
    }
}
static void stops_itself_often(void)
{
    raise(SIGTTOU), raise(SIGTTIN), raise(SIGTSTP);
}
static void real_time_signal(void)
{
    raise(SIGRTMIN + 3);
}
static void question(void) /* what the judge asks with */
{
    signal(SIGURG, SIG_IGN);
    raise(SIGURG);
    spin();
}
static void question_is_blocked(void)
{
    sigset_t all;
    sigfillset(&all);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, 8);
    spin();
}
static void alarm_kills(void)
{
    signal(SIGALRM, SIG_DFL);
    alarm(1);
    spin();
}

/* Files. */
static void full_disk(void)
{
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
    signal(SIGXFSZ, SIG_IGN);
    FILE *file = fopen("nothing-fits", "w");
    if (file) {
        fputs("x", file);
        fclose(file);
        unlink("nothing-fits");
    }
}
static void closes_streams(void)
{
    fclose(stdout), fclose(stderr), fclose(stdin);
    puts("nobody hears this");
}
static void moves_streams(void)
{
    int other = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++)
        dup2(other, i);
    puts("nor this");
}
static void no_root(void)
{
    mkdir("cell", 0700);
    if (chroot("cell") == 0 || chdir("cell") == 0)
        rmdir("../cell");
    rmdir("cell");
}
static void locks_database(void)
{
    int file = open("runs.db", O_RDWR);
    struct flock lock = {.l_type = F_WRLCK};
    fcntl(file, F_SETLK, &lock);
}

/* MPI. */
static void wild_counts(void)
{
    double one = 1;
    MPI_Send(&one, INT_MAX, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD);
}
static void wild_displacements(void)
{
    int *counts = malloc(sizeof *counts * (size_t)size),
        *places = malloc(sizeof *places * (size_t)size);
    double in[1] = {0}, out[1];
    for (int i = 0; i < size; i++)
        counts[i] = 1, places[i] = INT_MAX - i;
    MPI_Alltoallv(in, counts, places, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, MPI_COMM_SELF);
}
static void wild_type(void)
{
    MPI_Datatype type = MPI_DOUBLE;
    for (int i = 0; i < 8; i++)
        MPI_Type_contiguous(1 << 20, type, &type);
    MPI_Type_commit(&type);
}
static void wild_pointer_send(void)
{
    MPI_Request request;
    MPI_Isend((void *)80000, 1000, MPI_DOUBLE, 0, 4, MPI_COMM_SELF, &request);
    MPI_Recv((void *)160000, 1000, MPI_DOUBLE, 0, 4, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}
static void frees_world(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Comm_free(&world);
}
static void frees_int(void)
{
    MPI_Datatype type = MPI_INT;
    MPI_Type_free(&type);
}
static void stale_handle(void)
{
    MPI_Comm one, other;
    MPI_Comm_dup(MPI_COMM_SELF, &one);
    other = one;
    MPI_Comm_free(&one);
    MPI_Barrier(other);
}
static void waits_twice(void)
{
    int in;
    MPI_Request request, copy;
    MPI_Irecv(&in, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &request);
    copy = request;
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&copy, MPI_STATUS_IGNORE);
}
static void attaches_nothing(void)
{
    int one = 1;
    MPI_Buffer_attach((void *)64, 1 << 20);
    MPI_Bsend(&one, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
}
static void handler_reraises(MPI_Comm *comm, int *code, ...)
{
    MPI_Comm_call_errhandler(*comm, *code);
}
static void error_without_end(void)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(handler_reraises, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_SELF);
}
static int deletes_itself(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)value, (void)extra;
    MPI_Comm_delete_attr(comm, key);
    return MPI_SUCCESS;
}
static void delete_without_end(void)
{
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deletes_itself, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
}
static int delete_aborts(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key, (void)value, (void)extra;
    return MPI_Abort(comm, 4);
}
static void attribute_aborts(void)
{
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_aborts, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
}
static void op_writes_beyond(void *in, void *out, int *count, MPI_Datatype *type)
{
    (void)in, (void)type;
    for (long i = 0; i < 1L << 30; i++)
        ((volatile double *)out)[*count + i] = 1;
}
static void op_overruns(void)
{
    MPI_Op op;
    double one = 1, sum;
    MPI_Op_create(op_writes_beyond, 1, &op);
    MPI_Reduce_local(&one, &sum, 1, MPI_DOUBLE, op);
}
static void *finalizes(void *none)
{
    MPI_Finalize();
    return none;
}
static void thread_finalizes(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, finalizes, NULL);
    pthread_join(thread, NULL);
}
static void cancels_itself(void)
{
    pthread_cancel(pthread_self());
    pthread_testcancel();
}
static void *goes_on(void *none)
{
    (void)none;
    for (;;)
        usleep(100);
}
static void outlives_finalize(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, goes_on, NULL);
    pthread_detach(thread);
}
static void *crashes_late(void *none)
{
    int over = 0;
    while (!over)
        MPI_Finalized(&over);
    die();
    return none;
}
static void thread_crashes_late(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, crashes_late, NULL);
    atexit(spin);
}

/* Much of everything. */
static void much_text(void)
{
    static char line[1 << 16];
    memset(line, 'x', sizeof line - 1);
    for (int i = 0; i < 300; i++)
        fputs(line, i % 2 ? stdout : stderr);
}
static void unprintable(void)
{
    for (int i = 0; i < 4096; i++)
        putchar(i & 255);
    fputs("\033]0;title\007\033[2J\033[31m", stderr);
}
static void many_comms(void)
{
    MPI_Comm comm;
    for (int i = 0; i < 20000; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
}
static void many_requests(void)
{
    static int in;
    MPI_Request request;
    for (int i = 0; i < 200000; i++)
        MPI_Irecv(&in, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request);
}
static void sends_to_itself(void)
{
    double one = 1;
    MPI_Ssend(&one, 1, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const struct way ways[] = {WAY(jump_to_nothing),
                                      WAY(jump_to_data),
                                      WAY(smallest_by_minus_one),
                                      WAY(privileged),
                                      WAY(breakpoint),
                                      WAY(single_steps),
                                      WAY(backwards),
                                      WAY(no_stack_pointer),
                                      WAY(old_system_call),
                                      WAY(no_such_system_call),
                                      WAY(smashed_return),
                                      WAY(short_file),
                                      WAY(heap_gone),
                                      WAY(break_back),
                                      WAY(forgets_heap),
                                      WAY(frees_stack),
                                      WAY(frees_twice),
                                      WAY(heap_overrun),
                                      WAY(locks_everything),
                                      WAY(much_memory),
                                      WAY(child_shares_memory),
                                      WAY(child_shares_and_exits),
                                      WAY(borrowed_spins),
                                      WAY(kills_threads),
                                      WAY(kills_threads_hard),
                                      WAY(runs_a_file_of_memory),
                                      WAY(dies_with_nobody),
                                      WAY(wants_a_core),
                                      WAY(nobody_waits),
                                      WAY(sixteen_children_spin),
                                      WAY(new_session_child),
                                      WAY(stops_itself_often),
                                      WAY(real_time_signal),
                                      WAY(question),
                                      WAY(question_is_blocked),
                                      WAY(alarm_kills),
                                      WAY(full_disk),
                                      WAY(closes_streams),
                                      WAY(moves_streams),
                                      WAY(no_root),
                                      WAY(locks_database),
                                      WAY(wild_counts),
                                      WAY(wild_displacements),
                                      WAY(wild_type),
                                      WAY(wild_pointer_send),
                                      WAY(frees_world),
                                      WAY(frees_int),
                                      WAY(stale_handle),
                                      WAY(waits_twice),
                                      WAY(attaches_nothing),
                                      WAY(error_without_end),
                                      WAY(delete_without_end),
                                      WAY(attribute_aborts),
                                      WAY(op_overruns),
                                      WAY(thread_finalizes),
                                      WAY(cancels_itself),
                                      WAY(outlives_finalize),
                                      WAY(thread_crashes_late),
                                      WAY(much_text),
                                      WAY(unprintable),
                                      WAY(many_comms),
                                      WAY(many_requests),
                                      WAY(sends_to_itself)};
    return run(argc, argv, ways, sizeof ways / sizeof *ways);
}
