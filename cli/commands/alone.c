/* simrun alone: a program as the one rank of a process, as if no MPI launcher had started it.
 *
 * A program that simcc built and that is started by itself ends up here (see libmpi_abi.c): the
 * conftest binaries of configure, a program asked for --help, a debugger. Nothing is recorded or
 * judged, nothing is said but where another MPI's launcher started several, and the exit status is
 * the program's. */
#include "cli/command.h"
#include "cli/processes/other_launcher.h"
#include "sim/compile/compile.h"
#include "sim/programs/loader.h"
#include "sim/programs/run_program.h"
#include "sim/worlds/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse(const struct failure *failure)
{
    fprintf(stderr, "simrun: %s\n", failure->text);
    return EXIT_INPUT;
}

int command_alone(int argc, char **argv)
{
    struct sim_world_options options;
    struct failure failure = {0};
    char object[512];
    if (argc < 2) {
        fputs("simrun alone: no program given\n", stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help")) {
        command_help(command_find("alone"));
        return EXIT_PASSED;
    }
    int starts = other_launcher_starts();
    if (starts)
        fprintf(stderr,
                "simrun: %s was started %d times by an mpiexec of another MPI, each time as one "
                "rank; run it with simrun -n %d %s\n",
                argv[1], starts, starts, argv[1]);
    sim_world_options_init(&options);
    options.ranks = 1;
    options.unable = &failure;
    if (sim_compile(argv[1], object, sizeof object, &failure))
        return refuse(&failure);
    struct sim_run run = {.argc = argc - 1, .argv = argv + 1};
    run.program = sim_program_open(object, SIM_LOADER_CLONE, 1, &failure);
    struct sim_world *world = run.program ? sim_world_new(&options, &failure) : NULL;
    if (!world)
        return refuse(&failure);
    enum trace_outcome outcome = sim_world_run(world, sim_run_body, &run);
    if (failure.code)
        return refuse(&failure);
    int code = sim_world_exit_code(world, 0);
    if (outcome == OUTCOME_DEADLOCK)
        fprintf(stderr, "simrun: %s waits for ever: it runs as one rank; simrun -n N %s\n", argv[1],
                argv[1]);
    else if (outcome != OUTCOME_FINISHED && !code)
        code = EXIT_FINDINGS;
    sim_world_free(world);
    sim_program_close(run.program);
    return outcome == OUTCOME_DEADLOCK ? EXIT_FINDINGS : code;
}
