/* The HTML report: one file, no script, nothing from a network, for one run or for a session of
 * many.
 *
 * Reads in light and dark, on paper and on a phone, and aloud. Everything from a trace is escaped;
 * no text of a trace is ever part of a URL.
 *
 * Room: sees viz/charts, viz/lanes, viz/paper; traces. Seen by cli. */
#ifndef VIZ_REPORT_REPORT_H
#define VIZ_REPORT_REPORT_H

#include "traces/base/failure.h"
#include "viz/report/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* One run: its page. Several: a table of all, then each run that is not PASS in full (up to 100),
 * the others closed. False on a write error or out of memory. */
bool viz_report_write(FILE *file, const struct viz_report_run *runs, size_t count,
                      struct failure *failure);

#endif
