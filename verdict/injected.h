/* Faults injected in this run (X010): one that the program comes through is a note; of another it is told who
 * waits since then. After consequences have been folded. */
#ifndef VERDICT_INJECTED_H
#define VERDICT_INJECTED_H

#include "traces/trace/finding.h"

void verdict_injected(const struct findings *findings, const struct trace *trace);

#endif
