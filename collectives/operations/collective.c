/* What collectives share: see collective.h. */
#include "collectives/operations/collective.h"

#include "collectives/arithmetic/fold.h"
#include "collectives/experiment/mutant.h"
#include "collectives/operations/message.h"
#include "collectives/tape/trace_node.h"
#include "recorder/recorder.h"

#include <stdlib.h>
#include <string.h>

MPI_Op collective_mpi_op(MPI_Op op)
{
    return op == DIFF_AVG ? MPI_SUM : op;
}

bool collective_op_is_linear(MPI_Op op)
{
    return op == MPI_SUM || op == DIFF_AVG;
}

static const struct diff_user_op *user_op_find(const struct diff_state *state, MPI_Op op)
{
    const struct diff_user_op *known = state->user_ops;
    while (known && known->op != op)
        known = known->next;
    return known;
}

static const char *refusal(const struct diff_tensor *x, MPI_Op op)
{
    if (collective_op_is_linear(op) || op == MPI_PROD)
        return NULL;
    if (op == MPI_MAX || op == MPI_MIN || op == MPI_MINLOC || op == MPI_MAXLOC)
        return diff_type_is_complex(x->type) ? "complex numbers have no order" : NULL;
    if (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR || op == MPI_BAND || op == MPI_BOR ||
        op == MPI_BXOR)
        return "logical and bitwise operations have no derivative";
    return user_op_find(x->tape->state, op)
               ? NULL
               : "the operation has no registered derivative: call diff_op_register";
}

void collective_op_check(struct diff_tensor *x, MPI_Op op, const char *name)
{
    const char *reason = refusal(x, op);
    if (reason)
        state_fail(x->tape->state, "M009", "%s: %s", name, reason);
}

void diff_op_register(MPI_Op op, const struct diff_op_rules *rules)
{
    struct diff_state *state = state_get();
    struct diff_user_op *entry = calloc(1, sizeof *entry);
    if (!entry)
        state_fail(state, "X002", "the differentiable library ran out of memory");
    *entry = (struct diff_user_op){.next = state->user_ops, .op = op, .rules = *rules};
    state->user_ops = entry;
}

/* ---- MINLOC and MAXLOC: values and indices travel as pairs ---- */

struct float_int {
    float value;
    int index;
};
struct double_int {
    double value;
    int index;
};

static bool has_index(const struct collective *collective)
{
    return collective->op == MPI_MINLOC || collective->op == MPI_MAXLOC;
}

MPI_Datatype collective_type(const struct collective *collective)
{
    if (!has_index(collective))
        return diff_type_mpi(collective->type);
    return collective->type == DIFF_FLOAT ? MPI_FLOAT_INT : MPI_DOUBLE_INT;
}

/* The pairs of x, with room for so many: IN_PLACE they are received over. */
static void *pairs_pack(const struct diff_node *node, const struct collective *collective,
                        const struct diff_tensor *x, size_t room)
{
    struct arena *arena = &node->tape->arena;
    size_t count = x->count > room ? x->count : room;
    struct double_int *wide = arena_take_zeroed(arena, (count + 1) * sizeof *wide);
    struct float_int *narrow = (struct float_int *)(void *)wide;
    for (size_t i = 0; i < x->count; i++) {
        int index = collective->index_in ? collective->index_in[i] : node->channel->rank;
        if (collective->type == DIFF_FLOAT)
            narrow[i] = (struct float_int){(float)tensor_part(x, i), index};
        else
            wide[i] = (struct double_int){tensor_part(x, i), index};
    }
    return wide;
}

static void pairs_unpack(const struct collective *collective, struct diff_tensor *y)
{
    const struct double_int *wide = collective->pairs;
    const struct float_int *narrow = collective->pairs;
    for (size_t i = 0; i < y->count; i++) {
        bool single = collective->type == DIFF_FLOAT;
        tensor_part_set(y, i, single ? (double)narrow[i].value : wide[i].value);
        if (collective->index_out)
            collective->index_out[i] = single ? narrow[i].index : wide[i].index;
    }
}

/* ---- forward ---- */

