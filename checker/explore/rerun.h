/* A witness for real: steers a run of the program that the trace came from, and says whether that
 * run shows what the finding says.
 *
 * Steered are the ready queues of backward passes (nodes by the recorder's numbers), the senders of
 * wildcard receives, and, by whoever makes the world, progress model and synchronising collectives.
 * What cannot be steered (polls, clocks) is as it comes, so a run may miss the verdict. */
#ifndef CHECKER_EXPLORE_RERUN_H
#define CHECKER_EXPLORE_RERUN_H

#include "checker/replay/witness.h"
#include "sim/worlds/world.h"

struct check_rerun {
    const struct trace *trace;
    struct rerun_rank *ranks;
};

void check_rerun_init(struct check_rerun *rerun, const struct trace *trace,
                      const struct check_witness *witness);
void check_rerun_release(struct check_rerun *rerun);
/* Makes a world with these options follow the witness; `rerun` must outlive it. */
void check_rerun_world(struct check_rerun *rerun, const struct check_witness *witness,
                       struct sim_world_options *options);
/* Whether the run `again` shows the finding of the trace; what was seen goes to `text` (a sentence,
 * the caller frees it). */
bool check_rerun_shows(const struct trace *trace, const struct finding *finding,
                       const struct check_witness *witness, const struct trace *again, char **text);

#endif
