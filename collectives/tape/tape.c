/* The tape and its nodes: see tape.h. */
#include "collectives/tape/tape.h"

#include "collectives/experiment/mutant.h"
#include "collectives/experiment/probe.h"
#include "collectives/tape/trace_node.h"
#include "collectives/windows/window.h"
#include "recorder/recorder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Messages of one key, newest last: between the same two ranks, one way, with one tag, on one
 * channel. */
struct key_slot {
    const struct diff_channel *channel; /* NULL: free */
    int peer, tag;
    enum key_direction direction;
    uint32_t count;
    struct key_link *last;
};

struct diff_tape *diff_tape_new(MPI_Comm comm)
{
    struct diff_state *state = state_get();
    ENTER(state);
    struct diff_tape *tape = calloc(1, sizeof *tape);
    if (!tape)
        state_fail(state, "X002", "the differentiable library ran out of memory");
    arena_init(&tape->arena);
    arena_init(&tape->fixed);
    if (state->row) /* a world that is one of many */
        tape->arena.pool = tape->fixed.pool = &state->row->blocks;
    tape->state = state;
    tape->comm = comm;
    tape->order =
        state->order_override >= 0 ? (enum diff_order)state->order_override : DIFF_ORDER_PROGRAM;
    tape->epoch = state->epochs++;
    tape->next = state->tapes;
    state->tapes = tape;
    channel_register(tape, comm);
    state_leave(state);
    return tape;
}

static void nodes_forget(struct diff_tape *tape)
{
    tape->first = tape->last = NULL;
    tape->sequence = 0;
    tape->recorded_passes = 0;
    tape->retained = NULL;
    if (tape->keys)
        memset(tape->keys, 0, tape->key_room * sizeof *tape->keys);
    tape->key_count = 0;
    channel_clear_all(tape);
    window_forget_all(tape);
}

void tape_empty(struct diff_tape *tape)
{
    nodes_forget(tape);
    arena_clear(&tape->arena);
}

void diff_tape_clear(struct diff_tape *tape)
{
    window_check_idle(tape, "diff_tape_clear");
    tape_empty(tape);
    tape->epoch = tape->state->epochs++;
}

void diff_tape_free(struct diff_tape *tape)
{
    if (!tape)
        return;
    struct diff_state *state = tape->state;
    ENTER(state);
    window_check_idle(tape, "diff_tape_free");
    diff_tape_free(tape->inner);
    window_release_all(tape);
    channel_release_all(tape);
    struct diff_tape **link = &state->tapes;
    while (*link != tape)
        link = &(*link)->next;
    *link = tape->next;
    state_tape_release(tape);
    state_leave(state);
}

void diff_tape_order(struct diff_tape *tape, enum diff_order order)
{
    if (tape->state->order_override < 0)
        tape->order = order;
}

void diff_comm_register(struct diff_tape *tape, MPI_Comm comm)
{
    ENTER(tape->state);
    channel_find(tape, comm, true);
    state_leave(tape->state);
}

void diff_no_grad_begin(struct diff_tape *tape)
{
    tape->state->no_grad++;
}

void diff_no_grad_end(struct diff_tape *tape)
{
    if (tape->state->no_grad == 0)
        state_fail(tape->state, "M009", "diff_no_grad_end without its begin");
    tape->state->no_grad--;
}

/* ---- nodes ---- */

const char *node_text(const struct diff_node *node, char *text, size_t size)
{
    snprintf(text, size, "node %u (%s)", (unsigned)node->sequence, node->operation->name);
    return text;
}

