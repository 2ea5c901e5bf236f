/* What the files on messages share; nobody else includes this. */
#ifndef COLLECTIVES_OPERATIONS_MESSAGE_INTERNAL_H
#define COLLECTIVES_OPERATIONS_MESSAGE_INTERNAL_H

#include "collectives/operations/message.h"

struct message {
    int peer, tag; /* as given: wildcards and MPI_PROC_NULL included */
    enum send_mode mode;
    size_t received; /* values that arrived */
    struct diff_request *request;
    struct diff_persistent *persistent;
    MPI_Message *matched; /* by a probe; NULL for an ordinary receive */
};

struct diff_persistent {
    struct diff_tape *tape;
    enum diff_type type;
    size_t count;
    void *buffer;
    bool sends;
    struct far_end end;
    MPI_Request request;
    struct collective_buffers *collective; /* NULL: a message */
};

bool message_to_nobody(int peer);
/* The far end as matched, on the adjoint channel: where tangents go, and cotangents come from or go
 * to; the second with its mutant. */
struct far_end message_same_way(const struct diff_node *node);
struct far_end message_way_back(const struct diff_node *node);
/* A node for a message of x, or into x. */
struct diff_node *message_begin(const struct diff_operation *operation, struct diff_tensor *x,
                                struct far_end end, enum send_mode mode);
/* What a completed receive tells: how much came, and from whom. */
void message_arrival_note(struct diff_node *node, struct message *message,
                          const MPI_Status *status);
/* Receives what a probe matched. */
struct diff_tensor *message_mrecv(struct diff_tensor *buffer, struct far_end from,
                                  MPI_Message *matched);
/* The count as MPI wants it; ends the rank when it is too large. */
int message_elements(const struct diff_tensor *x);
/* The front of a cotangent, which travels back; the tail, which belongs to the buffer's old content
 * (NULL where there is none). */
struct diff_tensor *message_front(struct diff_tensor *y_bar, size_t received);
struct diff_tensor *message_tail(struct diff_tensor *y_bar, size_t received);
/* Copies what the buffer held behind the first `received` values. */
void message_tail_keep(const struct diff_tensor *buffer, struct diff_tensor *y, size_t received);
/* A persistent message as an Isend or Irecv. */
struct diff_tensor *message_start(struct diff_persistent *persistent, struct diff_tensor *x);

#endif
