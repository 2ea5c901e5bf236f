/* The board: a little shared memory on which the child notes how the run goes, so that the parent
 * knows whatever happens to it. */
#ifndef CLI_BOARD_H
#define CLI_BOARD_H

#include "sim/world.h"

#include <stdatomic.h>

struct board_rank {
    int32_t state; /* enum rank_state */
    int32_t exit_code;
    uint64_t place; /* where it crashed: return address, 0 unknown */
    uint64_t bias;  /* of its image: address minus the linker's */
    uint8_t overflow, finalized;
};

struct board {
    _Atomic int outcome; /* enum trace_outcome, -1 while running */
    _Atomic uint64_t steps, switches, started_ns, stopped_ns, finished_ns;
    _Atomic int checked;          /* the gradient check is over too */
    _Atomic int interrupted_rank; /* who ran when the watchdog came */
    uint64_t interrupted_place;
    uint64_t image_size;
    char failure[504]; /* why nothing ran */
    int failure_code;
    int ranks_count;
    struct board_rank ranks[];
};

struct board *board_new(int ranks);
void board_free(struct board *board);

#endif
