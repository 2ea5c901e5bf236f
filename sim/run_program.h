/* A program as the body of a world: each rank gets its image, runs main with its own argv, and ends as a process would. */
#ifndef SIM_RUN_PROGRAM_H
#define SIM_RUN_PROGRAM_H

#include "sim/loader.h"
#include "sim/world.h"

struct sim_run {
    struct sim_program *program;
    int first_image; /* image of rank 0; rank r uses first_image + r */
    int argc;
    char **argv;
};

/* A sim_rank_body; context is a struct sim_run. */
int sim_run_body(void *run, int rank);
/* Gives the calling OS thread a stack of its own for signals, once. */
void sim_run_signal_stack(void);

#endif
