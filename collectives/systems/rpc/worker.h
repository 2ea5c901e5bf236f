/* What one rank's part of the library knows, and the messages between workers.
 *
 * Files: wire (bytes), life (beginning and end), transport (messages over MPI, faults), future (requests and answers), call
 * (functions, handlers), function (tensors on their way), reference, context (records of calls,
 * gradients), release, task (the local graph of a pass), pass (gradient messages, termination),
 * needed (SMART), tangent (forward mode), optimizer, events (what the trace gets to see). */
#ifndef COLLECTIVES_SYSTEMS_RPC_WORKER_H
#define COLLECTIVES_SYSTEMS_RPC_WORKER_H

#include "collectives/systems/rpc/mutants.h"
#include "collectives/systems/rpc/wire.h"
#include "collectives/tape/state.h"
#include "collectives/tape/tape.h"
#include "recorder/recorder.h"

#include <rpc.h>

/* kind, name, whether it is the answer to a request */
#define RPC_KINDS(X)                                                                               \
    X(CALL, "call", 0)                                                                             \
    X(REPLY, "reply", 1)                                                                           \
    X(GRADIENT, "gradient", 0)                                                                     \
    X(GRADIENT_ANSWER, "gradient-answer", 1)                                                       \
    X(MARK, "mark", 0)                                                                             \
    X(MARK_ANSWER, "mark-answer", 1)                                                               \
    X(RELEASE, "release", 0)                                                                       \
    X(RELEASE_ANSWER, "release-answer", 1)                                                         \
    X(ROLLBACK, "rollback", 0)                                                                     \
    X(ROLLBACK_ANSWER, "rollback-answer", 1)                                                       \
    X(ABORT, "abort", 0)                                                                           \
    X(JOIN, "join", 0)                                                                             \
    X(JOIN_ANSWER, "join-answer", 1)                                                               \
    X(FORK, "fork", 0)                                                                             \
    X(DROP, "drop", 0)                                                                             \
    X(BYE, "bye", 0)                                                                               \
    X(END, "end", 0)                                                                               \
    X(DOWN, "down", 0)
enum rpc_kind {
#define X(enumerator, name, answer) RPC_##enumerator,
    RPC_KINDS(X)
#undef X
        RPC_KIND_COUNT
};
extern const char *const rpc_kind_names[RPC_KIND_COUNT];

/* An id of a context, a message or a pass: 16 bits of the worker's rank in the world, 48 of a
 * counter that starts at 1 and goes on when the library is begun anew. */
static inline uint64_t id_make(int rank, uint64_t counter)
{
    return (uint64_t)rank << 48 | counter;
}
static inline int id_rank(uint64_t id)
{
    return (int)(id >> 48);
}
static inline uint64_t id_counter(uint64_t id)
{
    return id & 0xffffffffffff;
}

/* A set of ids: sorted. */
struct id_set {
    uint64_t *ids;
    size_t count, room;
};
bool id_set_has(const struct id_set *set, uint64_t id);
/* False when it was there before. */
bool id_set_add(struct id_set *set, uint64_t id);
void id_set_join(struct id_set *set, const struct id_set *more);
void id_set_release(struct id_set *set);
void id_set_put(const struct id_set *set, struct wire *wire);
void id_set_get(struct id_set *set, struct wire *wire);

struct rpc_context;
struct rpc_task;
struct rpc_packet_out;

/* A message as the receiver sees it. */
struct rpc_packet {
    int source;
    enum rpc_kind kind;
    uint64_t number;  /* of the messages from this source to here, from 1 */
    uint64_t request; /* the asker's number */
    uint64_t context;
    struct wire body;
};

struct rpc_peer {
    uint64_t sent, seen; /* numbers of the last message to and from it */
    uint64_t pieces_sent, pieces_taken;
    bool dead;
    struct wire partial; /* pieces of a message under way */
    uint64_t expected;
};

struct rpc_named {
    struct rpc_named *next;
    const char *name;
    rpc_function *function;
};

struct rpc_hook {
    struct rpc_hook *next;
    const void *vertex; /* a node or a leaf */
    enum dist_hook_time time;
    dist_hook *function;
    void *context;
};

struct rpc_fault_rule {
    struct rpc_fault_rule *next;
    enum rpc_fault fault;
    int kind; /* -1: any */
    unsigned number;
};

struct rpc_kept;
struct rpc_stepper;

/* What outlives rpc_shutdown, so that nothing is numbered twice in a run. */
struct rpc_numbers {
    uint64_t lives, contexts, messages, passes, references;
    uint64_t *sent, *seen; /* of messages, by rank in the world */
};

