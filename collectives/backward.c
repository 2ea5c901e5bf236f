/* The backward engine: see backward.h. */
#include "collectives/backward.h"

#include "collectives/mutant.h"
#include "collectives/probe.h"
#include "collectives/request.h"
#include "collectives/trace_node.h"
#include "traces/recorder.h"

#include <assert.h>
#include <math.h>
#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pass {
    struct diff_tape *tape;
    struct diff_node *limit; /* the newest node that may run */
    unsigned flags;
    uint32_t number;          /* the recorder's */
    struct diff_node **ready; /* data order: ascending by sequence */
    struct diff_node **reached;
    size_t ready_count, reached_count;
    bool checks_finite;
};

struct diff_tensor *cotangent_add(struct diff_tensor *sum, struct diff_tensor *more)
{
    if (!sum || !more)
        return sum ? sum : more;
    struct diff_state *state = sum->tape->state;
    if (sum->type == DIFF_HANDLE)
        state_fail(state, "M009", "a handle is waited for in two places");
    if (state->no_grad == 0)
        return diff_add(sum, more);
    if (!sum->exclusive) {
        struct diff_tensor *copy = tensor_new_like(sum);
        memcpy(copy->storage->data, sum->storage->data, sum->count * diff_type_size(sum->type));
        copy->exclusive = true;
        sum = copy;
    }
    tensor_accumulate(sum, more);
    return sum;
}

struct diff_tensor *cotangent_or_zeros(struct diff_tensor *y_bar, const struct diff_tensor *y)
{
    return y_bar ? y_bar : tensor_zeros_like(y);
}

/* ---- one node ---- */

static void versions_compare(const struct diff_node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++)
        if ((node->saves & SAVES_INPUTS) && node->inputs[i]->storage->version != node->versions[i])
            node_fail(node, "G008",
                      "input %u was changed in place after the operation had saved it "
                      "(version %u, saved at %u)",
                      (unsigned)i, (unsigned)node->inputs[i]->storage->version,
                      (unsigned)node->versions[i]);
    for (uint32_t i = 0; i < node->output_count; i++)
        if ((node->saves & SAVES_OUTPUTS) &&
            node->outputs[i]->storage->version != node->versions[node->input_count + i])
            node_fail(node, "G008", "output %u was changed in place after it had been saved",
                      (unsigned)i);
}

void backward_node(struct diff_node *node, struct diff_tensor *const *y_bar,
                   struct diff_tensor **x_bar)
{
    struct diff_state *state = node->tape->state;
    const void *site = state->site;
    state->site = node->site;
    if (state->recorded)
        record_site_enter(node->site); /* what the adjoint does is blamed on the forward call */
    versions_compare(node);
    node->operation->adjoint(node, y_bar, x_bar);
    if (node->operation->communicates)
        request_release_held(node);
    if (state->recorded)
        record_site_leave();
    state->site = site;
}

static void finite_check(const struct diff_node *node, struct diff_tensor *const *x_bar)
{
    size_t where = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!x_bar[i] || x_bar[i]->type == DIFF_HANDLE || tensor_finite(x_bar[i], &where))
            continue;
        char text[64];
        record_site_enter(node->site);
        record_note("G006",
                    "the adjoint of %s gave a value that is not finite (input %u, element %zu)",
                    node_text(node, text, sizeof text), (unsigned)i, where);
        record_site_leave();
        if (node->tape->state->row)
            node->tape->state->row->non_finite = true;
    }
}

