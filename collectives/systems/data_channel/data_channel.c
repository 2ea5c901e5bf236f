/* Data channels: arguments are checked here, the backend does the rest. See data_channel.h. */
#include "collectives/systems/data_channel/data_backend.h"

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *name;
    size_t size;
    bool computes, ordered; /* can be added; has a smallest */
} types[DATA_TYPES] = {
    [DATA_BYTE] = {"byte", 1, false, false},
    [DATA_INT] = {"int", sizeof(int), true, true},
    [DATA_LONG] = {"long", sizeof(int64_t), true, true},
    [DATA_FLOAT] = {"float", sizeof(float), true, true},
    [DATA_DOUBLE] = {"double", sizeof(double), true, true},
    [DATA_COMPLEX_FLOAT] = {"complex float", 2 * sizeof(float), true, false},
    [DATA_COMPLEX_DOUBLE] = {"complex double", 2 * sizeof(double), true, false},
};

static const char *const operators[DATA_OPERATORS] = {
    [DATA_SUM] = "sum", [DATA_AVERAGE] = "average", [DATA_PRODUCT] = "product",
    [DATA_MIN] = "min", [DATA_MAX] = "max",
};

size_t data_type_size(enum data_type type)
{
    return types[type].size;
}

const char *data_type_name(enum data_type type)
{
    return types[type].name;
}

bool data_channel_fail(struct data_channel *channel, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(channel->error, sizeof channel->error, format, arguments);
    va_end(arguments);
    return false;
}

const char *data_channel_name(const struct data_channel *channel)
{
    return channel->backend->name;
}

struct data_group *data_channel_world(struct data_channel *channel)
{
    return channel->world;
}

const char *data_channel_error(const struct data_channel *channel)
{
    return channel->error;
}

void data_channel_free(struct data_channel *channel)
{
    if (channel)
        channel->backend->teardown(channel);
}

int data_group_rank(const struct data_group *group)
{
    return group->rank;
}

int data_group_size(const struct data_group *group)
{
    return group->size;
}

struct data_channel *data_group_channel(struct data_group *group)
{
    return group->channel;
}

void data_group_free(struct data_group *group)
{
    if (group)
        group->channel->backend->group_free(group);
}

static bool list_check(struct data_group *parent, int count, const int *ranks)
{
    if (count < 1)
        return data_channel_fail(parent->channel, "group_new: %d ranks make no group", count);
    bool *named = calloc((size_t)parent->size, sizeof *named);
    if (!named)
        return data_channel_fail(parent->channel, "group_new: out of memory");
    bool right = true;
    for (int i = 0; i < count && right; i++) {
        if (ranks[i] < 0 || ranks[i] >= parent->size)
            right = data_channel_fail(parent->channel, "group_new: there is no rank %d among 0..%d",
                                      ranks[i], parent->size - 1);
        else if (named[ranks[i]])
            right =
                data_channel_fail(parent->channel, "group_new: rank %d is named twice", ranks[i]);
        else
            named[ranks[i]] = true;
    }
    free(named);
    return right;
}

uint64_t data_list_hash(int count, const int *ranks)
{
    uint64_t hash = 0xcbf29ce484222325u ^ (uint64_t)count;
    for (int i = 0; i < count; i++)
        hash = (hash ^ (uint64_t)ranks[i]) * 0x100000001b3u;
    return hash;
}

bool data_list_differs(struct data_group *parent, int other)
{
    return data_channel_fail(parent->channel,
                             "group_new: rank %d makes another group than this rank: all make the "
                             "same ones in the same order",
                             other);
}

bool data_group_new(struct data_group *parent, int count, const int *ranks,
                    struct data_group **group)
{
    *group = NULL;
    return list_check(parent, count, ranks) &&
           parent->channel->backend->group_new(parent, count, ranks, group);
}

/* ---- checks ---- */

static bool type_check(struct data_group *group, const struct data_call *call)
{
    if ((unsigned)call->type >= DATA_TYPES)
        return data_channel_fail(group->channel, "%s: there is no type %d", call->name,
                                 (int)call->type);
    if (call->count > PTRDIFF_MAX / types[call->type].size)
        return data_channel_fail(group->channel, "%s: %zu values are more than memory holds",
                                 call->name, call->count);
    return true;
}

