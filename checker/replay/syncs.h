/* What a rank learns of another through a window: after post and start, after complete and wait. Locks
 * and atomics are not among it: they come in an order by chance. */
#ifndef CHECKER_REPLAY_SYNCS_H
#define CHECKER_REPLAY_SYNCS_H

#include "traces/trace/trace.h"

/* Before `op` its rank learns what another, `peer`, did before its op `source`. */
struct check_sync {
    uint32_t op, peer, source;
};

struct check_syncs {
    struct check_sync *items; /* by op */
    uint32_t *by_source;      /* their indices */
    size_t count;
};

void check_syncs_init(struct check_syncs *syncs, const struct trace *trace);
void check_syncs_release(struct check_syncs *syncs);
/* Index of the first item whose op is not before `op`; in `by_source`, whose source is not. */
size_t check_syncs_first(const struct check_syncs *syncs, uint32_t op);
size_t check_syncs_first_of(const struct check_syncs *syncs, uint32_t source);

#endif
