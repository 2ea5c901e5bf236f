/* What the parts of the reader of time-independent traces share, and its writer: numbers of types.
 * Private to ti*.c. */
#ifndef TRACES_FORMATS_TI_H
#define TRACES_FORMATS_TI_H

#include "traces/input/input.h"

#include <stdint.h>

/* SMPI's number of a basic type of the MPI ABI, -1 for none; and back, 0 for none. */
int ti_number_of_type(uint32_t type);
uint32_t ti_type_of_number(long number);

struct ti_request {
    uint32_t rank, op;
    int32_t source, destination, tag;
};

enum ti_settle { TI_SETTLE_WAIT, TI_SETTLE_TEST, TI_SETTLE_ALL };

struct ti_waiting { /* a wait, test or waitall in order of lines */
    struct ti_request key;
    enum ti_settle what;
};

struct ti_reader {
    struct format_input *input; /* the one being read */
    struct trace *trace;
    uint32_t comm, ranks;
    /* the line being read */
    size_t at, end, line;
    uint32_t rank;
    /* per rank */
    uint32_t *sites, *comm_seqs;
    uint32_t type;
    struct ti_request *requests;
    size_t request_count, request_room;
    struct ti_waiting *waits;
    size_t wait_count, wait_room;
    int64_t *counts; /* two lists of `ranks` */
};

/* Which request each wait, test and waitall completes, once all lines are read. */
bool ti_settle_all(struct ti_reader *reader);

#endif
