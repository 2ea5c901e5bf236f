/* A run as TAP 13: one test per check, with names that stay the same from run to run; a YAML block
 * under each failure. The verdict of a run is results.h's result_tap. */
#ifndef CLI_TAP_H
#define CLI_TAP_H

#include "cli/job.h"

#include <stdio.h>

/* Version and plan for `runs` verdicts. */
void tap_begin(FILE *out, int runs);
/* All tests of a run that could not be made: skipped where a requirement is absent, else failed.
 * `number` is that of the last test. */
void tap_failure(FILE *out, const struct job *job, const struct failure *failure, int *number);

#endif