struct rpc_worker {
    struct diff_state *state;
    struct diff_tape *tape;
    struct diff_tensor *anchor; /* needs a gradient: the input of receive functions */
    MPI_Comm comm;
    int me, count, rank; /* rank: in the world */
    int *ranks;          /* of all workers */
    struct rpc_numbers numbers;
    bool open, dead;
    bool bye, end;        /* tokens seen */
    struct flood *floods; /* under way */
    unsigned patience;
    enum rpc_mutant mutant;
    char error[600];
    /* transport */
    struct rpc_peer *peers;
    struct rpc_packet_out *outgoing;
    MPI_Request *outgoing_requests;
    size_t outgoing_count, outgoing_room;
    struct wire spare[8];
    size_t spare_count;
    struct wire building;
    bool building_busy;
    struct rpc_fault_rule *faults;
    unsigned sent_of_kind[RPC_KIND_COUNT], sent_of_any;
    /* calls */
    struct rpc_named *functions;
    struct rpc_future *futures, *all_futures;
    uint64_t requests;
    struct rpc_call *call; /* being handled */
    /* references */
    struct rpc_kept *kept;
    struct rpc_reference *references;
    struct id_set early_drops;
    /* contexts */
    struct rpc_context *contexts;
    uint64_t current;
    struct id_set tombstones;
    struct rpc_hook *hooks;
    /* passes */
    unsigned roots; /* passes that began here and wait */
    unsigned engine_limit, engine_busy;
    struct rpc_packet **waiting; /* first contacts for which there is no place */
    size_t waiting_count, waiting_room;
    struct rpc_total *totals; /* of checked inputs */
    struct rpc_stepper *steppers;
    struct dist_optimizer *optimizers;
};

/* The calling rank's worker; one that is not open is wrong use. */
struct rpc_worker *worker_get(const char *function);
_Noreturn void worker_misuse(const struct rpc_worker *worker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* calloc that ends the rank when there is no memory. */
void *rpc_take(size_t size);
char *rpc_text(const char *text);
void *rpc_grow(void *items, size_t count, size_t *room, size_t size);
/* "0.3": worker and counter. */
const char *id_text(uint64_t id, char text[32]);
/* Who gave the id, -1 when it is none of these workers. */
int id_worker(const struct rpc_worker *worker, uint64_t id);

/* ---- transport ---- */

/* Begins a message: what follows is written into the returned buffer, then sent. */
struct wire *packet_begin(struct rpc_worker *worker);
void packet_send(struct rpc_worker *worker, int to, enum rpc_kind kind, uint64_t request,
                 uint64_t context);
/* Handles one message. False when patience ended first, or this worker is dead. */
bool worker_serve(struct rpc_worker *worker);
void transport_close(struct rpc_worker *worker);
void transport_release(struct rpc_worker *worker);
/* This worker dies: tells everybody, and says nothing more. */
void worker_die(struct rpc_worker *worker);

/* ---- futures ---- */

struct rpc_future {
    struct rpc_future *next; /* of those without an answer */
    struct rpc_future *next_of_all;
    struct rpc_worker *worker;
    uint64_t request, context;
    int peer;
    enum rpc_kind kind;
    bool done, failed, public;
    int no_grad; /* whether what comes back is recorded: as where it was asked */
    char *error;
    struct diff_tensor **results;
    size_t result_count;
    unsigned char *bytes;
    size_t size;
    unsigned retries;
    struct wire again; /* the message, for retries */
    /* Called once when it is done. */
    void (*notify)(struct rpc_future *future, struct wire *body, void *notify_context);
    void *notify_context;
};
/* The next message's future; send it with packet_send(..., future->request, ...). */
struct rpc_future *future_new(struct rpc_worker *worker, int peer, enum rpc_kind kind,
                              uint64_t context);
void future_free(struct rpc_future *future);
void future_fail(struct rpc_future *future, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Serves until it is done. */
void future_wait(struct rpc_future *future);
void future_answer(struct rpc_worker *worker, struct rpc_packet *packet);
/* Patience ended: every open future is asked again or fails. */
void futures_expire(struct rpc_worker *worker);
void futures_peer_died(struct rpc_worker *worker, int peer);
/* Answers begin with 0, or with 1 and a sentence. */
void answer_ok(struct rpc_worker *worker, int to, enum rpc_kind kind, uint64_t request,
               uint64_t context);
void answer_error(struct rpc_worker *worker, int to, enum rpc_kind kind, uint64_t request,
                  uint64_t context, const char *error);

/* ---- handlers of messages ---- */

void call_handle(struct rpc_worker *worker, struct rpc_packet *packet);
void call_results_take(struct rpc_worker *worker, struct rpc_future *future, struct wire *body);
void gradient_handle(struct rpc_worker *worker, struct rpc_packet *packet);
void mark_handle(struct rpc_worker *worker, struct rpc_packet *packet);
void release_handle(struct rpc_worker *worker, struct rpc_packet *packet);
void rollback_handle(struct rpc_worker *worker, struct rpc_packet *packet);
void join_handle(struct rpc_worker *worker, struct rpc_packet *packet);
void abort_handle(struct rpc_worker *worker, struct rpc_packet *packet);
void fork_handle(struct rpc_worker *worker, struct rpc_packet *packet);
void drop_handle(struct rpc_worker *worker, struct rpc_packet *packet);
void contexts_peer_died(struct rpc_worker *worker, int peer);

/* ---- others ---- */

void references_init(struct rpc_worker *worker);
void references_release(struct rpc_worker *worker);
void optimizers_init(struct rpc_worker *worker);
void optimizers_release(struct rpc_worker *worker);
void totals_report(struct rpc_worker *worker);
struct rpc_reference *reference_get(struct rpc_worker *worker, struct wire *body);
void reference_put(struct rpc_worker *worker, struct rpc_reference *reference, int to,
                   struct wire *body);

/* What the trace gets to see: "rpc.NAME key=value ..."; see checker/systems/remote_events.h. The arguments
 * are evaluated only when somebody records. */
#define rpc_event(worker, ...) (record_active() ? event_record((worker), __VA_ARGS__) : (void)0)
void event_record(const struct rpc_worker *worker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
