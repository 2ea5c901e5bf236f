/* data_channel.h: the ways by which ranks move values, behind one interface.
 *
 * A channel is one rank's end of a set of ranks that can talk. Backends: MPI (the in-memory machine
 * of simrun, or a real MPI), and TCP between processes. A group is an ordered choice of a channel's
 * ranks with traffic of its own: what is sent in one group is never received in another.
 *
 * Rules that hold for every function:
 *  - A function that returns bool returns false when it could not do what it should, and then
 *    data_channel_error says why in one sentence that names the operation and the rank. Nothing is
 *    known of the values received then. Under simrun, whatever is wrong with the MPI beneath is a
 *    finding instead.
 *  - Ranks are those of the group. Counts are numbers of values; a count of zero is allowed
 *    everywhere. Buffers of input and output must not overlap.
 *  - Collective functions are called by all ranks of the group, in the same order.
 *  - A message arrives in the order of its sending among those of one sender, group and tag.
 *
 * Room: sees nothing. Seen by collectives/systems/master_worker. */
#ifndef COLLECTIVES_SYSTEMS_DATA_CHANNEL_DATA_CHANNEL_H
#define COLLECTIVES_SYSTEMS_DATA_CHANNEL_DATA_CHANNEL_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct data_channel;
struct data_group;
struct data_request;

enum data_type {
    DATA_BYTE,
    DATA_INT,
    DATA_LONG, /* 64 bits */
    DATA_FLOAT,
    DATA_DOUBLE,
    DATA_COMPLEX_FLOAT,
    DATA_COMPLEX_DOUBLE,
    DATA_TYPES
};

/* AVERAGE, and MIN and MAX of complex values, are refused where they mean nothing. */
enum data_operator { DATA_SUM, DATA_AVERAGE, DATA_PRODUCT, DATA_MIN, DATA_MAX, DATA_OPERATORS };

enum { DATA_ANY = -1 }; /* any source */

/* What a receive or a probe tells of its message. */
struct data_status {
    int source, tag;
    size_t count;
};

/* ---- channels ---- */

/* Over an MPI communicator, which is duplicated; collective over it. NULL when that fails. */
struct data_channel *data_channel_mpi(MPI_Comm comm);

/* Over TCP sockets. Every rank listens, tells its port, and learns those of all others by
 * `exchange` (an allgather of one int, in rank order; false: give up). Ranks connect to each other
 * on 127.0.0.1. A wait of more than `timeout_milliseconds` without a byte from anybody is an error
 * that names who was waited for; 0: wait for ever. NULL when it cannot be made (ranks under simrun
 * are threads of one process): `error` (of `room` bytes) says why. */
struct data_tcp_options {
    int rank, size;
    int timeout_milliseconds;
    bool (*exchange)(void *context, int mine, int *all);
    void *context;
};
struct data_channel *data_channel_tcp(const struct data_tcp_options *options, char *error,
                                      size_t room);

/* Collective. Groups of the channel must have been freed. */
void data_channel_free(struct data_channel *channel);
/* "mpi" or "tcp". */
const char *data_channel_name(const struct data_channel *channel);
/* All ranks of the channel; belongs to it. */
struct data_group *data_channel_world(struct data_channel *channel);
/* The last error, "" when there was none. */
const char *data_channel_error(const struct data_channel *channel);

/* ---- groups ---- */

/* A group of `count` ranks of `parent`, in the order given. Collective over `parent`: all its ranks
 * call this with the same list. Who is not in the list gets true and NULL. */
bool data_group_new(struct data_group *parent, int count, const int *ranks,
                    struct data_group **group);
/* Collective over the group; NULL is allowed. */
void data_group_free(struct data_group *group);
int data_group_rank(const struct data_group *group);
int data_group_size(const struct data_group *group);
struct data_channel *data_group_channel(struct data_group *group);
/* MPI_COMM_NULL when the channel is not MPI. */
MPI_Comm data_group_communicator(const struct data_group *group);

/* ---- messages ---- */

bool data_group_send(struct data_group *group, const void *values, size_t count,
                     enum data_type type, int to, int tag);
/* `from` may be DATA_ANY. A longer message than `count` values is an error; `status` may be NULL.
 */
bool data_group_receive(struct data_group *group, void *values, size_t count, enum data_type type,
                        int from, int tag, struct data_status *status);
/* Waits for a message without receiving it. */
bool data_group_probe(struct data_group *group, enum data_type type, int from, int tag,
                      struct data_status *status);
/* Whether such a message has come, without waiting. */
bool data_group_look(struct data_group *group, enum data_type type, int from, int tag, bool *there,
                     struct data_status *status);
/* The values must stay until the request is done. */
bool data_group_isend(struct data_group *group, const void *values, size_t count,
                      enum data_type type, int to, int tag, struct data_request **request);
bool data_group_irecv(struct data_group *group, void *values, size_t count, enum data_type type,
                      int from, int tag, struct data_request **request);
/* Waits and frees the request, also when it returns false. */
bool data_request_wait(struct data_request *request, struct data_status *status);
/* Frees the request when it is done. */
bool data_request_test(struct data_request *request, bool *done, struct data_status *status);

/* ---- collectives ---- */

bool data_group_barrier(struct data_group *group);
bool data_group_broadcast(struct data_group *group, void *values, size_t count, enum data_type type,
                          int root);
/* `out` matters on the root only. */
bool data_group_reduce(struct data_group *group, const void *in, void *out, size_t count,
                       enum data_type type, enum data_operator op, int root);
bool data_group_all_reduce(struct data_group *group, const void *in, void *out, size_t count,
                           enum data_type type, enum data_operator op);
/* `counts[r]` values of the combination go to rank r. */
bool data_group_reduce_scatter(struct data_group *group, const void *in, void *out,
                               const size_t *counts, enum data_type type, enum data_operator op);
/* `counts[r]` values come from rank r, one after the other: on the root only, or everywhere. */
bool data_group_gather(struct data_group *group, const void *in, size_t count, void *out,
                       const size_t *counts, enum data_type type, int root);
bool data_group_all_gather(struct data_group *group, const void *in, void *out,
                           const size_t *counts, enum data_type type);
/* `counts` and `in` matter on the root only. */
bool data_group_scatter(struct data_group *group, const void *in, const size_t *counts, void *out,
                        size_t count, enum data_type type, int root);
bool data_group_all_to_all(struct data_group *group, const void *in, const size_t *in_counts,
                           void *out, const size_t *out_counts, enum data_type type);

#ifdef __cplusplus
}
#endif
#endif
