/* What users bring along: custom operations and lossy coders; and datatypes as operations of their
 * own. */
#include "collectives/experiment/probe.h"
#include "collectives/tape/layout.h"

#include <stdlib.h>
#include <string.h>

/* ---- custom: forward, vjp and jvp are the user's, so a second derivative is not to be had ---- */

struct custom {
    struct diff_custom_rules rules;
    void *context;
};

static void custom_forward(struct diff_node *node)
{
    const struct custom *custom = node->extra;
    custom->rules.forward(node->inputs[0]->count, node->inputs[0]->storage->data,
                          node->outputs[0]->storage->data, custom->context);
}

/* What the user computes cannot be recorded: differentiating it again is refused. */
static void opaque_forward(struct diff_node *node)
{
    (void)node;
}

static void opaque_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                           struct diff_tensor **x_bar)
{
    (void)y_bar, (void)x_bar;
    node_fail(node, "M009", "a custom operation is differentiated once only");
}

static const struct diff_operation opaque_operation = {.name = "custom adjoint",
                                                       .kind = OP_COMPUTE,
                                                       .forward = opaque_forward,
                                                       .adjoint = opaque_adjoint,
                                                       .tangent = opaque_adjoint};

static struct diff_tensor *opaque(struct diff_tensor *cause, struct diff_tensor *values)
{
    struct diff_node *node = node_begin(&opaque_operation, 1, &cause);
    node_output(node, values);
    node_run(node);
    return values;
}

static void custom_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                           struct diff_tensor **x_bar)
{
    const struct custom *custom = node->extra;
    struct diff_tensor *x = node->inputs[0];
    if (!y_bar[0])
        return;
    struct diff_tensor *result = tensor_zeros_like(x);
    custom->rules.vjp(x->count, x->storage->data, y_bar[0]->storage->data, result->storage->data,
                      custom->context);
    x_bar[0] = opaque(y_bar[0], result);
}

static void custom_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                           struct diff_tensor **y_dot)
{
    const struct custom *custom = node->extra;
    struct diff_tensor *x = node->inputs[0];
    if (!x_dot[0])
        return;
    if (!custom->rules.jvp) {
        node_tangent_missing(node, "the operation has no jvp");
        return;
    }
    struct diff_tensor *result = tensor_zeros_like(node->outputs[0]);
    custom->rules.jvp(x->count, x->storage->data, x_dot[0]->storage->data, result->storage->data,
                      custom->context);
    y_dot[0] = opaque(x_dot[0], result);
}

static const struct diff_operation custom_operation = {.name = "custom",
                                                       .kind = OP_COMPUTE,
                                                       .saves = SAVES_INPUTS,
                                                       .forward = custom_forward,
                                                       .adjoint = custom_adjoint,
                                                       .tangent = custom_tangent};

struct diff_tensor *diff_custom(struct diff_tensor *x, const struct diff_custom_rules *rules,
                                void *context)
{
    ENTER(x->tape->state);
    struct diff_node *node = node_begin(&custom_operation, 1, &x);
    struct custom *custom = node_take(node, sizeof *custom);
    *custom = (struct custom){*rules, context};
    node->extra = custom;
    node->label = rules->name;
    size_t count = rules->result_count ? rules->result_count(x->count, context) : x->count;
    struct diff_tensor *y = node_output(
        node, count == x->count ? tensor_new_like(x) : tensor_new_flat(x->tape, x->type, count));
    node_run(node);
    state_leave(x->tape->state);
    return y;
}

/* ---- lossy coders ----
 * Straight-through means: the loss of precision counts as a constant. So that finite differences
 * mean the same, perturbed worlds add what the base world's coder changed instead of coding again.
 */

/* The changes the base world saw, for this call on this rank; NULL when there is no base. */
static const double *changes_of_base(struct diff_state *state, size_t parts)
{
    if (!probe_perturbed(state) || !state->probe->base)
        return NULL;
    const struct diff_probe_rank *base = &state->probe->base->rows[state->row - state->probe->rows];
    size_t at = state->row->residuals_seen;
    state->row->residuals_seen += parts;
    return at + parts <= base->residual_count ? base->residuals + at : NULL;
}

