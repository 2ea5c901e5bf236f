/* Requests: what a handle stands for. Three sorts:
 *  - a started MPI operation of the forward pass,
 *  - the adjoint of one: Wait's adjoint makes it and hands it, as the handle's cotangent, to the
 *    adjoint of the operation that started it. It holds the cotangent of the result and, once
 *    launched, up to REQUEST_PARTS communications under way,
 *  - nothing (an operation with MPI_PROC_NULL).
 *
 * The order rule: adjoints of operations with the same key (messages between the same two ranks
 * with one tag on one communicator in one direction; collectives on one communicator) start in the
 * reverse of the order of *initiation*. Waits may legally come in another order, even another one
 * on every rank, so an adjoint whose later sibling has not started yet is held until that one
 * starts. */
#ifndef COLLECTIVES_TAPE_REQUEST_H
#define COLLECTIVES_TAPE_REQUEST_H

#include "collectives/tape/tape.h"

struct layout;

enum { REQUEST_PARTS = 3 };

struct diff_request {
    struct diff_node *start;    /* the node that started it */
    MPI_Request mpi, *at;       /* `at`: where the request is, elsewhere for a persistent one */
    struct diff_tensor *result; /* where the message or result arrives, NULL for sends */
    struct diff_tensor *buffer; /* receive: what the buffer held */
    bool is_send, complete;
    void (*arrived)(struct diff_request *request, const MPI_Status *status); /* on completion */
    const struct layout *layout; /* where the result goes, once waited for: into `into` */
    struct diff_tensor *into;
    /* adjoint requests */
    struct diff_tensor *y_bar;
    struct diff_tensor *parts[REQUEST_PARTS];
};

struct diff_request *request_new(struct diff_tape *tape, struct diff_node *start);
/* Takes the handle for its one use; a second use ends the rank. */
struct diff_request *request_take(struct diff_tensor *handle, const char *use);
/* Wait's adjoint: starts the adjoint of `start` now or holds it. Returns the handle's cotangent. */
struct diff_tensor *request_adjoint(struct diff_node *start, struct diff_tensor *y_bar);
/* The adjoint of a starting operation: its launched request, launching it now if no wait did. */
struct diff_request *request_launched(struct diff_node *start, struct diff_tensor *cotangent);
/* A communication's adjoint has begun: those held back because of it begin too. */
void request_release_held(struct diff_node *node);

/* Leaves a send of a pass, or of diff_jvp, to its end, when `wait` is called; and that end. */
void request_complete_late(struct diff_tensor *handle,
                           struct diff_tensor *(*wait)(struct diff_tensor *handle));
void request_complete_all_late(struct diff_tape *tape);

#endif
