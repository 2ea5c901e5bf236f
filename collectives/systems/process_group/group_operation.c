/* Operations of process groups over data channels: see group_operation.h. */
#include "collectives/systems/process_group/group_operation.h"

#include "collectives/arithmetic/fold.h"
#include "collectives/operations/collective.h"

#include <stdlib.h>
#include <string.h>

struct group_node {
    struct process_group *group;
    struct data_group *data;
    struct group_call call;
    struct data_request *request; /* isend, irecv: until waited for */
    struct diff_tensor *result;   /* irecv: where the message arrives */
    int source;
    size_t received;
};

static const struct diff_operation operations[GROUP_KINDS];

static struct diff_tensor *issue(struct process_group *group, struct data_group *data,
                                 const struct group_call *call, struct diff_tensor *x);

/* ---- forward ---- */

static enum data_operator operator_data(struct process_op op)
{
    static const enum data_operator operators[] = {
        [PROCESS_OP_SUM] = DATA_SUM,         [PROCESS_OP_AVG] = DATA_AVERAGE,
        [PROCESS_OP_PRODUCT] = DATA_PRODUCT, [PROCESS_OP_MIN] = DATA_MIN,
        [PROCESS_OP_MAX] = DATA_MAX,         [PROCESS_OP_PREMUL_SUM] = DATA_SUM};
    return operators[op.kind];
}

static bool is_linear(struct process_op op)
{
    return op.kind == PROCESS_OP_SUM || op.kind == PROCESS_OP_AVG;
}

static bool run_collective(const struct group_node *own, const void *in, size_t count, void *out,
                           enum data_type type)
{
    const struct group_call *call = &own->call;
    enum data_operator op = operator_data(call->op);
    switch (call->kind) {
    case GROUP_BROADCAST:
        return data_group_broadcast(own->data, out, count, type, call->peer);
    case GROUP_REDUCE:
        return data_group_reduce(own->data, in, out, count, type, op, call->peer);
    case GROUP_ALL_REDUCE:
        return data_group_all_reduce(own->data, in, out, count, type, op);
    case GROUP_REDUCE_SCATTER:
        return data_group_reduce_scatter(own->data, in, out, call->out_counts, type, op);
    case GROUP_GATHER:
        return data_group_gather(own->data, in, count, out, call->out_counts, type, call->peer);
    case GROUP_ALL_GATHER:
        return data_group_all_gather(own->data, in, out, call->out_counts, type);
    case GROUP_SCATTER:
        return data_group_scatter(own->data, in, call->in_counts, out, call->count, type,
                                  call->peer);
    default:
        return data_group_all_to_all(own->data, in, call->in_counts, out, call->out_counts, type);
    }
}

static void forward(struct diff_node *node)
{
    const struct group_node *own = node->extra;
    const struct diff_tensor *x = node->inputs[0], *y = node->outputs[0];
    if (own->call.kind == GROUP_BROADCAST)
        memcpy(y->storage->data, x->storage->data, x->count * diff_type_size(x->type));
    process_group_expect(own->group, run_collective(own, x->storage->data, x->count,
                                                    y->storage->data, process_group_type(x)));
}

/* What was sent without waiting, with the values until they are gone: a tape that is cleared does
 * not take them along. */
struct group_sending {
    struct group_sending *next;
    struct data_request *request;
    char values[];
};

void group_settle(struct process_group *group, bool all)
{
    struct group_sending **link = &group->sending;
    while (*link) {
        struct group_sending *sending = *link;
        bool done = true;
        process_group_expect(group, all ? data_request_wait(sending->request, NULL)
                                        : data_request_test(sending->request, &done, NULL));
        if (!done) {
            link = &sending->next;
            continue;
        }
        *link = sending->next;
        free(sending);
    }
}

