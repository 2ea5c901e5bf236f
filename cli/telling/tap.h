/* A run as TAP 13: one test per check, with names that stay the same from run to run; a YAML block
 * under each failure. The verdict of a run is results.h's result_tap. */
#ifndef CLI_TELLING_TAP_H
#define CLI_TELLING_TAP_H

#include "traces/base/failure.h"

#include <stdio.h>

/* Version and plan for `runs` verdicts. */
void tap_begin(FILE *out, int runs);
/* The tests of a run that could not be made: skipped where a requirement is absent, else the last
 * one, "nothing else", fails with the sentence and the others are skipped. `number` is that of the
 * last test. */
void tap_failure(FILE *out, const char *name, const struct failure *failure, int *number);
/* The whole of a command that came to no run: one failed test, or a plan that says why there is
 * none. */
void tap_nothing(FILE *out, const char *name, const struct failure *failure);
void tap_bail_out(FILE *out, const char *text);

#endif
