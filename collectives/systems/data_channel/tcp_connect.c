/* Making a mesh: everybody listens on 127.0.0.1, learns all ports, calls the lower ranks and is
 * called by the higher ones. Who calls says its rank and a word that is made of all ports, so that
 * a stranger who happens to call is not taken for a rank. */
#include "collectives/systems/data_channel/tcp_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct hello {
    uint64_t word;
    int32_t rank, size;
};

struct making {
    struct tcp_mesh *mesh;
    int listener;
    int *ports;
    uint64_t word;
    char *error;
    size_t room;
};

static bool fail(struct making *making, const char *what, int rank)
{
    if (rank >= 0)
        snprintf(making->error, making->room, "%s rank %d: %s", what, rank, strerror(errno));
    else
        snprintf(making->error, making->room, "%s: %s", what, strerror(errno));
    return false;
}

static struct sockaddr_in address_of(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static bool listen_somewhere(struct making *making, int *port)
{
    struct sockaddr_in address = address_of(0);
    socklen_t length = sizeof address;
    making->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (making->listener < 0 ||
        bind(making->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(making->listener, making->mesh->size) != 0 ||
        getsockname(making->listener, (struct sockaddr *)&address, &length) != 0)
        return fail(making, "cannot listen on 127.0.0.1", -1);
    *port = ntohs(address.sin_port);
    return true;
}

static void peer_connected(struct making *making, int rank, int socket)
{
    int one = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    making->mesh->peers[rank].socket = socket;
}

static bool call(struct making *making, int rank)
{
    struct sockaddr_in address = address_of(making->ports[rank]);
    struct hello hello = {making->word, making->mesh->rank, making->mesh->size};
    int caller = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (caller < 0)
        return fail(making, "no socket for", rank);
    if (connect(caller, (struct sockaddr *)&address, sizeof address) != 0 ||
        send(caller, &hello, sizeof hello, MSG_NOSIGNAL) != (ssize_t)sizeof hello) {
        fail(making, "cannot connect to", rank);
        close(caller);
        return false;
    }
    peer_connected(making, rank, caller);
    return true;
}

/* Waits for input as long as the mesh is willing to. */
static bool input_comes(const struct tcp_mesh *mesh, int socket)
{
    struct pollfd entry = {.fd = socket, .events = POLLIN};
    int ready, timeout = mesh->timeout_milliseconds > 0 ? mesh->timeout_milliseconds : -1;
    do
        ready = poll(&entry, 1, timeout);
    while (ready < 0 && errno == EINTR);
    return ready > 0;
}

/* The caller's rank, -1 for a stranger. */
static int caller_rank(const struct making *making, int socket)
{
    const struct tcp_mesh *mesh = making->mesh;
    struct hello hello;
    size_t got = 0;
    while (got < sizeof hello) {
        if (!input_comes(mesh, socket))
            return -1;
        ssize_t more = recv(socket, (char *)&hello + got, sizeof hello - got, 0);
        if (more <= 0)
            return -1;
        got += (size_t)more;
    }
    bool known = hello.word == making->word && hello.size == mesh->size &&
                 hello.rank > mesh->rank && hello.rank < mesh->size &&
                 mesh->peers[hello.rank].socket < 0;
    return known ? hello.rank : -1;
}

static bool be_called(struct making *making)
{
    struct tcp_mesh *mesh = making->mesh;
    for (int missing = mesh->size - 1 - mesh->rank; missing > 0;) {
        int first = mesh->rank + 1;
        while (mesh->peers[first].socket >= 0)
            first++;
        errno = ETIMEDOUT;
        int caller = input_comes(mesh, making->listener)
                         ? accept4(making->listener, NULL, NULL, SOCK_CLOEXEC)
                         : -1;
        if (caller < 0)
            return fail(making, "no call from", first);
        int rank = caller_rank(making, caller);
        if (rank < 0) {
            close(caller);
            continue;
        }
        peer_connected(making, rank, caller);
        missing--;
    }
    return true;
}

static uint64_t word_of(const int *ports, int size)
{
    uint64_t word = 0xcbf29ce484222325u;
    for (int i = 0; i < size; i++)
        word = (word ^ (uint64_t)ports[i]) * 0x100000001b3u;
    return word;
}

static bool connect_all(struct making *making, const struct data_tcp_options *options)
{
    int port;
    if (!listen_somewhere(making, &port))
        return false;
    if (!options->exchange(options->context, port, making->ports)) {
        snprintf(making->error, making->room, "the ports could not be exchanged");
        return false;
    }
    making->word = word_of(making->ports, options->size);
    for (int rank = 0; rank < options->rank; rank++)
        if (!call(making, rank))
            return false;
    return be_called(making);
}

bool tcp_mesh_init(struct tcp_mesh *mesh, const struct data_tcp_options *options, char *error,
                   size_t room)
{
    mesh->rank = options->rank;
    mesh->size = options->size;
    mesh->timeout_milliseconds = options->timeout_milliseconds;
    mesh->peers = calloc((size_t)mesh->size, sizeof *mesh->peers);
    struct making making = {.mesh = mesh,
                            .listener = -1,
                            .ports = calloc((size_t)mesh->size, sizeof(int)),
                            .error = error,
                            .room = room};
    for (int rank = 0; mesh->peers && rank < mesh->size; rank++)
        mesh->peers[rank].socket = -1;
    bool right = false;
    if (!mesh->peers || !making.ports)
        snprintf(error, room, "out of memory");
    else
        right = connect_all(&making, options);
    if (making.listener >= 0)
        close(making.listener);
    free(making.ports);
    for (int rank = 0; !right && mesh->peers && rank < mesh->size; rank++)
        if (mesh->peers[rank].socket >= 0)
            close(mesh->peers[rank].socket);
    if (!right) {
        free(mesh->peers);
        mesh->peers = NULL;
    }
    return right;
}
