/* Rank 0 as a central server: gathers from any source, steps, broadcasts.
 *
 * In a round every worker that is not done sends one message. Rank 0 goes on when enough gradients
 * have come, or when nobody can send another: a number of gradients that is no multiple of a
 * step's, or workers with fewer batches than others, hang nobody. Workers never wait for
 * sends that rank 0 has not said it has taken: that may be rounds later. */
#include "collectives/systems/server/private.h"

#include <stdlib.h>

struct round {
    struct server *server;
    struct server_tally tally;
    unsigned char *buffer;
    uint64_t *received; /* messages of each rank */
    bool *done;
    uint64_t number; /* of the round, from 1 */
    size_t gathered; /* gradients in the sums */
};

/* What everybody gets before the values. */
struct broadcast_head {
    uint64_t version, finished;
};

static bool can_come(const struct round *round)
{
    for (int r = 1; r < round->server->size; r++)
        if (!round->done[r] && round->received[r] < round->number)
            return true;
    return false;
}

static bool all_done(const struct round *round)
{
    for (int r = 1; r < round->server->size; r++)
        if (!round->done[r])
            return false;
    return true;
}

static void take_message(struct round *round)
{
    struct message_head head;
    int source;
    size_t size = message_receive(round->server, round->buffer, &source, &head);
    round->received[source]++;
    if (head.kind == MESSAGE_DONE) {
        round->done[source] = true;
    } else if (message_judge(round->server, &round->tally, source, &head)) {
        message_add(round->server, source, round->buffer, size);
        round->gathered++;
    }
}

/* `received` tells the workers which of their messages have been taken. */
static void broadcast(struct server *server, struct broadcast_head *head, uint64_t *received)
{
    MPI_Bcast(head, (int)sizeof *head, MPI_BYTE, 0, server->comm);
    MPI_Bcast(received, server->size, MPI_UINT64_T, 0, server->comm);
    for (size_t i = 0; i < server->parameter_count; i++)
        MPI_Bcast(server->parameters[i].values, server_int(server, server->parameters[i].count),
                  MPI_DOUBLE, 0, server->comm);
}

static bool serve_round(struct round *round)
{
    struct server *server = round->server;
    size_t wanted =
        server->options.gradients ? server->options.gradients : (size_t)server->size - 1;
    round->number++;
    while (round->gathered < wanted && can_come(round))
        take_message(round);
    if (round->gathered > 0)
        server_apply_sums(server, round->gathered);
    round->gathered = 0;
    struct broadcast_head head = {server->version, all_done(round)};
    broadcast(server, &head, round->received);
    return !head.finished;
}

struct server_tally server_serve_central(struct server *server)
{
    if (server->rank != 0)
        server_fail("M009", "server_serve_central: rank %d is a worker; only rank 0 serves",
                    server->rank);
    SERVER_ENTER();
    struct round round = {.server = server};
    round.buffer = server_take(message_room(server), 1);
    round.received = server_take((size_t)server->size, sizeof *round.received);
    round.done = server_take((size_t)server->size, sizeof *round.done);
    if (!server->options.quiet && server->options.bound != SERVER_UNBOUNDED)
        server_note_bound(server->name, server->options.bound);
    server_sums_clear(server);
    while (serve_round(&round))
        ;
    if (!server->options.quiet)
        server_note_closed(server->name);
    SERVER_LEAVE();
    free(round.buffer);
    free(round.received);
    free(round.done);
    return round.tally;
}

bool server_round(struct server *server, const double *const *gradients)
{
    if (server->rank == 0)
        server_fail("M009", "server_round: rank 0 serves; workers are the others");
    SERVER_ENTER();
    if (!server->is_done) {
        size_t size;
        struct message_head head = {gradients ? MESSAGE_GRADIENTS : MESSAGE_DONE,
                                    ++server->sequence, server->version, 0};
        unsigned char *message = message_pack(server, head, gradients, &size);
        if (gradients && !server->options.quiet)
            server_note_sent(server->name, head.sequence, head.version);
        outbox_send(server, message, size, 0, TAG_GRADIENTS);
        server->is_done = !gradients;
    }
    struct broadcast_head head = {0, 0};
    uint64_t *received = server_take((size_t)server->size, sizeof *received);
    broadcast(server, &head, received);
    server->version = head.version;
    outbox_taken(server, 0, received[server->rank]);
    free(received);
    SERVER_LEAVE();
    return !head.finished;
}
