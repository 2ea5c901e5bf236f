/* Data channels over TCP: messages are matched here, tcp_mesh.h carries them, data_collectives.h
 * makes collectives of them.
 *
 * Rules:
 *  1. Every group has a context, a number that all its ranks know; a frame belongs to one.
 *  2. A message goes to the first posted receive it suits, else into the heap of those that nobody
 *     has asked for yet; a receive looks there first. Both are in the order of their coming.
 *  3. Frames of collectives carry the collective's name and number. A rank that is in another one
 *     than its peer says so.
 *  4. Sends are complete when the mesh has the values. */
#include "collectives/data_channel/data_collectives.h"
#include "collectives/data_channel/tcp_mesh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tcp_request;

struct tcp_arrival {
    struct tcp_arrival *next;
    int from; /* rank of the channel */
    struct tcp_frame frame;
    void *bytes;
};

struct tcp_channel {
    struct data_channel channel;
    struct tcp_mesh mesh;
    struct tcp_arrival *arrivals, **arrivals_end;
    struct tcp_request *posted, **posted_end;
    uint64_t contexts; /* so many this rank knows of */
};

struct tcp_group {
    struct data_group group;
    uint64_t context;
    int32_t collectives; /* so many have begun */
    int *members;        /* ranks of the channel */
};

struct tcp_request {
    struct data_request request;
    struct tcp_request *next; /* while posted */
    const char *name;
    void *values;
    size_t count;
    int from, tag; /* rank of the channel, or DATA_ANY */
    uint64_t context;
    bool sends, done, failed;
    struct data_status status;
};

static const struct data_backend backend;

static struct tcp_channel *tcp_channel(struct data_channel *channel)
{
    return (struct tcp_channel *)(void *)channel;
}

static struct tcp_group *tcp_group(struct data_group *group)
{
    return (struct tcp_group *)(void *)group;
}

static struct tcp_mesh *mesh_of(struct data_group *group)
{
    return &tcp_channel(group->channel)->mesh;
}

static int group_rank_of(const struct tcp_group *group, int from)
{
    for (int i = 0; i < group->group.size; i++)
        if (group->members[i] == from)
            return i;
    return -1;
}

/* ---- arriving ---- */

static bool suits(const struct tcp_frame *frame, int from, uint64_t context, int wanted_from,
                  int tag)
{
    return !frame->collective && frame->context == context && frame->tag == tag &&
           (wanted_from == DATA_ANY || wanted_from == from);
}

/* Puts a message where the request wants it. */
static void deliver(struct tcp_request *request, int from, const struct tcp_frame *frame,
                    const void *bytes)
{
    struct data_group *group = request->request.group;
    size_t size = data_type_size(request->request.type);
    int source = group_rank_of(tcp_group(group), from);
    request->done = true;
    request->status = (struct data_status){source, frame->tag, (size_t)frame->size / size};
    if (frame->type != request->request.type)
        request->failed = !data_channel_fail(
            group->channel, "%s: rank %d sends %s values, and %s values are expected",
            request->name, source,
            frame->type < DATA_TYPES ? data_type_name((enum data_type)frame->type) : "unknown",
            data_type_name(request->request.type));
    else if (frame->size > request->count * size || frame->size % size)
        request->failed = !data_channel_fail(
            group->channel, "%s: rank %d sends %zu values, and there is room for %zu",
            request->name, source, request->status.count, request->count);
    else if (frame->size > 0)
        memcpy(request->values, bytes, (size_t)frame->size);
}

static bool frame_arrived(void *context, int from, const struct tcp_frame *frame, void *bytes)
{
    struct tcp_channel *own = context;
    for (struct tcp_request **link = &own->posted; *link; link = &(*link)->next) {
        struct tcp_request *request = *link;
        if (!suits(frame, from, request->context, request->from, request->tag))
            continue;
        *link = request->next;
        if (!*link)
            own->posted_end = link;
        deliver(request, from, frame, bytes);
        free(bytes);
        return true;
    }
    struct tcp_arrival *arrival = malloc(sizeof *arrival);
    if (!arrival) {
        free(bytes);
        return data_channel_fail(&own->channel, "no memory for a message of rank %d", from);
    }
    *arrival = (struct tcp_arrival){NULL, from, *frame, bytes};
    *own->arrivals_end = arrival;
    own->arrivals_end = &arrival->next;
    return true;
}

static void arrival_remove(struct tcp_channel *own, struct tcp_arrival **link)
{
    struct tcp_arrival *arrival = *link;
    *link = arrival->next;
    if (!*link)
        own->arrivals_end = link;
    free(arrival->bytes);
    free(arrival);
}