static void changes_keep(struct diff_state *state, const struct diff_tensor *x,
                         const struct diff_tensor *y, size_t parts)
{
    struct diff_probe_rank *row = state->row;
    if (!row || probe_perturbed(state))
        return;
    if (row->residual_count + parts > row->residual_room) {
        row->residual_room = 2 * (row->residual_count + parts);
        row->residuals = realloc(row->residuals, row->residual_room * sizeof *row->residuals);
        if (!row->residuals)
            state_fail(state, "X002", "the differentiable library ran out of memory");
    }
    for (size_t i = 0; i < parts; i++)
        row->residuals[row->residual_count++] = tensor_part(y, i) - tensor_part(x, i);
}

static void coded_forward(struct diff_node *node)
{
    const struct diff_coder *coder = node->extra;
    struct diff_state *state = node->tape->state;
    const struct diff_tensor *x = node->inputs[0];
    struct diff_tensor *y = node->outputs[0];
    size_t parts = x->count * diff_type_parts(x->type);
    const double *changes = coder->vjp ? NULL : changes_of_base(state, parts);
    if (changes) {
        for (size_t i = 0; i < parts; i++)
            tensor_part_set(y, i, tensor_part(x, i) + changes[i]);
        return;
    }
    coder->code(x->type, x->count, x->storage->data, y->storage->data, coder->context);
    if (!coder->vjp)
        changes_keep(state, x, y, parts);
}

static void coded_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                          struct diff_tensor **x_bar)
{
    const struct diff_coder *coder = node->extra;
    struct diff_tensor *x = node->inputs[0];
    x_bar[0] = y_bar[0];
    if (!y_bar[0] || !coder->vjp)
        return;
    struct diff_tensor *result = tensor_zeros_like(x);
    coder->vjp(x->type, x->count, x->storage->data, y_bar[0]->storage->data, result->storage->data,
               coder->context);
    x_bar[0] = opaque(y_bar[0], result);
}

static void coded_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                          struct diff_tensor **y_dot)
{
    const struct diff_coder *coder = node->extra;
    if (coder->vjp && x_dot[0])
        node_tangent_missing(node, "a coder with its own vjp has no tangent");
    y_dot[0] = x_dot[0];
}

static const struct diff_operation coded_operation = {.name = "coder",
                                                      .kind = OP_COMPUTE,
                                                      .saves = SAVES_INPUTS,
                                                      .forward = coded_forward,
                                                      .adjoint = coded_adjoint,
                                                      .tangent = coded_tangent};

struct diff_tensor *diff_coded(struct diff_tensor *x, const struct diff_coder *coder)
{
    ENTER(x->tape->state);
    struct diff_node *node = node_begin(&coded_operation, 1, &x);
    struct diff_coder *own = node_take(node, sizeof *own);
    *own = *coder;
    node->extra = own;
    node->label = coder->name;
    if (!coder->vjp)
        node->saves = SAVES_NOTHING;
    struct diff_tensor *y = node_output(node, tensor_new_like(x));
    node_run(node);
    state_leave(x->tape->state);
    return y;
}

/* ---- datatypes ---- */

struct diff_tensor *diff_pack(struct diff_tensor *x, int count, MPI_Datatype datatype)
{
    ENTER(x->tape->state);
    struct layout layout = layout_datatype(x->tape, x->type, count, datatype);
    struct diff_tensor *y = layout_take(x, &layout);
    state_leave(x->tape->state);
    return y;
}

struct diff_tensor *diff_unpack(struct diff_tensor *packed, int count, MPI_Datatype datatype,
                                struct diff_tensor *into)
{
    struct diff_state *state = packed->tape->state;
    ENTER(state);
    struct layout layout = layout_datatype(packed->tape, packed->type, count, datatype);
    if (layout.count != packed->count)
        state_fail(state, "M009", "unpacking %zu values into a layout of %zu", packed->count,
                   layout.count);
    struct diff_tensor *y = layout_put(packed, &layout, into);
    state_leave(state);
    return y;
}
