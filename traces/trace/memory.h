/* The memory behind a trace: growing tables, texts and the intern table. Private to
 * traces/trace*.c.
 *
 * Rules:
 *  1. Texts, per-peer counts and communicator members live in blocks that never move until
 *     trace_free.
 *  2. Running out of memory is remembered in `failed`; adding goes on as a no-op and
 *     trace_finish reports it once, so that builders need no check after each call. */
#ifndef TRACES_TRACE_MEMORY_H
#define TRACES_TRACE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct failure;
struct trace;
struct trace_form;
struct trace_op;
struct trace_plain_op;

struct trace_block;

/* Rows of a table: an index has 31 bits where a wait names it. */
enum { TRACE_ROWS_MAX = INT32_MAX };
enum { TRACE_RECENT_PLACES = 1024, TRACE_RECENT_STEPS = 256 };

/* What a form became when its operation was matched like that. */
struct trace_step {
    const struct trace_form *from, *to;
    int32_t peer, tag;
};

struct trace_store {
    struct trace_block *blocks;
    bool failed;
    bool disordered;  /* operations were not added rank by rank */
    bool passes;      /* a form has a pass */
    uint64_t *hashes; /* per rank: of its operations as they are; NULL: not known */
    size_t op_room, wait_room, counts_room, node_room, edge_room, pass_room, comm_room, site_room;
    size_t string_room, note_room, gradient_room, metric_room, access_room, sync_room, fold_room;
    uint32_t *string_table, *site_table; /* open addressing, TRACE_NO: empty */
    size_t string_slots, site_slots;
    const struct trace_form **forms; /* open addressing, NULL: empty */
    size_t form_slots, form_count;
    size_t place_room, time_room, adjoint_room;
    uint32_t recent_places[TRACE_RECENT_PLACES]; /* by a hash: one that was added, 0: none */
    struct trace_step
        steps[TRACE_RECENT_STEPS]; /* by a hash, of those that were taken; from NULL: none */
};

/* Room for one more row at the end of a table; false (and `failed`) when there is none. */
bool trace_memory_grow(struct trace_store *store, void *table, size_t count, size_t *room,
                       size_t row);
/* Zeroed memory that lives as long as the trace; NULL (and `failed`) when there is none. */
void *trace_memory_take(struct trace_store *store, size_t size);
const char *trace_memory_text(struct trace_store *store, const char *text);
void trace_memory_release(struct trace_store *store);

/* An operation and its form as they are kept: form.c. False: out of memory. */
bool trace_form_op(struct trace_store *store, const struct trace_plain_op *op,
                   struct trace_op *row);
/* Operations are no longer what they were. */
void trace_hashes_forget(struct trace_store *store);

/* Fills in match, peer_matched, tag_matched and count_matched: match.c. False when memory ran
 * out. */
bool trace_match(struct trace *trace);

/* Fills in adjoint_of from the links between nodes: adjoint.c. Before trace_finish. */
bool trace_link_adjoints(struct trace *trace, struct failure *failure);

#endif
