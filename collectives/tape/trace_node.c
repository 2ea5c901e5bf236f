/* Tracing of nodes into the probe: see trace_node.h. */
#include "collectives/tape/trace_node.h"

#include "collectives/experiment/probe.h"
#include "collectives/tape/operation.h"
#include "collectives/tape/state.h"
#include "collectives/tape/tensor.h"

#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void no_memory(struct diff_state *state)
{
    state_fail(state, "X002", "the differentiable library ran out of memory");
}

static double *parts_of(struct diff_state *state, const struct diff_tensor *x)
{
    size_t parts = x->count * diff_type_parts(x->type);
    double *copy = malloc((parts + 1) * sizeof *copy);
    if (!copy)
        no_memory(state);
    for (size_t i = 0; i < parts; i++)
        copy[i] = tensor_part(x, i);
    return copy;
}

static struct probe_value value_of(struct diff_state *state, const struct diff_tensor *x)
{
    struct probe_value value = {.parts = x->count * diff_type_parts(x->type)};
    if (x->node) {
        value.node = x->node->sequence;
        value.output = x->output;
    } else if (x->input != SIZE_MAX) {
        value.input = (uint32_t)x->input + 1;
    }
    value.handle = x->type == DIFF_HANDLE;
    value.untracked = !x->requires_gradient && x->type != DIFF_HANDLE;
    if (!x->node && !value.handle)
        value.values = parts_of(state, x);
    return value;
}

static void place_fill(struct probe_node *entry, const struct diff_node *node)
{
    const struct diff_channel *channel = node->channel;
    for (int i = 0; i < NODE_LINKS && channel; i++) {
        const struct key_link *link = &node->links[i];
        if (!link->used)
            continue;
        int self = MPIX_World_rank(), peer = -1;
        if (link->peer >= 0 && channel->world)
            peer = channel->world[link->peer];
        bool message = link->peer >= 0;
        entry->places[i] = (struct probe_place){.channel = channel->id,
                                                .source = !message      ? -1
                                                          : link->sends ? self
                                                                        : peer,
                                                .target = !message      ? -1
                                                          : link->sends ? peer
                                                                        : self,
                                                .tag = link->tag,
                                                .ordinal = link->ordinal};
    }
}

void trace_forward(struct diff_node *node)
{
    struct diff_state *state = node->tape->state;
    if (!state->probe || !state->probe->trace || !node->on_tape || state->row->carrying)
        return;
    struct diff_probe_rank *row = state->row;
    if (row->node_count == row->node_room) {
        row->node_room = row->node_room ? row->node_room * 2 : 64;
        row->nodes = realloc(row->nodes, row->node_room * sizeof *row->nodes);
        if (!row->nodes)
            no_memory(state);
    }
    struct probe_node *entry = &row->nodes[row->node_count++];
    *entry = (struct probe_node){.function = state->function,
                                 .site = node->site,
                                 .sequence = node->sequence,
                                 .record = node->record,
                                 .epoch = node->tape->epoch,
                                 .input_count = node->input_count,
                                 .output_count = node->output_count};
    snprintf(entry->name, sizeof entry->name, "%s", node->operation->name);
    snprintf(entry->label, sizeof entry->label, "%s", node->label ? node->label : "");
    entry->inactive = !node->active;
    if (node->operation->numbers)
        memcpy(entry->numbers, node->extra, node->operation->numbers * sizeof(double));
    entry->inputs = calloc(node->input_count + 1, sizeof *entry->inputs);
    entry->outputs = calloc(node->output_count + 1, sizeof *entry->outputs);
    if (!entry->inputs || !entry->outputs)
        no_memory(state);
    for (uint32_t i = 0; i < node->input_count; i++)
        entry->inputs[i] = value_of(state, node->inputs[i]);
    for (uint32_t i = 0; i < node->output_count; i++) {
        entry->outputs[i].parts = node->outputs[i]->count * diff_type_parts(node->outputs[i]->type);
        entry->outputs[i].values = parts_of(state, node->outputs[i]);
    }
    place_fill(entry, node);
    node->trace = row->node_count;
}

void trace_place(const struct diff_node *node)
{
    if (node->trace)
        place_fill(&node->tape->state->row->nodes[node->trace - 1], node);
}

static void cotangent_note(struct diff_state *state, struct probe_value *value,
                           const struct diff_tensor *cotangent)
{
    if (!cotangent || cotangent->type == DIFF_HANDLE)
        return;
    double *parts = parts_of(state, cotangent);
    for (size_t i = 0; value->cotangent && i < value->parts; i++)
        parts[i] += value->cotangent[i];
    free(value->cotangent);
    value->cotangent = parts;
}

void trace_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                   struct diff_tensor *const *x_bar)
{
    struct diff_state *state = node->tape->state;
    if (!node->trace)
        return;
    struct probe_node *entry = &state->row->nodes[node->trace - 1];
    entry->ran = true;
    place_fill(entry, node);
    for (uint32_t i = 0; i < node->input_count; i++)
        cotangent_note(state, &entry->inputs[i], x_bar[i]);
    (void)y_bar;
}

void trace_seed(const struct diff_tensor *root, const struct diff_tensor *cotangent)
{
    struct diff_state *state = root->tape->state;
    if (state->row && !root->requires_gradient)
        state->row->loss_untracked = true;
    if (root->node && root->node->trace)
        cotangent_note(state, &state->row->nodes[root->node->trace - 1].outputs[root->output],
                       cotangent);
}

void trace_tangents(const struct diff_node *node, uint64_t pass)
{
    struct diff_state *state = node->tape->state;
    if (!node->trace)
        return;
    struct probe_node *entry = &state->row->nodes[node->trace - 1];
    entry->carried = true;
    for (uint32_t i = 0; i < node->output_count; i++) {
        const struct diff_tensor *y = node->outputs[i];
        bool there = y->tangent_pass == pass && y->tangent && y->tangent->type != DIFF_HANDLE;
        free(entry->outputs[i].tangent);
        entry->outputs[i].tangent = there ? parts_of(state, y->tangent) : NULL;
    }
}
