/* Who calls an MPI function. */
#ifndef SIM_WORLDS_CALLER_H
#define SIM_WORLDS_CALLER_H

#include "sim/worlds/rank.h"

/* The caller, if it is a rank between Init and Finalize or in a session; NULL after raising the
 * error. */
struct sim_rank *sim_point_refuse(const char *function);
static inline struct sim_rank *sim_point_caller(const char *function)
{
    struct sim_rank *rank = sim_current_rank;
    if (__builtin_expect(rank && rank->initialized && !rank->finalized, 1))
        return rank;
    return sim_point_refuse(function);
}

#endif
