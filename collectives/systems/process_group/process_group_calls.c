/* Process groups: making them, and their operations on tensors. See process_group.h. */
#include "collectives/systems/process_group/group_operation.h"

#include <mpix.h>
#include <stdint.h>
#include <stdio.h>

/* ---- making ---- */

/* The tape keeps messages in order by their channel: one that only stands for the group. */
static struct diff_channel *keys_make(const struct process_group *group)
{
    struct diff_channel *keys = arena_take_zeroed(&group->tape->fixed, sizeof *keys);
    keys->tape = group->tape;
    keys->comm = MPI_COMM_NULL;
    keys->rank = group->rank;
    keys->size = group->size;
    keys->keyval = MPI_KEYVAL_INVALID;
    keys->adjoint = keys;
    return keys;
}

/* Takes `data` over. */
static struct process_group *group_make(struct diff_tape *tape, struct data_group *data, bool plain)
{
    struct process_group *group = arena_take_zeroed(&tape->fixed, sizeof *group);
    group->tape = tape;
    group->data = data;
    group->channel = data_group_channel(data);
    group->plain = plain;
    group->comm = plain ? MPI_COMM_NULL : data_group_communicator(data);
    group->rank = data_group_rank(data);
    group->size = data_group_size(data);
    if (group->comm != MPI_COMM_NULL) {
        diff_comm_register(tape, group->comm);
        return group;
    }
    group->forward_keys = keys_make(group);
    group->adjoint_keys = keys_make(group);
    int *same = process_group_take(group, (size_t)group->size * sizeof *same);
    for (int i = 0; i < group->size; i++)
        same[i] = i;
    process_group_expect(group, data_group_new(data, group->size, same, &group->adjoint));
    return group;
}

static struct process_group *world_make(struct diff_tape *tape, struct data_channel *channel,
                                        bool plain, const void *site)
{
    if (!channel)
        state_fail(tape->state, "M009", "a process group needs a data channel, not NULL");
    state_enter(tape->state, site);
    struct process_group *group = group_make(tape, data_channel_world(channel), plain);
    group->is_world = true;
    state_leave(tape->state);
    return group;
}

struct process_group *process_group_world(struct diff_tape *tape, struct data_channel *channel)
{
    return world_make(tape, channel, false, __builtin_return_address(0));
}

struct process_group *process_group_plain(struct diff_tape *tape, struct data_channel *channel)
{
    return world_make(tape, channel, true, __builtin_return_address(0));
}

struct process_group *process_group_new(struct process_group *parent, int count, const int *ranks)
{
    struct diff_tape *tape = parent->tape;
    struct data_group *data;
    ENTER(tape->state);
    process_group_expect(parent, data_group_new(parent->data, count, ranks, &data));
    struct process_group *group = data ? group_make(tape, data, parent->plain) : NULL;
    state_leave(tape->state);
    return group;
}

void process_group_free(struct process_group *group)
{
    if (!group)
        return;
    ENTER(group->tape->state);
    group_settle(group, true);
    data_group_free(group->adjoint);
    if (!group->is_world)
        data_group_free(group->data);
    state_leave(group->tape->state);
}

int process_group_rank(const struct process_group *group)
{
    return group->rank;
}

int process_group_size(const struct process_group *group)
{
    return group->size;
}

/* ---- messages ---- */

static struct diff_tensor *message(struct process_group *group, struct diff_tensor *x,
                                   struct group_call call, const void *site)
{
    bool receives = call.kind == GROUP_RECEIVE || call.kind == GROUP_IRECV;
    state_enter(group->tape->state, site);
    process_group_check(group, x);
    process_group_check_peer(group, receives ? "source" : "destination", call.peer, receives);
    int peer = call.peer == PROCESS_ANY ? MPI_ANY_SOURCE : call.peer;
    struct diff_tensor *y;
    if (group->comm == MPI_COMM_NULL)
        y = group_issue(group, &call, x);
    else if (call.kind == GROUP_SEND)
        y = diff_send(x, peer, call.tag, group->comm);
    else if (call.kind == GROUP_RECEIVE)
        y = diff_recv(x, peer, call.tag, group->comm);
    else if (call.kind == GROUP_ISEND)
        y = diff_isend(x, peer, call.tag, group->comm);
    else
        y = diff_irecv(x, peer, call.tag, group->comm);
    state_leave(group->tape->state);
    return y;
}

struct diff_tensor *process_group_send(struct process_group *group, struct diff_tensor *x, int to,
                                       int tag)
{
    return message(group, x, (struct group_call){.kind = GROUP_SEND, .peer = to, .tag = tag},
                   __builtin_return_address(0));
}

struct diff_tensor *process_group_receive(struct process_group *group, struct diff_tensor *buffer,
                                          int from, int tag)
{
    return message(group, buffer,
                   (struct group_call){.kind = GROUP_RECEIVE, .peer = from, .tag = tag},
                   __builtin_return_address(0));
}

struct diff_tensor *process_group_isend(struct process_group *group, struct diff_tensor *x, int to,
                                        int tag)
{
    return message(group, x, (struct group_call){.kind = GROUP_ISEND, .peer = to, .tag = tag},
                   __builtin_return_address(0));
}

