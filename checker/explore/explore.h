/* Exploration: every run of a program that can differ in what it does, each once.
 *
 * Stateless: a run is named by the choices it must make; the driver asks for fresh runs. The
 * machine delays wildcard receives, probes for any source, Waitany and polls until nobody else can
 * move (POE), and logs messages, takers and what led to what (sim/base/dependence_sets.h). A choice
 * is "this taker takes that", named so that it is the same thing in every run; what a run did is a
 * set of choices.
 *
 * After each run its races are looked up: what each taker could have taken instead that did not
 * come about because of what it took. Each race asks for a run of its own: everything that does not
 * depend on the reversed choice, and then the other thing. The runs stand in a tree in which every
 * branch excludes what its elder branches have explored, so no set of choices is explored twice. A
 * request that goes together with what is excluded is not run: the elder branch explores both, and
 * its races ask for whatever takes the excluded choice's place. A run that turns out all the same
 * to repeat one is ended and counted as redundant; that is rare.
 *
 * Runs go side by side on an OpenMP team in batches whose content does not depend on the team, so
 * the same exploration gives the same report on any number of threads.
 *
 * Room: sees checker, checker/replay; sim, traces. Seen by cli. */
#ifndef CHECKER_EXPLORE_EXPLORE_H
#define CHECKER_EXPLORE_EXPLORE_H

#include "checker/explore/guided_run.h"
#include "checker/number_set.h"
#include "sim/worlds/world.h"
#include "traces/trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One run, as the callback reports it. */
struct explore_run {
    enum trace_outcome outcome;
    uint64_t fingerprint;      /* of what the run computed or did wrong; equal for equal results */
    uint64_t conduct;          /* of what its ranks did to compute it; 0 where nobody looked */
    bool failed;               /* although it finished: a rank ended with another code than 0 */
    char *printed;             /* what its ranks printed, from malloc; may be NULL */
    struct sim_choice_log log; /* filled by explore_run_take; the driver's */
};

/* Runs a fresh world under the steer on the calling thread and fills `run`. `worker` is below the
 * number of workers. False ends the exploration (the environment failed; say why elsewhere). */
typedef bool explore_callback(void *context, unsigned worker, struct explore_steer *steer,
                              struct explore_run *run);

struct explore_progress {
    uint64_t runs, waiting;
    double expected; /* estimated number of runs: a guess from the sizes of the choices met so far
                      */
    bool many_kinds; /* more kinds of runs that finish well than are kept */
};

struct explore_options {
    uint64_t runs_max;   /* 0: no bound */
    unsigned workers;    /* threads; 0: as many as the team has */
    unsigned kinds;      /* bit k: branch over choices of kind k (MPIX_CHOOSE_*) */
    size_t failures_max; /* kept with their choices */
    size_t examples_max; /* the same for kinds of runs that finished well */
    /* Told after every batch; false stops. May be NULL. */
    bool (*progress)(void *context, const struct explore_progress *progress);
    void *progress_context;
};

struct explore_failure {
    enum trace_outcome outcome;
    uint64_t fingerprint, conduct;
    bool ended_badly;               /* finished, with a rank's other code than 0 */
    char *printed;                  /* the run's */
    struct explore_choice *choices; /* all that the run made, in order */
    size_t choice_count;
};

enum { EXPLORE_OUTCOMES = OUTCOME_IMPORTED + 1 };

struct explore_report {
    uint64_t runs;      /* different runs */
    uint64_t redundant; /* begun, and ended when they could only repeat one of the others */
    uint64_t by_outcome[EXPLORE_OUTCOMES];
    uint64_t ended_badly; /* runs that finished, in which a rank ended with another code than 0 */
    uint64_t results;     /* different fingerprints among the others that finished */
    uint64_t kinds;       /* different pairs of fingerprint and conduct among these */
    uint64_t waiting;     /* branches left when a bound was reached */
    double expected;      /* estimated number of runs, as in progress */
    bool exhausted;       /* every run that choices can lead to was explored */
    bool complete;        /* and there are no others: no gaps */
    unsigned gaps;        /* enum sim_gap: what was taken as it came */
    bool diverged;        /* a run did not do what was forced: nothing is proven */
    bool failed;          /* the callback gave up */
    struct explore_failure *failures; /* runs that did not finish, or not well, one per outcome,
                                         fingerprint and conduct, in order of discovery */
    size_t failure_count, failure_room;
    struct explore_failure *examples; /* the first run of each kind */
    size_t example_count, example_room;
    bool more_failures;             /* than were kept */
    struct number_set fingerprints; /* of the runs that finished well */
    struct number_set conducts;     /* of their kinds */
};

/* Wildcards, ready queue and Waitany; a million runs. */
void explore_options_init(struct explore_options *options);
void explore(const struct explore_options *options, explore_callback *callback, void *context,
             struct explore_report *report);
void explore_report_release(struct explore_report *report);
/* The gaps in words, the first of them first: a sentence each, NULL past the end. */
const char *explore_gap_text(unsigned gaps, size_t index);
void explore_run_release(struct explore_run *run);
/* Copies a world's log into the run. */
void explore_run_take(struct explore_run *run, const struct sim_choice_log *log);

#endif
