/* The worlds of an exploration run in a child process, many of them side by side. Each
 * is only asked how it ended, what objective it computed and, as one number, what its ranks did. */
#ifndef CLI_RUNNING_EXPLORE_WORLDS_H
#define CLI_RUNNING_EXPLORE_WORLDS_H

#include "checker/explore/explore.h"
#include "cli/running/job.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/types.h>

/* Shared memory on which the child tells how far it is, and is told to stop. */
struct explore_board {
    _Atomic uint64_t runs, expected;
    _Atomic bool many_kinds; /* of runs, so that not all are judged */
    _Atomic int stop;
    struct sim_first_failure first_failure; /* of the first run that had one */
    struct failure unable;                  /* why a world could not be made, if so */
};

struct explore_board *explore_board_new(void); /* NULL: no memory */
void explore_board_free(struct explore_board *board);

/* Starts the child; its report goes to `result`, an empty file. -1: no process. */
pid_t explore_worlds_begin(const struct job *job, const struct explore_options *options,
                           struct explore_board *board, FILE *result);
/* Reads the report once the child has ended. */
bool explore_worlds_end(FILE *result, struct explore_report *report);

#endif
