/* Forward mode: tangents that travel with arguments and results, and with gradients that have a
 * history.
 *
 * Rules:
 *  1. A tangent belongs to a context. It begins at a leaf and is carried through the local graph
 *     when somebody asks for it: a message that leaves, dist_tangent, or a root.
 *  2. What is received has the tangent that came with it, in the context it came in, and no other.
 *  3. Tangents are computed by differentiable operations: behind their tensors they are tensors of
 *     the message like the others, so that gradients go back through them.
 *  4. Where nobody set one, the gradient check's direction is carried instead, and not recorded. */
#ifndef COLLECTIVES_SYSTEMS_RPC_TANGENT_H
#define COLLECTIVES_SYSTEMS_RPC_TANGENT_H

#include "collectives/systems/rpc/context.h"

/* Whether messages of this context may carry tangents. */
bool tangents_travel(const struct rpc_worker *worker, const struct rpc_context *context);
/* The tangent of each tensor, NULL for zero. */
void tangents_find(struct rpc_worker *worker, struct rpc_context *context, size_t count,
                   struct diff_tensor *const *tensors, struct diff_tensor **tangents);
/* A received tensor's. */
void tangent_arrive(struct rpc_worker *worker, struct rpc_context *context,
                    const struct diff_tensor *x, struct diff_tensor *tangent);
/* Somebody has set one in the context. */
void tangents_own(struct rpc_worker *worker, struct rpc_context *context);
/* The sum of the roots' tangents, where the gradient check wants to know. */
double tangents_measure(struct rpc_worker *worker, struct rpc_context *context, size_t count,
                        struct diff_tensor *const *roots);

#endif
