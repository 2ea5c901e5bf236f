/* Synchronous training: everybody gets everybody's gradient and takes the same step. */
#include "collectives/systems/server/private.h"

#include <stdlib.h>
#include <string.h>

static struct parameter *parameter_at(struct server *server, size_t index, const char *function)
{
    if (index >= server->parameter_count)
        server_fail("M009", "%s: server %s has %zu parameters, there is no number %zu", function,
                    server->name, server->parameter_count, index);
    return &server->parameters[index];
}

static void launch(struct server *server, size_t index, const double *gradient)
{
    server->launches =
        realloc(server->launches, (server->launch_count + 1) * sizeof *server->launches);
    if (!server->launches)
        server_fail("X002", "server %s: out of memory", server->name);
    struct launch *started = server_take(1, sizeof *started);
    *started = (struct launch){.parameter = index, .request = MPI_REQUEST_NULL};
    server->launches[server->launch_count++] = started;
    exchange_start(server, started, gradient);
}

void server_ready(struct server *server, size_t parameter, const double *gradient)
{
    struct parameter *at = parameter_at(server, parameter, "server_ready");
    SERVER_ENTER();
    if (server->options.launch == SERVER_AT_READY)
        launch(server, parameter, gradient);
    for (size_t i = 0; i < at->count; i++)
        at->ready[i] += gradient[i];
    at->is_ready = true;
    SERVER_LEAVE();
}

static void launch_all(struct server *server)
{
    for (size_t i = 0; i < server->parameter_count; i++)
        launch(server, i, server->parameters[i].is_ready ? server->parameters[i].ready : NULL);
}

static void step_end(struct server *server)
{
    for (size_t i = 0; i < server->parameter_count; i++) {
        struct parameter *parameter = &server->parameters[i];
        for (size_t k = 0; k < parameter->count && server->options.average; k++)
            parameter->sum[k] /= server->size;
        memset(parameter->ready, 0, parameter->count * sizeof *parameter->ready);
        parameter->is_ready = false;
    }
    server_apply(server);
    for (size_t i = 0; i < server->parameter_count && !server->options.quiet; i++)
        server_note_replica(server->name, server->parameters[i].name, server->parameters[i].values,
                            server->parameters[i].count);
}

void server_step(struct server *server)
{
    SERVER_ENTER();
    server_sums_clear(server);
    if (server->options.launch == SERVER_AT_STEP)
        launch_all(server);
    exchange_finish_all(server);
    step_end(server);
    SERVER_LEAVE();
}

bool server_replicas_equal(struct server *server)
{
    int equal = 1, all = 0;
    SERVER_ENTER();
    for (size_t i = 0; i < server->parameter_count; i++) {
        struct parameter *parameter = &server->parameters[i];
        size_t size = parameter->count * sizeof(double);
        double *first = server_take(parameter->count, sizeof(double));
        memcpy(first, parameter->values, size);
        MPI_Bcast(first, server_int(server, parameter->count), MPI_DOUBLE, 0, server->comm);
        equal = equal && memcmp(first, parameter->values, size) == 0;
        free(first);
    }
    MPI_Allreduce(&equal, &all, 1, MPI_INT, MPI_MIN, server->comm);
    SERVER_LEAVE();
    return all;
}
