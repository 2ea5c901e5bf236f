/* What instrumentation costs: kernels as programs have them. Prints a row a kernel on rank 0: its name, and the CPU seconds
 * of all ranks. bench_memory.sh runs this plain and with --memory and prints the ratios. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 256, ROW = N + 2, BODIES = 400, CELLS = 4096, KEYS = 20000, WAYS = 8 };

#include <time.h>
static double cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int rank, ranks;
static double *a, *b;
static double x[BODIES], y[BODIES], force[BODIES];
static int columns[N * N], rows[N + 1], keys[KEYS];

static void sweep(const double *from, double *to)
{
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= N; j++)
            to[i * ROW + j] = .25 * (from[(i - 1) * ROW + j] + from[(i + 1) * ROW + j] +
                                     from[i * ROW + j - 1] + from[i * ROW + j + 1]);
}

static void stencil(void)
{
    int up = rank ? rank - 1 : MPI_PROC_NULL, down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(a + ROW, ROW, MPI_DOUBLE, up, 0, a + (N + 1) * ROW, ROW, MPI_DOUBLE, down, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sweep(a, b);
    double *swap = a;
    a = b;
    b = swap;
}

/* Its edges are under way while the middle is computed. */
static void overlapped(void)
{
    int up = rank ? rank - 1 : MPI_PROC_NULL, down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Request requests[2];
    MPI_Irecv(a + (N + 1) * ROW, ROW, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, requests);
    MPI_Isend(a + ROW, ROW, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, requests + 1);
    for (int i = 2; i < N; i++)
        for (int j = 1; j <= N; j++)
            b[i * ROW + j] = .25 * (a[(i - 1) * ROW + j] + a[(i + 1) * ROW + j] +
                                    a[i * ROW + j - 1] + a[i * ROW + j + 1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void bodies(void)
{
    for (int i = 0; i < BODIES; i++) {
        force[i] = 0;
        for (int j = 0; j < BODIES; j++) {
            double dx = x[j] - x[i], dy = y[j] - y[i];
            force[i] += dx / sqrt(dx * dx + dy * dy + .01);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, force, BODIES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void sparse(void)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int k = rows[i]; k < rows[i + 1]; k++)
            sum += a[k] * b[columns[k]];
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* A cell's work as hydrodynamics codes have it: many loads and stores in a function of its own. */
struct cell {
    double corner[8], volume, pressure, energy, speed;
};
static __attribute__((noinline)) void advance(struct cell *cell, double step)
{
    double *c = cell->corner;
    double base = c[0] + c[1] + c[2] + c[3], top = c[4] + c[5] + c[6] + c[7];
    cell->volume = (top - base) * (c[0] - c[5]) * (c[1] - c[4]) + 1;
    cell->pressure = cell->energy / cell->volume;
    cell->speed = sqrt(fabs(cell->pressure)) + 1e-9;
    cell->energy += step * cell->pressure * cell->speed;
}
static struct cell cells[CELLS];
static void hydro(void)
{
    for (int i = 0; i < CELLS; i++)
        advance(&cells[i], 1e-6);
    MPI_Allreduce(MPI_IN_PLACE, &cells[0].energy, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

static void sort_keys(int *low, int *high)
{
    while (high - low > 1) {
        int pivot = low[(high - low) / 2], *i = low, *j = high - 1;
        while (i <= j) {
            while (*i < pivot)
                i++;
            while (*j > pivot)
                j--;
            if (i <= j) {
                int swap = *i;
                *i++ = *j;
                *j-- = swap;
            }
        }
        sort_keys(low, j + 1);
        low = i;
    }
}
static void sort(void)
{
    for (int i = 0; i < KEYS; i++)
        keys[i] = (int)((unsigned)i * 2654435761u >> 8);
    sort_keys(keys, keys + KEYS);
    MPI_Allreduce(MPI_IN_PLACE, keys, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
}

/* Window memory that nobody else touches meanwhile. */
static void window(void)
{
    static MPI_Win made = MPI_WIN_NULL;
    static double *memory;
    if (made == MPI_WIN_NULL)
        MPI_Win_allocate(N * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &made);
    MPI_Win_fence(0, made);
    sweep(a, b);
    for (int i = 0; i < N; i++)
        memory[i] = b[ROW + i];
    MPI_Win_fence(0, made);
}

static void pingpong(void)
{
    double value = 0;
    for (int i = 0; i < 100 && rank < 2 && ranks > 1; i++) {
        if (rank == i % 2)
            MPI_Send(&value, 1, MPI_DOUBLE, !rank, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&value, 1, MPI_DOUBLE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void halo(void)
{
    MPI_Request requests[2];
    for (int i = 0; i < 100; i++) {
        MPI_Irecv(x, 8, MPI_DOUBLE, (rank + 1) % ranks, 0, MPI_COMM_WORLD, requests);
        MPI_Isend(y, 8, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, requests + 1);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void reduce(void)
{
    for (int i = 0; i < 100; i++)
        MPI_Allreduce(MPI_IN_PLACE, x, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static const struct kernel {
    const char *name;
    void (*run)(void);
    int times;
} kernels[] = {{"stencil", stencil, 100},     {"stencil beside messages", overlapped, 100},
               {"bodies", bodies, 40},        {"sparse product", sparse, 200},
               {"hydrodynamics", hydro, 100}, {"quicksort", sort, 10},
               {"ping-pong", pingpong, 100},  {"halo exchange", halo, 100},
               {"allreduce", reduce, 100},    {"stencil beside a window", window, 100}};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    a = calloc(ROW * ROW, sizeof *a);
    b = calloc(ROW * ROW, sizeof *b);
    for (int i = 0; i < BODIES; i++) {
        x[i] = sin(i);
        y[i] = cos(i);
    }
    for (int i = 0; i <= N; i++)
        rows[i] = i * WAYS;
    for (int i = 0; i < N * WAYS; i++)
        columns[i] = (int)((unsigned)i * 2654435761u >> 16) % (N * N);
    for (int i = 0; i < CELLS; i++)
        for (int k = 0; k < 8; k++)
            cells[i].corner[k] = i + k;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = cpu();
        for (int i = 0; i < kernels[k].times; i++)
            kernels[k].run();
        MPI_Barrier(MPI_COMM_WORLD);
        if (!rank)
            printf("kernel\t%s\t%.9f\n", kernels[k].name, cpu() - begin);
    }
    MPI_Finalize();
    return 0;
}
