/* Gradients of unknown size to everybody: two phases, padded slots, and slots with a sentinel.
 *
 * A slot is: padded, eight bytes of length and the gradient; sentinel, the gradient, eight times
 * the byte 0x29, and zeros. A length above the slot's room announces an overflow: all ranks see it
 * at the same exchange and repeat it with a slot that holds the longest. */
#include "collectives/systems/server/private.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = sizeof(uint64_t), MARK = 8 };
static const unsigned char mark[MARK] = {0x29, 0x29, 0x29, 0x29, 0x29, 0x29, 0x29, 0x29};

static size_t ranks_of(const struct server *server)
{
    return (size_t)server->size;
}

static void identify(const struct server *server, const struct launch *launch)
{
    record_identity(server->parameters[launch->parameter].name);
}

/* ---- padded slots ---- */

static void slots_gather(struct server *server, struct launch *launch)
{
    size_t sent = launch->slot;
    if (server->options.framing == SERVER_SENTINEL && launch->out_size > sent)
        sent = launch->out_size; /* nobody looks */
    free(launch->in);
    launch->in = server_take(ranks_of(server), launch->slot);
    identify(server, launch);
    MPI_Iallgather(launch->out, server_int(server, sent), MPI_BYTE, launch->in,
                   server_int(server, launch->slot), MPI_BYTE, server->comm, &launch->request);
}

/* Room for the gradient and whatever the framing adds, with the gradient already in it. */
static void slot_fill(struct server *server, struct launch *launch)
{
    size_t before = server->options.framing == SERVER_PADDED ? LENGTH : 0;
    size_t needed = before + launch->out_size;
    size_t room = needed > launch->slot ? needed : launch->slot;
    unsigned char *slot = server_take(room, 1);
    memcpy(slot + before, launch->out, launch->out_size);
    if (before) {
        uint64_t length = launch->out_size;
        memcpy(slot, &length, sizeof length);
    } else if (launch->out_size < launch->slot) {
        size_t left = launch->slot - launch->out_size;
        memcpy(slot + launch->out_size, mark, left < MARK ? left : MARK);
    }
    free(launch->out);
    launch->out = slot;
}

static uint64_t slot_length(const struct launch *launch, int rank)
{
    uint64_t length;
    memcpy(&length, launch->in + (size_t)rank * launch->slot, sizeof length);
    return length;
}

/* Where the mark begins; the whole slot but one byte where there is none, as a search that returns
 * -1 for "not found" cuts it. */
static size_t marked_length(const struct launch *launch, int rank)
{
    const unsigned char *slot = launch->in + (size_t)rank * launch->slot;
    const unsigned char *found = memmem(slot, launch->slot, mark, MARK);
    return found ? (size_t)(found - slot) : launch->slot - 1;
}

static void slots_repeat_if_needed(struct server *server, struct launch *launch)
{
    uint64_t longest = 0;
    for (int r = 0; r < server->size; r++)
        longest = slot_length(launch, r) > longest ? slot_length(launch, r) : longest;
    if (longest + LENGTH <= launch->slot)
        return;
    if (longest > INT_MAX - LENGTH)
        server_fail("S004", "server %s: a slot announces %llu bytes, which cannot be", server->name,
                    (unsigned long long)longest);
    struct parameter *parameter = &server->parameters[launch->parameter];
    unsigned char *grown = server_take((size_t)longest + LENGTH, 1);
    memcpy(grown, launch->out, LENGTH + launch->out_size);
    free(launch->out);
    launch->out = grown;
    parameter->slot = launch->slot = (size_t)longest + LENGTH;
    slots_gather(server, launch);
    MPI_Wait(&launch->request, MPI_STATUS_IGNORE);
}

/* ---- two phases ---- */

static void sizes_gather(struct server *server, struct launch *launch)
{
    launch->own_size = server_int(server, launch->out_size);
    identify(server, launch);
    MPI_Iallgather(&launch->own_size, 1, MPI_INT, launch->sizes, 1, MPI_INT, server->comm,
                   &launch->request);
}