/* A sign gone wrong on purpose: for tests of the checks. */
static void sign_flip(const struct diff_node *node, struct diff_tensor **x_bar)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!x_bar[i] || x_bar[i]->count == 0 || !node->inputs[i]->requires_gradient)
            continue;
        struct diff_tensor *wrong = tensor_new_like(x_bar[i]);
        memcpy(wrong->storage->data, x_bar[i]->storage->data,
               x_bar[i]->count * diff_type_size(x_bar[i]->type));
        const struct diff_probe *probe = node->tape->state->probe;
        size_t parts = wrong->count * diff_type_parts(wrong->type), part = 0;
        for (size_t k = 0; k < parts && !probe->flip_part; k++)
            if (fabs(tensor_part(wrong, k)) > fabs(tensor_part(wrong, part)))
                part = k;
        if (probe->flip_part)
            part = probe->flip_part - 1;
        if (part >= parts)
            return;
        if (probe->flipped)
            probe->flipped[MPIX_World_rank()] = tensor_part(wrong, part);
        tensor_part_set(wrong, part, -tensor_part(wrong, part));
        x_bar[i] = wrong;
        return;
    }
}

static void inputs_receive(struct diff_node *node, struct diff_tensor *const *x_bar)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        struct diff_tensor *x = node->inputs[i];
        if (!x_bar[i] || !(x->requires_gradient || x->type == DIFF_HANDLE))
            continue;
        assert(x->type == DIFF_HANDLE ||
               (x->count == x_bar[i]->count && x->type == x_bar[i]->type));
        x->cotangent = cotangent_add(x->cotangent, x_bar[i]);
    }
}

static void gradient_keep(struct diff_tensor *x, struct diff_tensor *cotangent)
{
    if (cotangent)
        x->gradient = cotangent_add(x->gradient, cotangent);
}

static void node_execute(struct pass *pass, struct diff_node *node)
{
    struct diff_tensor *y_bar[2] = {NULL, NULL};
    struct diff_tensor *few[8], **x_bar = few;
    assert(node->output_count <= 2);
    if (node->input_count > 8)
        x_bar = arena_take(&pass->tape->arena, node->input_count * sizeof *x_bar);
    for (uint32_t i = 0; i < node->input_count; i++)
        x_bar[i] = NULL;
    for (uint32_t i = 0; i < node->output_count; i++) {
        struct diff_tensor *y = node->outputs[i];
        y_bar[i] = y->cotangent;
        y->cotangent = NULL;
        if (y->retains_gradient)
            gradient_keep(y, y_bar[i]);
    }
    if (node->released)
        node_fail(
            node, "M009",
            "backward reaches it a second time: the first pass released it (use DIFF_RETAIN)");
    bool recorded = node->tape->state->recorded;
    if (recorded)
        record_node_enter(node->pass_record);
    backward_node(node, y_bar, x_bar);
    if (recorded)
        record_node_leave(node->pass_record);
    const struct diff_probe *probe = node->tape->state->probe;
    if (probe && probe->flip && probe->flip == node->sequence)
        sign_flip(node, x_bar);
    if (pass->checks_finite)
        finite_check(node, x_bar);
    trace_adjoint(node, y_bar, x_bar);
    inputs_receive(node, x_bar);
    node->in_pass = false;
    if (!(pass->flags & (DIFF_RETAIN | DIFF_GRAPH)))
        node->released = true;
}

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

static void program_order_run(struct pass *pass, size_t count, struct diff_tensor *const *roots)
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
            node_execute(pass, node);
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
    return node->pass_record ? node->pass_record : node->sequence + 1;
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

static void data_order_run(struct pass *pass, size_t count, struct diff_tensor *const *roots)
{
    reach(pass, count, roots);
    if (pass->tape->state->recorded)
        data_order_record(pass, count, roots);
    for (size_t i = 0; i < pass->reached_count; i++)
        if (pass->reached[i]->pending == 0)
            ready_add(pass, pass->reached[i]);
    while (pass->ready_count > 0) {
        struct diff_node *node = ready_take(pass);
        node_execute(pass, node);
        for (uint32_t i = 0; i < node->input_count; i++) {
            struct diff_tensor *x = node->inputs[i];
            if (edge_counts(x) && !dummy_edge_dropped(x) && --x->node->pending == 0)
                ready_add(pass, x->node);
        }
    }
}