static void send_later(const struct group_node *own, const struct diff_tensor *x)
{
    size_t bytes = x->count * diff_type_size(x->type);
    struct group_sending *sending = malloc(sizeof *sending + bytes);
    if (!sending)
        state_fail(x->tape->state, "X002", "a process group ran out of memory");
    memcpy(sending->values, x->storage->data, bytes);
    process_group_expect(own->group, data_group_isend(own->data, sending->values, x->count,
                                                      process_group_type(x), own->call.peer,
                                                      own->call.tag, &sending->request));
    sending->next = own->group->sending;
    own->group->sending = sending;
}

static void send_forward(struct diff_node *node)
{
    struct group_node *own = node->extra;
    const struct diff_tensor *x = node->inputs[0];
    const struct group_call *call = &own->call;
    enum data_type type = process_group_type(x);
    const void *values = x->storage->data;
    node_message(node, 0, KEY_SEND, call->peer, call->tag);
    if (call->later)
        send_later(own, x);
    else if (call->kind == GROUP_SEND)
        process_group_expect(
            own->group, data_group_send(own->data, values, x->count, type, call->peer, call->tag));
    else
        process_group_expect(own->group, data_group_isend(own->data, values, x->count, type,
                                                          call->peer, call->tag, &own->request));
}

/* The message is there: what is behind it in the buffer stays. */
static void arrived(struct group_node *own, const struct diff_tensor *buffer,
                    struct diff_node *node, const struct data_status *status)
{
    struct diff_tensor *y = own->result;
    size_t size = diff_type_size(y->type), front = status->count * size;
    own->received = status->count;
    own->source = status->source;
    y->arrival = node;
    node_message(node, 0, KEY_RECEIVE, own->source, own->call.tag);
    if (own->received < y->count)
        memcpy((char *)y->storage->data + front, (const char *)buffer->storage->data + front,
               y->count * size - front);
}

static void receive_forward(struct diff_node *node)
{
    struct group_node *own = node->extra;
    const struct group_call *call = &own->call;
    struct data_status status;
    void *values = own->result->storage->data;
    size_t count = own->result->count;
    enum data_type type = process_group_type(own->result);
    if (call->kind == GROUP_IRECV) {
        process_group_expect(own->group, data_group_irecv(own->data, values, count, type,
                                                          call->peer, call->tag, &own->request));
        return;
    }
    process_group_expect(own->group, data_group_receive(own->data, values, count, type, call->peer,
                                                        call->tag, &status));
    arrived(own, node->inputs[0], node, &status);
}

static void wait_forward(struct diff_node *node)
{
    struct diff_node *start = node->extra;
    struct group_node *own = start->extra;
    struct data_status status;
    bool right = data_request_wait(own->request, &status);
    own->request = NULL;
    process_group_expect(own->group, right);
    if (own->result)
        arrived(own, start->inputs[0], start, &status);
}

/* ---- adjoints ---- */

/* The same node's operation with another kind, on the adjoint group. */
static struct diff_tensor *opposite(const struct group_node *own, enum group_kind kind,
                                    struct diff_tensor *x)
{
    struct group_call call = own->call;
    call.kind = kind;
    call.op = PROCESS_SUM;
    call.in_counts = own->call.out_counts;
    call.out_counts = own->call.in_counts;
    return issue(own->group, own->group->adjoint, &call, x);
}

static struct diff_tensor *averaged(const struct group_node *own, struct diff_tensor *x)
{
    return own->call.op.kind == PROCESS_OP_AVG ? diff_scale(x, 1.0 / own->group->size) : x;
}

static struct diff_tensor *all_of(const struct group_node *own, struct diff_tensor *x)
{
    size_t *counts = process_group_take(own->group, (size_t)own->group->size * sizeof *counts);
    for (int i = 0; i < own->group->size; i++)
        counts[i] = x->count;
    struct group_call call = {.kind = GROUP_ALL_GATHER, .out_counts = counts};
    return issue(own->group, own->group->adjoint, &call, x);
}

/* From the sum of the cotangents of the whole combination to that of this rank's contribution. */
static struct diff_tensor *unfolded(const struct diff_node *node, struct diff_tensor *s)
{
    const struct group_node *own = node->extra;
    struct diff_tensor *x = node->inputs[0];
    if (is_linear(own->call.op))
        return averaged(own, s);
    return fold_adjoint(process_op_mpi(own->call.op), all_of(own, x), own->group->size,
                        own->group->rank, local_shaped_like(s, x));
}

