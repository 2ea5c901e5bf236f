/* Collectives made of messages, for backends that have nothing better.
 *
 * A backend gives two functions: `put` sends bytes to a rank of the group without waiting for
 * anybody, `take` waits for the bytes of a rank. Both belong to the running collective and never
 * meet other messages. A result is computed once and then distributed, so that all ranks hold the
 * same bits. */
#ifndef COLLECTIVES_SYSTEMS_DATA_CHANNEL_DATA_COLLECTIVES_H
#define COLLECTIVES_SYSTEMS_DATA_CHANNEL_DATA_COLLECTIVES_H

#include "collectives/systems/data_channel/data_backend.h"

struct data_ways {
    bool (*put)(struct data_group *group, const char *name, int to, const void *bytes, size_t size);
    bool (*take)(struct data_group *group, const char *name, int from, void *bytes, size_t size);
};

bool data_by_messages_barrier(struct data_group *group, const struct data_call *call,
                              const struct data_ways *ways);
bool data_by_messages_broadcast(struct data_group *group, const struct data_call *call,
                                const struct data_ways *ways);
bool data_by_messages_reduce(struct data_group *group, const struct data_call *call,
                             const struct data_ways *ways);
bool data_by_messages_all_reduce(struct data_group *group, const struct data_call *call,
                                 const struct data_ways *ways);
bool data_by_messages_reduce_scatter(struct data_group *group, const struct data_call *call,
                                     const struct data_ways *ways);
bool data_by_messages_gather(struct data_group *group, const struct data_call *call,
                             const struct data_ways *ways);
bool data_by_messages_all_gather(struct data_group *group, const struct data_call *call,
                                 const struct data_ways *ways);
bool data_by_messages_scatter(struct data_group *group, const struct data_call *call,
                              const struct data_ways *ways);
bool data_by_messages_all_to_all(struct data_group *group, const struct data_call *call,
                                 const struct data_ways *ways);

#endif
