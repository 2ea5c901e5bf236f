/* Messages over TCP: sent, matched, waited for. See tcp_channel.h. */
#include "collectives/systems/data_channel/tcp_channel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool tcp_frame_arrived(void *context, int from, const struct tcp_frame *frame, void *bytes)
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

void tcp_arrival_remove(struct tcp_channel *own, struct tcp_arrival **link)
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
        if (i != group->rank && !tcp_mesh_is_gone(tcp_mesh_of(group), own->members[i]))
            return false;
    return true;
}

bool tcp_wait_for(struct data_group *group, const char *name, int from)
{
    struct tcp_mesh *mesh = tcp_mesh_of(group);
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

bool tcp_frame_send(struct data_group *group, const char *name, int to, struct tcp_frame frame,
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
    return tcp_frame_arrived(own, rank, &frame, copy);
}

static bool message_send(struct data_group *group, const struct data_call *call)
{
    struct tcp_frame frame = {.size = call->count * data_type_size(call->type),
                              .tag = call->tag,
                              .type = (uint16_t)call->type};
    return tcp_frame_send(group, call->name, call->peer, frame, call->in);
}

/* Waits until the values have left, so that memory does not fill up with what nobody reads. */
bool tcp_send(struct data_group *group, const struct data_call *call)
{
    int rank = tcp_group(group)->members[call->peer];
    if (!message_send(group, call))
        return false;
    while (rank != tcp_mesh_of(group)->rank && tcp_mesh_is_queued(tcp_mesh_of(group), rank))
        if (!tcp_wait_for(group, call->name, rank))
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
        tcp_arrival_remove(own, link);
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

bool tcp_isend(struct data_group *group, const struct data_call *call)
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

bool tcp_irecv(struct data_group *group, const struct data_call *call)
{
    struct tcp_request *request = request_new(group, call);
    if (!request)
        return false;
    post(tcp_channel(group->channel), request);
    *call->request = &request->request;
    return true;
}

bool tcp_complete(struct data_request *data, bool wait, bool *done, struct data_status *status)
{
    struct tcp_request *request = (struct tcp_request *)(void *)data;
    struct data_group *group = data->group;
    bool right = true;
    if (!wait && !request->done)
        right = tcp_mesh_wait(tcp_mesh_of(group), false) != TCP_STOPPED;
    while (wait && right && !request->done)
        right = tcp_wait_for(group, request->name, request->from);
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

bool tcp_receive(struct data_group *group, const struct data_call *call)
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

bool tcp_probe(struct data_group *group, const struct data_call *call)
{
    int from = call->peer == DATA_ANY ? DATA_ANY : tcp_group(group)->members[call->peer];
    while (!there_is(group, call))
        if (!tcp_wait_for(group, call->name, from))
            return false;
    return true;
}

bool tcp_look(struct data_group *group, const struct data_call *call, bool *there)
{
    *there = there_is(group, call);
    if (*there)
        return true;
    if (tcp_mesh_wait(tcp_mesh_of(group), false) == TCP_STOPPED)
        return false;
    *there = there_is(group, call);
    int from = call->peer == DATA_ANY ? DATA_ANY : tcp_group(group)->members[call->peer];
    bool gone = from != DATA_ANY && from != tcp_mesh_of(group)->rank &&
                tcp_mesh_is_gone(tcp_mesh_of(group), from);
    if (!*there && gone)
        return data_channel_fail(group->channel, "%s: rank %d %s", call->name, call->peer,
                                 tcp_mesh_why(tcp_mesh_of(group), from));
    return true;
}