static bool peer_check(struct data_group *group, const struct data_call *call, const char *what,
                       bool any)
{
    if (call->tag < 0)
        return data_channel_fail(group->channel, "%s: the tag %d is negative", call->name,
                                 call->tag);
    if ((any && call->peer == DATA_ANY) || (call->peer >= 0 && call->peer < group->size))
        return true;
    return data_channel_fail(group->channel, "%s: the %s %d is not one of the group's ranks 0..%d",
                             call->name, what, call->peer, group->size - 1);
}

static bool operator_check(struct data_group *group, const struct data_call *call)
{
    if ((unsigned)call->op >= DATA_OPERATORS)
        return data_channel_fail(group->channel, "%s: there is no operator %d", call->name,
                                 (int)call->op);
    bool ordered = call->op == DATA_MIN || call->op == DATA_MAX;
    bool whole = call->op == DATA_AVERAGE && (call->type == DATA_INT || call->type == DATA_LONG);
    if (!types[call->type].computes || (ordered && !types[call->type].ordered) || whole)
        return data_channel_fail(group->channel, "%s: there is no %s of %s values", call->name,
                                 operators[call->op], types[call->type].name);
    return true;
}

static bool counts_check(struct data_group *group, const struct data_call *call,
                         const size_t *counts)
{
    if (!counts)
        return data_channel_fail(group->channel, "%s: the counts are missing", call->name);
    size_t total = 0;
    for (int i = 0; i < group->size; i++)
        if (__builtin_add_overflow(total, counts[i], &total) ||
            total > PTRDIFF_MAX / types[call->type].size)
            return data_channel_fail(group->channel,
                                     "%s: the counts add up to more than memory holds", call->name);
    return true;
}

static bool message_check(struct data_group *group, const struct data_call *call, bool receives)
{
    return type_check(group, call) &&
           peer_check(group, call, receives ? "source" : "destination", receives);
}

static bool rooted_check(struct data_group *group, const struct data_call *call)
{
    return type_check(group, call) && peer_check(group, call, "root", false);
}

/* ---- messages ---- */

bool data_group_send(struct data_group *group, const void *values, size_t count,
                     enum data_type type, int to, int tag)
{
    struct data_call call = {
        .name = "send", .in = values, .count = count, .type = type, .peer = to, .tag = tag};
    return message_check(group, &call, false) && group->channel->backend->send(group, &call);
}

bool data_group_receive(struct data_group *group, void *values, size_t count, enum data_type type,
                        int from, int tag, struct data_status *status)
{
    struct data_status unused;
    struct data_call call = {.name = "receive",
                             .out = values,
                             .count = count,
                             .type = type,
                             .peer = from,
                             .tag = tag,
                             .status = status ? status : &unused};
    return message_check(group, &call, true) && group->channel->backend->receive(group, &call);
}

bool data_group_probe(struct data_group *group, enum data_type type, int from, int tag,
                      struct data_status *status)
{
    struct data_status unused;
    struct data_call call = {.name = "probe",
                             .type = type,
                             .peer = from,
                             .tag = tag,
                             .status = status ? status : &unused};
    return message_check(group, &call, true) && group->channel->backend->probe(group, &call);
}

bool data_group_look(struct data_group *group, enum data_type type, int from, int tag, bool *there,
                     struct data_status *status)
{
    struct data_status unused;
    struct data_call call = {.name = "look",
                             .type = type,
                             .peer = from,
                             .tag = tag,
                             .status = status ? status : &unused};
    *there = false;
    return message_check(group, &call, true) && group->channel->backend->look(group, &call, there);
}

bool data_group_isend(struct data_group *group, const void *values, size_t count,
                      enum data_type type, int to, int tag, struct data_request **request)
{
    struct data_call call = {.name = "isend",
                             .in = values,
                             .count = count,
                             .type = type,
                             .peer = to,
                             .tag = tag,
                             .request = request};
    *request = NULL;
    return message_check(group, &call, false) && group->channel->backend->isend(group, &call);
}

bool data_group_irecv(struct data_group *group, void *values, size_t count, enum data_type type,
                      int from, int tag, struct data_request **request)
{
    struct data_call call = {.name = "irecv",
                             .out = values,
                             .count = count,
                             .type = type,
                             .peer = from,
                             .tag = tag,
                             .request = request};
    *request = NULL;
    return message_check(group, &call, true) && group->channel->backend->irecv(group, &call);
}

bool data_request_wait(struct data_request *request, struct data_status *status)
{
    struct data_status unused;
    bool done = false;
    return request->group->channel->backend->complete(request, true, &done,
                                                      status ? status : &unused);
}

bool data_request_test(struct data_request *request, bool *done, struct data_status *status)
{
    struct data_status unused;
    *done = false;
    return request->group->channel->backend->complete(request, false, done,
                                                      status ? status : &unused);
}

