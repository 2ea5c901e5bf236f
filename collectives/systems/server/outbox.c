/* Messages that nobody waits for: each keeps its buffer until it has been taken.
 *
 * Receivers say how many messages they have taken; only those are waited for, and that wait ends at
 * once under every progress model. A test instead would make what is freed depend on timing. */
#include "collectives/systems/server/private.h"

#include <stdlib.h>

struct outbox_entry {
    unsigned char *buffer;
    MPI_Request request;
    int to;
    uint64_t number; /* of the messages to that rank, from 1 */
};

static void entry_finish(struct outbox_entry *entry)
{
    MPI_Wait(&entry->request, MPI_STATUS_IGNORE);
    free(entry->buffer);
}

void outbox_send(struct server *server, unsigned char *buffer, size_t size, int to, int tag)
{
    struct outbox *outbox = &server->outbox;
    if (!outbox->numbers)
        outbox->numbers = server_take((size_t)server->size, sizeof *outbox->numbers);
    if (outbox->count == outbox->room) {
        outbox->room = outbox->room ? 2 * outbox->room : 16;
        outbox->entries = realloc(outbox->entries, outbox->room * sizeof *outbox->entries);
        if (!outbox->entries)
            server_fail("X002", "server %s: out of memory", server->name);
    }
    struct outbox_entry *entry = &outbox->entries[outbox->count++];
    *entry = (struct outbox_entry){.buffer = buffer, .to = to, .number = ++outbox->numbers[to]};
    MPI_Isend(buffer, server_int(server, size), MPI_BYTE, to, tag, server->comm, &entry->request);
}

void outbox_taken(struct server *server, int by, uint64_t count)
{
    struct outbox *outbox = &server->outbox;
    size_t kept = 0;
    for (size_t i = 0; i < outbox->count; i++) {
        struct outbox_entry *entry = &outbox->entries[i];
        if (entry->to == by && entry->number <= count)
            entry_finish(entry);
        else
            outbox->entries[kept++] = *entry;
    }
    outbox->count = kept;
}

void outbox_finish(struct server *server)
{
    for (size_t i = 0; i < server->outbox.count; i++)
        entry_finish(&server->outbox.entries[i]);
    server->outbox.count = 0;
}

void outbox_release(struct outbox *outbox)
{
    for (size_t i = 0; i < outbox->count; i++)
        free(outbox->entries[i].buffer);
    free(outbox->entries);
    free(outbox->numbers);
    *outbox = (struct outbox){0};
}
