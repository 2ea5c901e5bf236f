/* Data channels over TCP: collectives of frames (data_collectives.h), groups, and the channel
 * itself. tcp_messages.c matches messages, tcp_mesh.h carries them; see tcp_channel.h for the
 * rules. */
#include "collectives/systems/data_channel/tcp_channel.h"

#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- collectives ---- */

static bool put(struct data_group *group, const char *name, int to, const void *bytes, size_t size)
{
    struct tcp_frame frame = {
        .size = size, .tag = tcp_group(group)->collectives, .collective = true};
    return tcp_frame_send(group, name, to, frame, bytes);
}

static bool piece_check(struct data_group *group, const char *name, int from,
                        const struct tcp_frame *frame, size_t size)
{
    int32_t number = tcp_group(group)->collectives;
    if (strncmp(frame->name, name, sizeof frame->name - 1) != 0 || frame->tag != number)
        return data_channel_fail(group->channel,
                                 "%s, number %d of this group: rank %d is in %s, number %d", name,
                                 number, from, frame->name, frame->tag);
    if (frame->size != size)
        return data_channel_fail(group->channel,
                                 "%s: rank %d sends %llu bytes, and %zu are expected: counts or "
                                 "types differ",
                                 name, from, (unsigned long long)frame->size, size);
    return true;
}

/* The first piece of a collective of this group that this rank has sent. */
static struct tcp_arrival **piece_find(struct data_group *group, int from)
{
    struct tcp_arrival **link = &tcp_channel(group->channel)->arrivals;
    while (*link && !((*link)->frame.collective && (*link)->from == from &&
                      (*link)->frame.context == tcp_group(group)->context))
        link = &(*link)->next;
    return link;
}

static bool take(struct data_group *group, const char *name, int from, void *bytes, size_t size)
{
    int rank = tcp_group(group)->members[from];
    struct tcp_arrival **link;
    while (!*(link = piece_find(group, rank)))
        if (!tcp_wait_for(group, name, rank))
            return false;
    if (!piece_check(group, name, from, &(*link)->frame, size))
        return false;
    if (size > 0)
        memcpy(bytes, (*link)->bytes, size);
    tcp_arrival_remove(tcp_channel(group->channel), link);
    return true;
}

static const struct data_ways ways = {put, take};

#define BY_MESSAGES(name)                                                                          \
    static bool tcp_##name(struct data_group *group, const struct data_call *call)                 \
    {                                                                                              \
        tcp_group(group)->collectives++;                                                           \
        return data_by_messages_##name(group, call, &ways);                                        \
    }
BY_MESSAGES(barrier)
BY_MESSAGES(broadcast)
BY_MESSAGES(reduce)
BY_MESSAGES(all_reduce)
BY_MESSAGES(reduce_scatter)
BY_MESSAGES(gather)
BY_MESSAGES(all_gather)
BY_MESSAGES(scatter)
BY_MESSAGES(all_to_all)

/* ---- groups ---- */

static struct tcp_group *group_make(struct data_channel *channel, int size, uint64_t context)
{
    struct tcp_group *own = calloc(1, sizeof *own + (size_t)size * sizeof *own->members);
    if (!own)
        return NULL;
    own->group.channel = channel;
    own->group.size = size;
    own->context = context;
    own->members = (int *)(own + 1);
    return own;
}

/* What the parent's ranks must agree on: the list, and a context that none of them knows yet. */
struct proposal {
    uint64_t list, contexts;
};

static bool agree(struct data_group *parent, struct proposal own, uint64_t *context)
{
    size_t size = (size_t)parent->size;
    struct proposal *all = malloc(size * sizeof *all);
    size_t *counts = malloc(size * sizeof *counts);
    bool right = all && counts;
    for (size_t i = 0; right && i < size; i++)
        counts[i] = sizeof own;
    struct data_call call = {.name = "group_new",
                             .in = &own,
                             .out = all,
                             .count = sizeof own,
                             .type = DATA_BYTE,
                             .out_counts = counts};
    right = right ? tcp_all_gather(parent, &call)
                  : data_channel_fail(parent->channel, "group_new: out of memory");
    *context = 0;
    for (size_t i = 0; right && i < size; i++) {
        if (all[i].contexts > *context)
            *context = all[i].contexts;
        if (all[i].list != own.list)
            right = data_list_differs(parent, (int)i);
    }
    free(counts);
    free(all);
    return right;
}

