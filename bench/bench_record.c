/* What recording costs: an operation recorded against the same not recorded, in one run; then
 * loading and storing. Part of `make bench`.
 *
 * Two ranks exchange small messages in bursts. The child process runs the world as under simrun;
 * CPU time of its thread, so that other work on the machine does not count. */
#include "sim/world.h"
#include "traces/recording.h"
#include "traces/store.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGES = 500000, BURST = 100, ROUNDS = 5, OPS = 2 * MESSAGES };

static struct recording *recording;

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int body(void *context, int rank)
{
    double x = 1;
    if (*(const int *)context)
        recording_rank_begin(recording);
    MPI_Init(NULL, NULL);
    for (int i = 0; i < MESSAGES; i++) {
        if (i % BURST == 0)
            PMPI_Barrier(MPI_COMM_WORLD); /* not recorded */
        if (rank == 0)
            MPI_Send(&x, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
        else
            MPI_Recv(&x, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}

/* Nanoseconds an operation. */
static double run_world(int recorded)
{
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = 2;
    struct sim_world *world = sim_world_new(&options, NULL);
    double start = seconds(CLOCK_THREAD_CPUTIME_ID);
    sim_world_run(world, body, &recorded);
    double taken = seconds(CLOCK_THREAD_CPUTIME_ID) - start;
    sim_world_free(world);
    return taken / OPS * 1e9;
}

static int by_size(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void measure_store(const struct trace *trace)
{
    char path[64];
    struct failure failure;
    snprintf(path, sizeof path, "/tmp/simrun-bench-%ld.db", (long)getpid());
    struct store *store = store_open(path, STORE_WRITE, &failure);
    struct store_run run = {
        .scenario = "bench", .ranks = 2, .schedule = "", .argv = "", .version = ""};
    int64_t id = store ? store_run_begin(store, &run, &failure) : 0;
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
    if (!id || store_run_finish(
                   store, id, &(struct store_result){.outcome = "pass", .trace = trace}, &failure))
        printf("store: %s\n", failure.text);
    else
        printf("store      %10.0f operations a second of processor time, %.0f of wall time\n",
               OPS / (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu),
               OPS / (seconds(CLOCK_MONOTONIC) - wall));
    store_close(store);
    unlink(path);
}

int main(void)
{
    double *costs = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct failure failure = {0};
    double start = 0;
    struct trace *trace = NULL;
    for (int round = 0; round < ROUNDS; round++) {
        recording = recording_new(2, RECORD_LEVEL_OPS, &failure);
        if (!recording || costs == MAP_FAILED) {
            printf("%s\n", failure.text);
            return 1;
        }
        if (fork() == 0) {
            double off = run_world(0);
            costs[round] = run_world(1) - off;
            costs[ROUNDS + round] = off;
            _exit(0);
        }
        recording_feed(recording);
        wait(NULL);
        trace_free(trace);
        start = seconds(CLOCK_PROCESS_CPUTIME_ID);
        trace = recording_load(recording, &(struct recording_result){.program = "bench"}, &failure);
        start = seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
        recording_free(recording);
    }
    qsort(costs, ROUNDS, sizeof *costs, by_size);
    qsort(costs + ROUNDS, ROUNDS, sizeof *costs, by_size);
    printf("record     %10.1f ns an operation on top of %.1f (median of %d)\n", costs[ROUNDS / 2],
           costs[ROUNDS + ROUNDS / 2], ROUNDS);
    if (!trace) {
        printf("load: %s\n", failure.text);
        return 1;
    }
    printf("load       %10.0f operations a second, matched and hashed\n",
           (double)trace->op_count / start);
    measure_store(trace);
    trace_free(trace);
    return 0;
}