static struct tcp_arrival **arrival_find(struct tcp_channel *own, uint64_t context, int from,
                                         int tag)
{
    struct tcp_arrival **link = &own->arrivals;
    while (*link && !suits(&(*link)->frame, (*link)->from, context, from, tag))
        link = &(*link)->next;
    return link;
}

/* ---- waiting ---- */

/* Everybody of the group but this rank is gone. */
static bool is_alone(struct data_group *group)
{
    const struct tcp_group *own = tcp_group(group);
    for (int i = 0; i < group->size; i++)
        if (i != group->rank && !tcp_mesh_is_gone(mesh_of(group), own->members[i]))
            return false;
    return true;
}

/* One step of waiting for a rank of the channel (or anybody of the group); false when it will not
 * come. */
static bool wait_for(struct data_group *group, const char *name, int from)
{
    struct tcp_mesh *mesh = mesh_of(group);
    int rank = from == DATA_ANY ? -1 : group_rank_of(tcp_group(group), from);
    if (rank == group->rank)
        return data_channel_fail(group->channel, "%s: this rank waits for itself", name);
    if (rank >= 0 && tcp_mesh_is_gone(mesh, from))
        return data_channel_fail(group->channel, "%s: rank %d %s", name, rank,
                                 tcp_mesh_why(mesh, from));
    if (rank < 0 && is_alone(group))
        return data_channel_fail(group->channel, "%s: every other rank is gone", name);
    switch (tcp_mesh_wait(mesh, true)) {
    case TCP_MOVED:
        return true;
    case TCP_SILENT:
        if (rank < 0)
            return data_channel_fail(group->channel, "%s: nothing from any rank for %d ms", name,
                                     mesh->timeout_milliseconds);
        return data_channel_fail(group->channel, "%s: nothing from rank %d for %d ms", name, rank,
                                 mesh->timeout_milliseconds);
    case TCP_STUCK:
        return data_channel_fail(group->channel, "%s: every other rank is gone", name);
    default:
        return false;
    }
}

/* ---- messages ---- */

static bool frame_send(struct data_group *group, const char *name, int to, struct tcp_frame frame,
                       const void *bytes)
{
    struct tcp_channel *own = tcp_channel(group->channel);
    int rank = tcp_group(group)->members[to];
    frame.context = tcp_group(group)->context;
    snprintf(frame.name, sizeof frame.name, "%s", name);
    if (rank != own->mesh.rank) {
        if (tcp_mesh_is_gone(&own->mesh, rank))
            return data_channel_fail(group->channel, "%s: rank %d %s", name, to,
                                     tcp_mesh_why(&own->mesh, rank));
        return tcp_mesh_send(&own->mesh, rank, &frame, bytes) ||
               data_channel_fail(group->channel, "%s: no memory for %llu bytes", name,
                                 (unsigned long long)frame.size);
    }
    char *copy = malloc((size_t)frame.size + 1);
    if (!copy)
        return data_channel_fail(group->channel, "%s: out of memory", name);
    if (frame.size > 0)
        memcpy(copy, bytes, (size_t)frame.size);
    return frame_arrived(own, rank, &frame, copy);
}

static bool message_send(struct data_group *group, const struct data_call *call)
{
    struct tcp_frame frame = {.size = call->count * data_type_size(call->type),
                              .tag = call->tag,
                              .type = (uint16_t)call->type};
    return frame_send(group, call->name, call->peer, frame, call->in);
}

/* Waits until the values have left, so that memory does not fill up with what nobody reads. */
static bool tcp_send(struct data_group *group, const struct data_call *call)
{
    int rank = tcp_group(group)->members[call->peer];
    if (!message_send(group, call))
        return false;
    while (rank != mesh_of(group)->rank && tcp_mesh_is_queued(mesh_of(group), rank))
        if (!wait_for(group, call->name, rank))
            return false;
    return true;
}

static struct tcp_request *request_new(struct data_group *group, const struct data_call *call)
{
    struct tcp_request *request = malloc(sizeof *request);
    if (!request) {
        data_channel_fail(group->channel, "%s: out of memory", call->name);
        return NULL;
    }
    *request = (struct tcp_request){
        .request = {group, call->type},
        .name = call->name,
        .values = call->out,
        .count = call->count,
        .from = call->peer == DATA_ANY ? DATA_ANY : tcp_group(group)->members[call->peer],
        .tag = call->tag,
        .context = tcp_group(group)->context};
    return request;
}

