/* The board: a little shared memory on which the child notes how the run goes, so that the parent
 * knows whatever happens to it.
 *
 * The program under test can write to it as to any memory of its process. So the parent believes
 * nothing that it reads here: what decides a verdict stands beside a seal that only the board's
 * functions make, and after the child's end the parent judges a private copy in which every value
 * is in range (board_take). */
#ifndef CLI_RUNNING_BOARD_H
#define CLI_RUNNING_BOARD_H

#include "sim/worlds/world.h"

#include <signal.h>
#include <stdatomic.h>

/* What the parent sends to ask where a rank computes: one that no program uses. */
#define BOARD_QUESTION SIGURG

/* Why the child was ended; WATCH_ENDED: it ended by itself. */
enum watch_end {
    WATCH_ENDED,
    WATCH_INTERRUPTED,
    WATCH_TIMEOUT, /* the time limit, or that without progress */
    WATCH_FAILED,  /* a rank failed, and the others went on for too long */
    WATCH_FULL,    /* the record has no more room */
    WATCH_STOPPED  /* it was stopped by a signal, and nobody continues it */
};

struct board_rank {
    int32_t state; /* enum rank_state */
    int32_t exit_code;
    uint64_t place; /* where it crashed: return address, 0 unknown */
    uint64_t bias;  /* of its image: address minus the linker's */
    uint8_t overflow, finalized, initialized, reserved[5];
    uint64_t seal; /* see board_seal */
};

/* A part of every rank's image: the program, or a library that each rank has for itself. */
struct board_module {
    uint64_t start, end; /* from the image's bias */
    uint64_t shift;      /* start minus the linker's address of it */
    char path[256];
};

enum { BOARD_MODULES = 64, BOARD_WARNINGS = 16 };

struct board {
    uint64_t mark;       /* known, like that at the end: who overwrites everything changes it */
    _Atomic int outcome; /* enum trace_outcome, -1 while running: board_note_outcome */
    _Atomic uint64_t outcome_seal;
    _Atomic uint64_t steps, switches, stopped_ns, finished_ns, checked_ns;
    _Atomic size_t choices_made;
    _Atomic int checked;      /* the gradient check is over too */
    _Atomic int impatient;    /* the answer to the next question ends the child */
    _Atomic int out_of_time;  /* because the time limit passed */
    _Atomic unsigned answers; /* to questions so far */
    _Atomic int running;      /* the rank that runs, -1: none or several */
    int vanished;             /* its thread alone has ended, and the process for that reason */
    struct sim_first_failure first_failure;
    struct {
        int rank;       /* who computes, -1: nobody */
        int calls;      /* it calls MPI, only nothing comes of it */
        uint64_t place; /* where; 0: not known */
        uint64_t steps; /* logical time */
    } computing;
    struct {
        int rank;       /* who stood where when the time was over, -1: nobody that answered */
        uint64_t place; /* what it waited in may have been interrupted by the question */
    } standing;
    uint64_t image_size;                        /* of the program alone */
    struct board_module modules[BOARD_MODULES]; /* its libraries */
    uint32_t modules_count;
    char warnings[BOARD_WARNINGS][480]; /* what its ranks share although they should not */
    char refused[400];                  /* by a sandbox, to nobody that can be named */
    char failure[504];                  /* why nothing ran */
    int failure_code;                   /* board_note_failure */
    uint64_t failure_seal;
    uint64_t end_mark;
    int ranks_count;
    struct board_rank ranks[];
};

struct board *board_new(int ranks);
void board_free(struct board *board, int ranks);

/* In the child, after it has changed a rank's row. */
void board_seal(struct board *board, int rank);
void board_note_outcome(struct board *board, enum trace_outcome outcome);
void board_note_failure(struct board *board, int code, const char *text);

/* After the child's end: a private copy, every value in range; free() it. *damaged: somebody else
 * than the board's functions wrote here; then the copy says nothing but that. NULL: no memory. */
struct board *board_take(const struct board *shared, int ranks, bool *damaged);

/* The clones of the program are not modules of this process: their addresses are found through the
 * board. A recording_locate. */
struct board_locate {
    const struct board *board;
    int ranks;
    const char *object; /* what the child loaded */
};
bool board_locate(void *context, uint32_t rank, uint64_t pc, const char **file, uint64_t *address);

#endif
