/* The in-memory trace: what happened on every rank of one run, and what its backward passes depend
 * on.
 *
 * Every checker, picture and format reads this and nothing else. It is built from the recorder's
 * buffers, from the database, or from a file; who reads it cannot tell which.
 *
 * Rules, checked by trace_check():
 *  1. `ops` is grouped by rank and, within a rank, in the order in which the rank issued them: rank
 *     r owns ops[rank_begin[r] .. rank_begin[r+1]). The same holds for `nodes` with node_begin.
 *  2. Indices between tables (match, request, node, comm, site, string) are in range or TRACE_NO.
 *  3. match is symmetric between a send and its receive.
 *  4. Ranks in peer, peer_matched and comm members are world ranks; TRACE_ANY is a wildcard,
 *     TRACE_NONE is MPI_PROC_NULL or "has none" (a collective without a root).
 *  5. A node's edges stay on its rank: dependencies across ranks are matches and collectives, never
 *     edges.
 *  6. What a wait waits for is no wait.
 *
 * Order on a rank: ops of pass 0 and of passes in program order are totally ordered as issued; of
 * several threads each has such an order of its own, and nothing orders one's ops after another's.
 * In a pass with data order (PASS_DATA) op a precedes op b only if both belong to one node and a
 * was issued first, or a's node reaches b's node through edges. Everything before a pass began
 * precedes it, and the pass precedes everything after its end.
 *
 * Room: sees traces/base. Seen by traces/formats, traces/input, traces/store; checker, cli,
 * collectives, recorder, sim, verdict, viz. */
#ifndef TRACES_TRACE_TRACE_H
#define TRACES_TRACE_TRACE_H

#include "traces/base/failure.h"
#include "traces/trace/coverage.h"
#include "traces/trace/kinds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_NO   UINT32_MAX /* no index */
#define TRACE_ANY  (-1)       /* MPI_ANY_SOURCE, MPI_ANY_TAG */
#define TRACE_NONE (-3)       /* MPI_PROC_NULL, or no such attribute */

enum op_state {
    STATE_NEVER,   /* known from a plan or a file, never reached */
    STATE_POSTED,  /* started and not complete when the run ended, the rank itself went on */
    STATE_BLOCKED, /* the rank stood in this call when the run ended */
    STATE_COMPLETE,
    STATE_FAILED, /* returned an error class */
    STATE_CANCELLED
};

enum op_flag {
    OP_NONBLOCKING = 1,     /* a collective's or Sendrecv's I-form: completes through `request` */
    OP_PERSISTENT = 2,      /* started by Start on a persistent request */
    OP_COMPOUND = 4,        /* part of a Sendrecv, which is recorded as Isend, Irecv, Waitall; with
                           OP_NONBLOCKING of an Isendrecv: Isend, Irecv */
    OP_IN_PLACE = 8,        /* of a Sendrecv: Sendrecv_replace */
    OP_INACTIVE = 16,       /* a wait on a null or inactive request */
    OP_BUFFER_CHANGED = 32, /* the checksum of a pending send buffer differed at completion */
    OP_ADJOINT = 64,        /* issued by the backward engine */
    OP_INTERCOMM = 128,     /* on an intercommunicator: the two groups need not give the same */
    OP_CUT = 256 /* of a record whose beginning was dropped: its partner, its wait may be gone */
};

/* What operations have in common that one place of the program issues again and again: kept once. It
 * never changes; an operation gets another one. */
struct trace_form {
    /* 0 outside any backward pass, else the number of the pass, from 1, on its rank */
    uint32_t pass;
    uint32_t comm; /* index into comms, TRACE_NO for local operations */
    uint32_t type; /* the MPI ABI number of the basic type, 0 where the type map mixes types (count
                      is then bytes) */
    uint32_t signature; /* hash of the type map's basic types; equal types give equal hashes
                           whatever the counts; 0: unknown */
    uint32_t reduce_op; /* the MPI ABI number of the op, 1 for a user's op, 0 for none */
    uint32_t batch;     /* number of the SIM_Batch it was issued in on its rank, 0 for none */
    uint32_t site;      /* index into sites */
    int32_t error;      /* MPI error class, 0 */
    /* hash of what the program says it moves (tensor name), 0: unknown; for R002 */
    uint32_t identity;
    uint32_t thread;  /* which thread of its rank issued it: 0 the first, counted as they come */
    uint32_t place;   /* its (receive) buffer: index into places, 0 unknown */
    uint32_t matched; /* enum form_matched */
    int64_t count_matched;             /* MATCHED_OTHER: elements really received */
    int32_t peer_matched, tag_matched; /* FORM_AS_POSTED: see trace_op_peer_matched */
};