struct diff_tensor *process_group_irecv(struct process_group *group, struct diff_tensor *buffer,
                                        int from, int tag)
{
    return message(group, buffer,
                   (struct group_call){.kind = GROUP_IRECV, .peer = from, .tag = tag},
                   __builtin_return_address(0));
}

struct diff_tensor *process_group_wait(struct process_group *group, struct diff_tensor *handle)
{
    ENTER(group->tape->state);
    struct diff_tensor *y =
        group->comm == MPI_COMM_NULL ? group_wait(group, handle) : diff_wait(handle);
    state_leave(group->tape->state);
    return y;
}

int process_group_source(const struct diff_tensor *received)
{
    int source = group_operation_source(received);
    if (source < 0)
        diff_received(received, &source, NULL, NULL);
    return source;
}

void process_group_batch(struct process_group *group, size_t count,
                         const struct process_message *messages, struct diff_tensor **results)
{
    ENTER(group->tape->state);
    struct diff_tensor **handles = process_group_take(group, 3 * (count + 1) * sizeof *handles);
    struct diff_tensor **started = handles + count, **joined = started + count;
    SIM_Batch_begin();
    for (size_t i = 0; i < count; i++) {
        const struct process_message *m = &messages[i];
        handles[i] = m->receives ? process_group_irecv(group, m->x, m->peer, m->tag)
                                 : process_group_isend(group, m->x, m->peer, m->tag);
    }
    SIM_Batch_end();
    /* Each is waited for after all have started, and what was received depends on what was sent: so
     * in data order, too, every adjoint runs, and starts before another is waited for. */
    for (size_t i = 0; i < count && count > 1; i++) {
        size_t others = 0;
        for (size_t k = 0; k < count; k++)
            if (k != i)
                started[others++] = handles[k];
        joined[i] = diff_join_handle(handles[i], others, started);
    }
    size_t sends = 0;
    for (size_t i = 0; i < count; i++) {
        results[i] = process_group_wait(group, count > 1 ? joined[i] : handles[i]);
        if (!messages[i].receives)
            started[sends++] = results[i];
    }
    for (size_t i = 0; i < count && sends > 0; i++)
        if (messages[i].receives)
            results[i] = diff_join(results[i], sends, started);
    state_leave(group->tape->state);
}

/* ---- collectives ---- */

/* What remains of an operation once the factor is multiplied in. */
static struct diff_tensor *premultiplied(struct diff_tensor *x, struct process_op *op)
{
    if (op->kind != PROCESS_OP_PREMUL_SUM)
        return x;
    struct process_op given = *op;
    *op = PROCESS_SUM;
    return given.factor_tensor ? diff_scale_by(x, given.factor_tensor)
                               : diff_scale(x, given.factor);
}

static int *as_ints(const struct process_group *group, const size_t *counts)
{
    int *numbers = process_group_take(group, (size_t)group->size * sizeof *numbers);
    for (int i = 0; i < group->size; i++) {
        if (counts[i] > INT32_MAX)
            process_group_misuse(group, "a count of %zu: at most 2^31 - 1", counts[i]);
        numbers[i] = (int)counts[i];
    }
    return numbers;
}

static struct diff_tensor *over_mpi(struct process_group *group, const struct group_call *call,
                                    struct diff_tensor *x)
{
    MPI_Comm comm = group->comm;
    MPI_Op op = process_op_mpi(call->op);
    switch (call->kind) {
    case GROUP_BROADCAST:
        return diff_bcast(x, call->peer, comm);
    case GROUP_REDUCE:
        return diff_reduce(x, op, call->peer, comm);
    case GROUP_ALL_REDUCE:
        return diff_allreduce(x, op, comm);
    case GROUP_REDUCE_SCATTER:
        return call->uniform ? diff_reduce_scatter_block(x, op, comm)
                             : diff_reduce_scatter(x, as_ints(group, call->out_counts), op, comm);
    case GROUP_GATHER:
        return call->uniform
                   ? diff_gather(x, call->peer, comm)
                   : diff_gatherv(x, NULL,
                                  call->out_counts ? as_ints(group, call->out_counts) : NULL, NULL,
                                  call->peer, comm);
    case GROUP_ALL_GATHER:
        return call->uniform
                   ? diff_allgather(x, comm)
                   : diff_allgatherv(x, NULL, as_ints(group, call->out_counts), NULL, comm);
    case GROUP_SCATTER:
        return call->uniform
                   ? diff_scatter(x, call->count, call->peer, comm)
                   : diff_scatterv(x, call->in_counts ? as_ints(group, call->in_counts) : NULL,
                                   NULL, call->count, call->peer, comm);
    default:
        return call->uniform ? diff_alltoall(x, comm)
                             : diff_alltoallv(x, as_ints(group, call->in_counts), NULL, NULL,
                                              as_ints(group, call->out_counts), NULL, comm);
    }
}

