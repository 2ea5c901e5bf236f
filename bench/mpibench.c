/* Micro-benchmarks of a message-passing machine: one operation per run, one CSV line from rank 0.
 *
 *   mpibench OPERATION BYTES MILLISECONDS
 *
 * OPERATION: pingpong (half a round trip between ranks 0 and 1, the others wait), barrier,
 * allreduce (doubles, sum), alltoall (BYTES per pair), ring (Sendrecv), switch (every rank gives
 * way once), memcpy (no messages: what one copy of BYTES costs here, between two pairs of buffers
 * in turn as in pingpong), memory (instead of microseconds: peak KiB of this process for each
 * rank).
 *
 * Only rank 0 reads the clock, and only around whole batches: where ranks share a core, every clock
 * reading of another rank would be charged to the operation. Data are checked after the last batch.
 * State is in locals, so that any loader may run it. Prints: operation,ranks,bytes,microseconds
 * (median of the batches),ok */
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 41, LARGE_WORLD = 8192, LARGE_BATCHES = 5 };

struct bench {
    int rank, size;
    size_t bytes;
    char *out, *in, *other_out, *other_in;
};

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void pingpong(struct bench *bench, long count)
{
    int n = (int)bench->bytes;
    for (long i = 0; i < count && bench->rank < 2; i++) {
        if (bench->rank == 0) {
            MPI_Send(bench->out, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(bench->in, n, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(bench->in, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(bench->out, n, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
        }
    }
}

static void barrier(struct bench *bench, long count)
{
    (void)bench;
    for (long i = 0; i < count; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(struct bench *bench, long count)
{
    for (long i = 0; i < count; i++)
        MPI_Allreduce(bench->out, bench->in, (int)(bench->bytes / sizeof(double)), MPI_DOUBLE,
                      MPI_SUM, MPI_COMM_WORLD);
}

static void alltoall(struct bench *bench, long count)
{
    int n = (int)bench->bytes;
    for (long i = 0; i < count; i++)
        MPI_Alltoall(bench->out, n, MPI_BYTE, bench->in, n, MPI_BYTE, MPI_COMM_WORLD);
}

static void ring(struct bench *bench, long count)
{
    int n = (int)bench->bytes, right = (bench->rank + 1) % bench->size,
        left = (bench->rank + bench->size - 1) % bench->size;
    for (long i = 0; i < count; i++)
        MPI_Sendrecv(bench->out, n, MPI_BYTE, right, 3, bench->in, n, MPI_BYTE, left, 3,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void give_way(struct bench *bench, long count)
{
    (void)bench;
    for (long i = 0; i < count; i++)
        sched_yield();
}

static void copy(struct bench *bench, long count)
{
    for (long i = 0; i < count && bench->rank == 0; i++) {
        memcpy(bench->in, bench->out, bench->bytes);
        __asm__ volatile("" ::: "memory");
        memcpy(bench->other_in, bench->other_out, bench->bytes);
        __asm__ volatile("" ::: "memory");
    }
}

static void nothing(struct bench *bench, long count)
{
    (void)bench, (void)count;
}

static const struct {
    const char *name;
    void (*run)(struct bench *bench, long count);
    double share; /* of an operation's time that is reported */
    long least;   /* operations in a batch; where there are several, ranks drift apart and meet at
                     its end */
} operations[] = {{"pingpong", pingpong, 0.5, 1}, {"barrier", barrier, 1, 1},
                  {"allreduce", allreduce, 1, 1}, {"alltoall", alltoall, 1, 1},
                  {"ring", ring, 1, 16},          {"switch", give_way, 1, 16},
                  {"memcpy", copy, 0.5, 1},       {"memory", nothing, 1, 1}};

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void fill(struct bench *bench, const char *operation)
{
    size_t room = bench->bytes * (strcmp(operation, "alltoall") ? 1 : (size_t)bench->size) + 64;
    bench->out = malloc(room);
    bench->in = malloc(room);
    memset(bench->out, bench->rank & 0x7f, room);
    memset(bench->in, 0xff, room);
    bench->other_out = bench->other_in = NULL;
    if (!strcmp(operation, "memcpy")) {
        bench->other_out = memset(malloc(room), 1, room);
        bench->other_in = memset(malloc(room), 2, room);
    }
    if (!strcmp(operation, "allreduce"))
        for (size_t i = 0; i < bench->bytes / sizeof(double); i++)
            memcpy(bench->out + i * sizeof(double), &(double){bench->rank + 1.0}, sizeof(double));
}

static int is_right(const struct bench *bench, const char *operation)
{
    if (!strcmp(operation, "allreduce")) {
        double want = 0.5 * bench->size * (bench->size + 1.0), got = want;
        for (size_t i = 0; i < bench->bytes / sizeof(double); i++) {
            memcpy(&got, bench->in + i * sizeof(double), sizeof got);
            if (got != want)
                return 0;
        }
    }
    if (!strcmp(operation, "alltoall"))
        for (int i = 0; i < bench->size && bench->bytes; i++)
            if (bench->in[(size_t)i * bench->bytes] != (i & 0x7f))
                return 0;
    if (!strcmp(operation, "ring"))
        return !bench->bytes || bench->in[bench->bytes - 1] ==
                                    (((bench->rank + bench->size - 1) % bench->size) & 0x7f);
    if (!strcmp(operation, "pingpong") && bench->rank < 2 && bench->bytes)
        return bench->in[0] == ((1 - bench->rank) & 0x7f);
    return 1;
}

/* Rank 0 decides how many operations make a batch; the others follow. */
static double timed(struct bench *bench, size_t which, long count)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = bench->rank == 0 ? microseconds() : 0;
    operations[which].run(bench, count);
    if (operations[which].least > 1)
        MPI_Barrier(MPI_COMM_WORLD);
    return bench->rank == 0 ? microseconds() - begin : 0;
}

/* Peak memory of this process, in KiB; 0 where the kernel does not say. */
static double peak_memory(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double peak = 0;
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "VmHWM:", 6))
            peak = strtod(line + 6, NULL);
    if (file)
        fclose(file);
    return peak;
}

/* Rank 0 tells the result, or what the world takes of memory, which it reads once for all. */
static int report(const struct bench *bench, const char *operation, double result)
{
    int right = is_right(bench, operation), all = 0;
    MPI_Reduce(&right, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
    if (bench->rank == 0 && !strcmp(operation, "memory"))
        result = peak_memory() / bench->size;
    if (bench->rank == 0)
        printf("%s,%d,%zu,%.4f,%s\n", operation, bench->size, bench->bytes, result,
               all ? "ok" : "WRONG");
    return bench->rank == 0 && !all;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    struct bench bench;
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.size);
    size_t which = 0, known = sizeof operations / sizeof *operations;
    while (argc == 4 && which < known && strcmp(operations[which].name, argv[1]))
        which++;
    if (argc != 4 || which == known) {
        if (bench.rank == 0)
            fprintf(stderr,
                    "usage: mpibench pingpong|barrier|allreduce|alltoall|ring|switch|memcpy|memory "
                    "BYTES MILLISECONDS\n");
        MPI_Finalize();
        return 2;
    }
    bench.bytes = strtoul(argv[2], NULL, 10);
    int batches = bench.size < LARGE_WORLD ? BATCHES : LARGE_BATCHES;
    bool idle = !strcmp(argv[1], "memory");
    double budget = idle ? 0 : strtod(argv[3], NULL) * 1e3 / batches, times[BATCHES];
    fill(&bench, argv[1]);
    long count = operations[which].least;
    for (double spent = 0; spent < budget && count < 1L << 24;) {
        spent = timed(&bench, which, count);
        long next = bench.rank == 0 && spent < budget ? count * 2 : count;
        MPI_Bcast(&next, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        MPI_Bcast(&spent, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        count = next;
    }
    for (int i = 0; i < batches; i++)
        times[i] = timed(&bench, which, count) * operations[which].share / (double)count;
    qsort(times, (size_t)batches, sizeof *times, compare);
    int wrong = report(&bench, argv[1], times[batches / 2]);
    free(bench.out);
    free(bench.in);
    free(bench.other_out);
    free(bench.other_in);
    MPI_Finalize();
    return wrong;
}
