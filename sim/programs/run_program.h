/* A program as the body of a world: each rank gets its image, runs main with its own argv, and ends
 * as a process would. */
#ifndef SIM_PROGRAMS_RUN_PROGRAM_H
#define SIM_PROGRAMS_RUN_PROGRAM_H

#include "sim/programs/loader.h"

struct sim_run {
    struct sim_program *program;
    int first_image; /* image of rank 0; rank r uses first_image + r */
    int argc;
    char **argv;
    /* Told where a rank's image lies: `pc` of main, and main's address as the linker gave it. May
     * be NULL. */
    void (*placed)(void *context, int rank, uintptr_t pc, uint64_t address);
    void *context;
};

/* A sim_rank_body; context is a struct sim_run. */
int sim_run_body(void *run, int rank);
/* Gives the calling OS thread a stack of its own for signals, once. */
void sim_run_signal_stack(void);

#endif
