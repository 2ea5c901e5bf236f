/* rpc.h: remote calls between ranks, and gradients through them.
 *
 * Every rank is a worker. A call names a worker and a function registered there; its arguments and
 * results are tensors of diff.h (and bytes, and references). Within a *context* calls are recorded,
 * so that dist_backward can follow a loss through all workers; gradients are kept in the context,
 * never in the leaves.
 *
 * Rules that hold for every function:
 *  - A worker serves others only while it waits: in rpc_wait, rpc_sync, dist_backward,
 *    dist_context_release and rpc_shutdown. There are no threads.
 *  - What goes wrong on another worker is an error of the future or the false of a function, with a
 *    sentence. Wrong use of these functions here ends the rank with a finding (M009).
 *  - Futures and references live until they are freed, or until rpc_shutdown.
 *  - Tensors belong to rpc_tape() and live until rpc_shutdown.
 *
 * Room: sees collectives/experiment, collectives/tape; recorder. Seen by programs. */
#ifndef COLLECTIVES_SYSTEMS_RPC_RPC_H
#define COLLECTIVES_SYSTEMS_RPC_RPC_H

#include <diff.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rpc_call;
struct rpc_future;
struct rpc_reference;

/* ---- workers ---- */

/* Makes every rank of `comm` a worker; collective over it (duplicates it twice). */
void rpc_init(MPI_Comm comm);
/* Serves until every worker has come here and nothing is under way, then forgets everything;
 * collective. Futures still open are waited for. */
void rpc_shutdown(void);
int rpc_worker(void);
int rpc_workers(void);
/* Where all tensors of this worker live. */
struct diff_tape *rpc_tape(void);
/* A leaf that needs a gradient and is no variable of the gradient check (diff_input makes one that
 * is). */
struct diff_tensor *rpc_variable(enum diff_type type, size_t dims, const size_t *shape,
                                 const void *values);
/* Gives up waiting after `ticks` in which nothing came: in time that passes only when nobody else
 * can do anything (MPIX_Probe_patient), so that no answer on its way is late; on a real MPI after
 * so many polls. 0 (default): waits for ever. */
void rpc_patience(unsigned ticks);

/* ---- calls ---- */

/* A function others may call by its name. It answers with rpc_reply or rpc_fail, at most once, and
 * with nothing if it returns without. */
typedef void rpc_function(struct rpc_call *call);
void rpc_register(const char *name, rpc_function *function);

/* What a call carries beside its tensors. */
struct rpc_arguments {
    size_t count;
    struct diff_tensor *const *tensors;
    size_t size;
    const void *bytes;
    size_t reference_count;
    struct rpc_reference *const *references;
};

/* Starts a call; the worker may be the caller itself. */
struct rpc_future *rpc_async(int worker, const char *function, size_t count,
                             struct diff_tensor *const *tensors);
struct rpc_future *rpc_async_with(int worker, const char *function,
                                  const struct rpc_arguments *arguments);
/* The same and waits. */
struct rpc_future *rpc_sync(int worker, const char *function, size_t count,
                            struct diff_tensor *const *tensors);
/* Serves others until the answer is there. False when the call failed. */
bool rpc_wait(struct rpc_future *future);
/* Why it failed, NULL when it did not. */
const char *rpc_error(const struct rpc_future *future);
/* Results of an answered call; a failed one has none (M009). */
size_t rpc_result_count(const struct rpc_future *future);
struct diff_tensor *rpc_result(const struct rpc_future *future, size_t index);
const void *rpc_result_bytes(const struct rpc_future *future, size_t *size);
void rpc_future_free(struct rpc_future *future);

/* ---- inside a registered function ---- */

