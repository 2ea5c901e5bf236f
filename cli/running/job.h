/* A job: one program at one number of ranks with one set of options; what there is to run and
 * check. */
#ifndef CLI_RUNNING_JOB_H
#define CLI_RUNNING_JOB_H

#include "cli/options/job_plan.h"
#include "cli/processes/time_limit.h"
#include "traces/trace/finding.h"
#include "traces/trace/trace.h"

/* Of so many ranks it is known apart what they print. */
enum { JOB_PRINTED_RANKS = 64 };

/* What came of it. */
struct job_result {
    enum trace_outcome outcome;
    struct trace *trace; /* NULL when nothing was recorded and no rank failed */
    /* Monotonic: when nobody could move; when the run and when the gradient check were over. */
    uint64_t stopped_ns, ended_ns, checked_ns;
    uint64_t steps, switches;
    uint64_t printed; /* hash of what the ranks printed on stdout, each in its own order */
    uint64_t printed_of[JOB_PRINTED_RANKS]; /* the same of each of the first ranks */
    size_t choices_made, choices_missed;    /* of the schedule's */
    bool threads_denied;     /* a rank asked for more threads of MPI than the executor has */
    bool cut_off;            /* it was ended in the middle: what it had not done yet says nothing */
    bool unjudged;           /* it finished, and there was no time to judge it: session_check */
    struct time_limit limit; /* for loading and judging it */
    char crash[256];         /* a sentence about how the child ended, "" when as it should */
};

/* Runs the job in a child process; fills `result` whatever happens to the child. False only when no
 * child could be made. */
bool job_run(const struct job *job, struct job_result *result, struct failure *failure);
void job_result_release(struct job_result *result);

#endif
