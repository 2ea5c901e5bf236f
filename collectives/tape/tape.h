/* The tape: nodes in order of creation, the arena they live in, the channels they talk over.
 *
 * Rules:
 *  1. A node's sequence number is its place in program order, from 1; its inputs were made earlier.
 *  2. A node is on the tape when an input requires a gradient, or when it communicates (whatever
 *     its inputs: in program order every rank runs every adjoint). Others are computed and
 *     forgotten.
 *  3. A node is active when the cotangents of its outputs matter: in data order if an input
 *     requires a gradient, in program order also if it communicates.
 *  4. Versions of saved values are noted at creation and compared when the adjoint runs.
 *
 * Room: sees collectives/arithmetic, collectives/experiment, collectives/windows; recorder,
 * traces. Seen by collectives/arithmetic, collectives/experiment, collectives/gradcheck,
 * collectives/operations, collectives/systems/rpc, collectives/systems/server,
 * collectives/windows. */
#ifndef COLLECTIVES_TAPE_TAPE_H
#define COLLECTIVES_TAPE_TAPE_H

#include "collectives/tape/channel.h"
#include "collectives/tape/node.h"
#include "collectives/tape/operation.h"
#include "collectives/tape/state.h"
#include "collectives/tape/tensor.h"

#include <stddef.h>

/* Builds a node: begin, then outputs, then run. */
struct diff_node *node_begin(const struct diff_operation *operation, uint32_t input_count,
                             struct diff_tensor *const *inputs);
/* With more outputs than the two that others have. */
struct diff_node *node_begin_many(struct diff_tape *tape, const struct diff_operation *operation,
                                  uint32_t output_most, uint32_t input_count,
                                  struct diff_tensor *const *inputs);
/* For operations whose first input may be absent. */
struct diff_node *node_begin_on(struct diff_tape *tape, const struct diff_operation *operation,
                                uint32_t input_count, struct diff_tensor *const *inputs);
struct diff_tensor *node_output(struct diff_node *node, struct diff_tensor *tensor);
/* Puts it on the tape if it belongs there, records it and runs its forward function. */
void node_run(struct diff_node *node);
void *node_take(struct diff_node *node, size_t size);
/* Forgets nodes and tensors, as diff_tape_clear does, within one filling of the tape. */
void tape_empty(struct diff_tape *tape);

/* One input, one output of the same shape and type. */
struct diff_tensor *node_unary(const struct diff_operation *operation, struct diff_tensor *x);
struct diff_tensor *node_binary(const struct diff_operation *operation, struct diff_tensor *a,
                                struct diff_tensor *b);

/* Notes the order of initiation of a collective, or of a message once its peer and tag are known.
 */
void node_collective(struct diff_node *node);
enum key_direction { KEY_SEND, KEY_RECEIVE };
void node_message(struct diff_node *node, int link, enum key_direction direction, int peer,
                  int tag);

/* "Allreduce at ring.c" is the finding's business; this is "node 7 (Allreduce)". */
const char *node_text(const struct diff_node *node, char *text, size_t size);
/* Ends the rank: the program is wrong at this node. */
void node_fail(const struct diff_node *node, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The operation has no tangent: ends the rank, or tells the probe that only tries. */
void node_tangent_missing(const struct diff_node *node, const char *why);

#endif