#define FORM_AS_POSTED INT32_MIN

/* How many elements were really received: see trace_op_count_matched. */
enum form_matched { MATCHED_NONE, MATCHED_ALL, MATCHED_OTHER };

/* As large as what a processor reads at once: passes over millions of them wait for memory. */
struct trace_op {
    const struct trace_form *form; /* never NULL */
    uint32_t rank;
    uint8_t kind;      /* enum op_kind */
    uint8_t state;     /* enum op_state */
    uint16_t flags;    /* enum op_flag */
    int32_t peer, tag; /* as posted; a collective's root is its peer; of a wait for a persistent
                           request that nobody started, and for a partitioned send that is not
                           ready: the request's */
    int64_t count; /* basic elements (see type); of all ranks together for v-forms; a receive: its
                      room; a wait for a partitioned send that is not ready: 1 + the first partition
                      that is missing */
    uint32_t request;    /* start: the op whose return completed it; wait on one request: the op
                          that started it */
    uint32_t match;      /* p2p: index of the partner */
    uint32_t node;       /* index of the DAG node that issued it, TRACE_NO */
    uint32_t comm_seq;   /* which collective of this rank on this communicator, from 0 */
    uint64_t begin, end; /* logical time: scheduler steps; end 0 while not complete */
};

/* An operation with what its form and other tables say, side by side: for who adds or changes one. */
struct trace_plain_op {
    uint32_t rank, seq; /* seq counts from 0 on its rank; said, not asked for */
    uint8_t kind, state;
    uint16_t flags;
    uint32_t pass, comm, comm_seq;
    int32_t peer, tag, peer_matched, tag_matched; /* as posted; as matched, TRACE_NONE before */
    int64_t count, count_matched;                 /* elements really received, -1 before */
    uint32_t type, signature, reduce_op, request, batch, node, match, site;
    uint32_t adjoint_of; /* index of the forward op whose adjoint this is, TRACE_NO */
    int32_t error;
    uint32_t identity, thread, place;
    uint64_t begin, end;
};

struct trace_place { /* address and span in bytes */
    uint64_t buffer, extent;
};

struct trace_times { /* wall time */
    uint64_t begin_ns, end_ns;
};

/* An operation with what stands in tables of its own: for builders, readers and writers. */
struct trace_whole_op {
    struct trace_plain_op op;
    struct trace_place at; /* in place of op.place */
    struct trace_times times;
};

struct trace_wait { /* one row per request of a wait on several; sorted by wait */
    uint32_t wait;
    uint32_t start : 31;
    uint32_t completed : 1; /* this wait's return completed it */
};
enum { TRACE_OPS_MAX = INT32_MAX }; /* as indices of starts */

struct trace_counts { /* per-peer counts of a v-form, in comm-rank order, in basic elements; sorted
                         by op */
    uint32_t op;
    uint32_t n;
    const int64_t *send, *receive; /* NULL where the operation has none */
};

struct trace_node {
    uint32_t rank, id; /* id counts from 1 on its rank, as the recorder gave it */
    uint32_t pass;     /* 0: forward tape node; else the backward pass it ran in */
    uint8_t kind;      /* enum op_kind of its communication, OP_COMPUTE for none */
    uint8_t state;     /* STATE_NEVER, STATE_BLOCKED (entered, not left), STATE_COMPLETE */
    uint8_t reserved[2];
    uint32_t forward; /* backward node: index of its forward node, TRACE_NO */
    uint32_t site;
    uint32_t name; /* index into strings: "Allreduce*", "mul*", "seed" */
    uint64_t begin, end;
};

enum edge_type { EDGE_DATA, EDGE_ORDER }; /* ORDER: a join, a dummy edge, a program-order chain */

struct trace_edge { /* from runs before to; node indices; sorted by from */
    uint32_t from, to;
    uint32_t type;
};