static struct diff_tensor *cotangent_of_x(struct diff_node *node, struct diff_tensor *y_bar)
{
    const struct group_node *own = node->extra;
    bool root = own->group->rank == own->call.peer;
    switch (own->call.kind) {
    case GROUP_BROADCAST: {
        struct diff_tensor *sum = opposite(own, GROUP_REDUCE, y_bar);
        return root ? sum : NULL;
    }
    case GROUP_REDUCE: {
        struct diff_tensor *whole = root ? y_bar : tensor_zeros_like(node->inputs[0]);
        return unfolded(node, opposite(own, GROUP_BROADCAST, whole));
    }
    case GROUP_ALL_REDUCE:
        return unfolded(node, opposite(own, GROUP_ALL_REDUCE, y_bar));
    case GROUP_REDUCE_SCATTER: {
        struct group_call call = {.kind = GROUP_ALL_GATHER, .out_counts = own->call.out_counts};
        return unfolded(node, issue(own->group, own->group->adjoint, &call, y_bar));
    }
    case GROUP_GATHER: {
        struct group_call call = {.kind = GROUP_SCATTER,
                                  .peer = own->call.peer,
                                  .count = node->inputs[0]->count,
                                  .in_counts = own->call.out_counts};
        return issue(own->group, own->group->adjoint, &call, y_bar);
    }
    case GROUP_ALL_GATHER: {
        struct group_call call = {
            .kind = GROUP_REDUCE_SCATTER, .op = PROCESS_SUM, .out_counts = own->call.out_counts};
        return issue(own->group, own->group->adjoint, &call, y_bar);
    }
    case GROUP_SCATTER: {
        struct diff_tensor *all = opposite(own, GROUP_GATHER, y_bar);
        return root ? all : NULL;
    }
    default:
        return opposite(own, GROUP_ALL_TO_ALL, y_bar);
    }
}

static void adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                    struct diff_tensor **x_bar)
{
    const struct group_node *own = node->extra;
    group_settle(own->group, false);
    struct diff_tensor *result =
        cotangent_of_x(node, cotangent_or_zeros(y_bar[0], node->outputs[0]));
    x_bar[0] = result ? local_shaped_like(result, node->inputs[0]) : NULL;
}

static void send_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                         struct diff_tensor **x_bar)
{
    const struct group_node *own = node->extra;
    struct group_call call = {.kind = GROUP_RECEIVE, .peer = own->call.peer, .tag = own->call.tag};
    (void)y_bar;
    x_bar[0] = issue(own->group, own->group->adjoint, &call, tensor_zeros_like(node->inputs[0]));
}

/* Sends the front of the cotangent back. */
static void send_back(const struct group_node *own, struct diff_tensor *y_bar)
{
    struct group_call call = {
        .kind = GROUP_SEND, .peer = own->source, .tag = own->call.tag, .later = true};
    struct diff_tensor *whole = cotangent_or_zeros(y_bar, own->result);
    struct diff_tensor *flat = local_shaped(whole, 1, &whole->count);
    issue(own->group, own->group->adjoint, &call, local_window(flat, 0, own->received));
}

/* What was behind the message belongs to the buffer's old content; NULL where there is nothing. */
static struct diff_tensor *tail(const struct diff_node *node, struct diff_tensor *y_bar)
{
    const struct group_node *own = node->extra;
    if (!y_bar || own->received == y_bar->count)
        return NULL;
    struct diff_tensor *flat = local_shaped(y_bar, 1, &y_bar->count);
    struct diff_tensor *end = local_window(flat, own->received, y_bar->count - own->received);
    return local_shaped_like(local_pad(end, own->received, y_bar->count), node->inputs[0]);
}

static void receive_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                            struct diff_tensor **x_bar)
{
    send_back(node->extra, y_bar[0]);
    x_bar[0] = tail(node, y_bar[0]);
}

