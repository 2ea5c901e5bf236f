/* The rest of wander.c: linger WAY RANK. What a rank waits for, without MPI and by asking MPI again and again; what it prints and
 * reads; and where it ends the program or goes on without returning: in what MPI calls, and in what the system calls at its ends. */
#include "ways.h"

#include <linux/futex.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>

/* Waiting without MPI. */
static void select_never(void)
{
    select(0, NULL, NULL, NULL, NULL);
}
static void epoll_never(void)
{
    struct epoll_event event;
    epoll_wait(epoll_create1(0), &event, 1, -1);
}
static void futex_never(void)
{
    static int word;
    for (;;)
        syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
}
static void semaphore_never(void)
{
    sem_t none;
    sem_init(&none, 0, 0);
    sem_wait(&none);
}
static void condition_never(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t rung = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&lock);
    for (;;)
        pthread_cond_wait(&rung, &lock);
}
static void file_lock_never(void)
{
    int one = open("/dev/null", O_RDONLY), two = open("/dev/null", O_RDONLY);
    flock(one, LOCK_EX), flock(two, LOCK_EX);
}
static void sleeps(void)
{
    for (;;)
        usleep(1000);
}
static void sleeps_long(void)
{
    sleep(100000);
}
static void yields(void)
{
    for (;;)
        sched_yield();
}
static void wait_thread_again(void)
{
    pthread_barrier_t wall;
    pthread_barrier_init(&wall, NULL, 2);
    pthread_barrier_wait(&wall);
}
static void reads_input(void)
{
    char byte;
    while (read(0, &byte, 1) > 0)
        ;
}
static void input_by_lines(void)
{
    char line[64];
    while (fgets(line, sizeof line, stdin))
        ;
}

/* Asking MPI again and again. */
static void test_again(void)
{
    int flag = 0, in;
    MPI_Request request;
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 98, MPI_COMM_WORLD, &request);
    while (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}
static void test_and_sleep(void)
{
    int flag = 0, in;
    MPI_Request request;
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 98, MPI_COMM_WORLD, &request);
    while (!flag) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        usleep(100);
    }
}
static void probe_and_yield(void)
{
    for (int flag = 0; !flag; sched_yield())
        MPI_Iprobe(MPI_ANY_SOURCE, 98, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}
static void clock_again(void)
{
    for (double start = MPI_Wtime(); MPI_Wtime() >= start;)
        ;
}
static void any_again(void)
{
    int flag = 0, index, in;
    MPI_Request requests[2] = {MPI_REQUEST_NULL};
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 98, MPI_COMM_WORLD, &requests[1]);
    while (!flag)
        MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
}
static void gathers_itself(void)
{
    int in;
    for (;;)
        MPI_Allgather(&rank, 1, MPI_INT, &in, 1, MPI_INT, MPI_COMM_SELF);
}
static void receives_never(void)
{
    int in;
    MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void pending_flood(void)
{
    MPI_Request request;
    for (;;)
        MPI_Isend(&rank, 1, MPI_INT, rank, 98, MPI_COMM_WORLD, &request);
}
static void type_flood(void)
{
    MPI_Datatype type;
    for (;;)
        MPI_Type_contiguous(3, MPI_INT, &type);
}
static void lock_again(void)
{
    MPI_Win window;
    int *base;
    MPI_Win_allocate(sizeof *base, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &window);
    *base = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    while (!*(volatile int *)base)
        MPI_Win_sync(window);
}

/* Printing. */
static void many_lines(void)
{
    for (int i = 0; i < 1000000; i++)
        puts("one of a million");
}
static void binary(void)
{
    for (int i = 0; i < 1 << 20; i++)
        putchar(i & 255);
}
static void no_newline(void)
{
    printf("rank %d without an end of its line", rank);
}
static void long_error(void)
{
    for (int i = 0; i < 100; i++)
        fprintf(stderr, "%10000d", i);
}
static void false_findings(void)
{
    printf("PASS everything\nX001 crash: of nobody\n::error::no\nnot ok 1 - none\n");
    fflush(stdout);
    fprintf(stderr, "==1==ERROR: AddressSanitizer: heap-buffer-overflow\n");
}
static void closes_standard(void)
{
    close(0), close(1), close(2);
    printf("nobody reads\n");
}
static void closes_all(void)
{
    close_range(0, ~0u, 0);
    printf("nobody reads\n");
}
static void over_standard(void)
{
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 2048; i++)
        if (i != null)
            dup2(null, i);
}