static void post(struct tcp_channel *own, struct tcp_request *request)
{
    struct tcp_arrival **link = arrival_find(own, request->context, request->from, request->tag);
    if (*link) {
        deliver(request, (*link)->from, &(*link)->frame, (*link)->bytes);
        arrival_remove(own, link);
        return;
    }
    *own->posted_end = request;
    own->posted_end = &request->next;
}

static void unpost(struct tcp_channel *own, const struct tcp_request *request)
{
    struct tcp_request **link = &own->posted;
    while (*link && *link != request)
        link = &(*link)->next;
    if (!*link)
        return;
    *link = request->next;
    if (!*link)
        own->posted_end = link;
}

static bool tcp_isend(struct data_group *group, const struct data_call *call)
{
    struct tcp_request *request = request_new(group, call);
    if (!request || !message_send(group, call)) {
        free(request);
        return false;
    }
    request->sends = request->done = true;
    request->status = (struct data_status){group->rank, call->tag, call->count};
    *call->request = &request->request;
    return true;
}

static bool tcp_irecv(struct data_group *group, const struct data_call *call)
{
    struct tcp_request *request = request_new(group, call);
    if (!request)
        return false;
    post(tcp_channel(group->channel), request);
    *call->request = &request->request;
    return true;
}

static bool tcp_complete(struct data_request *data, bool wait, bool *done,
                         struct data_status *status)
{
    struct tcp_request *request = (struct tcp_request *)(void *)data;
    struct data_group *group = data->group;
    bool right = true;
    if (!wait && !request->done)
        right = tcp_mesh_wait(mesh_of(group), false) != TCP_STOPPED;
    while (wait && right && !request->done)
        right = wait_for(group, request->name, request->from);
    right = right && !request->failed;
    *done = right && request->done;
    if (*done)
        *status = request->status;
    if (*done || !right) {
        unpost(tcp_channel(group->channel), request);
        free(request);
    }
    return right;
}

static bool tcp_receive(struct data_group *group, const struct data_call *call)
{
    struct data_request *request;
    struct data_call start = *call;
    bool done;
    start.request = &request;
    return tcp_irecv(group, &start) && tcp_complete(request, true, &done, call->status);
}

static bool there_is(struct data_group *group, const struct data_call *call)
{
    const struct tcp_group *own = tcp_group(group);
    int from = call->peer == DATA_ANY ? DATA_ANY : own->members[call->peer];
    const struct tcp_arrival *arrival =
        *arrival_find(tcp_channel(group->channel), own->context, from, call->tag);
    if (arrival)
        *call->status = (struct data_status){group_rank_of(own, arrival->from), arrival->frame.tag,
                                             arrival->frame.size / data_type_size(call->type)};
    return arrival != NULL;
}

static bool tcp_probe(struct data_group *group, const struct data_call *call)
{
    int from = call->peer == DATA_ANY ? DATA_ANY : tcp_group(group)->members[call->peer];
    while (!there_is(group, call))
        if (!wait_for(group, call->name, from))
            return false;
    return true;
}

static bool tcp_look(struct data_group *group, const struct data_call *call, bool *there)
{
    *there = there_is(group, call);
    if (*there)
        return true;
    if (tcp_mesh_wait(mesh_of(group), false) == TCP_STOPPED)
        return false;
    *there = there_is(group, call);
    int from = call->peer == DATA_ANY ? DATA_ANY : tcp_group(group)->members[call->peer];
    bool gone =
        from != DATA_ANY && from != mesh_of(group)->rank && tcp_mesh_is_gone(mesh_of(group), from);
    if (!*there && gone)
        return data_channel_fail(group->channel, "%s: rank %d %s", call->name, call->peer,
                                 tcp_mesh_why(mesh_of(group), from));
    return true;
}

/* ---- collectives ---- */

static bool put(struct data_group *group, const char *name, int to, const void *bytes, size_t size)
{
    struct tcp_frame frame = {
        .size = size, .tag = tcp_group(group)->collectives, .collective = true};
    return frame_send(group, name, to, frame, bytes);
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
        if (!wait_for(group, name, rank))
            return false;
    if (!piece_check(group, name, from, &(*link)->frame, size))
        return false;
    if (size > 0)
        memcpy(bytes, (*link)->bytes, size);
    arrival_remove(tcp_channel(group->channel), link);
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
        arrival_remove(own, &own->arrivals);
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

struct data_channel *data_channel_tcp(const struct data_tcp_options *options, char *error,
                                      size_t room)
{
    if (options->size < 1 || options->rank < 0 || options->rank >= options->size ||
        !options->exchange) {
        snprintf(error, room, "rank %d of %d%s", options->rank, options->size,
                 options->exchange ? ": no such rank" : ": no function to exchange the ports");
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
    own->mesh.arrived = frame_arrived;
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
