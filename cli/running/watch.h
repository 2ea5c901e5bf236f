/* The parent's watch over a run: it waits for the child, loses patience when a time limit passed,
 * and says where a rank computes that lets nobody else run. */
#ifndef CLI_RUNNING_WATCH_H
#define CLI_RUNNING_WATCH_H

#include "cli/running/board.h"
#include "cli/running/job.h"

#include <sys/types.h>

struct watch {
    const struct job *job;
    struct board *board;
    const struct recording *recording; /* NULL: nothing is recorded */
    pid_t child;
};

/* Why the child was ended; WATCH_ENDED: it ended by itself. */
enum watch_end {
    WATCH_ENDED,
    WATCH_INTERRUPTED,
    WATCH_TIMEOUT, /* the time limit, or that without progress */
    WATCH_FAILED,  /* a rank failed, and the others went on for too long */
    WATCH_FULL,    /* the record has no more room */
    WATCH_STOPPED  /* it was stopped by a signal, and nobody continues it */
};

/* Lets the child run to its end, or ends it when the job's time is over or we are interrupted;
 * returns its wait status and why it was ended. */
int watch_child(const struct watch *watch, enum watch_end *end);

#endif
