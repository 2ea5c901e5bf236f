/* A run as the report shows it: its trace, its findings, and what neither knows. */
#ifndef VIZ_REPORT_RUN_H
#define VIZ_REPORT_RUN_H

#include "traces/trace/finding.h"
#include "traces/trace/trace.h"

#include <stddef.h>
#include <stdint.h>

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

#endif