enum pass_mode { PASS_PROGRAM, PASS_DATA };

struct trace_pass {
    uint32_t rank, pass;
    enum pass_mode mode;
    uint32_t first_op, op_end; /* index range of its ops */
    bool complete;
};

struct trace_comm {
    uint32_t id; /* stable number: 1 world, 2.. in order of creation; the same on every rank */
    uint32_t size;
    int32_t *members;    /* world rank of each comm rank; NULL where unknown. An intercommunicator
                            lists local then remote */
    uint32_t parent;     /* index, TRACE_NO */
    uint32_t adjoint_of; /* index of the communicator this one duplicates for adjoint traffic,
                            TRACE_NO */
    char name[64];
};

struct trace_site {
    const char *file; /* owned by the trace; "?" when unknown */
    const char *function;
    int line;
};

enum rank_state {
    RANK_FINISHED,
    RANK_BLOCKED,
    RANK_ABORTED,
    RANK_CRASHED,
    RANK_POLLING,
    RANK_RUNNING
};

struct trace_rank {
    enum rank_state state;
    int exit_code; /* of main or exit(); the signal for RANK_CRASHED */
    uint32_t site; /* where it crashed or aborted, TRACE_NO */
    bool finalized;
    uint64_t bytes_sent, messages_sent, hash;
};

/* What the running program or the machine itself found wrong: becomes a finding as it is. */
struct trace_note {
    char code[8];      /* "G005" */
    uint32_t rank, op; /* op index, TRACE_NO */
    uint32_t node, site;
    char *text;
};

/* One row of a gradient check: one element (or one direction, index -1) of one input on one rank.
 */
struct trace_gradient {
    uint32_t rank;
    uint32_t variable; /* index into strings */
    int64_t index;     /* element, -1 for a direction */
    const char
        *method; /* "central", "complex", "dot", "tangent", "one-sided", "value" : static storage */
    double step, analytic, numeric, error, tolerance,
        relative;          /* tolerance: absolute, already combined */
    bool ok;               /* right: decided, and error <= tolerance, so that NaN fails */
    const char *undecided; /* NULL: it was decided; else why not, one of TRACE_DOUBTS; not ok */
    uint32_t elements;     /* that the row looks at together, the first is `index`; 0 counts as 1 */
};

/* Why a comparison could not be decided: static storage. */
#define TRACE_DOUBTS                                                                               \
    {                                                                                              \
        "noise", "kink", "scale", "unfinished", "budget", "objective", "later"                     \
    }
/* The one of them that is spelled like this; NULL for NULL, "" and what is none of them. */
const char *trace_doubt(const char *word);

static inline bool trace_gradient_wrong(const struct trace_gradient *row)
{
    return !row->ok && !row->undecided;
}

/* Elements (directions count as one) that were right, wrong, not decided. */
struct trace_answers {
    size_t right, wrong, undecided;
};
void trace_answers_add(struct trace_answers *answers, const struct trace_gradient *row);
/* "12 of 14 gradients right, 2 undecided": what every output says; `noun` may be "". */
void trace_answers_text(const struct trace_answers *answers, const char *noun, char *text,
                        size_t size);

enum access_kind { ACCESS_LOAD, ACCESS_STORE, ACCESS_GET, ACCESS_PUT, ACCESS_ACCUMULATE };
#define ACCESS_NO_REDUCTION UINT32_MAX /* an accumulate that changes nothing: MPI_NO_OP */
enum access_lock { ACCESS_UNLOCKED, ACCESS_SHARED, ACCESS_EXCLUSIVE };

/* An access to the memory of a window, by an operation of one-sided communication or by the program
 * itself. Known of live runs only: no format keeps it. Operations are counted from 0 on their rank.
 */
struct trace_access {
    uint32_t rank;
    uint32_t op;     /* that accesses; a load's or store's: the next one on its rank */
    uint32_t done;   /* that completes the access; UINT32_MAX: the program's own, at once */
    uint32_t target; /* whose memory it is */
    uint32_t reduction, type; /* of an accumulate: ABI numbers, 0 for any */
    uint32_t lock;            /* of the target by this rank: enum access_lock */
    uint32_t site;            /* TRACE_NO: the operation's */
    uint8_t kind;             /* enum access_kind */
    bool unordered;           /* an accumulate that the window's info leaves without order */
    bool same_op;             /* one whose window's info says that all that meet do the same */
    uint64_t begin, end;      /* addresses; end is behind the last byte */
};

