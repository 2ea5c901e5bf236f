/* A full mesh of TCP connections between the ranks of a channel, which carries frames.
 *
 * Rules:
 *  1. Sending never waits: a frame is copied into the peer's queue and written when the socket
 *     takes it. tcp_mesh_wait writes, reads, and hands every frame that has come completely to
 *     `arrived`, in the order of its sending among those of one peer.
 *  2. A peer whose connection ends, or who sends what is no frame, is gone; `why` says how. Frames
 *     that came whole before that have been handed over.
 *  3. Nothing is ever said twice: what a mesh cannot do it says to its caller, who says it to the
 *     user. */
#ifndef COLLECTIVES_SYSTEMS_DATA_CHANNEL_TCP_MESH_H
#define COLLECTIVES_SYSTEMS_DATA_CHANNEL_TCP_MESH_H

#include "collectives/systems/data_channel/data_channel.h"

#include <stdint.h>

/* What stands before the bytes of a frame. */
struct tcp_frame {
    uint64_t context; /* of the group */
    uint64_t size;    /* bytes behind this */
    int32_t tag;      /* messages; collectives: how many came before in this group */
    uint16_t type;    /* messages: an enum data_type */
    uint16_t collective;
    char name[16]; /* of the operation that sends it */
};

struct tcp_peer;

struct tcp_mesh {
    int rank, size, timeout_milliseconds;
    struct tcp_peer *peers; /* `size`, without use for the own rank */
    /* Takes the bytes over (malloc'ed); false stops the wait. */
    bool (*arrived)(void *context, int from, const struct tcp_frame *frame, void *bytes);
    void *context;
};

/* Connects everybody with everybody. */
bool tcp_mesh_init(struct tcp_mesh *mesh, const struct data_tcp_options *options, char *error,
                   size_t room);
/* Says farewell: writes what is queued, waits until all others have done the same, and closes. */
void tcp_mesh_release(struct tcp_mesh *mesh);
/* False without memory. A frame to a peer who is gone is forgotten. */
bool tcp_mesh_send(struct tcp_mesh *mesh, int to, const struct tcp_frame *frame, const void *bytes);
/* Moves what can be moved; if `patient`, waits until something did. TCP_SILENT: the timeout passed
 * without a byte from anybody. TCP_STUCK: nobody is left to wait for. */
enum tcp_result { TCP_MOVED, TCP_SILENT, TCP_STUCK, TCP_STOPPED };
enum tcp_result tcp_mesh_wait(struct tcp_mesh *mesh, bool patient);
bool tcp_mesh_is_gone(const struct tcp_mesh *mesh, int rank);
/* "closed the connection" */
const char *tcp_mesh_why(const struct tcp_mesh *mesh, int rank);
/* Whether frames for this peer wait to be written. */
bool tcp_mesh_is_queued(const struct tcp_mesh *mesh, int rank);

#endif
