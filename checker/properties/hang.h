/* What is told around a hang: who stands because its core does, and what stayed unmatched. What a trace has of both is looked up once, so that
 * many hangs beside each other take the time of what is told of each. */
#ifndef CHECKER_PROPERTIES_HANG_H
#define CHECKER_PROPERTIES_HANG_H

#include "checker/properties.h"
#include "checker/replay/wait_reach.h"

struct hang {
    const struct check_context *context;
    const struct wait_graph *graph; /* NULL: nobody waits for anybody */
    struct wait_reach reach;
    uint32_t *core; /* ranks of the hang that is told, filled in */
    size_t core_count;
    uint32_t *waiting;
    size_t waiting_count;
    uint32_t *astray; /* ranks that stand, and no hang is why */
    size_t astray_count;
    /* Operations that stayed unmatched, in order: all; [begin[r], begin[r + 1]) are rank r's; by whom they are to; those of ranks that do
     * not stand. */
    uint32_t *unmatched, *begin, *to, *to_begin, *loose;
    size_t unmatched_count, loose_count;
    uint32_t *ops; /* those that a hang tells of */
    uint32_t *unstarted;
    size_t unstarted_count;
    bool *named;
};

void hang_init(struct hang *hang, const struct check_context *context,
               const struct wait_graph *graph);
void hang_release(struct hang *hang);

/* A send or receive without a partner. */
bool hang_is_unmatched(const struct trace_op *op);

/* What stands and stayed unmatched around the core, as details of the finding. A hang of others is a finding of its own. */
void hang_tell_around(struct hang *hang, struct finding *finding);
/* All that stand but `rank`, and all that stayed unmatched. */
void hang_tell_all(struct hang *hang, struct finding *finding, uint32_t rank);
/* All that stayed unmatched. */
void hang_tell_unmatched(struct hang *hang, struct finding *finding);
/* Who waited for a persistent request that nobody had started went on, and nothing was sent. */
void hang_tell_unstarted(const struct hang *hang, struct finding *finding);

#endif
