/* A worker's part of one pass: the local graph, run as gradients arrive.
 *
 * Rules:
 *  1. A vertex (an operation, a receive function, a leaf) runs once, when as many gradients have
 *     arrived as edges lead to it from the roots and the counted sends.
 *  2. `outstanding` counts the sends and roots whose gradient has not come; when it is zero the
 *     local graph is done. It gets there once.
 *  3. The task is over when its graph is done, or it failed, and nothing it asked for is open. Only
 *     then is first contact answered (Dijkstra and Scholten).
 *  4. A failed task runs nothing more. Those it has sent gradients to are told at once. */
#ifndef COLLECTIVES_SYSTEMS_RPC_TASK_H
#define COLLECTIVES_SYSTEMS_RPC_TASK_H

#include "collectives/systems/rpc/context.h"
#include "collectives/systems/rpc/pointer_map.h"

enum vertex_kind { VERTEX_NODE, VERTEX_RECV, VERTEX_LEAF };

struct rpc_vertex {
    enum vertex_kind kind;
    union {
        struct diff_node *node;
        struct rpc_recv *recv;
        struct diff_tensor *leaf;
    } of;
    unsigned dependencies, arrived;
    bool ran;
    size_t count;
    struct diff_tensor *own[2];
    struct diff_tensor **gradients; /* per output */
};

struct rpc_task {
    struct rpc_context *context;
    uint64_t pass;
    unsigned holders;
    int parent; /* -1: the root here */
    uint64_t request;
    unsigned flags; /* DIST_RETAIN, DIST_GRAPH */
    bool failed, over, idle, occupies;
    struct id_set counted, arrived, needed;
    struct pointer_map map; /* key -> vertex number + 1 */
    struct rpc_vertex *vertices;
    size_t vertex_count, vertex_room;
    uint32_t *ready;
    size_t ready_count, ready_room;
    size_t outstanding, open; /* gradients to come; answers to come */
    char error[500];
};

/* Makes the context's task. Counts the sends that this pass is to reach here. */
struct rpc_task *task_new(struct rpc_worker *worker, struct rpc_context *context, uint64_t pass,
                          unsigned flags, const struct id_set *needed);
/* Adds edges from these roots; before the first gradient. */
void task_roots(struct rpc_task *task, size_t count, struct diff_tensor *const *roots);
void task_roots_arrive(struct rpc_worker *worker, struct rpc_task *task, size_t count,
                       struct diff_tensor *const *roots, struct diff_tensor *const *seeds);
/* A gradient message for a send; runs what it makes ready. */
void task_arrive(struct rpc_worker *worker, struct rpc_task *task, const struct rpc_send *send,
                 struct diff_tensor *const *gradients);
void task_fail(struct rpc_worker *worker, struct rpc_task *task, const char *error);
/* Fails and forgets its open questions. */
void task_abandon(struct rpc_worker *worker, struct rpc_task *task);
/* A worker died that may owe a gradient. */
void task_peer_died(struct rpc_worker *worker, struct rpc_task *task, int peer);
/* Sees whether it is over, and does what follows. */
void task_settle(struct rpc_worker *worker, struct rpc_task *task);
void task_drop(struct rpc_task *task);

/* pass.c: a receive function's gradient message; the answer to first contact. */
void gradient_send(struct rpc_worker *worker, struct rpc_task *task, struct rpc_recv *recv,
                   struct diff_tensor *const *gradients);
void task_ended(struct rpc_worker *worker, struct rpc_task *task);
void children_abort(struct rpc_worker *worker, const struct rpc_task *task);

#endif
