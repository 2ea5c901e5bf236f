/* What a gradient check costs: a function of 208 and of 10,000 inputs on 16 ranks, against
 * torch.autograd.gradcheck of a like function (bench/gradcheck.py) in the same run, and two workers
 * against one. Part of `make bench`. */
#include "collectives/gradcheck/gradcheck.h"
#include "sim/worlds/world.h"

#include <diff.h>
#include <malloc.h>
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { RANKS = 16, EACH = 13, MANY = 625, ROUNDS = 7 };

static size_t each = EACH; /* inputs of a rank */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int body(void *context, int rank)
{
    (void)context;
    double values[MANY], weight_values[MANY];
    MPI_Init(NULL, NULL);
    for (size_t i = 0; i < each; i++) {
        values[i] = 0.3 + 0.02 * (double)(i % EACH) - 0.03 * rank;
        weight_values[i] = 1 + 0.1 * rank - 0.05 * (double)(i % EACH);
    }
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, &each, values);
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, &each, weight_values);
    struct diff_tensor *total = diff_allreduce(diff_tanh(x), MPI_SUM, MPI_COMM_WORLD);
    diff_backward(diff_dot(diff_mul(total, x), weights));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}

static int run_world(void *context, struct diff_probe *probe, int worker)
{
    (void)context, (void)worker;
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = RANKS;
    options.slots[MPIX_SLOT_PROBE] = probe;
    struct sim_world *world = sim_world_new(&options, NULL);
    if (!world)
        return -1;
    enum trace_outcome outcome = sim_world_run(world, body, NULL);
    sim_world_free(world);
    return (int)outcome;
}

/* Seconds of one check; negative when it did not find every gradient right. */
static double check(int workers, int *worlds)
{
    struct diff_runner runner = {run_world, NULL, RANKS, workers};
    struct gradcheck_options options = gradcheck_options_default();
    struct gradcheck_result result;
    double start = now();
    bool done = gradcheck_run(&runner, &options, &result) == 0;
    double taken = now() - start;
    size_t elements = 0;
    for (size_t i = 0; done && i < result.row_count; i++)
        if (strcmp(result.rows[i].name, "x") == 0 && result.rows[i].check.ok)
            elements += result.rows[i].check.elements;
    bool right = done && !result.base_failed && result.failed == 0 && elements == RANKS * each;
    *worlds = result.worlds;
    gradcheck_release(&result);
    return right ? taken : -1;
}

static double least(int workers, int *worlds)
{
    double best = -1;
    for (int i = 0; i < ROUNDS; i++) {
        double taken = check(workers, worlds);
        if (taken < 0)
            return -1;
        best = best < 0 || taken < best ? taken : best;
    }
    return best;
}

static double torch_seconds(const char *script, const char *how)
{
    char command[600];
    double seconds = -1;
    snprintf(command, sizeof command, "timeout 300 /usr/bin/python3 %s %d %d %s 2>/dev/null",
             script, RANKS, (int)each, how);
    FILE *output = popen(command, "r");
    if (!output || fscanf(output, "%lf", &seconds) != 1)
        seconds = -1;
    if (output)
        pclose(output);
    return seconds;
}

static void compare(const char *what, double torch, double own, const char *limit)
{
    if (torch > 0)
        printf("  %-52s %10.2f ms, %.1f times as long%s\n", what, torch * 1e3, torch / own, limit);
    else
        printf("  %-52s not run: python3-torch is not installed (./setup --ci)\n", what);
}

int main(int argc, char **argv)
{
    mallopt(M_TRIM_THRESHOLD, 64 << 20); /* as the command's child does */
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    int worlds = 0;
    struct timespec c0, c1, c2;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &c0);
    double one = least(1, &worlds);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &c1);
    double two = least(2, &worlds);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &c2);
    printf("processor time of two workers by that of one: %.2f\n",
           ((double)(c2.tv_sec - c1.tv_sec) + 1e-9 * (double)(c2.tv_nsec - c1.tv_nsec)) /
               ((double)(c1.tv_sec - c0.tv_sec) + 1e-9 * (double)(c1.tv_nsec - c0.tv_nsec)));
    const char *script = argc > 1 ? argv[1] : "bench/gradcheck.py";
    if (one < 0 || two < 0) {
        puts("the gradient check found something wrong");
        return 1;
    }
    printf("gradient check of %d inputs on %d ranks: %.2f ms, %d worlds, %.1f us a world\n",
           RANKS * EACH, RANKS, one * 1e3, worlds, one * 1e6 / worlds);
    printf("two worlds side by side: %.2f ms, %.2f times one (at least 1.7)\n", two * 1e3,
           one / two);
    puts("torch.autograd.gradcheck of the same function:");
    compare("on 16 processes over gloo", torch_seconds(script, "gloo"), one, " (at least 20)");
    compare("in one process, as rows of a matrix, nothing sent", torch_seconds(script, ""), one,
            "");
    each = MANY;
    double many = least(1, &worlds);
    if (many < 0) {
        puts("the gradient check of many inputs found something wrong, or left some out");
        return 1;
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("gradient check of %d inputs on %d ranks: %.1f ms, %d worlds, %.0f MiB at the peak\n",
           RANKS * MANY, RANKS, many * 1e3, worlds, (double)usage.ru_maxrss / 1024);
    compare("torch in one process, nothing sent", torch_seconds(script, ""), many,
            " (at least 1/3)");
    return 0;
}
