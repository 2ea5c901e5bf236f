/* Confirming findings by running the program again under their witnesses. */
#ifndef CLI_RUNNING_CONFIRM_H
#define CLI_RUNNING_CONFIRM_H

#include "cli/running/job.h"

/* Runs the job once more, steered by the finding's witness. True when that run shows what the
 * finding says; a sentence of what was seen goes to `text` (free it), NULL where nothing was. */
bool confirm_finding(const struct job *job, const struct trace *trace,
                     const struct finding *finding, char **text);
/* Confirms all findings of a run that have a witness, as long as that costs little: what was shown
 * is CONFIRM_REAL and said in the finding's detail. Ends when the time for the result is over, and
 * says so in the coverage. */
void confirm_findings(const struct job *job, struct job_result *result, struct findings *findings);

#endif
