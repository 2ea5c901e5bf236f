/* Exploration: every run of a program that can differ in what it does, each exactly once.
 *
 * Stateless search: a run is named by its picks; the driver asks for a fresh run with a forced
 * prefix and continues with the first alternative of every later choice. Wildcards are delayed by
 * the machine until nobody else can move (POE), so one choice offers every possible match; two
 * matches at different receivers commute, and sleep sets leave out runs that differ only in their
 * order. Choices without named alternatives (ready queue, Waitany, buffering) are taken in full.
 *
 * Runs go side by side on an OpenMP team in batches whose content does not depend on the team, so
 * the same exploration gives the same report on any number of threads. */
#ifndef CHECKER_EXPLORE_H
#define CHECKER_EXPLORE_H

#include "sim/choose.h"
#include "traces/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One run, as the callback reports it. */
struct explore_run {
    enum trace_outcome outcome;
    uint64_t fingerprint;      /* of what the run computed or did wrong; equal for equal results */
    bool diverged;             /* a forced pick did not fit: the program is not deterministic */
    struct sim_choice_log log; /* filled by explore_run_take; the driver's */
};

/* Runs a fresh world with these picks forced and the rest default, on the calling thread, and fills
 * `run`. `worker` is below the number of workers. False ends the exploration (the environment
 * failed; say why elsewhere). */
typedef bool explore_callback(void *context, unsigned worker, const uint32_t *forced,
                              size_t forced_count, struct explore_run *run);

struct explore_progress {
    uint64_t runs, waiting;
    double done; /* estimated share of the space, by the sizes of the subtrees left */
};

struct explore_options {
    uint64_t runs_max;   /* 0: no bound */
    unsigned workers;    /* threads; 0: as many as the team has */
    unsigned kinds;      /* bit k: branch over choices of kind k (MPIX_CHOOSE_*) */
    size_t failures_max; /* kept with their picks */
    /* Told after every batch; false stops. May be NULL. */
    bool (*progress)(void *context, const struct explore_progress *progress);
    void *progress_context;
};

struct explore_failure {
    enum trace_outcome outcome;
    uint64_t fingerprint;
    uint32_t *picks; /* a shortest prefix that forces the run */
    size_t pick_count;
};

enum { EXPLORE_OUTCOMES = OUTCOME_IMPORTED + 1 };

struct explore_report {
    uint64_t runs;      /* different runs */
    uint64_t redundant; /* started and found to be one of the others in another order */
    uint64_t by_outcome[EXPLORE_OUTCOMES];
    uint64_t results;                 /* different fingerprints among runs that finished */
    bool complete;                    /* every run was explored */
    bool diverged;                    /* a run did not follow its picks: nothing is proven */
    bool failed;                      /* the callback gave up */
    struct explore_failure *failures; /* runs that did not finish, one per outcome and fingerprint,
                                         in order of discovery */
    size_t failure_count, failure_room;
    uint64_t *fingerprints; /* private */
    size_t fingerprint_room;
};

/* Wildcards, ready queue and Waitany; a million runs. */
void explore_options_init(struct explore_options *options);
void explore(const struct explore_options *options, explore_callback *callback, void *context,
             struct explore_report *report);
void explore_report_release(struct explore_report *report);
/* Copies a world's log into the run. */
void explore_run_take(struct explore_run *run, const struct sim_choice_log *log);

#endif
