/* --fault KIND:RANK@OP[,...]: faults on demand as words. KIND:random[:SEED]@MOST chooses rank and
 * operation, the same for the same seed and number of ranks; cut:RANK-PEER@OP names a link. */
#ifndef CLI_OPTIONS_FAULT_OPTIONS_H
#define CLI_OPTIONS_FAULT_OPTIONS_H

#include "sim/worlds/fault.h"
#include "sim/worlds/world.h"

struct fault_option {
    struct sim_fault fault;
    bool random; /* `fault.op` is the most that may be chosen */
    uint64_t seed;
};

/* Appends what the list says to `faults`; false after one sentence on stderr. */
bool fault_options_parse(const char *list, struct fault_option *faults, int *count);
/* What they mean for this world's number of ranks, into `room` of SIM_FAULTS_MAX, to which the world
 * then points; false: a rank that there is not. */
bool fault_options_resolve(const struct fault_option *faults, int count,
                           struct sim_world_options *world, struct sim_fault *room,
                           struct failure *failure);
/* "crash:1@17,drop:0@3" of a world into `text`. */
void fault_options_text(const struct sim_world_options *world, char *text, size_t size);

#endif