int rpc_caller(const struct rpc_call *call);
size_t rpc_argument_count(const struct rpc_call *call);
struct diff_tensor *rpc_argument(const struct rpc_call *call, size_t index);
const void *rpc_argument_bytes(const struct rpc_call *call, size_t *size);
/* The handler's to free. */
struct rpc_reference *rpc_argument_reference(const struct rpc_call *call, size_t index);
void rpc_reply(struct rpc_call *call, size_t count, struct diff_tensor *const *tensors);
void rpc_reply_bytes(struct rpc_call *call, const void *bytes, size_t size);
void rpc_fail(struct rpc_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- references: values that stay with their owner ---- */

/* Calls and leaves the results with the worker. */
struct rpc_reference *rpc_remote(int worker, const char *function, size_t count,
                                 struct diff_tensor *const *tensors);
/* A reference to a tensor of this worker. */
struct rpc_reference *rpc_reference_new(struct diff_tensor *x);
int rpc_reference_owner(const struct rpc_reference *reference);
/* Fetches the values: a call to the owner. */
struct rpc_future *rpc_reference_fetch(struct rpc_reference *reference);
/* The tensor itself; at the owner only (M009), NULL while the call that makes it has not run. */
struct diff_tensor *rpc_reference_local(const struct rpc_reference *reference, size_t index);
void rpc_reference_free(struct rpc_reference *reference);
/* How many values this worker keeps for references. */
size_t rpc_references_kept(void);

/* ---- contexts ---- */

/* Which sends count. FAST: all of the context; one that nobody's gradient reaches makes the pass
 * wait for ever. SMART: those on a path to the roots, known from the lineage that tensors carry, or
 * from a mark phase before the pass. */
enum dist_mode { DIST_FAST, DIST_SMART_LINEAGE, DIST_SMART_MARK };

/* Opens a context and makes it current; a second current one on a rank is an error (M009). */
uint64_t dist_context_new(enum dist_mode mode);
/* Makes a context of this worker current, or no context. */
void dist_context_enter(uint64_t context);
void dist_context_leave(void);
/* 0 when none is current. */
uint64_t dist_context_current(void);
/* Forgets the context here and on every worker that knows it; waits until they have. False when one
 * of them did not answer (rpc_patience), or failed. */
bool dist_context_release(uint64_t context);
/* Whether this worker knows the context. */
bool dist_context_known(uint64_t context);
/* How many contexts this worker knows. */
size_t dist_contexts(void);

/* ---- gradients ---- */

enum { DIST_RETAIN = 1, DIST_GRAPH = 2 };
/* Gradients of the sum of the roots, through all workers; false with dist_error. RETAIN allows
 * another pass. GRAPH records the pass itself, its gradient messages like calls, so that its
 * gradients can be differentiated again (implies RETAIN); FAST then counts those messages, too. */
bool dist_backward(uint64_t context, size_t count, struct diff_tensor *const *roots,
                   unsigned flags);
/* Why the last function here that returned false did. */
const char *dist_error(void);
/* A leaf's gradient in the context, NULL when no pass reached it. */
struct diff_tensor *dist_gradient(uint64_t context, const struct diff_tensor *leaf);
/* The leaves of this worker that passes of the context reached: how many; fills up to `limit`. */
size_t dist_gradients(uint64_t context, struct diff_tensor **leaves, size_t limit);

/* Forward mode. The direction in which what depends on the leaf is differentiated in this context:
 * tangents travel with arguments and results, and with the gradients of passes with GRAPH. Once for
 * a leaf, before this worker sends tensors in the context (M009). */
void dist_tangent_set(uint64_t context, struct diff_tensor *leaf, struct diff_tensor *tangent);
/* A tensor's tangent in the context, on any worker; zeros when nothing reached it. It can be
 * differentiated, by dist_backward too. */
struct diff_tensor *dist_tangent(uint64_t context, struct diff_tensor *x);

/* Called with the gradient that arrives at `x` (of a leaf: before or after it is added to the
 * context's; else before or after the operation that made `x` runs backward). Returns NULL, or a
 * sentence that makes the pass fail. */
enum dist_hook_time { DIST_BEFORE, DIST_AFTER };
typedef const char *dist_hook(struct diff_tensor *gradient, void *hook_context);
void dist_hook_add(struct diff_tensor *x, enum dist_hook_time time, dist_hook *hook,
                   void *hook_context);

/* The engine's threads in miniature: a worker takes part in at most `passes` passes of others at a
 * time, and a pass keeps its place until all that it waits for is done. 0 (default): no limit. */
void dist_engine_limit(unsigned passes);

/* ---- the distributed optimizer ---- */

struct dist_optimizer;
enum dist_rule { DIST_SGD, DIST_ADAM };
/* One local optimizer at each owner of a parameter. */
struct dist_optimizer *dist_optimizer_new(enum dist_rule rule, double rate, size_t count,
                                          struct rpc_reference *const *parameters);
/* Every owner steps along the gradients of the context. False when one failed. */
bool dist_optimizer_step(struct dist_optimizer *optimizer, uint64_t context);
void dist_optimizer_free(struct dist_optimizer *optimizer);

/* ---- faults, for tests of programs ---- */

enum rpc_fault {
    RPC_FAULT_LOSE,         /* the message is not sent */
    RPC_FAULT_DUPLICATE,    /* it is sent twice */
    RPC_FAULT_CRASH_BEFORE, /* this worker dies instead of sending it */
    RPC_FAULT_CRASH_DURING, /* after its first half */
    RPC_FAULT_CRASH_AFTER   /* after it */
};
/* What happens to this worker's message number `number` (from 1) of a kind: "call", "reply",
 * "gradient", "gradient-answer", "mark", "release", "release-answer", "rollback" or "any". A dead
 * worker sends nothing more, its waits fail, and the others are told, as by a closed connection. */
void rpc_fault(enum rpc_fault fault, const char *kind, unsigned number);

/* Breaks one rule of the library on purpose, to see that the checks notice: see the table in
 * mutants.h. */
void rpc_break(const char *rule);

#ifdef __cplusplus
}
#endif
#endif
