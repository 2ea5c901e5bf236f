/* One job judged: run, checked, allowed findings marked. What run, the catalogue and the benches
 * share. */
#ifndef CLI_RUNNING_SESSION_H
#define CLI_RUNNING_SESSION_H

#include "cli/options/run_options.h"
#include "cli/processes/stopwatch.h"
#include "cli/running/job.h"
#include "traces/trace/finding.h"

struct verdict {
    struct job_result result;
    struct findings findings;
    struct coverage coverage; /* of the trace, and what the run itself left out */
    unsigned missed;          /* of what --require asks for: enum coverage_demand */
    bool passed;
    bool proven;            /* passed, and nothing was left out */
    int status;             /* exit status of this job alone */
    struct stopwatch watch; /* what the time went to */
};

/* What to run for a word: a file when the word names one, else a scenario of the catalogue. Fills
 * name, source, object and the arguments; `ranks` gets the numbers of ranks to use when none were
 * asked for. */
/* Puts a catalogue entry's own options and arguments underneath what the command line says: the run
 * options are those of the entry, to be parsed over. `storage` keeps the words; free it when the
 * job is done. False with a sentence when they are unusable. */
struct session_words {
    char options[280], arguments[256];
    char *argv[66];
    int argc;
};
bool session_entry(const char *word, struct run_options *options, struct session_words *words,
                   struct failure *failure);
/* The program's words: the user's, or where there are none the scenario's own, which `words` keeps.
 */
int session_program(int argc, char **argv, struct session_words *words, char ***program);
bool session_prepare(const char *word, int argc, char **argv, const struct run_options *options,
                     struct job *job, int *ranks, int room, int *rank_count,
                     struct failure *failure);
/* The job on so many ranks, with the faults it is to have there. */
bool session_ranks(struct job *job, const struct run_options *options, int ranks,
                   struct failure *failure);
/* The two halves of session_judge: between them the trace can be stored. */
bool session_run(const struct job *job, const struct run_options *options, struct verdict *verdict,
                 struct failure *failure);
void session_check(const struct job *job, const struct run_options *options,
                   struct verdict *verdict);
/* False when the job could not be run at all. Release the verdict in either case. */
bool session_judge(const struct job *job, const struct run_options *options,
                   struct verdict *verdict, struct failure *failure);
/* Marks allowed findings and decides whether it passed, from the result and the findings of a
 * verdict that came some other way. */
void session_conclude(const struct run_options *options, struct verdict *verdict);
void verdict_release(struct verdict *verdict);

#endif
