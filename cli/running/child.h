/* The child process: loads the program, runs its world, and then the worlds of the gradient check.
 * Never returns to the parent's code. */
#ifndef CLI_RUNNING_CHILD_H
#define CLI_RUNNING_CHILD_H

#include "cli/options/job_plan.h"
#include "cli/running/board.h"

struct recording;
struct rank_output;

_Noreturn void child_main(const struct job *job, struct board *board, struct rank_output *output,
                          struct recording *recording);

/* ---- its signals (child_signals.c): crashes of ranks, and the parent's question who computes where */

void child_signals_install(struct board *board);
/* This is the world that is on the board. */
void child_signals_world(struct sim_world *world);
/* The calling thread runs a rank of it, or of another. */
void child_signals_judge(bool judged);
bool child_signals_is_judged(void);

/* A sandbox_note: a finding of the rank that runs (X011). */
void child_signals_refused(const char *text, const void *context);

#endif
