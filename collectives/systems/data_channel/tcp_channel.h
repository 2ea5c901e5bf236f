/* The inside of a data channel over TCP: what its files share.
 *
 * Rules:
 *  1. Every group has a context, a number that all its ranks know; a frame belongs to one.
 *  2. A message goes to the first posted receive it suits, else into the heap of those that nobody
 *     has asked for yet; a receive looks there first. Both are in the order of their coming.
 *  3. Frames of collectives carry the collective's name and number. A rank that is in another one
 *     than its peer says so.
 *  4. Sends are complete when the mesh has the values. */
#ifndef COLLECTIVES_SYSTEMS_DATA_CHANNEL_TCP_CHANNEL_H
#define COLLECTIVES_SYSTEMS_DATA_CHANNEL_TCP_CHANNEL_H

#include "collectives/systems/data_channel/data_collectives.h"
#include "collectives/systems/data_channel/tcp_mesh.h"

struct tcp_request;

struct tcp_arrival {
    struct tcp_arrival *next;
    int from; /* rank of the channel */
    struct tcp_frame frame;
    void *bytes;
};

struct tcp_channel {
    struct data_channel channel;
    struct tcp_mesh mesh;
    struct tcp_arrival *arrivals, **arrivals_end;
    struct tcp_request *posted, **posted_end;
    uint64_t contexts; /* so many this rank knows of */
};

struct tcp_group {
    struct data_group group;
    uint64_t context;
    int32_t collectives; /* so many have begun */
    int *members;        /* ranks of the channel */
};

struct tcp_request {
    struct data_request request;
    struct tcp_request *next; /* while posted */
    const char *name;
    void *values;
    size_t count;
    int from, tag; /* rank of the channel, or DATA_ANY */
    uint64_t context;
    bool sends, done, failed;
    struct data_status status;
};

static inline struct tcp_channel *tcp_channel(struct data_channel *channel)
{
    return (struct tcp_channel *)(void *)channel;
}

static inline struct tcp_group *tcp_group(struct data_group *group)
{
    return (struct tcp_group *)(void *)group;
}

static inline struct tcp_mesh *tcp_mesh_of(struct data_group *group)
{
    return &tcp_channel(group->channel)->mesh;
}

/* ---- tcp_messages.c ---- */

/* What the mesh calls with every frame; `bytes` are the channel's then. */
bool tcp_frame_arrived(void *context, int from, const struct tcp_frame *frame, void *bytes);
/* Takes an arrival out of the heap and frees it. */
void tcp_arrival_remove(struct tcp_channel *own, struct tcp_arrival **link);
/* One step of waiting for a rank of the channel, or for anybody of the group; false when it will
 * not come. */
bool tcp_wait_for(struct data_group *group, const char *name, int from);
bool tcp_frame_send(struct data_group *group, const char *name, int to, struct tcp_frame frame,
                    const void *bytes);
/* The messages of the backend; see data_backend.h. */
bool tcp_send(struct data_group *group, const struct data_call *call);
bool tcp_isend(struct data_group *group, const struct data_call *call);
bool tcp_irecv(struct data_group *group, const struct data_call *call);
bool tcp_complete(struct data_request *data, bool wait, bool *done, struct data_status *status);
bool tcp_receive(struct data_group *group, const struct data_call *call);
bool tcp_probe(struct data_group *group, const struct data_call *call);
bool tcp_look(struct data_group *group, const struct data_call *call, bool *there);

#endif