static void average(const struct collective *collective, struct diff_tensor *y)
{
    double factor = 1.0 / collective->channel->peers;
    size_t parts = y->count * diff_type_parts(y->type);
    REAL_SWITCH(diff_type_real(y->type), {
        T *values = y->storage->data;
        for (size_t i = 0; i < parts; i++)
            values[i] *= (T)factor;
    })
}

static void result_complete(const struct collective *collective, struct diff_tensor *y)
{
    if (has_index(collective))
        pairs_unpack(collective, y);
    if (collective->op == DIFF_AVG)
        average(collective, y);
}

static void collective_arrived(struct diff_request *request, const MPI_Status *status)
{
    (void)status;
    const struct collective *collective = request->start->extra;
    struct diff_tensor *y = request->result;
    if (collective->persistent)
        persistent_arrived(collective, has_index(collective) ? collective->pairs : y->storage->data,
                           y->count);
    result_complete(collective, y);
}

void collective_forward(struct diff_node *node)
{
    struct collective *collective = node->extra;
    const struct diff_tensor *x = node->inputs[0];
    struct diff_tensor *y =
        collective->nonblocking ? collective->request->result : node->outputs[0];
    bool receives = collective->rule->receives_in_place;
    const void *send = collective->in_place && !receives ? MPI_IN_PLACE : x->storage->data;
    void *receive = collective->in_place && receives ? MPI_IN_PLACE : y->storage->data;
    node_collective(node);
    if (has_index(collective)) {
        collective->pairs = pairs_pack(node, collective, x, y->count);
        receive = collective->pairs;
        if (!collective->in_place)
            send = pairs_pack(node, collective, x, 0);
    }
    if (collective->persistent)
        persistent_start(collective, send, x->count, receive, y->count);
    else
        collective->rule->call(collective, send, receive,
                               collective->nonblocking ? &collective->request->mpi : NULL);
    if (!collective->nonblocking)
        result_complete(collective, y);
}

static struct diff_tensor *result_make(struct diff_node *node, const struct collective *collective,
                                       struct diff_tensor *x)
{
    size_t count = collective->result_count;
    if (collective->in_place)
        return tensor_take_over(x, collective->own_read ? 0 : collective->own_begin, count);
    return count == x->count ? tensor_new_like(x)
                             : tensor_new_flat(node->tape, collective->type, count);
}

struct diff_tensor *collective_issue(const struct collective *spec, struct diff_tensor *x)
{
    const struct collective_rule *rule = spec->rule;
    struct diff_node *node = node_begin(spec->persistent    ? &rule->persistent
                                        : spec->nonblocking ? &rule->nonblocking
                                                            : &rule->blocking,
                                        1, &x);
    struct collective *collective = arena_take(&x->tape->arena, sizeof *collective);
    *collective = *spec;
    collective->type = x->type;
    node->extra = collective;
    node->channel = spec->channel;
    if (collective_op_is_linear(spec->op) || !spec->op)
        node->saves = SAVES_NOTHING;
    struct diff_tensor *y = result_make(node, collective, x);
    if (spec->nonblocking) {
        struct diff_request *request = request_new(x->tape, node);
        request->result = y;
        request->buffer = x;
        request->arrived = collective_arrived;
        if (spec->persistent)
            request->at = persistent_request(spec->persistent);
        collective->request = request;
        y = tensor_handle(x->tape, request);
    }
    node_output(node, y);
    node_run(node);
    return y;
}

/* ---- adjoint ---- */

struct collective collective_for_adjoint(const struct diff_node *node,
                                         const struct collective_rule *rule)
{
    const struct collective *collective = node->extra;
    struct diff_channel *channel = channel_adjoint(node->channel);
    return (struct collective){.rule = rule,
                               .channel = channel,
                               .op = MPI_SUM,
                               .root = collective->root,
                               .nonblocking = collective->nonblocking,
                               .count = collective->count};
}

struct collective collective_for_tangent(const struct diff_node *node)
{
    struct collective spec = *(const struct collective *)node->extra;
    spec.channel = channel_adjoint(node->channel);
    spec.request = NULL;
    spec.persistent = NULL;
    spec.in_place = false;
    return spec;
}

static struct collective gather_spec(const struct diff_node *node, const struct diff_tensor *x)
{
    struct collective spec = collective_for_adjoint(node, &rule_allgather);
    if (spec.channel->own)
        spec.channel = spec.channel->own;
    spec.count = x->count;
    spec.result_count = x->count * (size_t)node->channel->size;
    return spec;
}

