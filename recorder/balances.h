/* What is left over of operations that are no longer kept: messages whose other half may still be.
 *
 * The k-th send from a rank to another with a tag on a communicator meets the k-th receive of such a
 * message (MPI does not let messages overtake). So of a channel one number is enough: how many of
 * its sends are gone, less how many of its receives. As many of the first that are kept have lost
 * their partner. Channels that are even need no memory. */
#ifndef RECORDER_BALANCES_H
#define RECORDER_BALANCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Collectives have a channel for each member, with this destination and tag: so many of the first
 * that `source` issued and that are kept have lost another member. */
enum { BALANCE_COLLECTIVE = -9 };

struct balance {
    uint64_t comm;
    int32_t source, destination, tag;
    int32_t used; /* 0: nothing stands here */
    int64_t sends;
};

struct balances {
    struct balance *slots;
    size_t room, used; /* a power of two; used or once used */
    bool failed;       /* out of memory */
};

void balances_release(struct balances *balances);
/* Adds channel->sends to what is known of the channel. */
void balances_add(struct balances *balances, const struct balance *channel);
/* Whether the next send (receive) on the channel has lost its partner. */
bool balances_next(const struct balances *balances, const struct balance *channel, bool sends);
/* The same, and it is counted. */
bool balances_take(struct balances *balances, const struct balance *channel, bool sends);

#endif
