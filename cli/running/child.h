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

#endif