struct diff_tensor *collective_gather_inputs(struct diff_node *node)
{
    struct collective spec = gather_spec(node, node->inputs[0]);
    return collective_issue(&spec, node->inputs[0]);
}

struct diff_tensor *collective_gather(const struct diff_node *node, struct diff_tensor *x)
{
    struct collective spec = gather_spec(node, x);
    spec.nonblocking = false;
    return collective_issue(&spec, x);
}

bool collective_is_root(const struct diff_node *node)
{
    const struct collective *collective = node->extra;
    bool wrong = node->tape->state->mutant == MUTANT_ROOT_WORLD;
    return channel_is_root(wrong ? node->tape->channels : node->channel, collective->root);
}

bool collective_is_member(const struct collective *collective)
{
    return !collective->channel->intercomm || collective->root >= 0;
}

int collective_count_in(const struct collective *collective)
{
    return (int)(collective->channel->intercomm ? collective->count_in : collective->count);
}

struct diff_tensor *collective_fold_across(const struct diff_node *node, struct diff_tensor *x_dot)
{
    const struct collective *collective = node->extra;
    struct collective spec = collective_for_tangent(node);
    int size = node->channel->size;
    spec.op = MPI_SUM;
    if (!collective_is_member(collective))
        return collective_issue(&spec, x_dot);
    struct diff_tensor *whole =
        fold_tangent(collective->op, collective_gather(node, node->inputs[0]),
                     collective_gather(node, x_dot), size, size - 1);
    /* All of the group hold it: the first one's counts. */
    return collective_issue(&spec, node->channel->rank == 0 ? whole : tensor_zeros_like(whole));
}

struct diff_tensor *collective_part(struct diff_tensor *part)
{
    return part && part->type == DIFF_HANDLE ? message_wait(part) : part;
}

struct diff_tensor *collective_y_bar(const struct diff_node *node,
                                     const struct diff_request *adjoint)
{
    const struct collective *collective = node->extra;
    const struct diff_tensor *y =
        collective->nonblocking ? collective->request->result : node->outputs[0];
    return cotangent_or_zeros(adjoint->y_bar, y);
}

void collective_launch(struct diff_node *node, struct diff_request *adjoint)
{
    const struct collective *collective = node->extra;
    collective->rule->launch(node, adjoint);
}

static struct diff_tensor *finished(struct diff_node *node, struct diff_request *adjoint)
{
    const struct collective *collective = node->extra;
    struct diff_tensor *x = node->inputs[0];
    struct diff_tensor *x_bar = collective->rule->finish(node, adjoint);
    if (x_bar && x_bar->count != x->count) /* IN_PLACE: only the own block was read */
        x_bar = local_pad(x_bar, collective->own_begin, x->count);
    return x_bar ? local_shaped_like(x_bar, x) : NULL;
}

static bool is_zero(const struct diff_tensor *y_bar)
{
    for (size_t i = 0; y_bar && i < y_bar->count * diff_type_parts(y_bar->type); i++)
        if (tensor_part(y_bar, i) != 0)
            return false;
    return true;
}

void collective_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                        struct diff_tensor **x_bar)
{
    struct diff_request adjoint = {.start = node, .y_bar = y_bar[0]};
    if (node->tape->state->mutant == MUTANT_ZERO_SHORTCUT && is_zero(y_bar[0]))
        return;
    collective_launch(node, &adjoint);
    x_bar[0] = finished(node, &adjoint);
}

void collective_adjoint_started(struct diff_node *node, struct diff_tensor *const *y_bar,
                                struct diff_tensor **x_bar)
{
    x_bar[0] = finished(node, request_launched(node, y_bar[0]));
}

void collective_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                        struct diff_tensor **y_dot)
{
    const struct collective *collective = node->extra;
    struct diff_tensor *dot = cotangent_or_zeros(x_dot[0], node->inputs[0]);
    if (collective->in_place && collective->own_read)
        dot = local_window(local_shaped(dot, 1, &dot->count), collective->own_begin,
                           collective->own_count);
    y_dot[0] = collective->rule->tangent(node, dot);
}
