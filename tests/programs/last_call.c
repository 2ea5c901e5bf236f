/* Functions of the program's that the launcher calls, and that end with a jump: what each jumps to is called by the program, and does for the
 * rank what it does for a process.
 *
 * simrun: cflags: -O2 -fopenmp -foptimize-sibling-calls */
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[4096], own[16];
static int rank, sum;

static void *thread(void *variable)
{
    return getenv(variable);
}

static void on_signal(int number)
{
    (void)number;
    setenv("SIGNALLED", own, 1);
}

/* The last of all runs first. */
static void at_the_end(void)
{
    chdir(folder);
}

static void after_that(void)
{
    FILE *mark = fopen("mark", "w");
    fclose(mark);
}

static void say(const char *what, int right)
{
    printf("%s %s\n", what, right ? "right" : "wrong");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(own, sizeof own, "%d", rank);
    snprintf(folder, sizeof folder, "%s/%d", argv[1], rank);
    mkdir(folder, 0700);
    for (int round = 0; round < 2; round++) {
#pragma omp parallel num_threads(1)
        {
            int add = omp_get_num_threads();
#pragma omp critical
            sum += add;
        }
    }
    say("region", sum == 2);
    setenv("OWN", own, 1);
    pthread_t other;
    void *got = NULL;
    pthread_create(&other, NULL, thread, "OWN");
    pthread_join(other, &got);
    say("thread", got && !strcmp(got, own));
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    MPI_Barrier(MPI_COMM_WORLD);
    const char *signalled = getenv("SIGNALLED");
    say("handler", signalled && !strcmp(signalled, own));
    atexit(after_that);
    atexit(at_the_end);
    MPI_Finalize();
    return 0;
}
