/* Connected sockets that carry frames: see tcp_mesh.h. tcp_connect.c makes the connections. */
#include "collectives/systems/data_channel/tcp_parts.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct tcp_outgoing {
    struct tcp_outgoing *next;
    size_t size, sent;
    char bytes[];
};

bool tcp_mesh_is_gone(const struct tcp_mesh *mesh, int rank)
{
    return mesh->peers[rank].socket < 0;
}

const char *tcp_mesh_why(const struct tcp_mesh *mesh, int rank)
{
    return mesh->peers[rank].why;
}

bool tcp_mesh_is_queued(const struct tcp_mesh *mesh, int rank)
{
    return mesh->peers[rank].first != NULL;
}

static void peer_lose(struct tcp_peer *peer, const char *why)
{
    if (peer->socket >= 0)
        close(peer->socket);
    peer->socket = -1;
    snprintf(peer->why, sizeof peer->why, "%s", why);
    while (peer->first) {
        struct tcp_outgoing *first = peer->first;
        peer->first = first->next;
        free(first);
    }
    free(peer->bytes);
    peer->bytes = NULL;
}

/* ---- writing ---- */

static void peer_write(struct tcp_peer *peer)
{
    while (peer->first) {
        struct tcp_outgoing *first = peer->first;
        ssize_t sent = send(peer->socket, first->bytes + first->sent, first->size - first->sent,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            return;
        if (sent < 0) {
            /* What it sent before it went may still be read: the reader says that it is gone. */
            peer->mute = true;
            while (peer->first) {
                first = peer->first;
                peer->first = first->next;
                free(first);
            }
            return;
        }
        first->sent += (size_t)sent;
        if (first->sent < first->size)
            return;
        peer->first = first->next;
        free(first);
    }
}

bool tcp_mesh_send(struct tcp_mesh *mesh, int to, const struct tcp_frame *frame, const void *bytes)
{
    struct tcp_peer *peer = &mesh->peers[to];
    if (peer->socket < 0 || peer->mute)
        return true;
    struct tcp_outgoing *out = malloc(sizeof *out + sizeof *frame + frame->size);
    if (!out)
        return false;
    *out = (struct tcp_outgoing){.size = sizeof *frame + frame->size};
    memcpy(out->bytes, frame, sizeof *frame);
    if (frame->size > 0)
        memcpy(out->bytes + sizeof *frame, bytes, frame->size);
    if (peer->first)
        peer->last->next = out;
    else
        peer->first = out;
    peer->last = out;
    peer_write(peer);
    return true;
}

/* ---- reading ---- */

/* The next piece of the frame under way; true when there may be more to read. */
static bool peer_read(struct tcp_peer *peer)
{
    bool in_head = peer->got < sizeof peer->frame;
    char *to =
        in_head ? (char *)&peer->frame + peer->got : peer->bytes + (peer->got - sizeof peer->frame);
    size_t wanted = sizeof peer->frame + (in_head ? 0 : (size_t)peer->frame.size) - peer->got;
    ssize_t got = recv(peer->socket, to, wanted, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return false;
    if (got <= 0) {
        peer_lose(peer, peer->got ? "closed the connection in the middle of a message"
                                  : "closed the connection");
        return false;
    }
    peer->got += (size_t)got;
    if (!in_head || peer->got < sizeof peer->frame)
        return true;
    peer->frame.name[sizeof peer->frame.name - 1] = '\0';
    peer->bytes = peer->frame.size < PTRDIFF_MAX ? malloc((size_t)peer->frame.size + 1) : NULL;
    if (!peer->bytes)
        peer_lose(peer, "sent a message for which there is no memory");
    return peer->bytes != NULL;
}

static bool peer_is_complete(const struct tcp_peer *peer)
{
    return peer->bytes && peer->got == sizeof peer->frame + peer->frame.size;
}

/* Reads what there is; false when the receiver has had enough. */
static bool peer_drain(struct tcp_mesh *mesh, int rank)
{
    struct tcp_peer *peer = &mesh->peers[rank];
    for (bool more = true; more || peer_is_complete(peer);) {
        if (peer_is_complete(peer)) {
            void *bytes = peer->bytes;
            peer->bytes = NULL;
            peer->got = 0;
            if (!mesh->arrived(mesh->context, rank, &peer->frame, bytes))
                return false;
            continue;
        }
        more = peer_read(peer);
    }
    return true;
}

/* ---- waiting ---- */

static int poll_fill(struct tcp_mesh *mesh)
{
    int count = 0;
    for (int rank = 0; rank < mesh->size; rank++) {
        struct tcp_peer *peer = &mesh->peers[rank];
        short events = (short)(POLLIN | (peer->first ? POLLOUT : 0));
        mesh->peers[rank].poll.fd = peer->socket;
        peer->poll.events = events;
        count += peer->socket >= 0;
    }
    return count;
}

enum tcp_result tcp_mesh_wait(struct tcp_mesh *mesh, bool patient)
{
    int timeout = !patient ? 0 : mesh->timeout_milliseconds > 0 ? mesh->timeout_milliseconds : -1;
    if (poll_fill(mesh) == 0)
        return patient ? TCP_STUCK : TCP_MOVED;
    struct pollfd *entries = malloc((size_t)mesh->size * sizeof *entries);
    if (!entries)
        return TCP_STOPPED;
    for (int rank = 0; rank < mesh->size; rank++)
        entries[rank] = mesh->peers[rank].poll;
    int ready;
    do
        ready = poll(entries, (nfds_t)mesh->size, timeout);
    while (ready < 0 && errno == EINTR);
    bool content = true;
    for (int rank = 0; rank < mesh->size && ready > 0 && content; rank++) {
        if (entries[rank].fd >= 0 && entries[rank].revents & POLLOUT)
            peer_write(&mesh->peers[rank]);
        if (entries[rank].fd >= 0 && entries[rank].revents & (POLLIN | POLLHUP | POLLERR))
            content = peer_drain(mesh, rank);
    }
    free(entries);
    if (!content)
        return TCP_STOPPED;
    return ready == 0 && patient ? TCP_SILENT : TCP_MOVED;
}

/* ---- the end ---- */

static bool anything_queued(const struct tcp_mesh *mesh)
{
    for (int rank = 0; rank < mesh->size; rank++)
        if (mesh->peers[rank].socket >= 0 && mesh->peers[rank].first)
            return true;
    return false;
}

static bool frame_forget(void *context, int from, const struct tcp_frame *frame, void *bytes)
{
    (void)context, (void)from, (void)frame;
    free(bytes);
    return true;
}

/* Closing a socket with unread bytes would take back what the peer has not read yet; so each side
 * says that it is done and reads until the other has said so too. */
void tcp_mesh_release(struct tcp_mesh *mesh)
{
    if (!mesh->peers)
        return;
    mesh->arrived = frame_forget;
    enum tcp_result result = TCP_MOVED;
    while (anything_queued(mesh) && result == TCP_MOVED)
        result = tcp_mesh_wait(mesh, true);
    for (int rank = 0; rank < mesh->size; rank++)
        if (mesh->peers[rank].socket >= 0)
            shutdown(mesh->peers[rank].socket, SHUT_WR);
    while (result == TCP_MOVED)
        result = tcp_mesh_wait(mesh, true);
    for (int rank = 0; rank < mesh->size; rank++)
        peer_lose(&mesh->peers[rank], "");
    free(mesh->peers);
    mesh->peers = NULL;
}
