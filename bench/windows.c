/* What one-sided operations cost: one operation per run, one CSV line from rank 0.
 *
 *   windows OPERATION BYTES MILLISECONDS
 *
 * OPERATION: put, get, accumulate (doubles, sum), each from rank 0 to rank 1 and flushed there; lock
 * (exclusive, and unlocked), flush (of nothing), fence (all ranks), memcpy (what one copy of BYTES
 * costs here, between two pairs of buffers in turn). Other ranks wait in the barrier behind a batch.
 * Only rank 0 reads the clock, around whole batches. What arrived is checked after the last.
 * Prints: operation,ranks,bytes,microseconds (median of the batches),ok */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 21, TARGET = 1 };

struct bench {
    int rank, bytes;
    MPI_Win window;
    double *memory, *own, *other, *another;
};

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void put(struct bench *bench, long count)
{
    for (long i = 0; i < count; i++) {
        MPI_Put(bench->own, bench->bytes, MPI_BYTE, TARGET, 0, bench->bytes, MPI_BYTE,
                bench->window);
        MPI_Win_flush(TARGET, bench->window);
    }
}

static void get(struct bench *bench, long count)
{
    for (long i = 0; i < count; i++) {
        MPI_Get(bench->own, bench->bytes, MPI_BYTE, TARGET, 0, bench->bytes, MPI_BYTE,
                bench->window);
        MPI_Win_flush(TARGET, bench->window);
    }
}

static void accumulate(struct bench *bench, long count)
{
    int n = bench->bytes / (int)sizeof(double);
    for (long i = 0; i < count; i++) {
        MPI_Accumulate(bench->own, n, MPI_DOUBLE, TARGET, 0, n, MPI_DOUBLE, MPI_SUM, bench->window);
        MPI_Win_flush(TARGET, bench->window);
    }
}

static void flush(struct bench *bench, long count)
{
    for (long i = 0; i < count; i++)
        MPI_Win_flush(TARGET, bench->window);
}

static void lock(struct bench *bench, long count)
{
    for (long i = 0; i < count; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, bench->window);
        MPI_Win_unlock(TARGET, bench->window);
    }
}

static void fence(struct bench *bench, long count)
{
    for (long i = 0; i < count; i++)
        MPI_Win_fence(0, bench->window);
}

static void copy(struct bench *bench, long count)
{
    for (long i = 0; i < count; i++) {
        memcpy(bench->other, bench->own, (size_t)bench->bytes);
        __asm__ volatile("" ::: "memory");
        memcpy(bench->memory, bench->another, (size_t)bench->bytes);
        __asm__ volatile("" ::: "memory");
    }
}

/* Who is in it: rank 0 alone, within a lock of all (locked), or everybody. */
static const struct operation {
    const char *name;
    void (*run)(struct bench *bench, long count);
    int locked, by_all, parts;
} operations[] = {
    {"put", put, 1, 0, 1},     {"get", get, 1, 0, 1},   {"accumulate", accumulate, 1, 0, 1},
    {"flush", flush, 1, 0, 1}, {"lock", lock, 0, 0, 1}, {"fence", fence, 0, 1, 1},
    {"memcpy", copy, 0, 0, 2}};

static double timed(struct bench *bench, const struct operation *operation, long count)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = microseconds();
    if (bench->rank == 0 || operation->by_all)
        operation->run(bench, count);
    double spent = microseconds() - begin;
    MPI_Barrier(MPI_COMM_WORLD);
    return spent;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void fill(struct bench *bench)
{
    size_t room = (size_t)bench->bytes + sizeof(double);
    bench->own = malloc(room);
    bench->other = malloc(room);
    bench->another = malloc(room);
    MPI_Win_allocate((MPI_Aint)room, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &bench->memory,
                     &bench->window);
    for (size_t i = 0; i < room / sizeof(double); i++) {
        bench->own[i] = bench->other[i] = bench->another[i] = bench->rank + 1;
        bench->memory[i] = bench->rank == TARGET ? 2 : 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What the last of `total` operations left: at the target, or of a get at the origin. */
static int is_right(const struct bench *bench, const char *name, double total)
{
    double want = !strcmp(name, "put") ? 1 : !strcmp(name, "accumulate") ? 2 + total : 2;
    if (bench->bytes < (int)sizeof(double) || !strcmp(name, "memcpy"))
        return 1;
    if (!strcmp(name, "get"))
        return bench->rank != 0 || bench->own[0] == 2;
    return bench->rank != TARGET || bench->memory[0] == want;
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    int size, all = 0;
    const struct operation *operation = operations;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (argc == 4 && strcmp(operation->name, argv[1]))
        operation++;
    bench.bytes = (int)strtol(argv[2], NULL, 10);
    double budget = strtod(argv[3], NULL) * 1e3 / BATCHES, times[BATCHES], total = 0, spent = 0;
    fill(&bench);
    if (operation->locked && bench.rank == 0)
        MPI_Win_lock_all(0, bench.window);
    long count = 1;
    while (spent < budget && count < 1L << 24) {
        spent = timed(&bench, operation, count);
        total += (double)count;
        long next = bench.rank == 0 && spent < budget ? count * 2 : count;
        MPI_Bcast(&next, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        MPI_Bcast(&spent, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        count = next;
    }
    for (int i = 0; i < BATCHES; i++, total += (double)count)
        times[i] = timed(&bench, operation, count) / (double)count / operation->parts;
    if (operation->locked && bench.rank == 0)
        MPI_Win_unlock_all(bench.window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(&total, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    qsort(times, BATCHES, sizeof *times, compare);
    int right = is_right(&bench, argv[1], total);
    MPI_Reduce(&right, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
    if (bench.rank == 0)
        printf("%s,%d,%d,%.4f,%s\n", argv[1], size, bench.bytes, times[BATCHES / 2],
               all ? "ok" : "WRONG");
    MPI_Win_free(&bench.window);
    free(bench.own);
    free(bench.other);
    free(bench.another);
    MPI_Finalize();
    return bench.rank == 0 && !all;
}