/* Before operation `op` of `rank` begins, it knows what `peer` did before its operation `peer_op`. */
struct trace_sync {
    uint32_t rank, op, peer, peer_op;
};

struct trace_metric {
    uint32_t name, unit; /* strings */
    int32_t rank;        /* -1: of the whole run */
    double step;         /* NaN: not a point of a curve */
    double value;
};

/* Iterations of a loop that are not among the operations: on every rank as many rounds were left out
 * as belong together, and those around them say the same. */
struct trace_fold {
    uint32_t op;     /* the last of the iteration they followed, itself one of `body` operations */
    uint32_t body;   /* operations of one iteration */
    uint64_t times;  /* iterations that were left out */
    uint64_t before; /* operations of the loop before those, left out or not */
};

enum trace_outcome {
    OUTCOME_FINISHED,
    OUTCOME_DEADLOCK,
    OUTCOME_LIVELOCK,
    OUTCOME_ABORTED,
    OUTCOME_CRASHED,
    OUTCOME_TIMEOUT,
    OUTCOME_INTERRUPTED,
    OUTCOME_IMPORTED
};

struct trace {
    uint32_t ranks;
    enum trace_outcome outcome;
    uint64_t seed;
    char program[256]; /* scenario or file */
    char model[16];    /* progress model the run used: "eager", "rendezvous", "batch" */

    struct trace_op *ops;
    size_t op_count;
    size_t *rank_begin;         /* ranks + 1 */
    struct trace_place *places; /* of buffers; the first is none */
    size_t place_count;
    struct trace_times *times; /* by operation; 0 for those behind them, as below --record events */
    size_t time_count;
    uint32_t *
        adjoints; /* by operation: the forward one whose adjoint it is; TRACE_NO for those behind them */
    size_t adjoint_count;
    struct trace_wait *waits;
    size_t wait_count;
    struct trace_counts *counts;
    size_t counts_count;

    struct trace_node *nodes;
    size_t node_count;
    size_t *node_begin; /* ranks + 1 */
    struct trace_edge *edges;
    size_t edge_count;
    struct trace_pass *passes; /* grouped by rank, ascending */
    size_t pass_count;

    struct trace_comm *comms;
    size_t comm_count;
    struct trace_site *sites;
    size_t site_count;
    const char **strings;
    size_t string_count;
    struct trace_rank *rank_info; /* one per rank */

    struct trace_note *notes;
    size_t note_count;
    struct trace_access *accesses;
    size_t access_count;
    struct trace_sync *syncs;
    size_t sync_count;
    struct trace_fold *folds; /* by op */
    size_t fold_count;
    struct trace_gradient *gradients;
    size_t gradient_count;
    struct trace_metric *metrics;
    size_t metric_count;
    double objective; /* sum over ranks of the local objectives; NaN when the program has none */
    struct coverage *coverage; /* what the checks did not look at; see coverage.h */

    struct trace_store *store; /* memory behind the const pointers; private to trace.c */
};

/* All operations, some of each rank in turn: partners are near each other in time, and in memory
 * that way. Each rank's come in their order. */
struct trace_walk {
    const struct trace *trace;
    uint32_t rank;   /* whose operations come now: */
    size_t from, to; /* these */
    size_t at, step; /* private: of each rank, from here on, so many */
    uint32_t next, live;
};
struct trace_walk trace_walk_begin(const struct trace *trace);
bool trace_walk_next(struct trace_walk *walk);

/* An empty trace of `ranks` ranks; free with trace_free. Exits on out of memory are never taken:
 * NULL. */
struct trace *trace_new(uint32_t ranks);
void trace_free(struct trace *trace); /* NULL is fine */

/* Asserted invariants (rules above); returns false and a sentence when broken, for readers of
 * foreign files. */
bool trace_check(const struct trace *trace, struct failure *failure);

/* Builder used by every reader and by tests: append in any rank order, then trace_finish() groups,
 * sorts, links requests and computes matches (non-overtaking order per source, destination,
 * communicator; matched peer and tag where known). Each returns the provisional index to be used in
 * later calls; trace_finish renumbers consistently. */