struct diff_tensor *process_group_collective(struct process_group *group, struct group_call call,
                                             struct diff_tensor *x, const void *site)
{
    state_enter(group->tape->state, site);
    process_group_check(group, x);
    process_group_check_peer(group, "root", call.peer, false);
    x = premultiplied(x, &call.op);
    struct diff_tensor *y =
        group->comm == MPI_COMM_NULL ? group_issue(group, &call, x) : over_mpi(group, &call, x);
    state_leave(group->tape->state);
    return y;
}

#define COLLECTIVE(x, ...)                                                                         \
    process_group_collective(group, (struct group_call){__VA_ARGS__}, x,                           \
                             __builtin_return_address(0))

/* The same number of values for every rank. */
static const size_t *equal(const struct process_group *group, size_t count)
{
    size_t *counts = process_group_take(group, (size_t)group->size * sizeof *counts);
    for (int i = 0; i < group->size; i++)
        counts[i] = count;
    return counts;
}

static const size_t *equal_parts(const struct process_group *group, const struct diff_tensor *x,
                                 const char *name)
{
    if (x->count % (size_t)group->size != 0)
        process_group_misuse(group, "%s: %zu values cannot be split evenly over %d ranks", name,
                             x->count, group->size);
    return equal(group, x->count / (size_t)group->size);
}

void process_group_barrier(struct process_group *group)
{
    ENTER(group->tape->state);
    if (group->comm != MPI_COMM_NULL)
        diff_barrier(group->tape, group->comm);
    else
        process_group_expect(group, data_group_barrier(group->data));
    state_leave(group->tape->state);
}

struct diff_tensor *process_group_broadcast(struct process_group *group, struct diff_tensor *x,
                                            int root)
{
    return COLLECTIVE(x, .kind = GROUP_BROADCAST, .peer = root);
}

struct diff_tensor *process_group_all_reduce(struct process_group *group, struct diff_tensor *x,
                                             struct process_op op)
{
    return COLLECTIVE(x, .kind = GROUP_ALL_REDUCE, .op = op);
}

struct diff_tensor *process_group_reduce(struct process_group *group, struct diff_tensor *x,
                                         struct process_op op, int root)
{
    return COLLECTIVE(x, .kind = GROUP_REDUCE, .op = op, .peer = root);
}

struct diff_tensor *process_group_all_gather(struct process_group *group, struct diff_tensor *x)
{
    return COLLECTIVE(x, .kind = GROUP_ALL_GATHER, .uniform = true,
                      .out_counts = equal(group, x->count));
}

struct diff_tensor *process_group_gather(struct process_group *group, struct diff_tensor *x,
                                         int root)
{
    return COLLECTIVE(x, .kind = GROUP_GATHER, .peer = root, .uniform = true,
                      .out_counts = group->rank == root ? equal(group, x->count) : NULL);
}

struct diff_tensor *process_group_scatter(struct process_group *group, struct diff_tensor *x,
                                          size_t count, int root)
{
    if (group->rank == root && x->count != count * (size_t)group->size) {
        ENTER(group->tape->state);
        process_group_misuse(group, "scatter: %zu values are not %zu for each of %d ranks",
                             x->count, count, group->size);
    }
    return COLLECTIVE(x, .kind = GROUP_SCATTER, .peer = root, .count = count, .uniform = true,
                      .in_counts = group->rank == root ? equal(group, count) : NULL);
}

struct diff_tensor *process_group_reduce_scatter(struct process_group *group, struct diff_tensor *x,
                                                 const size_t *counts, struct process_op op)
{
    const void *site = __builtin_return_address(0);
    state_enter(group->tape->state, site);
    struct group_call call = {.kind = GROUP_REDUCE_SCATTER, .op = op, .uniform = !counts};
    call.out_counts = counts ? counts : equal_parts(group, x, "reduce_scatter");
    size_t total = process_group_total(group, call.out_counts);
    if (total != x->count)
        process_group_misuse(group, "reduce_scatter: the counts add up to %zu of %zu values", total,
                             x->count);
    struct diff_tensor *y = process_group_collective(group, call, x, site);
    state_leave(group->tape->state);
    return y;
}

struct diff_tensor *process_group_all_to_all(struct process_group *group, struct diff_tensor *x,
                                             const size_t *send_counts,
                                             const size_t *receive_counts)
{
    const void *site = __builtin_return_address(0);
    state_enter(group->tape->state, site);
    struct group_call call = {.kind = GROUP_ALL_TO_ALL, .uniform = !send_counts && !receive_counts};
    if (!call.uniform && (!send_counts || !receive_counts))
        process_group_misuse(group, "all_to_all: splits for both directions or for none");
    call.in_counts = call.uniform ? equal_parts(group, x, "all_to_all") : send_counts;
    call.out_counts = call.uniform ? call.in_counts : receive_counts;
    size_t total = process_group_total(group, call.in_counts);
    if (total != x->count)
        process_group_misuse(group, "all_to_all: the splits add up to %zu of %zu values", total,
                             x->count);
    struct diff_tensor *y = process_group_collective(group, call, x, site);
    state_leave(group->tape->state);
    return y;
}
