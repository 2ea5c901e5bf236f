/* Flight Recorder dumps being read: what the halves of the reader share. Private to
 * traces/format_flight*.c. */
#ifndef TRACES_FORMATS_FLIGHT_H
#define TRACES_FORMATS_FLIGHT_H

#include "traces/input/value.h"

struct flight_group {
    uint64_t hash; /* of name and members */
    int32_t *members;
    uint32_t size;
    uint32_t comm; /* index in the trace */
    bool has_rank; /* the dump's own */
    char name[64];
};

struct flight_row { /* one entry */
    uint8_t kind;   /* enum op_kind; OP_NONE: closes a batch */
    bool completed, started, dropped, is_p2p;
    uint32_t comm, batch;
    int32_t peer;
    int64_t count;
    uint32_t type, signature, site;
    int64_t sequence; /* collective_seq_id, p2p_seq_id for messages */
    uint64_t begin_ns, end_ns;
};

struct flight_dump {
    struct value_pool pool;
    const struct value *root, *entries;
    uint32_t rank;
    bool wrapped;               /* the buffer has lost its beginning */
    struct format_index groups; /* hash of the name -> flight->groups */
    struct flight_row *rows;
    size_t row_count;
};

struct flight {
    struct format_input *input; /* the first */
    struct trace *trace;
    struct flight_dump *dumps;
    size_t dump_count;
    struct flight_group *groups;
    size_t group_count, group_room;
    uint32_t ranks, world;
};

/* The entries of all dumps as operations of flight->trace. */
bool flight_operations(struct flight *flight);

#endif
