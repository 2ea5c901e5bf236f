/* The two orders of a backward pass: see backward.h. */
#include "collectives/tape/backward_internal.h"

#include "collectives/experiment/mutant.h"
#include "recorder/recorder.h"

#include <assert.h>
#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- recording ---- */

static void pass_node_record(struct pass *pass, struct diff_node *node)
{
    char name[40];
    snprintf(name, sizeof name, "%s*", node->operation->name);
    node->pass_record =
        record_node(name, node->operation->kind, pass->number, node->record, node->site);
}

static void pass_edges_record(const struct diff_node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct diff_tensor *x = node->inputs[i];
        if (!x->node || !x->node->pass_record)
            continue;
        bool order = x->type == DIFF_HANDLE || (node->order_only && i > 0);
        record_edge(node->pass_record, x->node->pass_record, order ? EDGE_ORDER : EDGE_DATA);
    }
}

/* The seed is the backward node of the loss itself: what feeds the roots. */
static void seed_record(const struct pass *pass, size_t count, struct diff_tensor *const *roots)
{
    uint32_t seed = record_node("seed", OP_COMPUTE, pass->number, 0, pass->tape->state->site);
    for (size_t i = 0; i < count; i++)
        if (seed && roots[i]->node && roots[i]->node->pass_record)
            record_edge(seed, roots[i]->node->pass_record, EDGE_DATA);
}

/* ---- program order ---- */

static bool has_cotangent(const struct diff_node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i]->cotangent)
            return true;
    return false;
}

/* All that the pass may reach, newest first, and then every edge among it: an edge leads to an
 * older node, which must have its number before. */
static void program_order_record(struct pass *pass, size_t count, struct diff_tensor *const *roots)
{
    for (struct diff_node *node = pass->limit; node; node = node->previous)
        node->expected = node->in_pass;
    for (size_t i = 0; i < count; i++)
        if (roots[i]->node && roots[i]->requires_gradient)
            roots[i]->node->expected = true;
    for (struct diff_node *node = pass->limit; node; node = node->previous) {
        if (!node->expected)
            continue;
        pass_node_record(pass, node);
        for (uint32_t i = 0; i < node->input_count; i++)
            if (node->inputs[i]->node && node->inputs[i]->requires_gradient)
                node->inputs[i]->node->expected = true;
    }
    seed_record(pass, count, roots);
    for (struct diff_node *node = pass->limit; node; node = node->previous)
        if (node->expected)
            pass_edges_record(node);
}

void pass_program_order(struct pass *pass, size_t count, struct diff_tensor *const *roots)
{
    for (struct diff_node *node = pass->limit; node; node = node->previous) {
        node->adjoint_state = ADJOINT_IDLE;
        node->adjoint_request = NULL;
        node->pass_record = 0;
        node->in_pass = node->operation->communicates && !node->released;
    }
    if (pass->tape->state->recorded)
        program_order_record(pass, count, roots);
    for (struct diff_node *node = pass->limit; node; node = node->previous)
        if (node->in_pass || has_cotangent(node)) {
            node->in_pass = true;
            pass_node_execute(pass, node);
        }
}

/* ---- data order ---- */

static bool dummy_edge_dropped(const struct diff_tensor *x)
{
    return x->type == DIFF_HANDLE && x->tape->state->mutant == MUTANT_DUMMY_EDGE;
}

static bool edge_counts(const struct diff_tensor *x)
{
    return x->node && x->requires_gradient;
}

