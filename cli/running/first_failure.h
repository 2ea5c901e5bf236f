/* The root cause of a run that failed: the rank that failed before all others, which did so because
 * of it or were stopped. Kept as metrics of the trace, and so with every stored run. */
#ifndef CLI_RUNNING_FIRST_FAILURE_H
#define CLI_RUNNING_FIRST_FAILURE_H

#include "traces/trace/trace.h"

#include <stdbool.h>
#include <stddef.h>

enum { CAUSE_TEXT = 400 };

/* `rank` failed first, -1: none did; the group had been started again `restarts` times. */
void cause_note(struct trace *trace, int rank, int restarts);
/* "rank 2 failed first: signal 11 (Segmentation fault) at prog.c:13"; false and "" when no rank
 * failed. The trace may be NULL. */
bool cause_text(const struct trace *trace, char *text, size_t size);
int cause_restarts(const struct trace *trace);

#endif
