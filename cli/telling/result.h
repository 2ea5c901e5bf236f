/* What came of one run, its name and its commands; and the same of all runs of a command, as the forms need them. */
#ifndef CLI_TELLING_RESULT_H
#define CLI_TELLING_RESULT_H

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
    uint64_t since_ns;   /* when the last result was reported, 0: none yet */
    bool keep_traces;    /* for what is written at the end, or for the caller */
    struct progress_bar bar;
    int status;
};

/* What a run's report needs to know; the texts live as long as `texts`. */
struct report_texts {
    char replay[RESULT_COMMAND + 700], draw[RESULT_COMMAND + 700], run[32];
};
struct viz_run_info result_info(const struct result *result, struct report_texts *texts);

/* "eager", "rendezvous" or "batch". */
const char *result_model(const struct result *result);
/* "ring/ranks=4", or "ring/ranks=4/batch" where several models are run. */
char *result_name(const struct results *results, const struct result *result, char *text,
                  size_t size);
/* The command line that makes one run. */
void result_command(const struct run_options *options, const struct job *job, char *text,
                    size_t size);
/* The same as it is kept: a program that is a file is found from any folder. */
void result_stored_command(const struct run_options *options, const struct job *job, char *text,
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
