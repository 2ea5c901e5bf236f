/* The board: a little shared memory on which the child notes how the run goes, so that the parent
 * knows whatever happens to it. */
#ifndef CLI_RUNNING_BOARD_H
#define CLI_RUNNING_BOARD_H

#include "sim/worlds/world.h"

#include <signal.h>
#include <stdatomic.h>

/* What the parent sends to ask where a rank computes: one that no program uses. */
#define BOARD_QUESTION SIGURG

struct board_rank {
    int32_t state; /* enum rank_state */
    int32_t exit_code;
    uint64_t place; /* where it crashed: return address, 0 unknown */
    uint64_t bias;  /* of its image: address minus the linker's */
    uint8_t overflow, finalized;
};

/* A part of every rank's image: the program, or a library that each rank has for itself. */
struct board_module {
    uint64_t start, end; /* from the image's bias */
    uint64_t shift;      /* start minus the linker's address of it */
    char path[256];
};

enum { BOARD_MODULES = 64, BOARD_WARNINGS = 4 };

struct board {
    _Atomic int outcome; /* enum trace_outcome, -1 while running */
    _Atomic uint64_t steps, switches, started_ns, stopped_ns, finished_ns;
    _Atomic size_t choices_made;
    _Atomic int checked;      /* the gradient check is over too */
    _Atomic bool impatient;   /* the answer to the next question ends the child */
    _Atomic bool out_of_time; /* because the time limit passed */
    _Atomic unsigned answers; /* to questions so far */
    struct sim_first_failure first_failure;
    bool stopped; /* by us, since other ranks went on after a failure */
    struct {
        int rank;       /* who computes, -1: nobody */
        uint64_t place; /* where; 0: not known */
        uint64_t steps; /* logical time */
    } computing;
    uint64_t image_size;                        /* of the program alone */
    struct board_module modules[BOARD_MODULES]; /* its libraries */
    uint32_t modules_count;
    char warnings[BOARD_WARNINGS][480]; /* what its ranks share although they should not */
    char failure[504];                  /* why nothing ran */
    int failure_code;
    int ranks_count;
    struct board_rank ranks[];
};

struct board *board_new(int ranks);
void board_free(struct board *board);

/* The clones of the program are not modules of this process: their addresses are found through the
 * board. A recording_locate. */
struct board_locate {
    const struct board *board;
    const char *object; /* what the child loaded */
};
bool board_locate(void *context, uint32_t rank, uint64_t pc, const char **file, uint64_t *address);

#endif
