/* What strange.c and odd.c share: a rank that does one thing between two collectives. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static int rank, size;
static volatile int zero;
static jmp_buf away;
extern char **environ;

static void spin(void)
{
    for (;;)
        zero = 0;
}
static inline void die(void)
{
    *(volatile int *)16 = 1;
}

static inline void deeper(int n)
{
    volatile char room[1024];
    room[0] = (char)n;
    if (!zero)
        deeper(n + 1);
    zero = room[0];
}

#define WAY(function)                                                                              \
    {                                                                                              \
#function, function                                                                        \
    }
struct way {
    const char *name;
    void (*happens)(void);
};

static int run(int argc, char **argv, const struct way *ways, size_t count)
{
    double value = 1, sum;
    volatile double none = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int victim = argc > 2 ? atoi(argv[2]) : -1;
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (size_t i = 0; rank == victim && i < count; i++)
        if (!strcmp(ways[i].name, argv[1]) && !setjmp(away))
            ways[i].happens();
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank != victim && (fegetround() != FE_TONEAREST || 1 / none < 1))
        abort();
    if (rank == victim && !strcmp(argv[1], "rounding") != (fegetround() == FE_UPWARD))
        abort();
    MPI_Finalize();
    return 0;
}