static void wait_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                         struct diff_tensor **x_bar)
{
    x_bar[0] = request_adjoint(node->extra, y_bar[0]);
}

static void irecv_launch(struct diff_node *node, struct diff_request *adjoint)
{
    send_back(node->extra, adjoint->y_bar);
}

static void irecv_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                          struct diff_tensor **x_bar)
{
    x_bar[0] = tail(node, request_launched(node, y_bar[0])->y_bar);
}

/* The receive stands where the send was initiated, which is the order the others send in. */
static void isend_launch(struct diff_node *node, struct diff_request *adjoint)
{
    (void)node, (void)adjoint;
}

static void isend_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                          struct diff_tensor **x_bar)
{
    request_launched(node, y_bar[0]);
    send_adjoint(node, y_bar, x_bar);
}

/* ---- tangents ---- */

static void tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                    struct diff_tensor **y_dot)
{
    const struct group_node *own = node->extra;
    struct process_group *group = own->group;
    struct diff_tensor *x = node->inputs[0], *y = node->outputs[0];
    struct diff_tensor *dot = cotangent_or_zeros(x_dot[0], x);
    if (is_linear(own->call.op)) {
        y_dot[0] = issue(group, group->adjoint, &own->call, dot);
        return;
    }
    struct diff_tensor *whole = fold_tangent(process_op_mpi(own->call.op), all_of(own, x),
                                             all_of(own, dot), group->size, group->size - 1);
    size_t begin = 0;
    for (int i = 0; own->call.kind == GROUP_REDUCE_SCATTER && i < group->rank; i++)
        begin += own->call.out_counts[i];
    struct diff_tensor *flat = local_shaped(whole, 1, &whole->count);
    y_dot[0] = local_shaped_like(local_window(flat, begin, y->count), y);
}

static void message_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                            struct diff_tensor **y_dot)
{
    const struct group_node *own = node->extra;
    struct group_call call = own->call;
    if (call.kind == GROUP_RECEIVE || call.kind == GROUP_IRECV)
        call.peer = own->source;
    y_dot[0] = issue(own->group, own->group->adjoint, &call,
                     cotangent_or_zeros(x_dot[0], node->inputs[0]));
}

static void wait_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                         struct diff_tensor **y_dot)
{
    struct diff_node *start = node->extra;
    const struct group_node *own = start->extra;
    y_dot[0] = x_dot[0] ? group_wait(own->group, x_dot[0]) : NULL;
}

/* ---- rows ---- */

#define ROW(name_, kind_, forward_, adjoint_, tangent_, launch_)                                   \
    {                                                                                              \
        .name = (name_), .kind = (kind_), .saves = SAVES_INPUTS, .communicates = true,             \
        .forward = (forward_), .adjoint = (adjoint_), .tangent = (tangent_), .launch = (launch_)   \
    }

static const struct diff_operation operations[GROUP_KINDS] = {
    [GROUP_BROADCAST] = ROW("Broadcast", OP_BCAST, forward, adjoint, tangent, NULL),
    [GROUP_REDUCE] = ROW("Reduce", OP_REDUCE, forward, adjoint, tangent, NULL),
    [GROUP_ALL_REDUCE] = ROW("All_reduce", OP_ALLREDUCE, forward, adjoint, tangent, NULL),
    [GROUP_REDUCE_SCATTER] =
        ROW("Reduce_scatter", OP_REDUCE_SCATTER, forward, adjoint, tangent, NULL),
    [GROUP_GATHER] = ROW("Gather", OP_GATHER, forward, adjoint, tangent, NULL),
    [GROUP_ALL_GATHER] = ROW("All_gather", OP_ALLGATHER, forward, adjoint, tangent, NULL),
    [GROUP_SCATTER] = ROW("Scatter", OP_SCATTER, forward, adjoint, tangent, NULL),
    [GROUP_ALL_TO_ALL] = ROW("All_to_all", OP_ALLTOALL, forward, adjoint, tangent, NULL),
    [GROUP_SEND] = ROW("Send", OP_SEND, send_forward, send_adjoint, message_tangent, NULL),
    [GROUP_RECEIVE] =
        ROW("Receive", OP_RECV, receive_forward, receive_adjoint, message_tangent, NULL),
    [GROUP_ISEND] =
        ROW("Isend", OP_ISEND, send_forward, isend_adjoint, message_tangent, isend_launch),
    [GROUP_IRECV] =
        ROW("Irecv", OP_IRECV, receive_forward, irecv_adjoint, message_tangent, irecv_launch),
    [GROUP_WAIT] = ROW("Wait", OP_WAIT, wait_forward, wait_adjoint, wait_tangent, NULL),
};

