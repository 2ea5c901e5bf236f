/* How many runs a second an exploration makes: 4 ranks, 20 operations, wildcards that race.
 *
 *   bench_explore [runs]     default: 20,000, by exploring the 36 runs of the program again and
 * again */
#include "checker/explore/explore.h"
#include "sim/worlds/world.h"

#include <mpi.h>
#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Three ranks send two messages each to rank 0, which takes them from anybody; between, an
 * allreduce and a barrier. */
static int body(void *context, int rank)
{
    int value = rank, sum;
    (void)context;
    MPI_Init(NULL, NULL);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; rank == 0 && j < 3; j++)
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank)
            MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}

static bool run_world(void *context, unsigned worker, struct explore_steer *steer,
                      struct explore_run *run)
{
    struct sim_world_options options;
    struct failure failure;
    (void)worker;
    sim_world_options_init(&options);
    options.ranks = 4;
    explore_steer_world(steer, &options);
    struct sim_world *world = sim_world_new(&options, &failure);
    if (!world)
        return false;
    run->outcome = sim_world_run(world, body, context);
    explore_run_take(run, sim_world_choices(world));
    sim_world_free(world);
    return true;
}

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    unsigned long long wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000, runs = 0;
    double wall = now(CLOCK_MONOTONIC), processor = now(CLOCK_PROCESS_CPUTIME_ID);
    while (runs < wanted) {
        struct explore_options options;
        struct explore_report report;
        explore_options_init(&options);
        explore(&options, run_world, NULL, &report);
        runs += report.runs + report.redundant;
        if (report.runs != 36 || !report.complete) {
            fprintf(stderr, "bench_explore: %llu runs instead of 36\n",
                    (unsigned long long)report.runs);
            return 1;
        }
        explore_report_release(&report);
    }
    wall = now(CLOCK_MONOTONIC) - wall;
    processor = now(CLOCK_PROCESS_CPUTIME_ID) - processor;
    printf("explored %llu runs of 4 ranks and 20 operations: %.0f runs/s, %.0f runs per second of "
           "processor time\n",
           runs, (double)runs / wall, (double)runs / processor);
    return 0;
}