uint32_t trace_add_op(struct trace *trace, const struct trace_plain_op *op);
/* The same with its buffer and its wall times, and the reverse. */
uint32_t trace_add_whole_op(struct trace *trace, const struct trace_whole_op *whole);
void trace_whole_op(const struct trace *trace, uint32_t op, struct trace_whole_op *whole);
/* One of the trace's as it is; and in its place another. False: out of memory, told by trace_finish. */
struct trace_plain_op trace_op_plain(const struct trace *trace, uint32_t index);
bool trace_op_change(struct trace *trace, uint32_t index, const struct trace_plain_op *op);
/* Whether an operation has, or had, an error class between these. */
bool trace_has_error(const struct trace *trace, int32_t least, int32_t most);
/* Only these columns of it. */
bool trace_op_set_matched(struct trace *trace, uint32_t index, int32_t peer, int32_t tag);
bool trace_op_set_adjoint(struct trace *trace, uint32_t index, uint32_t adjoint_of);
/* For `place` of an operation; the same ones of a loop give the same number. */
uint32_t trace_add_place(struct trace *trace, uint64_t buffer, uint64_t extent);
void trace_set_times(struct trace *trace, uint32_t op, uint64_t begin_ns, uint64_t end_ns);
uint32_t trace_add_wait(struct trace *trace, uint32_t wait, uint32_t start, bool completed);
uint32_t trace_add_counts(struct trace *trace, uint32_t op, uint32_t n, const int64_t *send,
                          const int64_t *receive);
uint32_t trace_add_node(struct trace *trace, const struct trace_node *node);
uint32_t trace_add_edge(struct trace *trace, uint32_t from, uint32_t to, enum edge_type type);
uint32_t trace_add_pass(struct trace *trace, const struct trace_pass *pass);
uint32_t trace_add_comm(struct trace *trace, const struct trace_comm *comm); /* copies members */
uint32_t trace_add_site(struct trace *trace, const char *file, int line, const char *function);
uint32_t trace_add_string(struct trace *trace, const char *text);            /* interned */
uint32_t trace_add_note(struct trace *trace, const struct trace_note *note); /* copies text */
uint32_t trace_add_access(struct trace *trace, const struct trace_access *access);
uint32_t trace_add_fold(struct trace *trace, const struct trace_fold *fold);
uint32_t trace_add_sync(struct trace *trace, const struct trace_sync *sync);
uint32_t trace_add_gradient(struct trace *trace, const struct trace_gradient *gradient);
uint32_t trace_add_metric(struct trace *trace, const char *name, int32_t rank, double value,
                          const char *unit);
uint32_t trace_add_metric_at(struct trace *trace, const char *name, int32_t rank, double step,
                             double value, const char *unit);
/* What is counted with iterations that were left out: operations of its rank before `op`; its place
 * among the collectives of its communicator; of a loop with left out iterations the one in which
 * `op` stands, from 1 (the first of those that are alike), 0: in none. All operations that were left out. */
uint64_t trace_op_number(const struct trace *trace, uint32_t op);
/* The operation of the rank with that number; TRACE_NO: it was left out, or there are not so many. */
uint32_t trace_op_by_number(const struct trace *trace, uint32_t rank, uint64_t number);
uint64_t trace_collective_number(const struct trace *trace, uint32_t op);
uint64_t trace_op_iteration(const struct trace *trace, uint32_t op);
uint64_t trace_folded_ops(const struct trace *trace);
/* An op with every field at its "none" value, to start from; its state is STATE_COMPLETE. */
struct trace_plain_op trace_op_none(uint32_t rank, enum op_kind kind);
bool trace_finish(struct trace *trace, struct failure *failure);