/* ---- collectives ---- */

bool data_group_barrier(struct data_group *group)
{
    struct data_call call = {.name = "barrier"};
    return group->channel->backend->barrier(group, &call);
}

bool data_group_broadcast(struct data_group *group, void *values, size_t count, enum data_type type,
                          int root)
{
    struct data_call call = {
        .name = "broadcast", .out = values, .count = count, .type = type, .peer = root};
    return rooted_check(group, &call) && group->channel->backend->broadcast(group, &call);
}

bool data_group_reduce(struct data_group *group, const void *in, void *out, size_t count,
                       enum data_type type, enum data_operator op, int root)
{
    struct data_call call = {.name = "reduce",
                             .in = in,
                             .out = out,
                             .count = count,
                             .type = type,
                             .op = op,
                             .peer = root};
    return rooted_check(group, &call) && operator_check(group, &call) &&
           group->channel->backend->reduce(group, &call);
}

bool data_group_all_reduce(struct data_group *group, const void *in, void *out, size_t count,
                           enum data_type type, enum data_operator op)
{
    struct data_call call = {
        .name = "all_reduce", .in = in, .out = out, .count = count, .type = type, .op = op};
    return type_check(group, &call) && operator_check(group, &call) &&
           group->channel->backend->all_reduce(group, &call);
}

bool data_group_reduce_scatter(struct data_group *group, const void *in, void *out,
                               const size_t *counts, enum data_type type, enum data_operator op)
{
    struct data_call call = {.name = "reduce_scatter",
                             .in = in,
                             .out = out,
                             .type = type,
                             .op = op,
                             .out_counts = counts};
    return type_check(group, &call) && operator_check(group, &call) &&
           counts_check(group, &call, counts) &&
           group->channel->backend->reduce_scatter(group, &call);
}

bool data_group_gather(struct data_group *group, const void *in, size_t count, void *out,
                       const size_t *counts, enum data_type type, int root)
{
    struct data_call call = {.name = "gather",
                             .in = in,
                             .out = out,
                             .count = count,
                             .type = type,
                             .peer = root,
                             .out_counts = counts};
    if (!rooted_check(group, &call))
        return false;
    if (group->rank != root)
        call.out_counts = NULL;
    else if (!counts_check(group, &call, counts))
        return false;
    else if (counts[root] != count)
        return data_channel_fail(group->channel,
                                 "gather: the root gives %zu values and expects %zu of itself",
                                 count, counts[root]);
    return group->channel->backend->gather(group, &call);
}

bool data_group_all_gather(struct data_group *group, const void *in, void *out,
                           const size_t *counts, enum data_type type)
{
    struct data_call call = {
        .name = "all_gather", .in = in, .out = out, .type = type, .out_counts = counts};
    if (!type_check(group, &call) || !counts_check(group, &call, counts))
        return false;
    call.count = counts[group->rank];
    return group->channel->backend->all_gather(group, &call);
}

bool data_group_scatter(struct data_group *group, const void *in, const size_t *counts, void *out,
                        size_t count, enum data_type type, int root)
{
    struct data_call call = {.name = "scatter",
                             .in = in,
                             .out = out,
                             .count = count,
                             .type = type,
                             .peer = root,
                             .in_counts = counts};
    if (!rooted_check(group, &call))
        return false;
    if (group->rank != root)
        call.in_counts = NULL;
    else if (!counts_check(group, &call, counts))
        return false;
    else if (counts[root] != count)
        return data_channel_fail(group->channel,
                                 "scatter: the root takes %zu values and gives itself %zu", count,
                                 counts[root]);
    return group->channel->backend->scatter(group, &call);
}

bool data_group_all_to_all(struct data_group *group, const void *in, const size_t *in_counts,
                           void *out, const size_t *out_counts, enum data_type type)
{
    struct data_call call = {.name = "all_to_all",
                             .in = in,
                             .out = out,
                             .type = type,
                             .in_counts = in_counts,
                             .out_counts = out_counts};
    if (!type_check(group, &call) || !counts_check(group, &call, in_counts) ||
        !counts_check(group, &call, out_counts))
        return false;
    if (in_counts[group->rank] != out_counts[group->rank])
        return data_channel_fail(group->channel,
                                 "all_to_all: this rank gives itself %zu values and expects %zu",
                                 in_counts[group->rank], out_counts[group->rank]);
    return group->channel->backend->all_to_all(group, &call);
}
