/* The parent's watch over a run: it waits for the child, loses patience when a time limit passed,
 * and says where a rank computes that lets nobody else run. */
#ifndef CLI_RUNNING_WATCH_H
#define CLI_RUNNING_WATCH_H

#include "cli/options/job_plan.h"
#include "cli/running/board.h"

#include <sys/types.h>

struct watch {
    const struct job *job;
    struct board *board;
    const struct recording *recording; /* NULL: nothing is recorded */
    pid_t child;
};

/* Lets the child run to its end, or ends it when the job's time is over or we are interrupted;
 * returns its wait status and why it was ended. */
int watch_child(const struct watch *watch, enum watch_end *end);

#endif