void node_fail(const struct diff_node *node, const char *code, const char *format, ...)
{
    char what[300], who[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    state_fail(node->tape->state, code, "%s: %s", node_text(node, who, sizeof who), what);
}

void node_tangent_missing(const struct diff_node *node, const char *why)
{
    const struct diff_state *state = node->tape->state;
    if (!state->probe || !state->probe->tangent)
        node_fail(node, "M009", "%s", why);
    state->row->tangent_missing = true;
}

void *node_take(struct diff_node *node, size_t size)
{
    return arena_take_zeroed(&node->tape->arena, size);
}

struct diff_node *node_begin_many(struct diff_tape *tape, const struct diff_operation *operation,
                                  uint32_t output_most, uint32_t input_count,
                                  struct diff_tensor *const *inputs)
{
    size_t pointers = input_count + output_most;
    struct diff_node *node = arena_take(
        &tape->arena, sizeof *node + pointers * (sizeof *inputs + sizeof *node->versions));
    memset(node, 0, sizeof *node);
    node->operation = operation;
    node->saves = operation->saves;
    node->tape = tape;
    node->site = tape->state->site;
    node->inputs = (struct diff_tensor **)(node + 1);
    node->outputs = node->inputs + input_count;
    node->versions = (uint32_t *)(node->outputs + output_most);
    node->input_count = input_count;
    for (int i = 0; i < NODE_LINKS; i++)
        node->links[i] = (struct key_link){.node = node, .peer = -1};
    for (uint32_t i = 0; i < input_count; i++) {
        node->inputs[i] = inputs[i];
        if (inputs[i]->tape != tape)
            state_fail(tape->state, "M009", "%s mixes tensors of two tapes", operation->name);
        if (inputs[i]->type == DIFF_HANDLE && operation->kind == OP_COMPUTE &&
            !operation->takes_handles)
            state_fail(tape->state, "M009", "%s of a handle: what it stands for is not there yet",
                       operation->name);
    }
    return node;
}

struct diff_node *node_begin_on(struct diff_tape *tape, const struct diff_operation *operation,
                                uint32_t input_count, struct diff_tensor *const *inputs)
{
    return node_begin_many(tape, operation, 2, input_count, inputs);
}

struct diff_node *node_begin(const struct diff_operation *operation, uint32_t input_count,
                             struct diff_tensor *const *inputs)
{
    return node_begin_on(inputs[0]->tape, operation, input_count, inputs);
}

struct diff_tensor *node_output(struct diff_node *node, struct diff_tensor *tensor)
{
    tensor->output = node->output_count;
    node->outputs[node->output_count++] = tensor;
    return tensor;
}

static void node_activity_decide(struct diff_node *node)
{
    struct diff_tape *tape = node->tape;
    const struct diff_state *state = tape->state;
    if (state->no_grad > 0 || probe_needs_no_tape(state))
        return;
    if (state->mutant == MUTANT_GATHER_UNTAPED && node->operation->kind == OP_GATHER)
        return;
    bool needed = node->operation->communicates && tape->order == DIFF_ORDER_PROGRAM;
    for (uint32_t i = 0; i < node->input_count && !needed; i++)
        needed = node->inputs[i]->requires_gradient;
    node->active = needed;
    node->on_tape = needed || node->operation->communicates;
}

static void node_link(struct diff_node *node)
{
    struct diff_tape *tape = node->tape;
    node->sequence = ++tape->sequence;
    node->previous = tape->last;
    if (tape->last)
        tape->last->next = node;
    else
        tape->first = node;
    tape->last = node;
    for (uint32_t i = 0; i < node->output_count; i++) {
        node->outputs[i]->node = node;
        node->outputs[i]->requires_gradient = node->active;
    }
}

static void node_record(struct diff_node *node)
{
    node->record = record_node(node->operation->name, node->operation->kind, 0, 0, node->site);
    if (!node->record)
        return;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct diff_tensor *x = node->inputs[i];
        bool order = x->type == DIFF_HANDLE || (node->order_only && i > 0);
        if (x->node && x->node->record)
            record_edge(x->node->record, node->record, order ? EDGE_ORDER : EDGE_DATA);
    }
}

static void versions_note(struct diff_node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++)
        node->versions[i] = node->inputs[i]->storage->version;
    for (uint32_t i = 0; i < node->output_count; i++)
        node->versions[node->input_count + i] = node->outputs[i]->storage->version;
}

void node_run(struct diff_node *node)
{
    node_activity_decide(node);
    if (!node->on_tape) {
        const struct diff_tape *tape = node->tape;
        if (node->operation->communicates && !tape->in_backward && !tape->outer)
            tape->state->off_tape = true;
        node->operation->forward(node);
        return;
    }
    node_link(node);
    if (node->tape->state->recorded) {
        node_record(node);
        probe_keep_record(node->tape->state, node->tape->epoch, node->sequence, node->record);
        record_node_enter(node->record);
        node->operation->forward(node);
        record_node_leave(node->record);
        probe_keep_position(node->tape->state);
    } else {
        node->operation->forward(node);
    }
    versions_note(node);
    trace_forward(node);
}

