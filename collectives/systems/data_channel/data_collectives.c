/* Collectives made of messages: see data_collectives.h.
 *
 * Barrier by dissemination, broadcast and reduce over a binomial tree, reduce-scatter and
 * all-gather round a ring; an all-reduce is both of these for long vectors, and a reduce and a
 * broadcast for short ones. */
#include "collectives/systems/data_channel/data_collectives.h"

#include "collectives/systems/data_channel/data_arithmetic.h"

#include <stdlib.h>
#include <string.h>

enum { SHORT_BYTES = 4096 };

static size_t bytes_of(const struct data_call *call, size_t count)
{
    return count * data_type_size(call->type);
}

static void *memory(struct data_group *group, const struct data_call *call, size_t size)
{
    void *piece = malloc(size + 1);
    if (!piece)
        data_channel_fail(group->channel, "%s: no memory for %zu bytes", call->name, size);
    return piece;
}

/* memcpy for pieces that may be empty, and then without an address. */
static void copy(void *to, const void *from, size_t size)
{
    if (size > 0)
        memcpy(to, from, size);
}

/* Where each rank's values begin, in bytes, and at [size] the sum; NULL without memory. */
static size_t *begins(struct data_group *group, const struct data_call *call, const size_t *counts)
{
    size_t *at = memory(group, call, ((size_t)group->size + 1) * sizeof *at);
    if (!at)
        return NULL;
    at[0] = 0;
    for (int i = 0; i < group->size; i++)
        at[i + 1] = at[i] + bytes_of(call, counts[i]);
    return at;
}

bool data_by_messages_barrier(struct data_group *group, const struct data_call *call,
                              const struct data_ways *ways)
{
    int size = group->size;
    for (int far = 1; far < size; far *= 2)
        if (!ways->put(group, call->name, (group->rank + far) % size, NULL, 0) ||
            !ways->take(group, call->name, (group->rank + size - far) % size, NULL, 0))
            return false;
    return true;
}

/* In a binomial tree over ranks counted from the root, the parent of v is v without its lowest bit,
 * and its children are v + 1, v + 2, v + 4... below that bit. */
static int lowest_bit(int v, int size)
{
    int bit = 1;
    while (bit < size && !(v & bit))
        bit *= 2;
    return bit;
}

bool data_by_messages_broadcast(struct data_group *group, const struct data_call *call,
                                const struct data_ways *ways)
{
    int size = group->size, v = (group->rank + size - call->peer) % size;
    int bit = lowest_bit(v, size);
    size_t bytes = bytes_of(call, call->count);
    if (v > 0 && !ways->take(group, call->name, (v - bit + call->peer) % size, call->out, bytes))
        return false;
    for (int far = bit / 2; far >= 1; far /= 2)
        if (v + far < size &&
            !ways->put(group, call->name, (v + far + call->peer) % size, call->out, bytes))
            return false;
    return true;
}

static bool reduce_up(struct data_group *group, const struct data_call *call,
                      const struct data_ways *ways, void *sum, void *more)
{
    int size = group->size, v = (group->rank + size - call->peer) % size;
    int bit = lowest_bit(v, size);
    size_t bytes = bytes_of(call, call->count);
    for (int far = 1; far < bit && v + far < size; far *= 2) {
        if (!ways->take(group, call->name, (v + far + call->peer) % size, more, bytes))
            return false;
        data_combine(call->op, call->type, sum, more, call->count);
    }
    return v == 0 || ways->put(group, call->name, (v - bit + call->peer) % size, sum, bytes);
}

bool data_by_messages_reduce(struct data_group *group, const struct data_call *call,
                             const struct data_ways *ways)
{
    size_t bytes = bytes_of(call, call->count);
    char *both = memory(group, call, 2 * bytes);
    if (!both)
        return false;
    copy(both, call->in, bytes);
    bool right = reduce_up(group, call, ways, both, both + bytes);
    if (right && group->rank == call->peer) {
        data_finish(call->op, call->type, both, call->count, group->size);
        copy(call->out, both, bytes);
    }
    free(both);
    return right;
}

static int around(const struct data_group *group, int rank)
{
    return (rank % group->size + group->size) % group->size;
}

/* Every block goes once round the ring, growing by each rank's part, and ends with its owner. */
static bool ring_reduce(struct data_group *group, const struct data_call *call,
                        const struct data_ways *ways, const size_t *at, char *values, char *more)
{
    int left = around(group, group->rank - 1), right = around(group, group->rank + 1);
    for (int step = 0; step < group->size - 1; step++) {
        int out = around(group, group->rank - step - 1), in = around(group, out - 1);
        size_t size = at[in + 1] - at[in];
        if (!ways->put(group, call->name, right, values + at[out], at[out + 1] - at[out]) ||
            !ways->take(group, call->name, left, more, size))
            return false;
        data_combine(call->op, call->type, values + at[in], more,
                     size / data_type_size(call->type));
    }
    return true;
}