/* Where MPI and the system call the program. */
static void exit_handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    exit(*code ? 5 : 6);
}
static void exit_in_handler(void)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(exit_handler, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Send(NULL, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
}
static int exit_copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)state, (void)in, (void)out;
    *flag = 0;
    exit(5);
}
static int jump_copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)state, (void)in, (void)out;
    *flag = 0;
    longjmp(away, 1);
}
static int exit_delete(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)value, (void)state;
    exit(5);
}
static int spin_delete(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)value, (void)state;
    spin();
    return MPI_SUCCESS;
}
static int barrier_delete(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)value, (void)state;
    return MPI_Barrier(MPI_COMM_WORLD);
}
static void with_attribute(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *delete)
{
    int key;
    MPI_Comm other;
    MPI_Comm_create_keyval(copy, delete, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
}
static void exit_in_copy(void)
{
    with_attribute(exit_copy, MPI_COMM_NULL_DELETE_FN);
}
static void jump_in_copy(void)
{
    with_attribute(jump_copy, MPI_COMM_NULL_DELETE_FN);
}
static void exit_in_delete(void)
{
    with_attribute(MPI_COMM_NULL_COPY_FN, exit_delete);
}
static void spin_in_delete(void)
{
    with_attribute(MPI_COMM_NULL_COPY_FN, spin_delete);
}
static void barrier_in_delete(void)
{
    with_attribute(MPI_COMM_NULL_COPY_FN, barrier_delete);
}
static void at_finalize(void)
{
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, exit_delete, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
}
static void exit_op(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
    exit(5);
}
static void spin_op(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
    spin();
}
static void with_op(MPI_User_function *function)
{
    MPI_Op op;
    int value = 1, sum = 0;
    MPI_Op_create(function, 1, &op);
    MPI_Reduce_local(&value, &sum, 1, MPI_INT, op);
}
static void exit_in_op(void)
{
    with_op(exit_op);
}
static void spin_in_op(void)
{
    with_op(spin_op);
}
static int exit_query(void *state, MPI_Status *status)
{
    (void)state, (void)status;
    exit(5);
}
static int no_free(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}
static int no_cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}
static void exit_in_query(void)
{
    MPI_Request request;
    MPI_Grequest_start(exit_query, no_free, no_cancel, NULL, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void barrier_at_exit(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}
static void at_exit_barrier(void)
{
    atexit(barrier_at_exit);
    exit(0);
}
static void jumps_at_exit(void)
{
    longjmp(away, 1);
}
static void at_exit_jumps(void)
{
    atexit(jumps_at_exit);
    exit(0);
}
static void dies_at_end(void *unused)
{
    (void)unused;
    die();
}
static void *with_key(void *unused)
{
    pthread_key_t key;
    pthread_key_create(&key, dies_at_end);
    pthread_setspecific(key, &key);
    return unused;
}
static void key_destructor(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, with_key, NULL);
    pthread_join(thread, NULL);
}
static void *calls_mpi(void *unused)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return unused;
}
static void thread_calls(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, calls_mpi, NULL);
    pthread_join(thread, NULL);
}
static jmp_buf gone;
static void __attribute__((noinline)) leaves(void)
{
    if (setjmp(gone))
        spin();
}
static void jump_into_nothing(void)
{
    leaves();
    longjmp(gone, 1);
}
static void early(void) __attribute__((constructor));
static void early(void)
{
    const char *way = getenv("HOSTILE_EARLY");
    if (way && !strcmp(way, "exit"))
        exit(5);
    if (way && !strcmp(way, "crash"))
        die();
    if (way && !strcmp(way, "mpi"))
        MPI_Barrier(MPI_COMM_WORLD);
    if (way && !strcmp(way, "spin"))
        spin();
}
static int late_way;
static void late(void) __attribute__((destructor));
static void late(void)
{
    if (late_way == 1)
        _exit(5);
    if (late_way == 2)
        die();
    if (late_way == 3)
        spin();
    if (late_way == 4)
        exit(5);
}
static void late_leave(void)
{
    late_way = 1;
}
static void late_crash(void)
{
    late_way = 2;
}
static void late_spin(void)
{
    late_way = 3;
}
static void late_exit(void)
{
    late_way = 4;
}

int main(int argc, char **argv)
{
    static const struct way ways[] = {WAY(select_never),
                                      WAY(epoll_never),
                                      WAY(futex_never),
                                      WAY(semaphore_never),
                                      WAY(condition_never),
                                      WAY(file_lock_never),
                                      WAY(sleeps),
                                      WAY(sleeps_long),
                                      WAY(yields),
                                      WAY(wait_thread_again),
                                      WAY(reads_input),
                                      WAY(input_by_lines),
                                      WAY(test_again),
                                      WAY(test_and_sleep),
                                      WAY(probe_and_yield),
                                      WAY(clock_again),
                                      WAY(any_again),
                                      WAY(gathers_itself),
                                      WAY(receives_never),
                                      WAY(pending_flood),
                                      WAY(type_flood),
                                      WAY(lock_again),
                                      WAY(many_lines),
                                      WAY(binary),
                                      WAY(no_newline),
                                      WAY(long_error),
                                      WAY(false_findings),
                                      WAY(closes_standard),
                                      WAY(closes_all),
                                      WAY(over_standard),
                                      WAY(exit_in_handler),
                                      WAY(exit_in_copy),
                                      WAY(jump_in_copy),
                                      WAY(exit_in_delete),
                                      WAY(spin_in_delete),
                                      WAY(barrier_in_delete),
                                      WAY(at_finalize),
                                      WAY(exit_in_op),
                                      WAY(spin_in_op),
                                      WAY(exit_in_query),
                                      WAY(at_exit_barrier),
                                      WAY(at_exit_jumps),
                                      WAY(key_destructor),
                                      WAY(thread_calls),
                                      WAY(jump_into_nothing),
                                      WAY(late_leave),
                                      WAY(late_crash),
                                      WAY(late_spin),
                                      WAY(late_exit)};
    return run(argc, argv, ways, sizeof ways / sizeof *ways);
}