/* Reaches what the roots depend on; `reached` doubles as the queue of nodes to look at. */
static void reach(struct pass *pass, size_t count, struct diff_tensor *const *roots)
{
    size_t room = pass->tape->sequence + 1u;
    pass->reached = arena_take(&pass->tape->arena, room * sizeof *pass->reached);
    pass->ready = arena_take(&pass->tape->arena, room * sizeof *pass->ready);
    for (struct diff_node *node = pass->limit; node; node = node->previous) {
        node->in_pass = false;
        node->pending = 0;
        node->pass_record = 0;
        node->adjoint_state = ADJOINT_IDLE;
        node->adjoint_request = NULL;
    }
    for (size_t i = 0; i < count; i++)
        if (edge_counts(roots[i]) && !roots[i]->node->in_pass) {
            roots[i]->node->in_pass = true;
            pass->reached[pass->reached_count++] = roots[i]->node;
        }
    for (size_t at = 0; at < pass->reached_count; at++) {
        struct diff_node *node = pass->reached[at];
        for (uint32_t i = 0; i < node->input_count; i++) {
            struct diff_tensor *x = node->inputs[i];
            if (!edge_counts(x))
                continue;
            if (!dummy_edge_dropped(x))
                x->node->pending++;
            if (!x->node->in_pass) {
                x->node->in_pass = true;
                pass->reached[pass->reached_count++] = x->node;
            }
        }
    }
}

static void ready_add(struct pass *pass, struct diff_node *node)
{
    size_t at = pass->ready_count++;
    for (; at > 0 && pass->ready[at - 1]->sequence > node->sequence; at--)
        pass->ready[at] = pass->ready[at - 1];
    pass->ready[at] = node;
}

/* The number by which a schedule names the node: the recorder's, so that it is found in the trace;
 * 0 for nodes that only compute. */
static unsigned node_name(const struct diff_node *node)
{
    if (node->operation->kind == OP_COMPUTE && strcmp(node->operation->name, "custom"))
        return 0; /* a custom rule may call anything */
    return node->pass_record ? node->pass_record : node->sequence;
}

static size_t ready_choose(const struct pass *pass)
{
    unsigned few[32], *names = few;
    if (pass->ready_count > 32)
        names = malloc(pass->ready_count * sizeof *names);
    assert(names && "out of memory for a choice");
    for (size_t i = 0; i < pass->ready_count; i++)
        names[i] = node_name(pass->ready[pass->ready_count - 1 - i]);
    int pick = MPIX_Choose_named(MPIX_CHOOSE_READY, (int)pass->ready_count, names);
    if (names != few)
        free(names);
    return (size_t)pick;
}

static struct diff_node *ready_take(struct pass *pass)
{
    size_t pick = pass->ready_count > 1 ? ready_choose(pass) : 0;
    size_t at = pass->ready_count - 1 - pick;
    struct diff_node *node = pass->ready[at];
    pass->ready_count--;
    for (; at < pass->ready_count; at++)
        pass->ready[at] = pass->ready[at + 1];
    return node;
}

static int newest_first(const void *a, const void *b)
{
    uint32_t left = (*(struct diff_node *const *)a)->sequence;
    uint32_t right = (*(struct diff_node *const *)b)->sequence;
    return (left < right) - (left > right);
}

static void data_order_record(struct pass *pass, size_t count, struct diff_tensor *const *roots)
{
    qsort(pass->reached, pass->reached_count, sizeof *pass->reached, newest_first);
    for (size_t i = 0; i < pass->reached_count; i++)
        pass_node_record(pass, pass->reached[i]);
    seed_record(pass, count, roots);
    for (size_t i = 0; i < pass->reached_count; i++)
        pass_edges_record(pass->reached[i]);
}

void pass_data_order(struct pass *pass, size_t count, struct diff_tensor *const *roots)
{
    reach(pass, count, roots);
    if (pass->tape->state->recorded)
        data_order_record(pass, count, roots);
    for (size_t i = 0; i < pass->reached_count; i++)
        if (pass->reached[i]->pending == 0)
            ready_add(pass, pass->reached[i]);
    while (pass->ready_count > 0) {
        struct diff_node *node = ready_take(pass);
        pass_node_execute(pass, node);
        for (uint32_t i = 0; i < node->input_count; i++) {
            struct diff_tensor *x = node->inputs[i];
            if (edge_counts(x) && !dummy_edge_dropped(x) && --x->node->pending == 0)
                ready_add(pass, x->node);
        }
    }
}
