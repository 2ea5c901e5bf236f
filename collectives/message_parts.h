/* What the files on messages share; nobody else includes this. */
#ifndef COLLECTIVES_MESSAGE_PARTS_H
#define COLLECTIVES_MESSAGE_PARTS_H

#include "collectives/message.h"

struct diff_persistent {
    struct diff_tape *tape;
    enum diff_type type;
    size_t count;
    void *buffer;
    bool sends;
    struct far_end end;
    MPI_Request request;
};

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
