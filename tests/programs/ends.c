/* Ways in which rank 1 ends before it should; the first argument says which. tests/sim/rank_ends.t
 * names the lines. */
#include <assert.h>
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int caught;
static sigjmp_buf out;

static void catch (int number)
{
    caught += number;
}

static void escape(int number)
{
    caught += number;
    siglongjmp(out, 1);
}

static int recurse(volatile int depth)
{
    volatile char frame[2000];
    frame[0] = (char)depth;
    return recurse(depth + 1) + frame[0]; /* stack */
}

/* A frame that would step over any guard. */
static __attribute__((noinline)) int wide(volatile int at)
{
    volatile char frame[16 << 20];
    frame[at] = 1; /* wide */
    return frame[at];
}

static void end(const char *how)
{
    volatile int zero = 0, seven = 7;
    char *volatile nowhere = (char *)8;
    if (!strcmp(how, "segv"))
        *(volatile int *)nowhere = 1; /* segv */
    if (!strcmp(how, "library"))
        memset(nowhere, 0, 1000 + (size_t)zero); /* library */
    if (!strcmp(how, "fpe"))
        zero = seven / zero; /* fpe */
    if (!strcmp(how, "abort"))
        abort(); /* abort */
    if (!strcmp(how, "assert"))
        assert(zero); /* assert */
    if (!strcmp(how, "exit"))
        exit(3);
    if (!strcmp(how, "mpiabort"))
        MPI_Abort(MPI_COMM_WORLD, 7); /* mpiabort */
    if (!strcmp(how, "stack"))
        zero = recurse(0);
    if (!strcmp(how, "wide"))
        zero = wide(zero);
    if (!strcmp(how, "term"))
        raise(SIGTERM); /* term */
    if (!strcmp(how, "alarm")) {
        alarm(1);
        for (;;)
            zero++; /* alarm */
    }
    if (!strcmp(how, "loop"))
        for (;;)
            zero++; /* loop */
}

/* Nearly all of the time passes inside the calls, which move much and wait for nobody long. */
static void send_for_ever(int rank)
{
    enum { BYTES = 1 << 26 };
    char *data = calloc(1, BYTES);
    for (;;) {
        if (rank == 0)
            MPI_Ssend(data, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        else if (rank == 1)
            MPI_Recv(data, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Bcast(data, BYTES, MPI_CHAR, 0, MPI_COMM_WORLD);
    }
}

/* Nothing of this ends a rank, and each has its own. */
static void survive(int rank)
{
    signal(SIGUSR2, catch);
    struct sigaction action = {.sa_handler = escape};
    sigaction(SIGSEGV, &action, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    raise(SIGUSR2);
    if (!sigsetjmp(out, 1))
        *(volatile int *)8 = rank;
    signal(SIGUSR2, rank ? SIG_IGN : catch);
    MPI_Barrier(MPI_COMM_WORLD);
    raise(SIGUSR2);
    printf("rank %d caught %d\n", rank, caught);

    pid_t child = fork();
    if (!child)
        exit(20 + rank);
    int status = 0;
    waitpid(child, &status, 0);
    pid_t other = vfork();
    if (!other)
        _exit(30);
    int status_of_other = 0;
    waitpid(other, &status_of_other, 0);
    printf("rank %d forked %d %d, shell %d\n", rank, WEXITSTATUS(status),
           WEXITSTATUS(status_of_other), WEXITSTATUS(system("exit 5")));

    static jmp_buf back;
    for (volatile int i = 0; i < 3; i++)
        if (!setjmp(back)) {
            MPI_Barrier(MPI_COMM_WORLD);
            longjmp(back, 1);
        }
    volatile char roomy[2 << 20]; /* a process has 8 MiB of stack */
    roomy[0] = 1;
    for (size_t i = 0; i < sizeof roomy; i += 4096)
        roomy[i] = 1;
}

int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && !strcmp(argv[1], "busy"))
        send_for_ever(rank);
    if (argc > 1 && rank == 1)
        end(argv[1]);
    if (argc == 1)
        survive(rank);
    if (size > 2) /* the others go on */
        MPI_Sendrecv(&rank, 1, MPI_INT,
                     rank == 0   ? 2
                     : rank == 2 ? 0
                                 : MPI_PROC_NULL,
                     0, &sum, 1, MPI_INT,
                     rank == 0   ? 2
                     : rank == 2 ? 0
                                 : MPI_PROC_NULL,
                     0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d went on\n", rank);
    MPI_Finalize();
    return 0;
}
