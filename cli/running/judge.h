/* Judging a trace within the time there is for it.
 *
 * The checks of a long trace run in a process of their own, which tells what it has found after
 * each of them: when time is over, or that process dies, what was found until then stands, and what
 * was not judged is a gap. The trace was stored before. Checks of a short trace take no time to
 * speak of, and run here. */
#ifndef CLI_RUNNING_JUDGE_H
#define CLI_RUNNING_JUDGE_H

#include "checker/check.h"
#include "cli/processes/time_limit.h"

/* As check_trace; false when something was not judged, which the trace's coverage names. */
bool judge_trace(const struct trace *trace, const struct check_options *options,
                 struct time_limit *limit, struct findings *findings);

#endif
