/* From records to the rows of a trace: what recording_load.c (which records, in which order),
 * loader_rows.c (one record) and loader_repeats.c (iterations that are kept once) share. */
#ifndef RECORDER_LOADER_H
#define RECORDER_LOADER_H

#include "recorder/balances.h"
#include "recorder/buffers.h"
#include "recorder/drops.h"
#include "recorder/loading/sites.h"
#include "recorder/recording.h"
#include "recorder/recording_internal.h"
#include "traces/trace/handle_map.h"

enum { SITE_CACHE = 256 };

/* Numbers of one rank -> indices of the trace. */
struct numbers {
    uint32_t *items;
    size_t count, room;
};

struct loader;

/* A chunk, or a packed one. */
struct source {
    const struct chunk *chunk;
    struct packed **packed; /* NULL: it is not */
    struct chunk *opened;   /* of a packed one, while loader_repeats.c walks */
    const struct buffers *buffers;
    uint32_t rank, sequence, units;
};
/* Its records, to be closed again; NULL (and `failed`): out of memory. */
const struct chunk *source_open(struct loader *loader, const struct source *source);
void source_close(const struct source *source, const struct chunk *chunk);

/* A RECORD_REPEAT: the iteration it repeats stands in `bytes` bytes of records at `template`. */
struct loader_repeat {
    const struct record_repeat *record;
    const char *template;
    uint32_t rank;
    uint32_t first; /* number of the first operation that is not kept as a record */
    size_t gaps, gap_end;
};

/* Iterations that leave no rows in the trace, since they are like those around them on all ranks. */
struct loader_gap {
    size_t repeat;
    uint64_t kept;    /* of the repeat's iterations so many are in the trace before it */
    uint64_t dropped; /* and so many are not */
    uint64_t first;   /* number of the first operation in it */
    uint64_t count;   /* operations */
    uint64_t before;  /* operations that gaps before it on its rank leave out */
};

struct loader {
    struct trace *trace;
    const struct recording_result *result;
    struct sites *sites;
    const struct recording_end *ends; /* NULL: only what the records say */
    struct source *sources;
    size_t source_count, source_room;
    struct handle_map comms;    /* id -> index + 1 */
    struct numbers *rank_comms; /* per rank */
    bool failed, once;          /* once: nobody loads these records again */
    bool late;                  /* time is over: no more operations */
    bool posted;                /* some operation is under way */
    /* of the rank being loaded */
    uint32_t rank;
    const struct buffers *buffers;
    uint32_t first_op, first_node;
    struct numbers strings;
    struct record_rank info;
    bool has_info;
    uint32_t missing, first_missing; /* ranks of which there is nothing at all */
    struct {
        uint64_t pc;
        uint32_t site;
    } site_cache[SITE_CACHE];
    double objective;
    bool has_objective;
    struct loader_repeat *repeats; /* by rank, then as they came */
    size_t repeat_count, repeat_room;
    struct loader_gap *gaps; /* of one repeat after the other, ascending */
    size_t gap_count, gap_room;
    size_t *rank_repeats; /* ranks + 1 */
    uint64_t ahead;       /* operations between the kept records and those they stand for */
    uint64_t wildcards;   /* in iterations that leave no rows */
    size_t repeats_seen;  /* of the rank being loaded */
    uint64_t earlier;     /* operations of the loop before the repeat */
    uint64_t round;       /* which of the repeat's, from 0 */
    uint64_t later;       /* in logical time */
    struct {
        uint32_t comm, each; /* collectives of one iteration */
        uint64_t dropped;
    } comm_shifts[16];
    size_t comm_shift_count;
    /* of a recording whose oldest records were dropped */
    const struct drops *drops; /* NULL: none were */
    struct balances lost;      /* channels by index of the communicator: partners that are gone */
    uint64_t *gone;            /* by communicator: collectives that are gone for somebody */
    uint32_t alone_of, alone, alone_count; /* rank + 1, its communicator, collectives there */
    uint64_t cut;                          /* operations that have lost their partners */
};

static inline uint32_t numbers_get(const struct numbers *numbers, uint32_t number)
{
    return number < numbers->room ? numbers->items[number] : TRACE_NO;
}

/* How many operations of `rank` stand in the trace before the one with this number; UINT32_MAX: it is
 * not in the trace. */
uint32_t loader_position(const struct loader *loader, uint32_t rank, uint64_t number);
/* Decides which iterations leave rows; communicators must be known. False: out of memory. */
bool loader_plan_repeats(struct loader *loader);
/* Recordings whose oldest records were dropped: see loader_cut.c. Which operations have lost their
 * partners: to be asked once for each of a rank's, in order, of a copy of loader->lost. */
bool loader_plan_cut(struct loader *loader);
bool loader_lost_copy(const struct loader *loader, struct balances *lost);
bool loader_is_cut(const struct loader *loader, struct balances *lost, uint32_t rank,
                   const struct record_op *op);
/* The row of such an operation. */
void loader_cut(struct loader *loader, struct trace_plain_op *op);
/* The rows of the iterations that are not kept as records. */
void loader_repeat(struct loader *loader, const struct record_repeat *record);
/* The trace's index of an operation of the rank being loaded; TRACE_NO for UINT32_MAX. */
uint32_t loader_op(const struct loader *loader, uint32_t number);
/* The trace's index of the place of a return address; TRACE_NO: unknown. */
uint32_t loader_site(struct loader *loader, uint64_t pc);
/* One record of the rank being loaded: those that make communicators, and all others. */
void loader_comm_record(struct loader *loader, const struct record_head *record);
void loader_record(struct loader *loader, const struct record_head *record);

#endif
