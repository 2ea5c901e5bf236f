/* The state of a JSONL reader between its two halves: lines (format_jsonl_read.c) and references
 * (format_jsonl_links.c). */
#ifndef TRACES_FORMAT_JSONL_READ_H
#define TRACES_FORMAT_JSONL_READ_H

#include "traces/format_jsonl.h"
#include "traces/json.h"

struct jsonl_header {
    uint32_t ranks;
    char program[256], model[16];
    enum trace_outcome outcome;
    uint64_t seed;
    double objective;
};

/* What a reference fills in once everything is read. */
enum jsonl_reference_to {
    JSONL_TO_MATCH,
    JSONL_TO_ADJOINT,
    JSONL_TO_WAITED,    /* row waits for id; flag: completed it */
    JSONL_TO_DEP,       /* op row depends on op id; flag: order only */
    JSONL_TO_NODE_DEP,  /* node row depends on node id; flag: order only */
    JSONL_TO_FORWARD,   /* node row's forward node */
    JSONL_TO_EDGE_FROM, /* followed by its JSONL_TO_EDGE_TO */
    JSONL_TO_EDGE_TO,
    JSONL_TO_PARENT,
    JSONL_TO_ORIGINAL,
    JSONL_TO_NOTE_OP,
    JSONL_TO_NOTE_NODE
};

struct jsonl_reference {
    uint8_t to;
    bool flag;
    uint32_t row, rank, id;
    size_t offset; /* of the line, for messages */
};

struct jsonl_op { /* beside trace->ops */
    size_t offset;
    uint32_t id, name;
    bool numbered; /* comm_seq was given */
    bool has_deps;
};

struct jsonl_lines { /* where the rows of a table stood */
    size_t *offsets, room;
};

struct jsonl_reader {
    struct format_input *input;
    struct json json;
    struct trace *trace;
    size_t line; /* offset of the line being read */
    uint32_t *rank_ops;
    struct jsonl_op *ops;
    size_t op_room;
    struct jsonl_reference *references;
    size_t reference_count, reference_room;
    uint32_t *sites;
    size_t site_count, site_room;
    struct format_index op_ids, node_ids; /* rank << 32 | id */
    struct format_index comm_ids;
    struct format_index passes; /* rank << 32 | pass */
    struct jsonl_lines node_lines, comm_lines, pass_lines;
    char type_name[48];
    uint32_t type;
    bool deps_on_ops, has_nodes;
};

/* Resolves references, numbers collectives, adds what was left unsaid. */
bool jsonl_link(struct jsonl_reader *reader);

#endif
