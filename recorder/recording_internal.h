/* The inside of a recording, for recording*.c and the preloaded recorder. */
#ifndef RECORDER_RECORDING_INTERNAL_H
#define RECORDER_RECORDING_INTERNAL_H

#include "recorder/buffers.h"
#include "recorder/drops.h"
#include "recorder/feeder.h"
#include "recorder/recording.h"

struct recorder_rank;

/* How a rank ended, as told to this process. */
struct recording_end {
    bool known, has_site;
    enum rank_state state;
    int exit_code;
    uint64_t site;
};

struct recording {
    struct buffers buffers;
    struct feeder feeder;
    struct drops drops;
    uint32_t ranks;
    enum record_level level;
    bool folds;                       /* iterations of loops that are alike are kept once */
    struct recorder_rank **recorders; /* by rank, in this process; each written by its rank only */
    struct recording_end *ends;       /* by rank, in this process */
};

/* As recording_rank_begin, told who the caller is. */
bool recording_rank_begin_as(struct recording *recording, uint32_t rank, uint32_t ranks);

#endif
