/* All single faults of one kind: every rank, every operation of the recorded run, one at a time. Of
 * crashes also all pairs: the first strikes where a single one does, the second at any operation of
 * any other rank in the run with the first, so also while the others recover.
 *
 * The run with each fault is judged like any other. It is handled when the run finishes, nothing is
 * found that follows from the fault, and what the other ranks print on stdout and end with is as
 * without it. What is not handled becomes one finding (X010) for each place that was struck and way
 * to fail, with the command that shows it. A fault strikes at the first operation from the given
 * one on that does something others could see; operations that share a place are run once. */
#ifndef CLI_COMMANDS_FAULT_SWEEP_H
#define CLI_COMMANDS_FAULT_SWEEP_H

#include "cli/options/run_options.h"
#include "cli/running/session.h"

struct fault_sweep {
    const struct run_options *options;
    const struct job *job;   /* the undisturbed run's, which finished */
    struct verdict *verdict; /* of it: findings and gaps are added */
    enum sim_fault_kind kind;
    bool pairs;      /* too */
    double deadline; /* of the monotonic clock, in seconds */
    /* What was explored. */
    unsigned operations; /* of all ranks (of a cut: times the peers) */
    unsigned places, handled;
    unsigned pair_places, pairs_handled;
    unsigned pairs_known; /* not handled, like one of the two alone */
    bool complete;
};

void fault_sweep_run(struct fault_sweep *sweep);

#endif
