/* A run as TAP 13: one test per check, with names that stay the same from run to run; a YAML block
 * under each failure. */
#ifndef CLI_TAP_H
#define CLI_TAP_H

#include "cli/session.h"

#include <stdio.h>

/* Version and plan for `runs` verdicts. */
void tap_begin(FILE *out, int runs);
void tap_verdict(FILE *out, const struct job *job, const struct verdict *verdict);

#endif
