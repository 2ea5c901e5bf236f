/* SMART: which sends lie on a path to the roots. Two designs. */
#ifndef COLLECTIVES_SYSTEMS_RPC_NEEDED_H
#define COLLECTIVES_SYSTEMS_RPC_NEEDED_H

#include "collectives/systems/rpc/context.h"

/* Calls `visit` for each receive function that these tensors' local history reaches, once. */
void history_walk(size_t count, struct diff_tensor *const *tensors,
                  void (*visit)(struct rpc_recv *recv, void *visitor), void *visitor);
/* Tells the trace which receive functions a send, or a pass's roots, come from: what a hang of FAST
 * is explained by. `what`: "m" or "p", and its id. */
void history_record(struct rpc_worker *worker, const struct rpc_context *context, const char *what,
                    uint64_t id, size_t count, struct diff_tensor *const *tensors);
/* Joins the lineages of all receive functions that these tensors reach. */
void lineage_collect(size_t count, struct diff_tensor *const *tensors, struct id_set *lineage);
/* The mark phase: asks the senders of what these tensors reach, who ask theirs. Serves until all
 * have answered; false with worker->error. */
bool mark_phase(struct rpc_worker *worker, struct rpc_context *context, uint64_t pass, size_t count,
                struct diff_tensor *const *roots, struct id_set *needed);

#endif
