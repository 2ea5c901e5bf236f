/* One node of a backward pass. */
#include "collectives/tape/backward_internal.h"

#include "collectives/experiment/probe.h"
#include "collectives/tape/request.h"
#include "collectives/tape/trace_node.h"
#include "recorder/recorder.h"

#include <assert.h>
#include <math.h>
#include <mpix.h>
#include <string.h>
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

/* A sign or a factor gone wrong on purpose: for tests of the checks. */
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
        double factor = probe->flip_factor != 0 ? probe->flip_factor : -1;
        tensor_part_set(wrong, part, factor * tensor_part(wrong, part));
        x_bar[i] = wrong;
        return;
    }
}

static bool is_flipped(const struct diff_probe *probe, const struct pass *pass,
                       const struct diff_node *node)
{
    if (pass->flags & DIFF_GRAPH || (probe->flip_rank && probe->flip_rank - 1 != MPIX_World_rank()))
        return false; /* what is differentiated again would be another program */
    if (probe->flip_name)
        return strcmp(probe->flip_name, node->operation->name) == 0;
    return probe->flip && probe->flip == node->sequence;
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

void pass_gradient_keep(struct diff_tensor *x, struct diff_tensor *cotangent)
{
    if (cotangent)
        x->gradient = cotangent_add(x->gradient, cotangent);
}

void pass_node_execute(struct pass *pass, struct diff_node *node)
{
    struct diff_tensor *few_y[2], **y_bar = few_y;
    struct diff_tensor *few[8], **x_bar = few;
    if (node->output_count > 2)
        y_bar = arena_take(&pass->tape->arena, node->output_count * sizeof *y_bar);
    y_bar[0] = y_bar[1] = NULL;
    if (node->input_count > 8)
        x_bar = arena_take(&pass->tape->arena, node->input_count * sizeof *x_bar);
    for (uint32_t i = 0; i < node->input_count; i++)
        x_bar[i] = NULL;
    for (uint32_t i = 0; i < node->output_count; i++) {
        struct diff_tensor *y = node->outputs[i];
        y_bar[i] = y->cotangent;
        y->cotangent = NULL;
        if (y_bar[i]) /* the adjoint may hand it on to several inputs */
            y_bar[i]->exclusive = false;
        if (y->retains_gradient)
            pass_gradient_keep(y, y_bar[i]);
    }
    if (node->released)
        node_fail(
            node, "M009",
            "backward reaches it a second time: the first pass released it (use DIFF_RETAIN)");
    bool recorded = node->tape->state->recorded;
    if (recorded)
        record_node_enter(node->pass_record);
    struct diff_probe_rank *row = node->tape->state->row;
    if (row)
        row->adjoint = node;
    backward_node(node, y_bar, x_bar);
    if (row)
        row->adjoint = NULL;
    if (recorded)
        record_node_leave(node->pass_record);
    const struct diff_probe *probe = node->tape->state->probe;
    if (probe && is_flipped(probe, pass, node))
        sign_flip(node, x_bar);
    if (pass->checks_finite)
        finite_check(node, x_bar);
    trace_adjoint(node, y_bar, x_bar);
    inputs_receive(node, x_bar);
    node->in_pass = false;
    if (!(pass->flags & (DIFF_RETAIN | DIFF_GRAPH)))
        node->released = true;
}
