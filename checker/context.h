/* What several checkers derive from one trace, computed once.
 *
 * An op is odd where a check of single ops and messages may have something to say of it: the others
 * are right at a glance, and millions of them are passed once.
 *
 * A group is one collective call: the ops of one communicator with one comm_seq, at most one per
 * member. A start is an op that completes through a request. Everything here is index arithmetic
 * over the trace's own tables; no op is copied. */
#ifndef CHECKER_CONTEXT_H
#define CHECKER_CONTEXT_H

#include "checker/options.h"
#include "traces/trace/finding.h"
#include "traces/trace/trace.h"

#include <stdbool.h>

struct check_group {
    uint32_t comm, seq;
    uint32_t first, count; /* its ops: group_ops[first .. first + count), by rank */
};

struct check_context {
    const struct trace *trace;
    const struct check_options *options;
    struct check_group *groups;
    size_t group_count;
    uint32_t *group_ops;
    size_t *group_begin; /* of communicator c: groups group_begin[c] .. group_begin[c+1) */
    size_t *pass_begin;  /* rank r owns passes[pass_begin[r] .. pass_begin[r+1]) */
    uint32_t *blocked;   /* per rank: the op it stood in at the end, TRACE_NO */
    uint32_t *refused;   /* ops, ascending: see check_is_refused */
    size_t refused_count;
    uint32_t *odd; /* ops, ascending: see is_odd in context.c */
    size_t odd_count, odd_room;
    uint32_t *finalize;        /* per rank: its last call of Finalize, TRACE_NO */
    bool has_passes;           /* an op of a backward pass */
    bool kinds[UINT8_MAX + 1]; /* whether there are ops of this kind */
    bool has_changes;          /* OP_BUFFER_CHANGED */
    uint32_t last_thread;      /* the highest number of a thread */
    bool worked; /* the time limit passed while a rank was at work, in a call or outside */
    bool hung; /* somebody stood in an operation when the run ended, and no crash or abort ended it
                */
    bool cut_short; /* a crash, an abort, a hang or a time limit ended the run: what is missing
                       proves nothing */
    bool has_batches, has_data_passes;
    bool has_wildcards, has_any_source; /* a receive from any source; that, or a probe */
};

void check_context_init(struct check_context *context, const struct trace *trace,
                        const struct check_options *options);
void check_context_release(struct check_context *context);

/* The group of a collective call, TRACE_NO where the op is none. */
uint32_t check_group_of(const struct check_context *context, uint32_t op);
/* MPI refused the call for its own arguments, before anybody met it. */
bool check_is_refused(const struct check_context *context, uint32_t op);

/* The models asked for that can differ: without batches, atomic batches are rendezvous. */
unsigned check_models_asked(const struct check_context *context);
/* The op's class; sends and receives to nobody (MPI_PROC_NULL) are CLASS_NONE: they neither wait
 * nor match. */
enum op_class check_class(const struct trace_op *op);
/* It only starts something and completes through a request. */
bool check_is_start(const struct trace_op *op);
/* An Isendrecv is two starts of one request, the send and right behind it the receive. */
static inline bool check_has_second(const struct trace_op *op)
{
    return (op->flags & OP_COMPOUND) && (op->flags & OP_NONBLOCKING) && op->kind == OP_ISEND;
}
static inline bool check_is_second(const struct trace_op *op)
{
    return (op->flags & OP_COMPOUND) && (op->flags & OP_NONBLOCKING) && op->kind == OP_IRECV;
}
/* Both starts are one request, which completes when both do. */
static inline bool check_are_halves(const struct trace *trace, uint32_t first, uint32_t second)
{
    return first != TRACE_NO && second == first + 1 && second < trace->op_count &&
           check_has_second(&trace->ops[first]) && check_is_second(&trace->ops[second]);
}
/* A send that always waits for its receiver (synchronous), or never does (buffered). */
bool check_is_synchronous(const struct trace_op *op);
bool check_is_buffered(const struct trace_op *op);
/* Whether the rank (a world rank) belongs to the communicator; true where the members are unknown.
 */
bool check_comm_has(const struct trace *trace, uint32_t comm, uint32_t rank);
/* How many ranks the communicator has; all of them where unknown. */
uint32_t check_comm_size(const struct trace *trace, uint32_t comm);
/* The world rank at `index` of the communicator. */
uint32_t check_comm_member(const struct trace *trace, uint32_t comm, uint32_t index);
/* The basic types of two operations are known, and not the same sequence. */
bool check_signatures_differ(const struct trace_op *a, const struct trace_op *b);
/* Same kind, count, type and reduction: in a collective nobody could tell the two apart. */
bool check_same_signature(const struct trace_op *a, const struct trace_op *b);

#endif
