/* process_group.h: process groups, differentiable, over any data channel.
 *
 * A group is an ordered choice of ranks that talk among themselves. It belongs to one tape; its
 * operations take and give tensors of that tape, and the backward pass goes through them. Over MPI
 * they are the operations of diff.h on a communicator of the group; over other channels they are
 * operations of their own with the same meaning.
 *
 * Rules that hold for every function:
 *  - Ranks are those of the group: place i of the list that made it is rank i.
 *  - Collective operations are called by all ranks of a group, in the same order. Groups are made
 *    by all ranks of the parent, in the same order, also by those that are not in them.
 *  - Wrong use, and a channel that fails, end the rank with a finding that names the place.
 *  - Where only the root's tensor matters, the others pass any tensor of the type; where only the
 *    root gets a result, the others get an empty tensor.
 *
 * Room: sees collectives/arithmetic, collectives/operations. Seen by
 * collectives/systems/master_worker. */
#ifndef COLLECTIVES_SYSTEMS_PROCESS_GROUP_PROCESS_GROUP_H
#define COLLECTIVES_SYSTEMS_PROCESS_GROUP_PROCESS_GROUP_H

#include <data_channel.h>
#include <diff.h>

#ifdef __cplusplus
extern "C" {
#endif

struct process_group;

enum process_op_kind {
    PROCESS_OP_SUM,
    PROCESS_OP_AVG,
    PROCESS_OP_PRODUCT,
    PROCESS_OP_MIN,
    PROCESS_OP_MAX,
    PROCESS_OP_PREMUL_SUM
};
/* PREMUL_SUM multiplies this rank's values by its own factor before they are added: a number, or a
 * tensor of one value through which the gradient goes too. */
struct process_op {
    enum process_op_kind kind;
    double factor;
    struct diff_tensor *factor_tensor;
};
#define PROCESS_SUM                   ((struct process_op){PROCESS_OP_SUM, 1, NULL})
#define PROCESS_AVG                   ((struct process_op){PROCESS_OP_AVG, 1, NULL})
#define PROCESS_PRODUCT               ((struct process_op){PROCESS_OP_PRODUCT, 1, NULL})
#define PROCESS_MIN                   ((struct process_op){PROCESS_OP_MIN, 1, NULL})
#define PROCESS_MAX                   ((struct process_op){PROCESS_OP_MAX, 1, NULL})
#define PROCESS_PREMUL(factor)        ((struct process_op){PROCESS_OP_PREMUL_SUM, (factor), NULL})
#define PROCESS_PREMUL_TENSOR(factor) ((struct process_op){PROCESS_OP_PREMUL_SUM, 1, (factor)})

enum { PROCESS_ANY = DATA_ANY }; /* a receive from any source */

/* ---- groups ---- */

/* All ranks of the channel; collective. Freed before the tape and the channel are. */
struct process_group *process_group_world(struct diff_tape *tape, struct data_channel *channel);
/* The same, but also over MPI by the operations that the other channels use: for comparing the two.
 */
struct process_group *process_group_plain(struct diff_tape *tape, struct data_channel *channel);
/* The ranks of `parent` in this order; collective over `parent`. NULL for a rank not in the list.
 */
struct process_group *process_group_new(struct process_group *parent, int count, const int *ranks);
/* Collective over the group; NULL is allowed. */
void process_group_free(struct process_group *group);
int process_group_rank(const struct process_group *group);
int process_group_size(const struct process_group *group);

/* ---- messages ---- */

/* An empty tensor that serves as a dependency. */
struct diff_tensor *process_group_send(struct process_group *group, struct diff_tensor *x, int to,
                                       int tag);
/* `buffer` is what the buffer held before: where the message is shorter, its values remain. */
struct diff_tensor *process_group_receive(struct process_group *group, struct diff_tensor *buffer,
                                          int from, int tag);
/* Who sent a received tensor. */
int process_group_source(const struct diff_tensor *received);
/* Handles, each waited for once. */
struct diff_tensor *process_group_isend(struct process_group *group, struct diff_tensor *x, int to,
                                        int tag);
struct diff_tensor *process_group_irecv(struct process_group *group, struct diff_tensor *buffer,
                                        int from, int tag);
struct diff_tensor *process_group_wait(struct process_group *group, struct diff_tensor *handle);

/* Messages that start together and are all waited for; results[i] is that of message i. What is
 * received depends on what is sent, so that in data order, too, every adjoint runs. */
struct process_message {
    bool receives;
    struct diff_tensor *x; /* what to send, or what the buffer held */
    int peer, tag;
};
void process_group_batch(struct process_group *group, size_t count,
                         const struct process_message *messages, struct diff_tensor **results);

/* ---- collectives ---- */

void process_group_barrier(struct process_group *group);
struct diff_tensor *process_group_broadcast(struct process_group *group, struct diff_tensor *x,
                                            int root);
struct diff_tensor *process_group_all_reduce(struct process_group *group, struct diff_tensor *x,
                                             struct process_op op);
struct diff_tensor *process_group_reduce(struct process_group *group, struct diff_tensor *x,
                                         struct process_op op, int root);
struct diff_tensor *process_group_all_gather(struct process_group *group, struct diff_tensor *x);
struct diff_tensor *process_group_gather(struct process_group *group, struct diff_tensor *x,
                                         int root);
/* `count`: values per rank. */
struct diff_tensor *process_group_scatter(struct process_group *group, struct diff_tensor *x,
                                          size_t count, int root);
/* `counts[r]` values of the combination go to rank r; NULL: the same number to each. */
struct diff_tensor *process_group_reduce_scatter(struct process_group *group, struct diff_tensor *x,
                                                 const size_t *counts, struct process_op op);
/* Splits in values; NULL for both: equal ones. What rank a sends b must be what b expects of a. */
struct diff_tensor *process_group_all_to_all(struct process_group *group, struct diff_tensor *x,
                                             const size_t *send_counts,
                                             const size_t *receive_counts);

/* ---- several tensors of one type in one operation ---- */

void process_group_all_reduce_coalesced(struct process_group *group, size_t count,
                                        struct diff_tensor *const *x, struct process_op op,
                                        struct diff_tensor **results);
void process_group_broadcast_coalesced(struct process_group *group, size_t count,
                                       struct diff_tensor *const *x, int root,
                                       struct diff_tensor **results);
void process_group_all_gather_coalesced(struct process_group *group, size_t count,
                                        struct diff_tensor *const *x, struct diff_tensor **results);
void process_group_reduce_scatter_coalesced(struct process_group *group, size_t count,
                                            struct diff_tensor *const *x, struct process_op op,
                                            struct diff_tensor **results);

/* ---- tensors of unknown size: first the sizes travel, then the values ---- */

struct diff_tensor *process_group_send_sized(struct process_group *group, struct diff_tensor *x,
                                             int to, int tag);
/* `like` tells tape and type. */
struct diff_tensor *process_group_receive_sized(struct process_group *group,
                                                struct diff_tensor *like, int from, int tag);
struct diff_tensor *process_group_broadcast_sized(struct process_group *group,
                                                  struct diff_tensor *x, int root);
/* `counts`, if not NULL, gets how many values came from each rank: on the root only for gather. */
struct diff_tensor *process_group_all_gather_sized(struct process_group *group,
                                                   struct diff_tensor *x, size_t *counts);
struct diff_tensor *process_group_gather_sized(struct process_group *group, struct diff_tensor *x,
                                               size_t *counts, int root);
/* The root alone knows `counts`. */
struct diff_tensor *process_group_scatter_sized(struct process_group *group, struct diff_tensor *x,
                                                const size_t *counts, int root);
struct diff_tensor *process_group_all_to_all_sized(struct process_group *group,
                                                   struct diff_tensor *x, const size_t *send_counts,
                                                   size_t *receive_counts);

/* ---- objects: bytes of unknown size, not differentiable ---- */

/* Received bytes are malloc'ed and the caller's to free; never NULL. */
struct process_object {
    void *bytes;
    size_t size;
};
void process_group_send_object(struct process_group *group, struct process_object object, int to,
                               int tag);
struct process_object process_group_receive_object(struct process_group *group, int from, int tag,
                                                   int *source);
/* The root's object on every other rank; the root gets its own back. */
struct process_object process_group_broadcast_object(struct process_group *group,
                                                     struct process_object object, int root);
/* `all` has room for the size of the group; on the root only for gather, NULL elsewhere. */
void process_group_all_gather_objects(struct process_group *group, struct process_object object,
                                      struct process_object *all);
void process_group_gather_objects(struct process_group *group, struct process_object object,
                                  struct process_object *all, int root);
struct process_object process_group_scatter_objects(struct process_group *group,
                                                    const struct process_object *all, int root);

#ifdef __cplusplus
}
#endif
#endif
