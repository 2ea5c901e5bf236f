/* What a backend of data channels gives: a struct of functions. data_channel.c checks arguments and
 * calls them; nobody else does.
 *
 * Rules for a backend:
 *  1. Every function of a group gets one struct data_call, already checked: ranks exist, counts
 *     fit, the operator suits the type. It returns false after data_channel_fail.
 *  2. It embeds struct data_channel, data_group and data_request as its first member.
 *  3. `tag` is at least 0. Collectives must not disturb messages. */
#ifndef COLLECTIVES_SYSTEMS_DATA_CHANNEL_DATA_BACKEND_H
#define COLLECTIVES_SYSTEMS_DATA_CHANNEL_DATA_BACKEND_H

#include "collectives/systems/data_channel/data_channel.h"

#include <stdint.h>

/* The arguments of any operation; which fields count is said in data_channel.h. */
struct data_call {
    const char *name; /* "all_reduce" */
    const void *in;
    void *out;
    size_t count; /* of `in`, or of `out` where there is only that */
    enum data_type type;
    enum data_operator op;
    const size_t *in_counts, *out_counts;
    int peer; /* destination, source or root */
    int tag;
    struct data_status *status; /* never NULL for receives and probes */
    struct data_request **request;
};

typedef bool data_function(struct data_group *group, const struct data_call *call);

struct data_backend {
    const char *name;
    data_function *send, *receive, *probe, *isend, *irecv;
    data_function *barrier, *broadcast, *reduce, *all_reduce, *reduce_scatter, *gather, *all_gather,
        *scatter, *all_to_all;
    /* Like probe, but does not wait. */
    bool (*look)(struct data_group *group, const struct data_call *call, bool *there);
    /* `wait` false: only looks. Sets *done; frees the request when done or on an error. */
    bool (*complete)(struct data_request *request, bool wait, bool *done,
                     struct data_status *status);
    /* Collective over the parent; *group stays NULL for ranks that are not in the list. */
    bool (*group_new)(struct data_group *parent, int count, const int *ranks,
                      struct data_group **group);
    void (*group_free)(struct data_group *group);
    /* Frees the channel and its world. */
    void (*teardown)(struct data_channel *channel);
};

struct data_channel {
    const struct data_backend *backend;
    struct data_group *world;
    char error[240];
};

struct data_group {
    struct data_channel *channel;
    int rank, size;
};

struct data_request {
    struct data_group *group;
    enum data_type type;
};

/* Sets the error and returns false. */
bool data_channel_fail(struct data_channel *channel, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Of a list of ranks, by which ranks see that they make the same group; and the error when rank
 * `other` names another list. */
uint64_t data_list_hash(int count, const int *ranks);
bool data_list_differs(struct data_group *parent, int other);
size_t data_type_size(enum data_type type);
const char *data_type_name(enum data_type type);

#endif
