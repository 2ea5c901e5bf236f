/* What the files on the TCP mesh share; nobody else includes this. */
#ifndef COLLECTIVES_SYSTEMS_DATA_CHANNEL_TCP_PARTS_H
#define COLLECTIVES_SYSTEMS_DATA_CHANNEL_TCP_PARTS_H

#include "collectives/systems/data_channel/tcp_mesh.h"

#include <poll.h>

struct tcp_outgoing;

struct tcp_peer {
    int socket; /* -1: gone, or the own rank */
    bool mute;  /* it does not read any more; what it sent may still be on the way */
    char why[64];
    struct tcp_outgoing *first, *last;
    struct tcp_frame frame; /* under way */
    size_t got;             /* of the frame's head and bytes */
    char *bytes;            /* once the head is known */
    struct pollfd poll;
};

#endif
