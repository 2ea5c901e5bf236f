/* The choices of one run as a word of a command line (--schedule), and back.
 *
 *     r0.1=2.3   rank 0's receive number 1 takes message 3 of rank 2 (all from 0)
 *     p0.1=2.3   its probe number 1 sees it
 *     w0.1=2.3   its Waitany number 1 reports request 2
 *     n0.1=2.3   a choice among things that have numbers
 *     l0.1=2     its own choice number 1 picked 2 of what was ready
 *
 * joined by commas; a third number is the communicator's context where that is not 0. */
#ifndef CLI_OPTIONS_SCHEDULE_H
#define CLI_OPTIONS_SCHEDULE_H

#include "checker/explore/explore.h"

/* The caller frees it. */
char *schedule_text(const struct explore_choice *choices, size_t count);
/* What the text says; NULL when it says nothing of the kind, with the byte in *at. The caller frees
 * it. */
struct explore_choice *schedule_parse(const char *text, size_t *count, size_t *at);

#endif
