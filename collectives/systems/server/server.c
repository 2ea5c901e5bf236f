/* Life of a server, its parameters, and what all its forms share. */
#include "collectives/systems/server/private.h"

#include "collectives/tape/state.h"

#include <limits.h>
#include <mpix.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void server_fail(const char *code, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    MPIX_Fail(code, text);
    abort();
}

void *server_take(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (!memory)
        server_fail("X002", "server: out of memory for %zu times %zu bytes", count, size);
    return memory;
}

int server_int(const struct server *server, size_t bytes)
{
    if (bytes > INT_MAX)
        server_fail("M009",
                    "server %s: %zu bytes are more than an MPI count holds; register large "
                    "parameters in parts",
                    server->name, bytes);
    return (int)bytes;
}

double server_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double server_stage(struct server *server, enum stage stage, double since)
{
    double now = server_clock();
    server->seconds[stage] += now - since;
    return now;
}

void server_options_init(struct server_options *options)
{
    *options = (struct server_options){.name = "server",
                                       .coder = server_coder_none(),
                                       .optimizer = server_sgd(0.1),
                                       .bound = SERVER_UNBOUNDED,
                                       .blocks = 4,
                                       .window = 1};
}

static void world_ranks(struct server *server)
{
    MPI_Group own, world;
    int *ranks = server_take((size_t)server->size, sizeof *ranks);
    for (int i = 0; i < server->size; i++)
        ranks[i] = i;
    MPI_Comm_group(server->comm, &own);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(own, server->size, ranks, world, server->world);
    MPI_Group_free(&own);
    MPI_Group_free(&world);
    free(ranks);
}

/* The rank's open servers: what a rank that ended too early leaves is released with its world. */
struct open_servers {
    struct server *first;
};

static void memory_free(struct server *server);

static void open_release(void *state)
{
    struct open_servers *open = state;
    while (open->first) {
        struct server *server = open->first;
        open->first = server->next;
        memory_free(server);
    }
}

static struct open_servers *open_servers(void)
{
    return state_system("server", sizeof(struct open_servers), open_release);
}

struct server *server_new(MPI_Comm comm, const struct server_options *options)
{
    SERVER_ENTER();
    struct server *server = server_take(1, sizeof *server);
    server->next = open_servers()->first;
    open_servers()->first = server;
    server->options = *options;
    snprintf(server->name, sizeof server->name, "%s", options->name ? options->name : "server");
    if (strpbrk(server->name, " /") || !*server->name)
        server_fail("M009", "server_new: '%s' is no name: one word without blank and slash",
                    server->name);
    server_optimizer_check(&options->optimizer);
    if (options->window < 1)
        server_fail("M009", "server_new: a window of 0 lets no gradient go; 1 is the smallest");
    MPI_Comm_dup(comm, &server->comm);
    MPI_Comm_rank(server->comm, &server->rank);
    MPI_Comm_size(server->comm, &server->size);
    server->world = server_take((size_t)server->size, sizeof *server->world);
    world_ranks(server);
    SERVER_LEAVE();
    return server;
}

size_t server_parameter(struct server *server, const char *name, double *values, size_t count)
{
    server->parameters =
        realloc(server->parameters, (server->parameter_count + 1) * sizeof *server->parameters);
    if (!server->parameters)
        server_fail("X002", "server %s: out of memory", server->name);
    struct parameter *parameter = &server->parameters[server->parameter_count];
    *parameter = (struct parameter){.values = values, .count = count};
    snprintf(parameter->name, sizeof parameter->name, "%s", name);
    parameter->ready = server_take(count, sizeof(double));
    parameter->sum = server_take(count, sizeof(double));
    parameter->residual = server_take(count, sizeof(double));
    size_t room = server->options.coder.room(&server->options.coder, count);
    parameter->slot = server->options.slot ? server->options.slot : room + sizeof(uint64_t);
    if (count > server->scratch_count) {
        free(server->scratch);
        server->scratch = server_take(count, sizeof(double));
        server->scratch_count = count;
    }
    return server->parameter_count++;
}

