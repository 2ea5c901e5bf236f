/* The recorder's calls for layers that know more than MPI does: the DAG, inputs, gradients, notes,
 * metrics.
 *
 * Each records for the calling rank into its buffer and is a cheap no-op (one load and a branch)
 * when that rank is not being recorded: callers never ask. MPI operations are recorded by the PMPI
 * layer (traces/wrappers*.c), which attributes them to the current node.
 *
 * Room: sees traces. Seen by recorder/loading, recorder/preload, recorder/wrappers; cli,
 * collectives, sim. */
#ifndef RECORDER_RECORDER_H
#define RECORDER_RECORDER_H

#include "traces/trace/trace.h"

/* True when the caller's rank is recorded: only to skip costly preparation. */
bool record_active(void);

/* A node of the tape (pass 0) or of a backward pass; `forward` is the forward node's id, 0 for
 * none; `site` a return address. Returns the id (from 1), 0 when not recording. */
uint32_t record_node(const char *name, enum op_kind kind, uint32_t pass, uint32_t forward,
                     const void *site);
void record_edge(uint32_t from, uint32_t to, enum edge_type type);
/* Operations issued between enter and leave belong to the node and carry its site. Nest like
 * brackets. */
void record_node_enter(uint32_t node);
void record_node_leave(uint32_t node);
/* Opens a backward pass and returns its number (from 1 on each rank; also when not recording). */
uint32_t record_pass_begin(enum pass_mode mode);
void record_pass_end(uint32_t pass);
/* How many threads of the caller's rank may call MPI: MPI_THREAD_MULTIPLE and so on. */
void record_threads(int provided);
/* What the calling thread does from now on stands in the record as what a thread of its own did: it is a task
 * (RECORD_TASK_NEW), none (RECORD_TASK_NONE), or one that was interrupted by another and goes on. Which
 * thread runs a task is chance, so tasks of one thread are in no order. Returns what it did so far. */
enum { RECORD_TASK_NONE, RECORD_TASK_NEW };
uint8_t record_task(uint8_t task);
/* After the run: the caller's rank stands for ever in a call at `site` that is recorded then alone. */
void record_stands(enum op_kind kind, const void *site);
/* The calling thread will not return to where it stands, maybe within the recorder. */
void record_abandon(void);
/* Operations until leave carry this call site instead of their own return address (a library's
 * public entry). */
void record_site_enter(const void *site);
void record_site_leave(void);
/* The next operation moves what this name says; survives until used once. NULL clears. */
void record_identity(const char *name);
/* Says that `comm` (an MPI_Comm) duplicates `original` for adjoint traffic. */
void record_adjoint_comm(const void *comm, const void *original);

/* Operations between the two belong to one atomic batch: what SIM_Batch_begin and _end tell the
 * recorder. */
void record_batch_begin(void);
void record_batch_end(void);
/* The call in progress found `error_class` and its error handler will not return: marks the
 * operation failed; one that only begins things where it was called at `site`. For the machine's fatal error handler; one that returns needs no call. */
void record_failure(int error_class, const void *site);

void record_input(const char *name, uint32_t type, int64_t count);
void record_objective(double value);
void record_gradient_check(const struct trace_gradient *row, const char *variable);
void record_metric(const char *name, double value, const char *unit);
/* A point of a curve over `step`. */
void record_metric_at(const char *name, double step, double value);
/* The receive in progress took the message of `source` (in `comm`, an MPI_Comm) and may not return
 * to tell, because it is too long. */
void record_met(const void *comm, int source, int tag);
/* The call in progress waits for something that only this rank of the world can do; -1: no more. */
void record_waits_for(int rank);
/* The same of one that brings two groups together, under a tag. */
void record_meets(int rank, int tag);
/* After a run that stands for ever, for each rank: receives that were started and have their
 * message say which, though no call has returned to tell. `peek` finds source (in the receive's
 * communicator) and tag; false: it has none yet. */
void record_pending(bool (*peek)(const void *request, int *source, int *tag));
/* The program under test is wrong: becomes a finding with this code at the caller's current op,
 * node and site. */
void record_note(const char *code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* An access to a window's memory, complete (see struct trace_access, with numbers of the caller's
 * operations); and what the caller learns of another rank (struct trace_sync), `early` where its
 * operation is recorded behind this. */
void record_access(const struct trace_access *access, const void *site);
void record_sync(uint32_t rank, uint32_t peer_op, bool early);
/* The caller's rank did not look at `count` things for `check`: becomes a gap of the coverage. */
void record_gap(const char *check, uint64_t count, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same about the operation at a position (record_position; 0: none), at the place of a return
 * address, or of the operation in progress where that is NULL. */
void record_note_of(uint32_t position, const void *site, const char *code, const char *text);
/* A call of MPI that the machine refused at `site` (NULL: not known). It is the operation in
 * progress where that one was called there, else a call that is no operation: then the finding
 * stands at its own place. */
void record_refusal(const char *code, const void *site, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* How many operations the caller's rank has begun; and a note about the last one of so many. */
uint32_t record_position(void);
/* Keeps the other threads of the calling thread's rank out of its record until it is let go. */
void *record_hold(void);
void record_let_go(void *held);
/* What a rank did last, whichever of its threads, asked by one that stands for it. */
uint32_t record_position_last(void);
/* Where the number of operations is that all threads of the caller's rank have begun, to be read
 * atomically by threads that have no recorder; NULL: it is not recorded. */
const uint32_t *record_count(void);
void record_note_at(uint32_t position, const char *code, const char *text);

#endif
