/* What a job is to do: see job_plan.h. */
#include "cli/options/job_plan.h"

char **job_arguments(const struct job *job, int *argc)
{
    char **words = job->argv + job->sources_more;
    words[0] = job->argv[0];
    *argc = job->argc - job->sources_more;
    return words;
}