/* ---- a pass ---- */

static void leaves_collect(struct diff_tape *tape)
{
    struct diff_state *state = tape->state;
    for (struct diff_tensor *x = tape->retained; x; x = x->next_retained) {
        if (x->node)
            continue;
        gradient_keep(x, x->cotangent);
        x->cotangent = NULL;
    }
    for (struct diff_tensor *x = tape->retained; x; x = x->next_retained)
        if (x->input != SIZE_MAX)
            probe_keep_gradient(state, x->input, x->type, x->count,
                                x->gradient ? x->gradient->storage->data : NULL);
}

static void pass_run(struct diff_tape *tape, size_t count, struct diff_tensor *const *roots,
                     struct diff_tensor *const *cotangents, unsigned flags)
{
    struct diff_state *state = tape->state;
    struct pass pass = {.tape = tape, .limit = tape->last, .flags = flags};
    if (tape->in_backward)
        state_fail(state, "M009", "backward inside a backward pass");
    tape->in_backward = true;
    tape->pass++;
    pass.checks_finite = state->row != NULL;
    if (flags & DIFF_GRAPH)
        channel_deepen(tape);
    else
        state->no_grad++;
    pass.number = record_pass_begin(tape->order == DIFF_ORDER_DATA ? PASS_DATA : PASS_PROGRAM);
    for (size_t i = 0; i < count; i++)
        trace_seed(roots[i], cotangents[i]);
    for (size_t i = 0; i < count; i++)
        if (roots[i]->requires_gradient)
            roots[i]->cotangent = cotangent_add(roots[i]->cotangent, cotangents[i]);
    if (tape->order == DIFF_ORDER_DATA)
        data_order_run(&pass, count, roots);
    else
        program_order_run(&pass, count, roots);
    leaves_collect(tape);
    record_pass_end(pass.number);
    if (!(flags & DIFF_GRAPH))
        state->no_grad--;
    tape->in_backward = false;
}

static struct diff_tensor *seed_new(struct diff_tensor *root, double value)
{
    struct diff_tensor *seed = tensor_zeros_like(root);
    tensor_part_set(seed, 0, value);
    return seed;
}

static void loss_check(struct diff_tensor *loss)
{
    struct diff_state *state = loss->tape->state;
    size_t where;
    if (loss->type == DIFF_HANDLE || loss->count != 1)
        state_fail(state, "M009", "backward of a tensor with %zu values: a loss is one number",
                   loss->count);
    if (diff_type_is_complex(loss->type))
        state_fail(state, "M009", "backward of a complex number: a loss is real");
    if (!tensor_finite(loss, &where))
        record_note("G006", "the loss is not finite");
}

static double seed_value(const struct diff_state *state)
{
    bool silent = state->probe && state->probe->seed_rank >= 0 &&
                  state->probe->seed_rank != MPIX_World_rank();
    return silent ? 0 : 1;
}

/* Forward mode as an oracle: the loss's derivative along the probe's direction. */
static void tangent_measure(struct diff_tensor *loss)
{
    struct diff_tape *tape = loss->tape;
    struct diff_state *state = tape->state;
    if (!state->probe || !state->probe->tangent)
        return;
    size_t count = 0, room = 0;
    for (struct diff_tensor *x = tape->retained; x; x = x->next_retained)
        room++;
    struct diff_tensor **inputs = arena_take(&tape->arena, (room + 1) * sizeof *inputs);
    struct diff_tensor **tangents = arena_take(&tape->arena, (room + 1) * sizeof *tangents);
    for (struct diff_tensor *x = tape->retained; x; x = x->next_retained) {
        const double *direction = probe_tangent(state, x->input);
        if (!direction)
            continue;
        struct diff_tensor *tangent = tensor_new_like(x);
        for (size_t i = 0; i < x->count * diff_type_parts(x->type); i++)
            tensor_part_set(tangent, i, direction[i]);
        inputs[count] = x;
        tangents[count++] = tangent;
    }
    diff_no_grad_begin(tape);
    diff_jvp(tape, count, inputs, tangents);
    diff_no_grad_end(tape);
    probe_add_tangent(state, tape->epoch, tensor_part(diff_tangent(loss), 0));
}

