/* Gradients of all parameters in one message from a worker to rank 0. */
#include "collectives/systems/server/private.h"

#include <stdio.h>
#include <string.h>

enum { HEAD = sizeof(struct message_head), LENGTH = sizeof(uint64_t) };

size_t message_room(const struct server *server)
{
    const struct server_coder *coder = &server->options.coder;
    size_t room = HEAD;
    for (size_t i = 0; i < server->parameter_count; i++)
        room += LENGTH + coder->room(coder, server->parameters[i].count);
    return room;
}

unsigned char *message_pack(struct server *server, struct message_head head,
                            const double *const *gradients, size_t *size)
{
    unsigned char *message = server_take(gradients ? message_room(server) : HEAD, 1);
    memcpy(message, &head, HEAD);
    *size = HEAD;
    for (size_t i = 0; i < server->parameter_count && gradients; i++) {
        unsigned char *at = message + *size;
        uint64_t length = server_encode(server, &server->parameters[i], gradients[i], at + LENGTH);
        memcpy(at, &length, LENGTH);
        *size += LENGTH + (size_t)length;
    }
    return message;
}

size_t message_receive(struct server *server, unsigned char *buffer, int *source,
                       struct message_head *head)
{
    MPI_Status status;
    int size = 0;
    double since = server_clock();
    MPI_Recv(buffer, server_int(server, message_room(server)), MPI_BYTE, MPI_ANY_SOURCE,
             TAG_GRADIENTS, server->comm, &status);
    server_stage(server, STAGE_BYTES, since);
    MPI_Get_count(&status, MPI_BYTE, &size);
    *source = status.MPI_SOURCE;
    if (size < (int)HEAD)
        server_fail("S004", "server %s: rank %d sent %d bytes, less than the head of a message",
                    server->name, server->world[*source], size);
    memcpy(head, buffer, HEAD);
    return (size_t)size;
}

void message_add(struct server *server, int source, const unsigned char *message, size_t size)
{
    size_t at = HEAD;
    for (size_t i = 0; i < server->parameter_count; i++) {
        struct parameter *parameter = &server->parameters[i];
        uint64_t length = 0;
        if (size - at >= LENGTH)
            memcpy(&length, message + at, LENGTH);
        if (size - at < LENGTH || length > size - at - LENGTH)
            server_fail("S004", "server %s: the message of rank %d ends within %s", server->name,
                        server->world[source], parameter->name);
        at += LENGTH;
        double since = server_clock();
        server_decode(server, parameter, source, message + at, (size_t)length, server->scratch);
        since = server_stage(server, STAGE_DECODE, since);
        for (size_t k = 0; k < parameter->count; k++)
            parameter->sum[k] += server->scratch[k];
        server_stage(server, STAGE_SUM, since);
        at += (size_t)length;
    }
}

bool message_judge(struct server *server, struct server_tally *tally, int source,
                   const struct message_head *head)
{
    uint64_t staleness = server->version - head->version;
    tally->received++;
    if (server->options.stale == SERVER_STALE_DROP && staleness > server->options.bound) {
        tally->dropped++;
        if (!server->options.quiet)
            server_note_dropped(server->name, server->world[source], head->sequence);
        return false;
    }
    tally->applied++;
    tally->staleness_mean += ((double)staleness - tally->staleness_mean) / (double)tally->applied;
    if (staleness > tally->staleness_max)
        tally->staleness_max = staleness;
    if (!server->options.quiet) {
        char name[96];
        snprintf(name, sizeof name, "staleness/%s", server->name);
        record_metric_at(name, (double)tally->applied, (double)staleness);
        server_note_applied(server->name, server->world[source], head->sequence, server->version);
    }
    return true;
}

void server_sums_clear(struct server *server)
{
    for (size_t i = 0; i < server->parameter_count; i++)
        memset(server->parameters[i].sum, 0,
               server->parameters[i].count * sizeof *server->parameters[i].sum);
}

void server_apply_sums(struct server *server, size_t count)
{
    for (size_t i = 0; i < server->parameter_count && server->options.average; i++)
        for (size_t k = 0; k < server->parameters[i].count; k++)
            server->parameters[i].sum[k] /= (double)count;
    server_apply(server);
    if (server->options.stepped)
        server->options.stepped(server, server->version, server->options.context);
    server_sums_clear(server);
}
