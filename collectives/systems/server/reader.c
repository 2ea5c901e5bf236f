/* AsySG, a worker's side: takes over what was published, keeps to its window, sends gradients. */
#include "collectives/systems/server/private.h"

#include "collectives/systems/server/values.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    uint64_t sent, settled, taken;
    uint64_t *versions; /* of each block */
    size_t blocks;
    unsigned char *buffer;
    size_t size;
    bool final;
};

static struct reader *reader_of(struct server *server, const char *function)
{
    if (server->rank == 0)
        server_fail("M009", "%s: rank 0 serves; workers are the others", function);
    if (server->reader)
        return server->reader;
    struct reader *reader = server_take(1, sizeof *reader);
    struct values_range whole = values_block(server, 0, 1);
    reader->blocks = values_blocks(server);
    reader->versions = server_take(reader->blocks, sizeof *reader->versions);
    reader->size = sizeof(struct values_head) + whole.end * sizeof(double);
    reader->buffer = server_take(reader->size, 1);
    return server->reader = reader;
}

static void take_values(struct server *server, struct reader *reader)
{
    struct values_head head;
    MPI_Recv(reader->buffer, server_int(server, reader->size), MPI_BYTE, 0, TAG_VALUES,
             server->comm, MPI_STATUS_IGNORE);
    memcpy(&head, reader->buffer, sizeof head);
    values_in(server, values_block(server, (size_t)head.block, (size_t)head.blocks),
              reader->buffer + sizeof head);
    reader->taken++;
    reader->settled = head.settled;
    reader->final = head.kind == VALUES_FINAL;
    for (size_t i = 0; i < reader->blocks; i++)
        if (reader->final || i == head.block)
            reader->versions[i] = head.version;
}

static bool has_arrived(const struct server *server)
{
    int flag = 0;
    MPI_Iprobe(0, TAG_VALUES, server->comm, &flag, MPI_STATUS_IGNORE);
    return flag;
}

static uint64_t oldest(const struct reader *reader)
{
    uint64_t version = reader->versions[0];
    for (size_t i = 1; i < reader->blocks; i++)
        version = reader->versions[i] < version ? reader->versions[i] : version;
    return version;
}

uint64_t server_pull(struct server *server)
{
    struct reader *reader = reader_of(server, "server_pull");
    SERVER_ENTER();
    while (reader->sent - reader->settled >= server->options.window || has_arrived(server))
        take_values(server, reader);
    SERVER_LEAVE();
    return server->version = oldest(reader);
}

static void send(struct server *server, enum message_kind kind, const double *const *gradients)
{
    size_t size;
    struct message_head head = {(uint64_t)kind, ++server->sequence, server->version,
                                server->reader->taken};
    unsigned char *message = message_pack(server, head, gradients, &size);
    if (gradients && !server->options.quiet)
        server_note_sent(server->name, head.sequence, head.version);
    MPI_Send(message, server_int(server, size), MPI_BYTE, 0, TAG_GRADIENTS, server->comm);
    free(message);
}

void server_push(struct server *server, const double *const *gradients)
{
    struct reader *reader = reader_of(server, "server_push");
    SERVER_ENTER();
    send(server, MESSAGE_GRADIENTS, gradients);
    reader->sent++;
    SERVER_LEAVE();
}

void server_done(struct server *server)
{
    struct reader *reader = reader_of(server, "server_done");
    SERVER_ENTER();
    send(server, MESSAGE_DONE, NULL);
    while (!reader->final)
        take_values(server, reader);
    server->version = oldest(reader);
    SERVER_LEAVE();
}

void reader_free(struct reader *reader)
{
    if (!reader)
        return;
    free(reader->versions);
    free(reader->buffer);
    free(reader);
}