static void backward_loss(struct diff_tensor *loss, bool replicated)
{
    struct diff_state *state = loss->tape->state;
    loss_check(loss);
    probe_add_objective(state, loss->tape->epoch, tensor_part(loss, 0), replicated);
    if (probe_perturbed(state))
        return;
    tangent_measure(loss);
    struct diff_tensor *seed = seed_new(loss, seed_value(state));
    pass_run(loss->tape, 1, &loss, &seed, 0);
}

void diff_backward(struct diff_tensor *loss)
{
    struct diff_state *state = loss->tape->state;
    ENTER(state);
    backward_loss(loss, false);
    state_leave(state);
}

void diff_backward_none(struct diff_tape *tape)
{
    ENTER(tape->state);
    if (!probe_perturbed(tape->state))
        pass_run(tape, 0, NULL, NULL, 0);
    state_leave(tape->state);
}

/* Every rank claims the same loss: compared bit for bit, since a replicated computation is the
 * same. */
static void replicas_compare(const struct diff_tensor *loss)
{
    const struct diff_channel *channel = loss->tape->channels->adjoint;
    double value = tensor_part(loss, 0), extremes[2] = {value, -value};
    MPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_DOUBLE, MPI_MAX, channel->comm);
    if (!(extremes[0] == -extremes[1]))
        record_note("G005",
                    "the loss declared to be replicated differs: from %.17g to %.17g, here %.17g",
                    -extremes[1], extremes[0], value);
}

void diff_backward_replicated(struct diff_tensor *loss)
{
    struct diff_state *state = loss->tape->state;
    ENTER(state);
    if (!probe_perturbed(state))
        replicas_compare(loss);
    backward_loss(loss, true);
    state_leave(state);
}

void diff_backward_from(struct diff_tape *tape, size_t count, struct diff_tensor *const *roots,
                        struct diff_tensor *const *cotangents, unsigned flags)
{
    struct diff_state *state = tape->state;
    ENTER(state);
    struct diff_tensor **seeds = arena_take(&tape->arena, count * sizeof *seeds);
    for (size_t i = 0; i < count; i++) {
        seeds[i] = cotangents ? cotangents[i] : NULL;
        if (!seeds[i]) {
            loss_check(roots[i]);
            probe_add_objective(state, tape->epoch, tensor_part(roots[i], 0), false);
            if (!probe_perturbed(state))
                tangent_measure(roots[i]);
            seeds[i] = seed_new(roots[i], seed_value(state));
        } else if (seeds[i]->count != roots[i]->count || seeds[i]->type != roots[i]->type) {
            state_fail(state, "M009", "root %zu and its cotangent differ in type or count", i);
        }
    }
    if (!probe_perturbed(state) || (flags & DIFF_GRAPH))
        pass_run(tape, count, roots, seeds, flags);
    state_leave(state);
}

/* ---- gradients ---- */

const void *diff_gradient(struct diff_tensor *x)
{
    if (!x->gradient)
        x->gradient = tensor_zeros_like(x);
    return x->gradient->storage->data;
}

struct diff_tensor *diff_gradient_tensor(struct diff_tensor *x)
{
    return x->gradient;
}

void diff_gradient_clear(struct diff_tensor *x)
{
    x->gradient = NULL;
}

void diff_retain_gradient(struct diff_tensor *x)
{
    if (x->retains_gradient || !x->requires_gradient)
        return;
    x->retains_gradient = true;
    x->next_retained = x->tape->retained;
    x->tape->retained = x;
}