static bool ring_gather(struct data_group *group, const struct data_call *call,
                        const struct data_ways *ways, const size_t *at, char *values)
{
    int left = around(group, group->rank - 1), right = around(group, group->rank + 1);
    for (int step = 0; step < group->size - 1; step++) {
        int out = around(group, group->rank - step), in = around(group, out - 1);
        if (!ways->put(group, call->name, right, values + at[out], at[out + 1] - at[out]) ||
            !ways->take(group, call->name, left, values + at[in], at[in + 1] - at[in]))
            return false;
    }
    return true;
}

bool data_by_messages_reduce_scatter(struct data_group *group, const struct data_call *call,
                                     const struct data_ways *ways)
{
    size_t *at = begins(group, call, call->out_counts);
    char *values = at ? memory(group, call, 2 * at[group->size]) : NULL;
    bool right = values != NULL;
    if (right) {
        size_t all = at[group->size];
        copy(values, call->in, all);
        right = ring_reduce(group, call, ways, at, values, values + all);
    }
    if (right) {
        size_t own = call->out_counts[group->rank];
        data_finish(call->op, call->type, values + at[group->rank], own, group->size);
        copy(call->out, values + at[group->rank], bytes_of(call, own));
    }
    free(values);
    free(at);
    return right;
}

bool data_by_messages_all_gather(struct data_group *group, const struct data_call *call,
                                 const struct data_ways *ways)
{
    size_t *at = begins(group, call, call->out_counts);
    if (!at)
        return false;
    copy((char *)call->out + at[group->rank], call->in, bytes_of(call, call->count));
    bool right = ring_gather(group, call, ways, at, call->out);
    free(at);
    return right;
}

static bool all_reduce_short(struct data_group *group, const struct data_call *call,
                             const struct data_ways *ways)
{
    struct data_call part = *call;
    part.peer = 0;
    return data_by_messages_reduce(group, &part, ways) &&
           data_by_messages_broadcast(group, &part, ways);
}

static bool all_reduce_long(struct data_group *group, const struct data_call *call,
                            const struct data_ways *ways)
{
    size_t size = (size_t)group->size, bytes = bytes_of(call, call->count);
    size_t *counts = memory(group, call, size * sizeof *counts);
    for (size_t i = 0; counts && i < size; i++)
        counts[i] = call->count / size + (i < call->count % size);
    size_t *at = counts ? begins(group, call, counts) : NULL;
    char *more = at ? memory(group, call, bytes_of(call, counts[0])) : NULL;
    bool right = more != NULL;
    if (right) {
        copy(call->out, call->in, bytes);
        right = ring_reduce(group, call, ways, at, call->out, more) &&
                ring_gather(group, call, ways, at, call->out);
    }
    if (right)
        data_finish(call->op, call->type, call->out, call->count, group->size);
    free(more);
    free(at);
    free(counts);
    return right;
}

bool data_by_messages_all_reduce(struct data_group *group, const struct data_call *call,
                                 const struct data_ways *ways)
{
    bool is_short = bytes_of(call, call->count) <= SHORT_BYTES;
    return is_short ? all_reduce_short(group, call, ways) : all_reduce_long(group, call, ways);
}

bool data_by_messages_gather(struct data_group *group, const struct data_call *call,
                             const struct data_ways *ways)
{
    char *to = call->out;
    if (group->rank != call->peer)
        return ways->put(group, call->name, call->peer, call->in, bytes_of(call, call->count));
    for (int from = 0; from < group->size; from++) {
        size_t bytes = bytes_of(call, call->out_counts[from]);
        if (from == group->rank)
            copy(to, call->in, bytes);
        else if (!ways->take(group, call->name, from, to, bytes))
            return false;
        to += bytes;
    }
    return true;
}

bool data_by_messages_scatter(struct data_group *group, const struct data_call *call,
                              const struct data_ways *ways)
{
    const char *from = call->in;
    if (group->rank != call->peer)
        return ways->take(group, call->name, call->peer, call->out, bytes_of(call, call->count));
    for (int to = 0; to < group->size; to++) {
        size_t bytes = bytes_of(call, call->in_counts[to]);
        if (to == group->rank)
            copy(call->out, from, bytes);
        else if (!ways->put(group, call->name, to, from, bytes))
            return false;
        from += bytes;
    }
    return true;
}

bool data_by_messages_all_to_all(struct data_group *group, const struct data_call *call,
                                 const struct data_ways *ways)
{
    size_t *out = begins(group, call, call->in_counts);
    size_t *in = out ? begins(group, call, call->out_counts) : NULL;
    const char *from = call->in;
    char *to = call->out;
    bool right = in != NULL;
    if (right)
        copy(to + in[group->rank], from + out[group->rank],
             bytes_of(call, call->in_counts[group->rank]));
    for (int step = 1; step < group->size && right; step++) {
        int next = around(group, group->rank + step), last = around(group, group->rank - step);
        right = ways->put(group, call->name, next, from + out[next], out[next + 1] - out[next]) &&
                ways->take(group, call->name, last, to + in[last], in[last + 1] - in[last]);
    }
    free(in);
    free(out);
    return right;
}