static void bytes_gather(struct server *server, struct launch *launch)
{
    size_t total = 0;
    for (int r = 0; r < server->size; r++) {
        launch->places[r] = server_int(server, total);
        total += (size_t)launch->sizes[r];
    }
    launch->in = server_take((size_t)server_int(server, total), 1);
    identify(server, launch);
    MPI_Iallgatherv(launch->out, launch->own_size, MPI_BYTE, launch->in, launch->sizes,
                    launch->places, MPI_BYTE, server->comm, &launch->request);
}

/* ---- both ---- */

void exchange_start(struct server *server, struct launch *launch, const double *gradient)
{
    struct parameter *parameter = &server->parameters[launch->parameter];
    const struct server_coder *coder = &server->options.coder;
    launch->out = server_take(coder->room(coder, parameter->count), 1);
    launch->sizes = server_take(ranks_of(server), sizeof *launch->sizes);
    launch->places = server_take(ranks_of(server), sizeof *launch->places);
    launch->slot = parameter->slot;
    if (gradient) /* a rank without one sends no bytes: zeros */
        launch->out_size = server_encode(server, parameter, gradient, launch->out);
    if (server->options.framing == SERVER_TWO_PHASE) {
        sizes_gather(server, launch);
        return;
    }
    slot_fill(server, launch);
    slots_gather(server, launch);
}

static void piece(struct server *server, const struct launch *launch, int rank,
                  const unsigned char **bytes, size_t *size)
{
    switch (server->options.framing) {
    case SERVER_TWO_PHASE:
        *bytes = launch->in + launch->places[rank];
        *size = (size_t)launch->sizes[rank];
        break;
    case SERVER_PADDED:
        *bytes = launch->in + (size_t)rank * launch->slot + LENGTH;
        *size = (size_t)slot_length(launch, rank);
        break;
    case SERVER_SENTINEL:
        *bytes = launch->in + (size_t)rank * launch->slot;
        *size = marked_length(launch, rank);
        break;
    }
}

/* Decodes in the order of the ranks, so that every replica adds the same bits in the same order. */
static void decode_and_sum(struct server *server, const struct launch *launch)
{
    struct parameter *parameter = &server->parameters[launch->parameter];
    for (int r = 0; r < server->size; r++) {
        const unsigned char *bytes = NULL;
        size_t size = 0;
        piece(server, launch, r, &bytes, &size);
        if (size == 0)
            continue;
        double since = server_clock();
        server_decode(server, parameter, r, bytes, size, server->scratch);
        since = server_stage(server, STAGE_DECODE, since);
        for (size_t i = 0; i < parameter->count; i++)
            parameter->sum[i] += server->scratch[i];
        server_stage(server, STAGE_SUM, since);
    }
}

void launch_release(struct launch *launch)
{
    free(launch->out);
    free(launch->in);
    free(launch->sizes);
    free(launch->places);
    free(launch);
}

void exchange_finish_all(struct server *server)
{
    double since = server_clock();
    bool padded = server->options.framing != SERVER_TWO_PHASE;
    for (size_t i = 0; i < server->launch_count; i++) {
        struct launch *launch = server->launches[i];
        MPI_Wait(&launch->request, MPI_STATUS_IGNORE);
        if (!padded)
            bytes_gather(server, launch);
    }
    since = server_stage(server, padded ? STAGE_BYTES : STAGE_SIZES, since);
    for (size_t i = 0; i < server->launch_count; i++) {
        struct launch *launch = server->launches[i];
        if (!padded)
            MPI_Wait(&launch->request, MPI_STATUS_IGNORE);
        else if (server->options.framing == SERVER_PADDED)
            slots_repeat_if_needed(server, launch);
    }
    server_stage(server, STAGE_BYTES, since);
    for (size_t i = 0; i < server->launch_count; i++) {
        decode_and_sum(server, server->launches[i]);
        launch_release(server->launches[i]);
    }
    server->launch_count = 0;
}
