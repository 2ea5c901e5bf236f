/* Point to point operations on a channel, for use within adjoints. */
#ifndef COLLECTIVES_OPERATIONS_MESSAGE_H
#define COLLECTIVES_OPERATIONS_MESSAGE_H

#include "collectives/tape/request.h"

enum send_mode { SEND_STANDARD, SEND_SYNCHRONOUS, SEND_BUFFERED, SEND_READY };

/* A message's far end. */
struct far_end {
    struct diff_channel *channel;
    int peer, tag;
};

struct diff_tensor *message_send(struct diff_tensor *x, struct far_end to, enum send_mode mode);
struct diff_tensor *message_isend(struct diff_tensor *x, struct far_end to, enum send_mode mode);
struct diff_tensor *message_recv(struct diff_tensor *buffer, struct far_end from);
struct diff_tensor *message_irecv(struct diff_tensor *buffer, struct far_end from);
struct diff_tensor *message_wait(struct diff_tensor *handle);
/* Leaves a send of a pass, or of diff_jvp, to its end: nothing in between waits for it. */
void message_complete_late(struct diff_tensor *handle);

#endif
