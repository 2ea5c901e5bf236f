/* A pipeline schedule as a table of cells: what the reader's halves share, and those who run a
 * schedule (collectives/systems/schedule).
 *
 * A row is a rank; a cell holds one action or several. The stage of every action lives on the rank
 * of its row. */
#ifndef TRACES_FORMATS_CSV_H
#define TRACES_FORMATS_CSV_H

#include "traces/input/input.h"

enum csv_kind {
    CSV_F,
    CSV_I, /* backward for the input */
    CSV_W, /* backward for the weights */
    CSV_B, /* both */
    CSV_UNSHARD,
    CSV_RESHARD,
    CSV_REDUCE_GRAD,
    CSV_SEND_F,
    CSV_RECV_F,
    CSV_SEND_B,
    CSV_RECV_B,
    CSV_KINDS
};

enum { CSV_STAGE_MAX = 1 << 20, CSV_MICROBATCH_MAX = 1 << 30 };

struct csv_action {
    uint8_t kind;
    uint32_t stage, microbatch;
    size_t offset;
};

struct csv_cell {
    uint32_t rank, column; /* both from 0 */
    uint32_t first, end;   /* its actions */
    size_t offset;
    uint32_t length; /* of its text */
};

struct csv_table {
    struct format_input *input;
    uint32_t ranks;
    struct csv_cell *cells; /* by rank, then column */
    size_t cell_count, cell_room;
    struct csv_action *actions;
    size_t action_count, action_room;
    struct format_index stage_rank; /* stage -> the first action of it; every stage once */
    uint32_t *cell_of;              /* action -> cell */
    uint32_t stage_last, microbatch_last;
    bool communicates; /* any SEND or RECV: nothing is derived */
};

/* Reads the input's table; release it even after a failure. */
bool csv_table_read(struct csv_table *table, struct format_input *input);
void csv_table_release(struct csv_table *table);
/* "SEND_F" */
const char *csv_kind_name(enum csv_kind kind);
bool csv_communicates(enum csv_kind kind);
/* The rank of a stage, TRACE_NO if no row has it. */
uint32_t csv_rank_of(const struct csv_table *table, int64_t stage);
/* The operations of the table, with messages derived where the schedule has none. */
bool csv_plan(struct csv_table *table, struct trace *trace);

#endif