/* Elements that it really received, -1 before. */
static inline int64_t trace_op_count_matched(const struct trace_op *op)
{
    const struct trace_form *form = op->form;
    return form->matched == MATCHED_NONE  ? -1
           : form->matched == MATCHED_ALL ? op->count
                                          : form->count_matched;
}
/* The source and the tag of the message it took or became, TRACE_NONE before. */
static inline int32_t trace_op_peer_matched(const struct trace_op *op)
{
    return op->form->peer_matched == FORM_AS_POSTED ? op->peer : op->form->peer_matched;
}
static inline int32_t trace_op_tag_matched(const struct trace_op *op)
{
    return op->form->tag_matched == FORM_AS_POSTED ? op->tag : op->form->tag_matched;
}
/* Of an operation among the trace's. */
static inline uint32_t trace_op_seq(const struct trace *trace, const struct trace_op *op)
{
    return (uint32_t)((size_t)(op - trace->ops) - trace->rank_begin[op->rank]);
}
static inline uint32_t trace_op_adjoint_of(const struct trace *trace, const struct trace_op *op)
{
    size_t index = (size_t)(op - trace->ops);
    return index < trace->adjoint_count ? trace->adjoints[index] : TRACE_NO;
}
static inline struct trace_place trace_op_place(const struct trace *trace,
                                                const struct trace_op *op)
{
    uint32_t place = op->form->place;
    return place < trace->place_count ? trace->places[place] : (struct trace_place){0, 0};
}
static inline struct trace_times trace_op_times(const struct trace *trace,
                                                const struct trace_op *op)
{
    size_t index = (size_t)(op - trace->ops);
    return index < trace->time_count ? trace->times[index] : (struct trace_times){0, 0};
}

/* Conveniences. */
const char *trace_string(const struct trace *trace, uint32_t string); /* "" for TRACE_NO */
/* Room for a site in most paths. A path without room is cut at its front, never the line. */
enum { TRACE_SITE_TEXT = 640 };
/* "file.c:41", "?" for none; into `text`, returned. */
char *trace_site_text(const struct trace *trace, uint32_t site, char *text, size_t size);
bool trace_site_known(const struct trace *trace, uint32_t site);
/* " at file.c:41", "" where the place is not known: for sentences. */
char *trace_at_text(const struct trace *trace, uint32_t site, char *text, size_t size);
/* "Send to 3 tag 7", "Allreduce sum of 4 double", "Wait for Isend to 3": for messages and labels.
 */
char *trace_op_text(const struct trace *trace, uint32_t op, char *text, size_t size);

/* The name of the tensor that the operation moves: the string whose hash it carries; "" if the trace
 * has none. */
const char *trace_tensor_name(const struct trace *trace, const struct trace_op *op);
/* What the program called: "Sendrecv" for each part of one, else the kind's name. */
const char *trace_op_name(const struct trace_op *op);
const char *trace_call_name(int kind, int flags); /* of an operation with these */
/* Requests waited for by a wait op: fills up to `limit`, returns how many there are. */
size_t trace_op_requests(const struct trace *trace, uint32_t op, uint32_t *starts, size_t limit);
/* Whether the rank has the lock, at the end of the run, that this Win_lock or Win_lock_all wants. A
 * trace does not tell windows on one communicator apart, so its locks are counted. */
bool trace_has_lock(const struct trace *trace, uint32_t rank, const struct trace_op *wanted);
const struct trace_counts *trace_op_counts(const struct trace *trace,
                                           uint32_t op); /* NULL if none */
/* Name and size in bytes of an ABI type number; "mixed", 1 for 0. Name of an ABI op number. */
const char *trace_type_name(uint32_t type);
size_t trace_type_size(uint32_t type);
/* From one element to the next: more than the size where a pair has padding. */
size_t trace_type_extent(uint32_t type);
const char *trace_reduce_name(uint32_t reduce_op);
/* Hash over everything deterministic (no wall times, no addresses): equal runs give equal hashes.
 */
uint64_t trace_hash(const struct trace *trace);
uint64_t trace_rank_hash(const struct trace *trace, uint32_t rank);
void trace_hash_ranks(struct trace *trace); /* of all: into rank_info */

/* Records that `check` did not look at `count` things. Nothing is recorded for a count of 0. */
bool trace_gap(const struct trace *trace, const char *check, uint64_t count, const char *format,
               ...) __attribute__((format(printf, 4, 5)));
/* Forgets them: for whoever collects those that follow by themselves. */
void trace_gaps_clear(const struct trace *trace);
/* Never NULL for a trace; an empty one for NULL. */
const struct coverage *trace_coverage(const struct trace *trace);

#endif
