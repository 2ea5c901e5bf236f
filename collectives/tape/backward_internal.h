/* What the files of the backward engine share; nobody else includes this. */
#ifndef COLLECTIVES_TAPE_BACKWARD_INTERNAL_H
#define COLLECTIVES_TAPE_BACKWARD_INTERNAL_H

#include "collectives/tape/backward.h"

struct pass {
    struct diff_tape *tape;
    struct diff_node *limit; /* the newest node that may run */
    unsigned flags;
    uint32_t number;          /* the recorder's */
    struct diff_node **ready; /* data order: ascending by sequence */
    struct diff_node **reached;
    size_t ready_count, reached_count;
    bool checks_finite;
};

/* Runs a node's adjoint: its outputs' cotangents become its inputs'. */
void pass_node_execute(struct pass *pass, struct diff_node *node);
/* Adds to the gradient a tensor keeps. */
void pass_gradient_keep(struct diff_tensor *x, struct diff_tensor *cotangent);
void pass_program_order(struct pass *pass, size_t count, struct diff_tensor *const *roots);
void pass_data_order(struct pass *pass, size_t count, struct diff_tensor *const *roots);

#endif
