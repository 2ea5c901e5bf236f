/* Signals in the child process: crashes of ranks, and the parent's question who computes where. */
#ifndef CLI_RUNNING_CHILD_SIGNALS_H
#define CLI_RUNNING_CHILD_SIGNALS_H

#include "cli/running/board.h"

void child_signals_install(struct board *board);
/* This is the world that is on the board. */
void child_signals_world(const struct sim_world *world);
/* The calling thread runs a rank of it, or of another. */
void child_signals_judge(bool judged);
bool child_signals_is_judged(void);

/* A sandbox_note: a finding of the rank that runs (X011). */
void child_signals_refused(const char *text, const void *context);

#endif
