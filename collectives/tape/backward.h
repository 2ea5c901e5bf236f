/* The backward engine: runs the adjoints of a tape in program or in data order.
 *
 * Rules:
 *  1. Program order: from the newest node to the oldest; a communication runs always (with zero
 *     cotangents where nothing arrived), a local operation only if a cotangent arrived.
 *  2. Data order: the active nodes reachable from the roots, each once all its dependents have run;
 *     among the ready ones MPIX_Choose picks, 0 being the newest.
 *  3. A node runs once; without RETAIN it is released afterwards, and reaching it again is an
 *     error. */
#ifndef COLLECTIVES_TAPE_BACKWARD_H
#define COLLECTIVES_TAPE_BACKWARD_H

#include "collectives/tape/tape.h"

/* Cotangents for a node's outputs and from it; see operation.h. Also used by per-operation checks.
 */
void backward_node(struct diff_node *node, struct diff_tensor *const *y_bar,
                   struct diff_tensor **x_bar);
/* Tangents of a node's outputs (NULL: zero) from those of its inputs; an operation without a
 * tangent ends the rank, or tells the probe that only tries. */
void tangent_node(struct diff_node *node, struct diff_tensor *const *x_dot,
                  struct diff_tensor **y_dot);
/* sum + more, either may be NULL. */
struct diff_tensor *cotangent_add(struct diff_tensor *sum, struct diff_tensor *more);
/* Zeros like the output if the cotangent is absent. */
struct diff_tensor *cotangent_or_zeros(struct diff_tensor *y_bar, const struct diff_tensor *y);

#endif
