/* The HTML report: one file, no script, nothing from a network, for one run or for a session of
 * many.
 *
 * Reads in light and dark, on paper and on a phone, and aloud. Everything from a trace is escaped;
 * no text of a trace is ever part of a URL. */
#ifndef VIZ_REPORT_REPORT_H
#define VIZ_REPORT_REPORT_H

#include "traces/base/failure.h"
#include "traces/trace/finding.h"
#include "traces/trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What a trace does not know about its run. Every text may be NULL (left out); all are the
 * caller's. */
struct viz_run_info {
    const char *scenario;
    const char
        *verdict;    /* "PASS", "FAIL", "ERROR", "TIMEOUT", ... : "PASS" is good, every other bad */
    const char *run; /* "run 19" */
    const char *command; /* the whole command line */
    const char *replay;  /* the command that repeats it */
    const char *draw;    /* the command that draws it */
    const char *version, *started, *model;
    const char *const *environment;  /* name, value, name, value, ..., NULL */
    const struct coverage *coverage; /* what was not looked at; NULL: that of the trace */
    uint64_t seed;
    uint32_t ranks;
    double seconds;                       /* wall time, 0: unknown */
    size_t schedules, schedules_finished; /* explored schedules, 0: not explored */
};

struct viz_report_run {
    const struct viz_run_info *info;
    const struct trace *trace;       /* NULL: only a row in the session's table */
    const struct findings *findings; /* NULL: none */
};

/* One run: its page. Several: a table of all, then each run that is not PASS in full (up to 100),
 * the others closed. False on a write error or out of memory. */
bool viz_report_write(FILE *file, const struct viz_report_run *runs, size_t count,
                      struct failure *failure);

#endif
