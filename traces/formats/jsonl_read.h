/* The state of a JSONL reader and what its parts share: values (jsonl_values.c), operation
 * lines (jsonl_ops.c), the other lines (jsonl_read.c), references
 * (jsonl_links.c). */
#ifndef TRACES_FORMATS_JSONL_READ_H
#define TRACES_FORMATS_JSONL_READ_H

#include "traces/formats/jsonl.h"
#include "traces/input/json.h"

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

/* The kind that a name stands for: few repeat over many lines. */
enum { JSONL_KINDS = 64, JSONL_OP_KEYS = 48 };
struct jsonl_kind {
    char name[32];
    uint16_t flags;
    uint8_t kind;
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
    char type_name[48], reduce_name[48];
    uint32_t type, reduce;
    struct jsonl_kind kinds[JSONL_KINDS];
    uint8_t key_after[OP_KIND_LIMIT][JSONL_OP_KEYS + 1]; /* which key came next the last time */
    bool deps_on_ops, has_nodes;
};

/* Values with a meaning (jsonl_values.c): each pulls one and refuses what does not fit. */
bool jsonl_read_u32(struct json *json, uint32_t *value);
bool jsonl_read_rank(struct jsonl_reader *reader, uint32_t *rank);
bool jsonl_read_word(struct json *json, enum jsonl_words list, unsigned *number);
bool jsonl_read_double(struct json *json, double *value);
bool jsonl_read_name(struct json *json, char *field, size_t size);
bool jsonl_read_string(struct jsonl_reader *reader, uint32_t *string);
bool jsonl_read_site(struct jsonl_reader *reader, uint32_t *site);
bool jsonl_read_site_list(struct jsonl_reader *reader, uint32_t *site);
bool jsonl_read_kind(struct jsonl_reader *reader, uint8_t *kind, uint16_t *flags);
bool jsonl_read_type(struct jsonl_reader *reader, uint32_t *type);
bool jsonl_read_reduce(struct jsonl_reader *reader, uint32_t *reduce);
bool jsonl_read_identity(struct jsonl_reader *reader, uint32_t *identity);
bool jsonl_read_flags(struct json *json, uint16_t *flags);
bool jsonl_read_who(struct json *json, int32_t *who);
bool jsonl_read_field(struct json *json, const struct jsonl_field *field,
                      struct trace_whole_op *whole);
bool jsonl_read_place(struct jsonl_reader *reader, uint32_t *rank, uint32_t *id);

/* Operation lines (jsonl_ops.c). */
bool jsonl_reference_add(struct jsonl_reader *reader, enum jsonl_reference_to to, uint32_t row,
                         uint32_t rank, uint32_t id, bool flag);
bool jsonl_read_ids(struct jsonl_reader *reader, enum jsonl_reference_to to, uint32_t row,
                    bool flag);
bool jsonl_read_op(struct jsonl_reader *reader);

/* Resolves references, numbers collectives, adds what was left unsaid. */
bool jsonl_link(struct jsonl_reader *reader);

#endif
