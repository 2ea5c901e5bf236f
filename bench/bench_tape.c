/* What differentiating costs: forward and backward through the tape against the same pair of raw
 * MPI calls, on the simulator, in one run. Part of `make bench`.
 *
 * Every row: ROUNDS times, alternating, one world of each kind; the ratio is that of the medians.
 * CPU time of the world's thread, so that other work on the machine does not count. */
#include "collectives/experiment/probe.h"
#include "collectives/tape/state.h"
#include "sim/worlds/world.h"

#include <diff.h>
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANKS = 4, ROUNDS = 9, BATCH = 16, WARM = 3 };

enum kind { ALLREDUCE, ALLTOALL, SENDRECV, KINDS };
static const char *const names[KINDS] = {"allreduce", "alltoall", "sendrecv"};

struct bench {
    enum kind kind;
    size_t count; /* doubles per rank (alltoall: in all) */
    int batch, times;
    bool taped;
    double seconds; /* per operation, forward and backward, of all ranks */
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void call(enum kind kind, const double *x, double *y, size_t count)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    switch (kind) {
    case ALLREDUCE:
        MPI_Allreduce(x, y, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        break;
    case ALLTOALL:
        MPI_Alltoall(x, (int)count / size, MPI_DOUBLE, y, (int)count / size, MPI_DOUBLE,
                     MPI_COMM_WORLD);
        break;
    default:
        MPI_Sendrecv(x, (int)count, MPI_DOUBLE, right, 0, y, (int)count, MPI_DOUBLE, left, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static struct diff_tensor *taped(enum kind kind, struct diff_tensor *x, struct diff_tensor *buffer)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    switch (kind) {
    case ALLREDUCE:
        return diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD);
    case ALLTOALL:
        return diff_alltoall(x, MPI_COMM_WORLD);
    default:
        return diff_sendrecv(x, (rank + 1) % size, 0, buffer, (rank + size - 1) % size, 0,
                             MPI_COMM_WORLD);
    }
}

/* One step of `batch` operations: forward through all of them, then back. Inputs and cotangents are
 * there before, in both kinds; the time is that between two barriers. */
static double raw_step(const struct bench *bench, double *memory)
{
    size_t count = bench->count;
    double *inputs = memory + 4 * (size_t)bench->batch * count;
    for (int i = 0; i < bench->batch; i++) { /* as the tape's are: just made */
        double *own = memory + 4 * (size_t)i * count, *from = inputs + 2 * (size_t)i * count;
        memcpy(own, from, count * sizeof *own);
        memcpy(own + 2 * count, from + count, count * sizeof *own);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double start = now();
    for (int i = 0; i < bench->batch; i++) {
        double *own = memory + 4 * (size_t)i * count;
        call(bench->kind, own, own + count, count);
    }
    for (int i = bench->batch - 1; i >= 0; i--) {
        double *own = memory + 4 * (size_t)i * count;
        call(bench->kind, own + 2 * count, own + 3 * count, count);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return now() - start;
}

/* A long tape: every operation takes what the one before gave. */
static double chain_step(const struct bench *bench, const double *memory, struct diff_tape *tape)
{
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, &bench->count, memory);
    struct diff_tensor *buffer =
        diff_constant(tape, DIFF_DOUBLE, 1, &bench->count, memory + bench->count);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = now();
    for (int i = 0; i < bench->batch; i++)
        x = taped(bench->kind, x, buffer);
    diff_backward_from(tape, 1, &x, &buffer, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    double taken = now() - start;
    diff_tape_clear(tape);
    return taken;
}

static double taped_step(const struct bench *bench, const double *memory, struct diff_tape *tape)
{
    if (bench->batch > BATCH)
        return chain_step(bench, memory, tape);
    struct diff_tensor *x[BATCH], *y[BATCH], *y_bar[BATCH];
    for (int i = 0; i < bench->batch; i++) {
        const double *from = memory + 2 * (size_t)(2 * bench->batch + i) * bench->count;
        x[i] = diff_input(tape, "x", DIFF_DOUBLE, 1, &bench->count, from);
        y_bar[i] = diff_constant(tape, DIFF_DOUBLE, 1, &bench->count, from + bench->count);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double start = now();
    for (int i = 0; i < bench->batch; i++)
        y[i] = taped(bench->kind, x[i], y_bar[i]);
    diff_backward_from(tape, (size_t)bench->batch, y, y_bar, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    double taken = now() - start;
    diff_tape_clear(tape);
    return taken;
}

static int body(void *context, int rank)
{
    struct bench *bench = context;
    MPI_Init(NULL, NULL);
    size_t room = 6 * bench->count * (size_t)bench->batch;
    double *memory = calloc(room, sizeof *memory), taken = 0;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    for (size_t i = 0; memory && i < room; i++)
        memory[i] = (double)(i % 7) + rank;
    for (int i = -WARM; memory && i < bench->times; i++) {
        double step = bench->taped ? taped_step(bench, memory, tape) : raw_step(bench, memory);
        taken += i >= 0 ? step : 0;
    }
    if (rank == 0)
        bench->seconds = taken / bench->times / bench->batch;
    diff_tape_free(tape);
    free(memory);
    MPI_Finalize();
    return 0;
}

static double measure(struct bench bench)
{
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = RANKS;
    struct sim_world *world = sim_world_new(&options, NULL);
    if (!world)
        return -1;
    sim_world_run(world, body, &bench);
    for (int r = 0; r < RANKS; r++)
        diff_state_release(sim_world_slots(world, r)[MPIX_SLOT_DIFF]);
    sim_world_free(world);
    return bench.seconds;
}

static int by_size(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void row(enum kind kind, size_t bytes, int batch, int times, double limit)
{
    double raw[ROUNDS], tape[ROUNDS];
    size_t count = bytes / sizeof(double);
    if (kind == ALLTOALL && count < RANKS)
        count = RANKS; /* 8 bytes to every rank */
    for (int i = 0; i < ROUNDS; i++) {
        raw[i] = measure((struct bench){kind, count, batch, times, false, 0});
        tape[i] = measure((struct bench){kind, count, batch, times, true, 0});
    }
    qsort(raw, ROUNDS, sizeof *raw, by_size);
    qsort(tape, ROUNDS, sizeof *tape, by_size);
    double a = raw[ROUNDS / 2], b = tape[ROUNDS / 2];
    printf("%-10s %9zu %9d %12.2f %12.2f %8.2f %8.1f %s\n", names[kind], bytes, batch, a * 1e6,
           b * 1e6, b / a, limit, b / a <= limit ? "" : "over");
}

int main(int argc, char **argv)
{
    omp_set_num_threads(1); /* the machine's large reductions: no matter of the tape */
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 3) { /* one kind, bytes, times: for profiles */
        size_t bytes = (size_t)atoi(argv[2]);
        for (int i = 0; i < 40; i++)
            measure((struct bench){(enum kind)atoi(argv[1]), bytes / sizeof(double),
                                   bytes > 8 ? 2 : BATCH, atoi(argv[3]), true, 0});
        return 0;
    }
    printf("forward and backward, %d ranks, microseconds of processor time for all ranks\n", RANKS);
    printf("%-10s %9s %9s %12s %12s %8s %8s\n", "operation", "bytes", "on a tape", "raw MPI pair",
           "taped", "ratio", "at most");
    for (int kind = 0; kind < KINDS; kind++)
        row((enum kind)kind, 8, BATCH, 400, 3);
    for (int steps = 100; steps <= 10000; steps *= 10)
        for (int kind = ALLTOALL; kind < KINDS; kind++) /* a chain of sums would overflow */
            row((enum kind)kind, 8, steps, 40000 / steps, 8);
    for (int kind = 0; kind < KINDS; kind++)
        row((enum kind)kind, 1 << 20, 2, 10, 1.5);
    return 0;
}
