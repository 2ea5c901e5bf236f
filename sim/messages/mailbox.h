/* Mailboxes: where messages and receives of one rank in one context meet.
 *
 * Invariants:
 *  1. Messages of one source are matched in the order in which they were sent (non-overtaking),
 *     receives in the order in which they were posted.
 *  2. No waiting message is compatible with a posted receive, unless a delayed wildcard posted
 *     earlier has a claim on it.
 *  3. A message in the box is in its source's channel and in the box's arrival list.
 *
 * Channels (per source) are found by hashing, so that a rank which talks to 65,535 others pays for
 * each message once. */
#ifndef SIM_MESSAGES_MAILBOX_H
#define SIM_MESSAGES_MAILBOX_H

#include "sim/messages/request.h"

struct sim_message {
    uint32_t magic; /* when it is an MPI_Message */
    int source, tag;
    uint32_t number;
    uint32_t event;                      /* exploration: in the log */
    uint32_t arrival;                    /* in its box: counted on from one to the next */
    struct sim_message *next;            /* same source */
    struct sim_message *earlier, *later; /* arrival */
    struct sim_request
        *sender; /* not yet complete send whose buffer holds the data; NULL: the data follow */
    struct sim_context *context;
    struct sim_comm *taken_by;    /* an MPI_Message: where the probe asked; outlives its handle */
    struct sim_rank *buffered_by; /* whose attached buffer it occupies, NULL */
    size_t bytes, block;          /* payload; size of this block */
    _Alignas(16) char data[];
};

struct sim_channel {
    int source; /* -1: unused slot */
    uint32_t sent;
    uint32_t known; /* exploration: the receiver knows that so many messages have arrived */
    struct sim_message *first, *last;
    struct sim_request *posted_first, *posted_last; /* the last: where there is a first */
};

/* Where probing for a source's channel begins: its number times this. */
#define SIM_CHANNEL_FACTOR 0x9e3779b1u

struct sim_mailbox {
    struct sim_channel *channels; /* open addressing; NULL until used: then `one` serves */
    uint32_t mask, used;
    uint32_t posted; /* receives */
    struct sim_channel one;
    struct sim_request *any_first, *any_last;
    struct sim_message *oldest, *newest;
    uint64_t posts;
    struct sim_rank *prober;
    size_t granted; /* exploration: the last choice that let a receive of this box go, plus 1 */
};

/* A send of `count` x `type` from comm rank `source` arrives at `destination`'s box. In the
 * monitor. Returns true when it is done with the sender's buffer (delivered or buffered); false
 * when the message waits with `sender`, which completes at the match. `may_buffer` says whether the
 * data may be copied aside. */
bool sim_mailbox_send(struct sim_context *context, int destination, struct sim_request *send,
                      bool may_buffer);
/* Posts a receive (request->peer may be MPI_ANY_SOURCE): matches at once or queues. In the monitor.
 */
void sim_mailbox_post(struct sim_context *context, int owner, struct sim_request *receive);
/* The message a receive for (source, tag) would get, NULL for none. In the monitor. */
struct sim_message *sim_mailbox_find(struct sim_context *context, int owner, int source, int tag);
/* The same for a probe: what a receive that was posted before has a claim on is not seen. `claimed`
 * (may be NULL) is set when such a claim stands in the way. */
struct sim_message *sim_mailbox_look(struct sim_context *context, int owner, int source, int tag,
                                     bool *claimed);
/* In a world that explores: the rank knows that the message of this number, and so all the source
 * sent before, has arrived; and whether it knows. */
void sim_mailbox_know(struct sim_context *context, int owner, int source, uint32_t number);
bool sim_mailbox_knows(struct sim_context *context, int owner, int source, uint32_t number);
/* A message of so many bytes, whose receive is not posted, is put aside in its sender's channel;
 * nobody probes. And the first message of a channel, whose data are with it, is taken out: its
 * bytes. Both in the monitor, for fastpath.c. */
void sim_mailbox_enqueue_unexpected(struct sim_mailbox *mailbox, struct sim_channel *channel,
                                    const struct sim_comm *comm, int tag, const void *data,
                                    size_t bytes);
size_t sim_mailbox_dequeue_unexpected(struct sim_mailbox *mailbox, struct sim_channel *channel,
                                      struct sim_world *world, void *data);
/* Takes a message out of the box (matched probe); deliver it later. */
void sim_mailbox_remove_message(struct sim_context *context, int owner,
                                struct sim_message *message);
void sim_message_deliver(struct sim_message *message, struct sim_request *receive);
/* Removes a queued receive or a waiting message (cancel). False when it is matched already. */
bool sim_mailbox_cancel_receive(struct sim_context *context, int owner,
                                struct sim_request *receive);
bool sim_mailbox_cancel_send(struct sim_context *context, int destination,
                             struct sim_request *send);
/* True when a receive that would take this send is posted (ready mode). */
bool sim_mailbox_expects(struct sim_context *context, int destination, int source, int tag);

/* Messages a wildcard could take: the first fitting one of each source, in order of arrival. */
struct sim_candidates {
    struct sim_message **messages;
    size_t count, room;
};

/* Appends what a delayed receive (which must have the first claim) or a probe (NULL: what no
 * receive claims) could take. Free messages. */
void sim_mailbox_collect(struct sim_context *context, int owner, int tag,
                         const struct sim_request *receive, struct sim_candidates *list);
/* A delayed wildcard takes a message of its box; receives posted after it may then have theirs. */
void sim_mailbox_match_deferred(struct sim_request *receive, struct sim_message *message);
/* The mailboxes of a context. False: out of memory. */
bool sim_mailboxes_begin(struct sim_context *context);
void sim_mailboxes_end(struct sim_context *context);

#endif
