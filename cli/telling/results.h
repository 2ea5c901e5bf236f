/* The results of one command: every verdict goes to stdout as it comes (text, TAP or JSON) and is
 * kept for the files that are written at the end (HTML, JUnit, pictures, annotations).
 *
 * Rules:
 *  1. A file is written whole or not at all; failing to write one makes the status EXIT_INTERNAL.
 *  2. The status is the worst of all runs (command_worse). */
#ifndef CLI_TELLING_RESULTS_H
#define CLI_TELLING_RESULTS_H

#include "cli/options/run_options.h"
#include "cli/processes/progress_bar.h"
#include "cli/running/session.h"
#include "traces/store/store.h"
#include "viz/report/report.h"

#include <stdint.h>
#include <stdio.h>

enum { RESULT_COMMAND = 4096 };

struct result {
    struct job job; /* its argv belongs to the caller and must live as long */
    struct verdict verdict;
    char command[RESULT_COMMAND]; /* repeats the run */
    const char *database;         /* where it is stored, NULL: nowhere */
    int64_t run;                  /* its number there, 0: none */
    bool file;                    /* judged from a file, nothing ran */
    char started[32];
    char covered[400]; /* what was looked at besides the run; "" where nothing was */
};

/* A run that could not be made. */
struct result_refusal {
    char name[320]; /* as result_name */
    char scenario[128];
    int ranks;
    struct failure failure;
};

struct results {
    const struct run_options *options;
    struct result *items;
    size_t count, room;
    struct result_refusal *refusals;
    size_t refusal_count;
    int expected; /* runs, for the plan */
    int number;   /* of the last TAP test */
    bool several_models;
    struct store *store; /* where runs are kept, NULL: nowhere; closed at the end */
    int64_t parent;      /* the run that is repeated, 0: none */
    bool keep_traces;    /* for what is written at the end, or for the caller */
    struct progress_bar bar;
    int status;
};

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
/* A command that comes to no run, in place of results_begin to results_end: told the same way, also
 * in the files asked for. Returns the exit status. */
int results_refuse(const struct run_options *options, const char *scenario,
                   const struct failure *failure);
/* Runs a job, keeps it and tells what came of it; false when it could not be run, which is told. */
bool results_run(struct results *results, const struct job *job);
/* What a run's report needs to know; the texts live as long as `texts`. */
struct report_texts {
    char replay[RESULT_COMMAND + 700], draw[RESULT_COMMAND + 700], run[32];
};
struct viz_run_info result_info(const struct result *result, struct report_texts *texts);
/* Writes the files asked for, frees everything, returns the exit status. */
int results_end(struct results *results);

/* "eager", "rendezvous" or "batch". */
const char *result_model(const struct result *result);
/* "ring/ranks=4", or "ring/ranks=4/batch" where several models are run. */
char *result_name(const struct results *results, const struct result *result, char *text,
                  size_t size);
/* The command line that makes one run. */
void result_command(const struct run_options *options, const struct job *job, char *text,
                    size_t size);
/* The commands that repeat the run (finding -1) or replay a finding, and draw it. */
char *result_replay(const struct result *result, int finding, char *text, size_t size);
char *result_draw(const struct result *result, int finding, char *text, size_t size);
/* "error", "warning", "note". */
const char *severity_name(enum severity severity);
/* "PASS", "FAIL", "TIMEOUT", "INTERRUPTED". */
const char *result_word(const struct result *result);
double result_seconds(const struct result *result);

/* One file per form. */
void result_json(FILE *out, const struct result *result);
void result_json_refusal(FILE *out, const struct result_refusal *refusal, uint64_t seed);
void result_tap(FILE *out, struct results *results, const struct result *result);
bool results_junit(FILE *out, const struct results *results);
bool results_sarif(FILE *out, const struct results *results);
/* Annotations on `out` (at most 10, one per fingerprint) and a table at the end of the file
 * $GITHUB_STEP_SUMMARY names. */
bool results_github(FILE *out, const struct results *results, struct failure *failure);

#endif
