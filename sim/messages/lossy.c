/* Messages that a fault strikes: see lossy.h. */
#include "sim/messages/lossy.h"

#include "sim/worlds/fault.h"

#include <assert.h>
#include <stdlib.h>

/* A message by itself: its sender has gone on. */
struct sim_late_message {
    struct sim_late_message *next;
    struct sim_context *context;
    int destination;
    struct sim_request send;
    char data[];
};

static struct sim_late_message *copy_of(struct sim_context *context, int destination,
                                        const struct sim_request *send)
{
    size_t bytes = send->type->size * send->count;
    struct sim_late_message *copy = calloc(1, sizeof *copy + bytes);
    assert(copy && "out of memory for a message");
    copy->context = context;
    copy->destination = destination;
    copy->send = *send;
    copy->send.on_stack = true;
    copy->send.waiter = NULL;
    copy->send.batch = NULL;
    copy->send.type = sim_datatype_get(MPI_BYTE);
    copy->send.count = bytes;
    copy->send.buffer = copy->data;
    if (bytes)
        sim_datatype_copy_out(send->type, send->buffer, send->count, copy->data);
    return copy;
}

static void arrive(struct sim_late_message *late)
{
    bool done = sim_mailbox_send(late->context, late->destination, &late->send, true);
    assert(done && "a copy is delivered or put aside");
    free(late);
}

/* Those of the same sender that came before. */
static void release_earlier(struct sim_context *context, int destination,
                            const struct sim_request *send)
{
    struct sim_late_message **link = &context->world->late_messages;
    while (*link) {
        struct sim_late_message *late = *link;
        if (late->context != context || late->destination != destination ||
            late->send.comm->rank != send->comm->rank) {
            link = &late->next;
            continue;
        }
        *link = late->next;
        arrive(late);
    }
}

/* Some bit, the same whenever it is run again. */
static void flip_a_bit(struct sim_late_message *copy, uint64_t seed)
{
    size_t bits = copy->send.count * 8;
    uint64_t at = (seed + 1) * 0x9e3779b97f4a7c15u >> 16;
    if (bits)
        copy->data[at % bits / 8] ^= (char)(1 << at % 8);
}

bool sim_lossy_release(struct sim_world *world)
{
    while (world->late_messages) {
        struct sim_late_message *late = world->late_messages;
        world->late_messages = late->next;
        arrive(late);
    }
    return world->runnable > 0;
}

void sim_lossy_forget(struct sim_world *world)
{
    while (world->late_messages) {
        struct sim_late_message *late = world->late_messages;
        world->late_messages = late->next;
        free(late);
    }
}

static void hold_back(struct sim_world *world, struct sim_late_message *late)
{
    struct sim_late_message **end = &world->late_messages;
    while (*end)
        end = &(*end)->next;
    *end = late;
}

bool sim_lossy_send(struct sim_context *context, int destination, struct sim_request *send,
                    bool may_buffer)
{
    struct sim_world *world = context->world;
    release_earlier(context, destination, send);
    enum sim_fault_kind kind =
        sim_fault_message(send->owner, sim_context_world_rank(context, destination));
    if (kind < SIM_FAULT_DROP || kind == SIM_FAULT_KINDS)
        return sim_mailbox_send(context, destination, send, may_buffer);
    if (kind == SIM_FAULT_DROP || kind == SIM_FAULT_CUT)
        return may_buffer; /* who waits for its receive waits for ever */
    struct sim_late_message *copy = copy_of(context, destination, send);
    bool done = true;
    if (kind == SIM_FAULT_DELAY) {
        hold_back(world, copy);
        return true;
    }
    if (kind == SIM_FAULT_DUPLICATE)
        done = sim_mailbox_send(context, destination, send, may_buffer);
    else
        flip_a_bit(copy, world->options.seed);
    arrive(copy);
    return done;
}
