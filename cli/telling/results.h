/* The results of one command: every verdict goes to stdout as it comes (text, TAP or JSON) and is
 * kept for the files that are written at the end (HTML, JUnit, pictures, annotations).
 *
 * Rules:
 *  1. A file is written whole or not at all; failing to write one makes the status EXIT_INTERNAL.
 *  2. The status is the worst of all runs (exit_status_worse). */
#ifndef CLI_TELLING_RESULTS_H
#define CLI_TELLING_RESULTS_H

#include "cli/telling/result.h"

void results_begin(struct results *results, const struct run_options *options, int expected);
/* A new row to be filled by the caller, valid until the next; results_report then says what came of
 * it on stdout. */
struct result *results_add(struct results *results, const struct job *job);
void results_report(struct results *results, struct result *result);
/* Runs `measured` (the job, perhaps under another limit) and looks for findings; the trace is kept
 * before anybody judges it. *run: its number in the database, 0: none. False: it could not be run,
 * which was reported. */
bool results_measure(struct results *results, const struct job *job, const struct job *measured,
                     struct verdict *verdict, int64_t *run);
/* The verdict on it is complete: keeps and reports it, and takes it over. */
void results_conclude(struct results *results, const struct job *job, const struct verdict *verdict,
                      int64_t run, const char *covered);
/* A run that could not be made: one sentence on stderr, "Bail out!" in TAP when it is our fault. */
void results_fail(struct results *results, const struct job *job, const struct failure *failure);
/* A command that comes to no run, in place of results_begin to results_end: reported the same way,
 * also in the files asked for. Returns the exit status. */
int results_refuse(const struct run_options *options, const char *scenario,
                   const struct failure *failure);
/* Runs a job, keeps it and tells what came of it; false when it could not be run, which is
 * reported. */
bool results_run(struct results *results, const struct job *job);
/* Writes the files asked for, frees everything, returns the exit status. */
int results_end(struct results *results);

#endif