struct diff_tensor *node_unary(const struct diff_operation *operation, struct diff_tensor *x)
{
    struct diff_node *node = node_begin(operation, 1, &x);
    struct diff_tensor *y = node_output(node, tensor_new_like(x));
    node_run(node);
    return y;
}

struct diff_tensor *node_binary(const struct diff_operation *operation, struct diff_tensor *a,
                                struct diff_tensor *b)
{
    if (a->type != b->type)
        state_fail(a->tape->state, "M009", "%s of %s and %s tensors", operation->name,
                   diff_type_name(a->type), diff_type_name(b->type));
    if (a->count != b->count)
        state_fail(a->tape->state, "M009", "%s of tensors with %zu and %zu values", operation->name,
                   a->count, b->count);
    struct diff_node *node = node_begin(operation, 2, (struct diff_tensor *[]){a, b});
    struct diff_tensor *y = node_output(node, tensor_new_like(a));
    node_run(node);
    return y;
}

/* ---- order of initiation ---- */

void node_collective(struct diff_node *node)
{
    struct diff_channel *channel = node->channel;
    struct key_link *link = &node->links[0];
    link->used = true;
    link->ordinal = channel->collectives++;
    if (!node->on_tape)
        return;
    link->earlier = channel->last_collective;
    if (link->earlier)
        link->earlier->later = link;
    channel->last_collective = link;
    trace_place(node);
}

static size_t key_hash(const struct diff_channel *channel, enum key_direction direction, int peer,
                       int tag)
{
    uint64_t hash = (uint64_t)(uintptr_t)channel >> 6;
    hash = hash * 0x9e3779b97f4a7c15u + (unsigned)peer;
    hash = hash * 0x9e3779b97f4a7c15u + (unsigned)tag;
    hash = hash * 0x9e3779b97f4a7c15u + (unsigned)direction;
    return (size_t)(hash >> 20);
}

static struct key_slot *key_probe(struct key_slot *keys, size_t room, const struct key_slot *want)
{
    size_t i = key_hash(want->channel, want->direction, want->peer, want->tag) & (room - 1);
    while (keys[i].channel && !(keys[i].channel == want->channel && keys[i].peer == want->peer &&
                                keys[i].tag == want->tag && keys[i].direction == want->direction))
        i = (i + 1) & (room - 1);
    return &keys[i];
}

static void keys_grow(struct diff_tape *tape)
{
    size_t room = tape->key_room ? tape->key_room * 2 : 16;
    struct key_slot *keys = calloc(room, sizeof *keys);
    if (!keys)
        state_fail(tape->state, "X002", "the differentiable library ran out of memory");
    for (size_t i = 0; i < tape->key_room; i++)
        if (tape->keys[i].channel)
            *key_probe(keys, room, &tape->keys[i]) = tape->keys[i];
    free(tape->keys);
    tape->keys = keys;
    tape->key_room = room;
}

/* Messages match in the order of initiation, though they may be known in another. */
static void key_insert(struct key_slot *slot, struct key_link *link)
{
    struct key_link *later = NULL, *earlier = slot->last;
    link->ordinal = slot->count++;
    for (; earlier && earlier->node->sequence > link->node->sequence; earlier = earlier->earlier) {
        later = earlier;
        earlier->ordinal++;
        link->ordinal--;
    }
    link->earlier = earlier;
    link->later = later;
    if (earlier)
        earlier->later = link;
    if (later)
        later->earlier = link;
    else
        slot->last = link;
}

void node_message(struct diff_node *node, int number, enum key_direction direction, int peer,
                  int tag)
{
    struct diff_tape *tape = node->tape;
    struct key_link *link = &node->links[number];
    link->used = true;
    link->sends = direction == KEY_SEND;
    link->peer = peer;
    link->tag = tag;
    if (!node->on_tape)
        return;
    if (tape->key_count * 2 >= tape->key_room)
        keys_grow(tape);
    struct key_slot want = {
        .channel = node->channel, .peer = peer, .tag = tag, .direction = direction};
    struct key_slot *slot = key_probe(tape->keys, tape->key_room, &want);
    if (!slot->channel) {
        *slot = want;
        tape->key_count++;
    }
    key_insert(slot, link);
    trace_place(node);
}
