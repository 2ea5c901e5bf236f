/* What `simrun prove` knows of one number of ranks: the first run's verdict, to which more runs add. */
#ifndef CLI_COMMANDS_PROOF_H
#define CLI_COMMANDS_PROOF_H

#include "cli/options/run_options.h"
#include "cli/running/session.h"
#include "cli/telling/results.h"
#include "verdict/merge.h"

struct proof {
    const struct run_options *options;
    struct job job; /* the first run's */
    struct verdict *verdict;
    double budget, deadline;
    char covered[400];            /* what was looked at, for people */
    char printed[RESULT_COMMAND]; /* a run whose ranks print something else; "": none */
    bool fickle;                  /* they do so when nothing differs: clocks, addresses */
};

/* The budget counts from here. */
void proof_begin(struct proof *proof);
/* Until it is spent. */
double proof_seconds_left(const struct proof *proof);
bool proof_over(const struct proof *proof);
void proof_cover(struct proof *proof, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Says on a terminal what is being looked at. */
void proof_tell_step(const struct proof *proof, struct results *results, const char *step);

/* The job under another model: not recorded for anybody but the checker, and silent. */
struct job proof_job(const struct proof *proof, enum sim_send_model send, bool strict);
/* Judges one more run and merges what it finds; false when it could not be judged in time.
 * `otherwise`, if not NULL: whether its ranks print something else, because of what it ran under. */
bool proof_run(struct proof *proof, const struct job *job, const struct merge_origin *origin,
               bool *otherwise);
/* The same; what ranks print must not depend on choices. */
bool proof_run_choices(struct proof *proof, const struct job *job,
                       const struct merge_origin *origin);
/* Whether a run's ranks print something else; nothing is merged. False where it did not finish. */
bool proof_differs(struct proof *proof, const struct job *job);
/* Under every other progress model, and with collectives that synchronise all their ranks. */
void proof_run_models(struct proof *proof, struct results *results);
/* With buffers that are filled as late as MPI lets them. */
void proof_run_late(struct proof *proof, struct results *results);

#endif
