/* Contexts: what a worker recorded of calls, and the gradients it has.
 *
 * Rules:
 *  1. A send function remembers the tensors a message carried that need gradients; the receive
 *     function of the same message id is their origin at the other end.
 *  2. A context is made where it is opened, and on other workers when they first hear of it, unless
 *     its id has a tombstone.
 *  3. Passes of a context follow each other; a gradient entry remembers what it was before the
 *     newest pass, so that a pass that failed elsewhere can be taken back. */
#ifndef COLLECTIVES_SYSTEMS_RPC_CONTEXT_H
#define COLLECTIVES_SYSTEMS_RPC_CONTEXT_H

#include "collectives/systems/rpc/pointer_map.h"
#include "collectives/systems/rpc/worker.h"

struct rpc_send {
    uint64_t message, pass; /* the pass it is a gradient of, 0: a call or an answer */
    int to;
    const void *site;
    char what[40]; /* the function called, or whose answer it is */
    size_t count;
    struct diff_tensor **tensors;
};

struct rpc_recv {
    struct rpc_context *context;
    uint64_t message;
    int from;
    bool released;
    uint64_t mark_pass; /* the mark phase that visited it last */
    size_t count;
    struct diff_tensor **tensors; /* received */
    struct id_set lineage;        /* sends on the way, the own one included */
};

struct rpc_gradient {
    struct diff_tensor *leaf, *sum, *before;
    uint64_t pass;
};

struct rpc_ended {
    int root;
    uint64_t counter; /* of the root's newest pass that ended here */
};

struct rpc_tangents {       /* see tangent.h */
    bool own;               /* somebody set one: on all workers that have heard since */
    struct pointer_map map; /* tensor -> place in `values` + 1 */
    struct diff_tensor **values;
    size_t count, room;
};

struct rpc_context {
    struct rpc_context *next;
    uint64_t id;
    enum dist_mode mode;
    struct rpc_send **sends; /* by message id, ascending */
    size_t send_count, send_room;
    struct rpc_recv **recvs;
    size_t recv_count, recv_room;
    struct rpc_gradient *gradients;
    size_t gradient_count, gradient_room;
    bool *known; /* workers that may know the context */
    struct rpc_task *task;
    struct rpc_ended *ended;
    size_t ended_count, ended_room;
    uint64_t rolled_back, mark_pass;
    struct id_set marked; /* of the mark phase `mark_pass`: own sends that are needed */
    struct rpc_tangents tangents;
};

/* NULL when this worker does not know it. */
struct rpc_context *context_find(const struct rpc_worker *worker, uint64_t id);
/* NULL when its id has a tombstone. */
struct rpc_context *context_get_or_make(struct rpc_worker *worker, uint64_t id,
                                        enum dist_mode mode);
/* Frees it without telling anybody; no task of its is under way. */
void context_free(struct rpc_worker *worker, struct rpc_context *context);
/* Records the tensors among these that need gradients; the function's message id, 0 when there are
 * none. */
uint64_t send_record(struct rpc_worker *worker, struct rpc_context *context, int to,
                     const char *what, size_t count, struct diff_tensor *const *tensors);
struct rpc_send *send_find(const struct rpc_context *context, uint64_t message);
/* Gives received tensors an origin. */
struct rpc_recv *recv_record(struct rpc_worker *worker, struct rpc_context *context,
                             uint64_t message, int from, size_t count,
                             struct diff_tensor **tensors);
/* The receive function that made this tensor, NULL when another operation did; `index` is which of
 * its tensors. */
struct rpc_recv *recv_of(const struct diff_tensor *x, size_t *index);
void gradient_accumulate(struct rpc_worker *worker, struct rpc_context *context, uint64_t pass,
                         struct diff_tensor *leaf, struct diff_tensor *gradient);
/* What passes of this world made of it; NULL: nothing. */
struct diff_tensor *gradient_passed(struct rpc_worker *worker, uint64_t id,
                                    const struct diff_tensor *leaf);
/* The gradient check compares the sum over all passes with the sum of all roots: what a context
 * holds is added up when it goes. */
void totals_add(struct rpc_worker *worker, const struct rpc_context *context);
bool pass_has_ended(const struct rpc_context *context, uint64_t pass);
void pass_note_end(struct rpc_context *context, uint64_t pass);
/* Writes all tensors with what the other end needs to record them; see tensors_get. The message id
 * of their send function, 0 when there is none. */
uint64_t tensors_put(struct rpc_worker *worker, struct rpc_context *context, int to,
                     const char *what, size_t count, struct diff_tensor *const *tensors,
                     struct wire *wire);
struct diff_tensor **tensors_get(struct rpc_worker *worker, struct rpc_context *context, int from,
                                 struct wire *wire, size_t *count);
/* Takes back what a failed pass added, here and wherever the context is known. */
void context_rollback(struct rpc_worker *worker, uint64_t id, uint64_t pass);
uint64_t tensor_hash(const struct diff_tensor *x, uint64_t hash);

#endif
