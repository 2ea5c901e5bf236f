/* Keeps nodes' values and cotangents in the probe, for finding the first wrong adjoint afterwards.
 */
#ifndef COLLECTIVES_TAPE_TRACE_NODE_H
#define COLLECTIVES_TAPE_TRACE_NODE_H

#include "collectives/tape/node.h"

/* A node has run forward / its adjoint has run. Nothing unless the probe traces. */
void trace_forward(struct diff_node *node);
void trace_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                   struct diff_tensor *const *x_bar);
/* A backward pass starts here with this cotangent. */
void trace_seed(const struct diff_tensor *root, const struct diff_tensor *cotangent);
/* The tangents of its outputs are those of forward-mode pass `pass`. */
void trace_tangents(const struct diff_node *node, uint64_t pass);
/* The node's place among its communicator's operations is known now. */
void trace_place(const struct diff_node *node);

#endif
