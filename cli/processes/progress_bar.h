/* A line on a terminal that says how far a long step is, at which rate, and how long it will take;
 * gone when the step is over.
 *
 * Rules:
 *  1. Nothing is written unless stderr is a terminal, not a dumb one (and `quiet` is not asked
 *     for), and nothing during a step's first half second: what is quick stays silent.
 *  2. After progress_bar_clear the line is as if it had never been. */
#ifndef CLI_PROCESSES_PROGRESS_BAR_H
#define CLI_PROCESSES_PROGRESS_BAR_H

#include "traces/base/progress.h"

#include <stdbool.h>
#include <stddef.h>

struct progress_bar {
    struct progress base; /* what is given to those who tell */
    bool enabled, visible;
    const char *step;
    double begun, shown; /* seconds, monotonic */
    char before[40];     /* in front of the step, such as "run 2 of 5: " */
};

void progress_bar_init(struct progress_bar *bar, bool quiet);
void progress_bar_clear(struct progress_bar *bar);
/* The line for a step that is `seconds` old, in at most `columns`: what is shown, for tests. */
void progress_bar_text(const char *before, const char *step, uint64_t done, uint64_t total,
                       const char *unit, double seconds, int columns, char *text, size_t size);

#endif
