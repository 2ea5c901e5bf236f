/* AsySG, rank 0's side: applies what comes, publishes after every step, waits for nobody.
 *
 * Published is a copy, so that a version that is under way never changes: with consistent reads the
 * whole of it, with inconsistent reads one block, the next one at the next step. Every message also
 * says how many of its receiver's gradients are settled: that opens the receiver's window. A step
 * is made when enough gradients have come, or when every worker waits for one. */
#include "collectives/systems/server/private.h"

#include "collectives/systems/server/values.h"

#include <stdlib.h>
#include <string.h>

struct service {
    struct server *server;
    struct server_tally tally;
    unsigned char *buffer;
    uint64_t *received, *settled; /* gradients of each rank; those it was told of */
    bool *done;
    size_t gathered, block;
};

static void publish_to(struct service *service, int rank, enum values_kind kind, size_t block,
                       size_t blocks)
{
    struct server *server = service->server;
    struct values_range range = values_block(server, block, blocks);
    size_t size = sizeof(struct values_head) + (range.end - range.begin) * sizeof(double);
    unsigned char *message = server_take(size, 1);
    struct values_head head = {(uint64_t)kind, server->version, service->received[rank], block,
                               blocks};
    memcpy(message, &head, sizeof head);
    values_out(server, range, message + sizeof head);
    service->settled[rank] = service->received[rank];
    outbox_send(server, message, size, rank, TAG_VALUES);
}

static void publish(struct service *service)
{
    size_t blocks = values_blocks(service->server);
    for (int r = 1; r < service->server->size; r++)
        if (!service->done[r])
            publish_to(service, r, VALUES_BLOCK, service->block, blocks);
    service->block = (service->block + 1) % blocks;
}

/* Nobody can send before something is published. */
static bool all_wait(const struct service *service)
{
    for (int r = 1; r < service->server->size; r++)
        if (!service->done[r] &&
            service->received[r] - service->settled[r] < service->server->options.window)
            return false;
    return true;
}

static bool all_done(const struct service *service)
{
    for (int r = 1; r < service->server->size; r++)
        if (!service->done[r])
            return false;
    return true;
}

static void step(struct service *service)
{
    if (service->gathered > 0)
        server_apply_sums(service->server, service->gathered);
    service->gathered = 0;
    publish(service);
}

static void take_message(struct service *service)
{
    struct server *server = service->server;
    struct message_head head;
    int source;
    size_t wanted =
        server->options.gradients ? server->options.gradients : (size_t)server->size - 1;
    size_t size = message_receive(server, service->buffer, &source, &head);
    outbox_taken(server, source, head.taken);
    if (head.kind == MESSAGE_DONE) {
        service->done[source] = true;
    } else {
        service->received[source]++;
        if (message_judge(server, &service->tally, source, &head)) {
            message_add(server, source, service->buffer, size);
            service->gathered++;
        }
    }
    if (service->gathered >= wanted || all_wait(service))
        step(service);
}

struct server_tally server_serve(struct server *server)
{
    if (server->rank != 0)
        server_fail("M009", "server_serve: rank %d is a worker; only rank 0 serves", server->rank);
    SERVER_ENTER();
    struct service service = {.server = server};
    service.buffer = server_take(message_room(server), 1);
    service.received = server_take((size_t)server->size, sizeof *service.received);
    service.settled = server_take((size_t)server->size, sizeof *service.settled);
    service.done = server_take((size_t)server->size, sizeof *service.done);
    if (!server->options.quiet && server->options.bound != SERVER_UNBOUNDED)
        server_note_bound(server->name, server->options.bound);
    server_sums_clear(server);
    while (!all_done(&service))
        take_message(&service);
    for (int r = 1; r < server->size; r++)
        publish_to(&service, r, VALUES_FINAL, 0, 1);
    outbox_finish(server);
    if (!server->options.quiet)
        server_note_closed(server->name);
    SERVER_LEAVE();
    free(service.buffer);
    free(service.received);
    free(service.settled);
    free(service.done);
    return service.tally;
}