static bool tcp_group_new(struct data_group *parent, int count, const int *ranks,
                          struct data_group **group)
{
    struct tcp_channel *channel = tcp_channel(parent->channel);
    uint64_t context;
    if (!agree(parent, (struct proposal){data_list_hash(count, ranks), channel->contexts},
               &context))
        return false;
    channel->contexts = context + 1;
    int place = 0;
    while (place < count && ranks[place] != parent->rank)
        place++;
    if (place == count)
        return true;
    struct tcp_group *own = group_make(parent->channel, count, context);
    if (!own)
        return data_channel_fail(parent->channel, "group_new: out of memory");
    own->group.rank = place;
    for (int i = 0; i < count; i++)
        own->members[i] = tcp_group(parent)->members[ranks[i]];
    *group = &own->group;
    return true;
}

static void tcp_group_free(struct data_group *group)
{
    free(group);
}

/* ---- channels ---- */

static void teardown(struct data_channel *channel)
{
    struct tcp_channel *own = tcp_channel(channel);
    tcp_mesh_release(&own->mesh);
    while (own->arrivals)
        tcp_arrival_remove(own, &own->arrivals);
    free(channel->world);
    free(own);
}

static const struct data_backend backend = {
    .name = "tcp",
    .send = tcp_send,
    .receive = tcp_receive,
    .probe = tcp_probe,
    .isend = tcp_isend,
    .irecv = tcp_irecv,
    .barrier = tcp_barrier,
    .broadcast = tcp_broadcast,
    .reduce = tcp_reduce,
    .all_reduce = tcp_all_reduce,
    .reduce_scatter = tcp_reduce_scatter,
    .gather = tcp_gather,
    .all_gather = tcp_all_gather,
    .scatter = tcp_scatter,
    .all_to_all = tcp_all_to_all,
    .look = tcp_look,
    .complete = tcp_complete,
    .group_new = tcp_group_new,
    .group_free = tcp_group_free,
    .teardown = teardown,
};

/* Ranks of the machine take turns: one that waits at a socket lets nobody send to it. */
static bool ranks_are_threads(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    return strncmp(version, "simrun", 6) == 0 && MPIX_World_size() > 1;
}

struct data_channel *data_channel_tcp(const struct data_tcp_options *options, char *error,
                                      size_t room)
{
    if (options->size < 1 || options->rank < 0 || options->rank >= options->size ||
        !options->exchange) {
        snprintf(error, room, "rank %d of %d%s", options->rank, options->size,
                 options->exchange ? ": no such rank" : ": no function to exchange the ports");
        return NULL;
    }
    if (options->size > 1 && ranks_are_threads()) {
        snprintf(error, room,
                 "TCP is for processes: under simrun ranks are threads of one, and a rank that "
                 "waits at a socket holds all others up; use data_channel_mpi");
        return NULL;
    }
    struct tcp_channel *own = calloc(1, sizeof *own);
    struct tcp_group *world = own ? group_make(&own->channel, options->size, 0) : NULL;
    if (!world) {
        snprintf(error, room, "out of memory");
        free(own);
        return NULL;
    }
    own->channel.backend = &backend;
    own->channel.world = &world->group;
    own->arrivals_end = &own->arrivals;
    own->posted_end = &own->posted;
    own->contexts = 1;
    own->mesh.arrived = tcp_frame_arrived;
    own->mesh.context = own;
    world->group.rank = options->rank;
    for (int i = 0; i < options->size; i++)
        world->members[i] = i;
    if (!tcp_mesh_init(&own->mesh, options, error, room)) {
        free(world);
        free(own);
        return NULL;
    }
    return &own->channel;
}
