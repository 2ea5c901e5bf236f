/* What the recorder writes: the layout of records in the shared buffers and in rank files.
 *
 * Rules:
 *  1. Every record starts with struct record_head. `size` (bytes, a multiple of 8) is stored last;
 *     memory is zero before, so a reader that meets size 0 has met the end, whatever killed the
 *     writer.
 *  2. One operation is one record_op, completed in place. Operations are numbered per rank from 0
 *     in the order of their records; requests, waits and counts name them by that number.
 *     Iterations of a loop that a RECORD_REPEAT stands for have their numbers, too.
 *  3. Texts stand behind their record, ended by 0.
 *  4. All values are of the writing machine; files of another byte order are refused by their
 *     magic number. */
#ifndef RECORDER_RECORD_H
#define RECORDER_RECORD_H

#include <stdint.h>

enum record_type {
    RECORD_END, /* size 0 */
    RECORD_RANK,
    RECORD_OP,
    RECORD_WAITS,
    RECORD_COUNTS,
    RECORD_COMM,
    RECORD_MEMBERS,
    RECORD_STRING,
    RECORD_NODE,
    RECORD_EDGE,
    RECORD_PASS,
    RECORD_NOTE,
    RECORD_INPUT,
    RECORD_OBJECTIVE,
    RECORD_GRADIENT,
    RECORD_METRIC,
    RECORD_ACCESS,
    RECORD_SYNC,
    RECORD_REPEAT
};

struct record_head {
    uint16_t size;
    uint8_t type;  /* enum record_type */
    uint8_t small; /* op: kind; node: state; pass: mode; waits, counts, gradient: see there */
};

enum { RECORD_NO_OP = -1, RECORD_NONE = -3 };

/* A flag of an operation that stands before others that were dropped: it is complete, and so is all
 * that was between it and its partners. See drops.h. */
enum { RECORD_OP_CUT = 1 << 14 };

/* The operation a rank polls in vain, kept in one place instead of a record per poll. */
struct record_poll {
    uint32_t ops;  /* number of the rank's operations when it was polled */
    uint32_t kind; /* 0: none */
    uint32_t comm, request;
    int32_t peer, tag;
    int32_t part; /* of a partitioned send, from 1: not ready, the first of these; else 0 */
    uint64_t site;
};

/* First record of a rank; updated in place. */
struct record_rank {
    struct record_head head;
    uint32_t rank, ranks;
    uint8_t ended, finalized; /* ended: 1 + enum rank_state */
    uint8_t has_crash_site, reserved;
    int32_t exit_code;
    uint32_t level;
    uint64_t polls, bytes_sent, messages_sent, lost;
    uint64_t crash_site;
    uint64_t steps; /* logical time when the rank ended */
    struct record_poll poll;
};

struct record_op {
    struct record_head head; /* small: enum op_kind */
    uint8_t state, thread;   /* thread: which of its rank's, from 0 */
    uint16_t flags;
    int32_t peer_matched, tag_matched;
    int64_t count_matched;
    uint32_t request; /* number of the partner operation, UINT32_MAX */
    uint32_t comm_seq;
    uint64_t begin, end;
    /* From here on all is written when it begins. */
    uint32_t pass, node;
    uint64_t site; /* return address */
    uint32_t comm;
    int32_t error;
    int32_t peer, tag;
    int64_t count;
    uint32_t type, signature, reduce_op;
    uint32_t unit; /* bytes of a basic element */
    uint32_t batch, identity;
    uint64_t buffer, extent;
};

struct record_op_timed { /* at level events */
    struct record_op op;
    uint64_t begin_ns, end_ns;
};

struct record_waits { /* operations `first` .. of a wait on several */
    struct record_head head;
    uint32_t op, n, reserved;
    uint32_t starts[]; /* padded to an even number; 1 << 31: completed by it */
};

struct record_counts { /* small: 0 send, 1 receive */
    struct record_head head;
    uint32_t op, total, first; /* values are for the comm ranks first .. of total */
    int64_t values[];
};

enum {
    RECORD_COMM_RANGE = 1,
    RECORD_COMM_WORLD = 2,
    RECORD_COMM_SELF = 4,
    RECORD_COMM_ADJOINT = 8
};

struct record_comm { /* name behind; small: RECORD_COMM_RANGE: members are start, start + stride,
                        ...; ADJOINT: only adjoint_of is new */
    struct record_head head;
    uint32_t number, parent, size; /* number per rank, from 1 */
    uint32_t adjoint_of;           /* number, 0 for none */
    int32_t start, stride;
    uint64_t id; /* equal on all members */
};

struct record_members {
    struct record_head head;
    uint32_t number, first, n;
    int32_t members[]; /* padded to an even number */
};

struct record_string { /* text behind */
    struct record_head head;
    uint32_t number; /* per rank, from 1 */
};

struct record_node {
    struct record_head head; /* small: state */
    uint32_t id, pass, forward, name, kind;
    uint64_t site, begin, end;
};

struct record_edge { /* small: enum edge_type */
    struct record_head head;
    uint32_t from, to, reserved;
};

struct record_pass { /* small: mode */
    struct record_head head;
    uint32_t pass, complete, reserved;
};

struct record_note { /* text behind */
    struct record_head head;
    char code[8];
    uint32_t op, node, reserved; /* op: number or UINT32_MAX; node: 0 for none */
    uint64_t site;
};

struct record_input {
    struct record_head head;
    uint32_t name, type, reserved;
    int64_t count;
};

struct record_objective {
    struct record_head head;
    uint32_t reserved;
    double value;
};

struct record_gradient { /* small: ok */
    struct record_head head;
    uint32_t name, method, undecided; /* strings; undecided: why, "" when it was decided */
    uint32_t elements, reserved;
    int64_t index;
    double step, analytic, numeric, error, tolerance, relative;
};

struct record_metric {
    struct record_head head;
    uint32_t name, unit, reserved;
    double step, value; /* step: NaN for none */
};

struct record_access { /* small: enum access_kind */
    struct record_head head;
    uint32_t op,
        done;       /* of an access to a window: its number and its completion's; of the program's
                          own loads and stores: the number of the next operation, UINT32_MAX */
    int32_t target; /* world rank whose memory it is */
    uint32_t reduction, type, lock;
    uint16_t unordered, same_op; /* 0 or 1 */
    uint64_t begin, end, site;
};

struct
    record_sync { /* before operation `op` begins, what rank `rank` did before its `peer_op` is known */
    struct record_head head;
    uint32_t op, rank, peer_op;
};

/* Stands behind an iteration of a loop, `body` operations in `bytes` of records: so many more like
 * it followed, whose records were not kept. They differ in their numbers (those they have and those
 * they name, which are of the same iteration), in comm_seq and in when they ran. */
struct record_repeat {
    struct record_head head;
    uint32_t body, bytes, reserved;
    uint64_t times;
    uint64_t end; /* logical time at which the last one ended */
};

_Static_assert(sizeof(struct record_repeat) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_rank) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_op) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_op_timed) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_waits) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_counts) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_comm) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_members) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_string) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_node) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_edge) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_pass) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_note) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_input) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_objective) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_gradient) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_metric) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_access) % 8 == 0, "rule 1");
_Static_assert(sizeof(struct record_sync) % 8 == 0, "rule 1");

#endif
