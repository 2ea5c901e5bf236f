/* What an operation is to the tape: a row of functions. One file per operation holds them side by
 * side.
 *
 * Rules for the functions of a row:
 *  - `forward` computes the values of the node's outputs from its inputs; it may be run once only.
 *  - `adjoint` gets the cotangents of the outputs (NULL: zero) and leaves those of the inputs
 *    (NULL: zero). It is built from differentiable operations, so that a recorded pass can be
 *    differentiated. It communicates on node->channel->adjoint only.
 *  - `tangent` does the same forward: tangents of inputs in, of outputs out.
 *  - `launch` (operations that only start something) begins the adjoint's communication when the
 *    wait is reached; `adjoint` completes it. See request.h. */
#ifndef COLLECTIVES_TAPE_OPERATION_H
#define COLLECTIVES_TAPE_OPERATION_H

#include "traces/trace/kinds.h"

#include <diff.h>

struct diff_node;
struct diff_request;

enum diff_saves { SAVES_NOTHING = 0, SAVES_INPUTS = 1, SAVES_OUTPUTS = 2 };

struct diff_operation {
    const char *name;
    enum op_kind kind;
    unsigned saves;
    bool communicates;
    unsigned numbers;      /* how many doubles of the program's the node's `extra` is: a factor */
    bool takes_handles;    /* a local one, for which their order counts */
    bool inputs_elsewhere; /* what it depends on is on other ranks: a tangent may come to it */
    void (*forward)(struct diff_node *node);
    void (*adjoint)(struct diff_node *node, struct diff_tensor *const *y_bar,
                    struct diff_tensor **x_bar);
    void (*tangent)(struct diff_node *node, struct diff_tensor *const *x_dot,
                    struct diff_tensor **y_dot);
    void (*launch)(struct diff_node *node, struct diff_request *adjoint);
};

#endif
