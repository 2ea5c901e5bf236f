/* The rest of strange.c: odd WAY RANK. What a rank does with descriptors, files and threads, what it
 * waits for without MPI, and jumps out of what MPI calls. */
#include "ways.h"

/* Descriptors and files. */
static void over_all(void)
{
    int null = open("/dev/null", O_RDWR);
    for (int i = 3; i < 1024; i++)
        if (i != null)
            dup2(null, i);
}
static void cut_all(void)
{
    for (int i = 3; i < 1100; i++)
        if (ftruncate(i, 0) < 0)
            lseek(i, 1 << 20, SEEK_SET);
}
static void swapped(void)
{
    int spare = dup(1);
    dup2(0, 1), dup2(spare, 0), dup2(spare, 2);
}
static void full_device(void)
{
    if (freopen("/dev/full", "w", stdout))
        for (int i = 0; i < 10000; i++)
            printf("nobody has room for this\n");
}
static void lost_folder(void)
{
    char name[] = "strange-XXXXXX";
    if (!mkdtemp(name) || chdir(name) || rmdir("."))
        rmdir(name);
    int file = open("here", O_CREAT | O_WRONLY, 0600);
    if (file >= 0)
        close(file), unlink("here");
}
static void flood_out(void)
{
    for (;;)
        puts("over and over again");
}
static void flood_line(void)
{
    for (;;)
        putchar('x');
}
static void flood_error(void)
{
    for (;;)
        fputs("over and over again\n", stderr);
}
static void unlink_database(void)
{
    unlink("gone.db");
}

static void remove_folder(void)
{
    unlink("deep/gone.db");
    rmdir("deep");
}
static void write_text(const char *path)
{
    FILE *file = fopen(path, "w");
    fputs("somebody else's\n", file);
    fclose(file);
}
static void replace_database(void)
{
    write_text("mine");
    rename("mine", "other.db");
}
static void spoil_database(void)
{
    write_text("spoilt.db");
}

/* Waiting for what never comes, without MPI. */
static void own_lock(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
}
static void empty_pipe(void)
{
    int ends[2];
    char byte;
    if (pipe(ends) == 0 && read(ends[0], &byte, 1) < 0)
        abort();
}
static void long_poll(void)
{
    poll(NULL, 0, -1);
}
static void child_waits(void)
{
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    waitpid(child, NULL, 0);
}

/* Threads. */
static void *spins(void *unused)
{
    spin();
    return unused;
}
static void outlives(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, spins, NULL);
}
static void joins_itself(void)
{
    if (pthread_join(pthread_self(), NULL) != EDEADLK)
        abort();
}
static pthread_t first;
static void *cancels(void *unused)
{
    pthread_cancel(first);
    return unused;
}
static void cancelled_by(void)
{
    pthread_t thread;
    first = pthread_self();
    pthread_create(&thread, NULL, cancels, NULL);
    pthread_join(thread, NULL);
    for (;;)
        pthread_testcancel();
}
static void *deep(void *unused)
{
    deeper(0);
    return unused;
}
static void thread_overflow(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, deep, NULL);
    pthread_join(thread, NULL);
}
static void *nothing(void *unused)
{
    return unused;
}
static void thread_flood(void)
{
    pthread_t thread;
    for (int i = 0; i < 2000; i++)
        if (pthread_create(&thread, NULL, nothing, NULL) == 0)
            pthread_join(thread, NULL);
}

/* Out of what MPI calls. */
static void out_of_handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    longjmp(away, 1);
}
static void jump_handler(void)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(out_of_handler, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Send(NULL, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
}
static int out_of_delete(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)value, (void)state;
    longjmp(away, 1);
}
static void jump_delete(void)
{
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, out_of_delete, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
}
static int out_of_query(void *state, MPI_Status *status)
{
    (void)state, (void)status;
    longjmp(away, 1);
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
static void jump_query(void)
{
    MPI_Request request;
    MPI_Grequest_start(out_of_query, no_free, no_cancel, NULL, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void abort_op(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
    MPI_Abort(MPI_COMM_SELF, 4);
}
static void op_aborts(void)
{
    MPI_Op op;
    int value = 1, sum;
    MPI_Op_create(abort_op, 1, &op);
    MPI_Reduce_local(&value, &sum, 1, MPI_INT, op);
}

/* Arithmetic: a rank's own. */
static void rounding(void)
{
    fesetround(FE_UPWARD);
}
static void traps(void)
{
    feenableexcept(FE_DIVBYZERO | FE_INVALID);
}
static void trapped(void)
{
    volatile double none = 0;
    feenableexcept(FE_DIVBYZERO);
    none = 1 / none;
}

int main(int argc, char **argv)
{
    static const struct way ways[] = {
        WAY(over_all),      WAY(cut_all),          WAY(swapped),
        WAY(full_device),   WAY(lost_folder),      WAY(flood_out),
        WAY(flood_line),    WAY(flood_error),      WAY(unlink_database),
        WAY(remove_folder), WAY(replace_database), WAY(spoil_database),
        WAY(own_lock),      WAY(empty_pipe),       WAY(long_poll),
        WAY(child_waits),   WAY(outlives),         WAY(joins_itself),
        WAY(cancelled_by),  WAY(thread_overflow),  WAY(thread_flood),
        WAY(jump_handler),  WAY(jump_delete),      WAY(jump_query),
        WAY(op_aborts),     WAY(rounding),         WAY(traps),
        WAY(trapped)};
    return run(argc, argv, ways, sizeof ways / sizeof *ways);
}
