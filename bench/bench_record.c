/* What recording costs: an operation recorded against the same not recorded, in one run; then
 * loading and storing. Part of `make bench`.
 *
 * Two ranks exchange small messages in bursts. The child process runs the world as under simrun;
 * CPU time of its thread, so that other work on the machine does not count. */
#include "sim/worlds/world.h"
#include "recorder/recording.h"
#include "traces/store/store.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGES = 500000, FEW = 100000, BURST = 100, ROUNDS = 31 };

static struct recording *recording;
static double *costs; /* of rounds recorded, then of the same not recorded; shared with children */

struct job {
    bool recorded;
    int messages;
};

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int body(void *context, int rank)
{
    const struct job *job = context;
    double x = 1;
    if (job->recorded)
        recording_rank_begin(recording);
    MPI_Init(NULL, NULL);
    for (int i = 0; i < job->messages; i++) {
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
static double run_world(bool recorded, int messages)
{
    struct job job = {recorded, messages};
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = 2;
    struct sim_world *world = sim_world_new(&options, NULL);
    double start = seconds(CLOCK_THREAD_CPUTIME_ID);
    sim_world_run(world, body, &job);
    double taken = seconds(CLOCK_THREAD_CPUTIME_ID) - start;
    sim_world_free(world);
    return taken / (2.0 * messages) * 1e9;
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
    double ops = (double)trace->op_count;
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
    if (!id || store_run_finish(
                   store, id, &(struct store_result){.outcome = "pass", .trace = trace}, &failure))
        printf("store: %s\n", failure.text);
    else
        printf("store      %10.0f operations a second of processor time, %.0f of wall time\n",
               ops / (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu),
               ops / (seconds(CLOCK_MONOTONIC) - wall));
    store_close(store);
    unlink(path);
}

/* A round in a child, as under simrun; the owner feeds. */
static struct recording *record(int round, int messages, struct failure *failure)
{
    recording = recording_new(2, RECORD_LEVEL_OPS, failure);
    if (!recording)
        return NULL;
    if (fork() == 0) {
        run_world(false, FEW / 10); /* warm */
        if (round % 2)
            costs[ROUNDS + round] = run_world(false, messages);
        costs[round] = run_world(true, messages);
        if (round % 2 == 0)
            costs[ROUNDS + round] = run_world(false, messages);
        _exit(0);
    }
    recording_feed(recording);
    wait(NULL);
    recording_settle(recording); /* before it is looked at */
    return recording;
}

static bool measure_record(struct failure *failure)
{
    double differences[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        recording_free(record(round, FEW, failure));
        if (!recording)
            return false;
        differences[round] = costs[round] - costs[ROUNDS + round];
    }
    qsort(differences, ROUNDS, sizeof *differences, by_size);
    qsort(costs, ROUNDS, sizeof *costs, by_size);
    qsort(costs + ROUNDS, ROUNDS, sizeof *costs, by_size);
    printf("record     %10.1f ns an operation on top of %.1f (least of %d runs; median of their "
           "differences %.1f)\n",
           costs[0] - costs[ROUNDS], costs[ROUNDS], ROUNDS, differences[ROUNDS / 2]);
    return true;
}

int main(void)
{
    struct failure failure = {0};
    costs = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (costs == MAP_FAILED || !measure_record(&failure) || !record(0, MESSAGES, &failure)) {
        printf("record: %s\n", failure.text);
        return 1;
    }
    double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    struct trace *trace =
        recording_load(recording, &(struct recording_result){.program = "bench"}, &failure);
    start = seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
    recording_free(recording);
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
