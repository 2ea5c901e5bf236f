/* One exploration of a job: the worlds in a child process, watched, and stopped when time is over
 * or on a signal. What 'simrun explore' and 'simrun prove' share. */
#ifndef CLI_RUNNING_EXPLORATION_H
#define CLI_RUNNING_EXPLORATION_H

#include "checker/explore/explore.h"
#include "cli/options/run_options.h"
#include "cli/running/job.h"

struct exploration {
    struct explore_report report;
    uint64_t runs;          /* that ended, also where there is no report */
    int status;             /* EXIT_PASSED: the report holds; else why there is none */
    struct failure failure; /* then in a sentence */
};

/* Whether it cannot be part of a proof: all runs that are expected would take several times the seconds that
 * there are in `all`, by what was done in those that are `spent`; or not every kind of them is judged. */
bool exploration_is_hopeless(const struct explore_progress *progress, double spent, double all);
/* Of the seconds that are left for so many numbers of ranks those that the next may take. */
double exploration_share(double left, int numbers);
/* job->timeout bounds it, and job->patience where it is hopeless; `quiet`: no progress. Release it in any case. */
void exploration_run(const struct job *job, const struct run_options *options, bool quiet,
                     struct exploration *exploration);
void exploration_release(struct exploration *exploration);

#endif