void server_broadcast(struct server *server)
{
    SERVER_ENTER();
    for (size_t i = 0; i < server->parameter_count; i++) {
        struct parameter *parameter = &server->parameters[i];
        MPI_Bcast(parameter->values, server_int(server, parameter->count), MPI_DOUBLE, 0,
                  server->comm);
    }
    SERVER_LEAVE();
}

uint64_t server_version(const struct server *server)
{
    return server->version;
}

const double *server_gradient(const struct server *server, size_t parameter)
{
    if (parameter >= server->parameter_count)
        server_fail("M009", "server %s has %zu parameters, there is no number %zu", server->name,
                    server->parameter_count, parameter);
    return server->parameters[parameter].sum;
}

/* The seed of one gradient: another for every rank and every gradient it codes. */
static uint64_t coder_seed(struct server *server)
{
    uint64_t z = server->options.seed + UINT64_C(0x9e3779b97f4a7c15) * ++server->encoded +
                 UINT64_C(0xd1342543de82ef95) * ((uint64_t)server->rank + 1);
    z = (z ^ z >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return z ^ z >> 32;
}

const double *server_residual(const struct server *server, size_t parameter)
{
    server_gradient(server, parameter); /* the number is right */
    return server->parameters[parameter].residual;
}

size_t server_encode(struct server *server, struct parameter *parameter, const double *gradient,
                     void *bytes)
{
    const struct server_coder *coder = &server->options.coder;
    double since = server_clock();
    uint64_t seed = coder_seed(server);
    size_t size = server->options.feedback
                      ? feedback_encode(server, parameter, gradient, seed, bytes)
                      : coder->encode(coder, gradient, parameter->count, seed, bytes);
    server_stage(server, STAGE_ENCODE, since);
    return size;
}

void server_decode(struct server *server, const struct parameter *parameter, int source,
                   const void *bytes, size_t size, double *values)
{
    const struct server_coder *coder = &server->options.coder;
    if (!coder->decode(coder, bytes, size, values, parameter->count))
        server_fail("S004",
                    "server %s: the %zu bytes that rank %d sent for %s are not %zu values of the "
                    "coder %s; compare the order, the sizes and the framing of what is sent",
                    server->name, size, server->world[source], parameter->name, parameter->count,
                    coder->name);
}

void server_apply(struct server *server)
{
    double since = server_clock();
    for (size_t i = 0; i < server->parameter_count; i++) {
        struct parameter *parameter = &server->parameters[i];
        server_optimizer_apply(&server->options.optimizer, &parameter->moments, parameter->values,
                               parameter->sum, parameter->count);
    }
    server->version++;
    server_stage(server, STAGE_STEP, since);
}

static void metrics_write(const struct server *server)
{
    static const char *const names[STAGE_COUNT] = {"encode", "sizes", "bytes",
                                                   "decode", "sum",   "step"};
    for (int i = 0; i < STAGE_COUNT && !server->options.quiet; i++) {
        char name[128];
        snprintf(name, sizeof name, "server/%s %s", server->name, names[i]);
        record_metric(name, server->seconds[i], "s");
    }
}

static void memory_free(struct server *server)
{
    for (size_t i = 0; i < server->parameter_count; i++) {
        struct parameter *parameter = &server->parameters[i];
        server_moments_release(&parameter->moments);
        free(parameter->ready);
        free(parameter->sum);
        free(parameter->residual);
    }
    for (size_t i = 0; i < server->launch_count; i++)
        launch_release(server->launches[i]);
    outbox_release(&server->outbox);
    reader_free(server->reader);
    free(server->parameters);
    free(server->launches);
    free(server->scratch);
    free(server->world);
    free(server);
}

void server_free(struct server *server)
{
    SERVER_ENTER();
    metrics_write(server);
    MPI_Comm_free(&server->comm);
    SERVER_LEAVE();
    struct server **link = &open_servers()->first;
    while (*link != server)
        link = &(*link)->next;
    *link = server->next;
    memory_free(server);
}