/* ---- issuing ---- */

static size_t result_count(const struct process_group *group, const struct group_call *call,
                           const struct diff_tensor *x)
{
    bool root = group->rank == call->peer;
    switch (call->kind) {
    case GROUP_REDUCE:
        return root ? x->count : 0;
    case GROUP_REDUCE_SCATTER:
        return call->out_counts[group->rank];
    case GROUP_GATHER:
        return root ? process_group_total(group, call->out_counts) : 0;
    case GROUP_ALL_GATHER:
    case GROUP_ALL_TO_ALL:
        return process_group_total(group, call->out_counts);
    case GROUP_SCATTER:
        return call->count;
    case GROUP_SEND:
        return 0;
    default:
        return x->count;
    }
}

static const size_t *copied(const struct process_group *group, const size_t *counts)
{
    if (!counts)
        return NULL;
    size_t *copy = process_group_take(group, (size_t)group->size * sizeof *copy);
    memcpy(copy, counts, (size_t)group->size * sizeof *copy);
    return copy;
}

static struct diff_tensor *issue(struct process_group *group, struct data_group *data,
                                 const struct group_call *call, struct diff_tensor *x)
{
    struct diff_node *node = node_begin(&operations[call->kind], 1, &x);
    struct group_node *own = node_take(node, sizeof *own);
    bool handle = call->kind == GROUP_ISEND || call->kind == GROUP_IRECV;
    bool reduces = call->kind == GROUP_REDUCE || call->kind == GROUP_ALL_REDUCE ||
                   call->kind == GROUP_REDUCE_SCATTER;
    *own = (struct group_node){.group = group, .data = data, .call = *call, .source = call->peer};
    own->call.in_counts = copied(group, call->in_counts);
    own->call.out_counts = copied(group, call->out_counts);
    node->extra = own;
    node->channel = data == group->data ? group->forward_keys : group->adjoint_keys;
    if (!reduces || is_linear(call->op))
        node->saves = SAVES_NOTHING;
    struct diff_tensor *y;
    if (handle) {
        struct diff_request *request = request_new(x->tape, node);
        own->result = call->kind == GROUP_IRECV ? tensor_new_like(x) : NULL;
        request->result = own->result;
        y = tensor_handle(x->tape, request);
    } else {
        size_t count = result_count(group, call, x);
        y = count == x->count ? tensor_new_like(x) : tensor_new_flat(x->tape, x->type, count);
        if (call->kind == GROUP_RECEIVE)
            own->result = y;
    }
    node_output(node, y);
    node_run(node);
    return y;
}

struct diff_tensor *group_issue(struct process_group *group, const struct group_call *call,
                                struct diff_tensor *x)
{
    group_settle(group, false);
    return issue(group, group->data, call, x);
}

struct diff_tensor *group_wait(struct process_group *group, struct diff_tensor *handle)
{
    struct diff_request *request = request_take(handle, "wait");
    struct diff_node *node = node_begin(&operations[GROUP_WAIT], 1, &handle);
    (void)group;
    node->extra = request->start;
    node->saves = SAVES_NOTHING;
    struct diff_tensor *y =
        request->result ? request->result : tensor_new_flat(handle->tape, DIFF_DOUBLE, 0);
    node_output(node, y);
    node_run(node);
    return y;
}

int group_operation_source(const struct diff_tensor *received)
{
    const struct diff_node *node = received->arrival;
    if (!node || node->operation->forward != receive_forward)
        return -1;
    return ((const struct group_node *)node->extra)->source;
}
