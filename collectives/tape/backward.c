/* The backward engine: see backward.h. */
#include "collectives/tape/backward_internal.h"

#include "collectives/experiment/probe.h"
#include "collectives/tape/request.h"
#include "collectives/tape/trace_node.h"
#include "collectives/windows/window.h"
#include "recorder/recorder.h"

#include <mpix.h>

static void leaves_collect(struct diff_tape *tape)
{
    struct diff_state *state = tape->state;
    for (struct diff_tensor *x = tape->retained; x; x = x->next_retained) {
        if (x->node)
            continue;
        pass_gradient_keep(x, x->cotangent);
        x->cotangent = NULL;
    }
    for (struct diff_tensor *x = tape->retained; x; x = x->next_retained)
        if (x->input != SIZE_MAX)
            probe_keep_gradient(state, x->input, x->type, x->count,
                                x->gradient ? x->gradient->storage->data : NULL, x->first_pass);
}

static void pass_run(struct diff_tape *tape, size_t count, struct diff_tensor *const *roots,
                     struct diff_tensor *const *cotangents, unsigned flags)
{
    struct diff_state *state = tape->state;
    struct pass pass = {.tape = tape, .limit = tape->last, .flags = flags};
    if (tape->in_backward)
        state_fail(state, "M009", "backward inside a backward pass");
    window_check_idle(tape, "backward");
    tape->in_backward = true;
    tape->pass++;
    pass.checks_finite = state->row != NULL;
    if (state->row && (flags & DIFF_GRAPH))
        state->row->graphs = true;
    if (flags & DIFF_GRAPH)
        channel_deepen(tape);
    else
        state->no_grad++;
    window_prepare_all(tape);
    pass.number = record_pass_begin(tape->order == DIFF_ORDER_DATA ? PASS_DATA : PASS_PROGRAM);
    for (size_t i = 0; i < count; i++)
        trace_seed(roots[i], cotangents[i]);
    for (size_t i = 0; i < count; i++)
        if (roots[i]->requires_gradient)
            roots[i]->cotangent = cotangent_add(roots[i]->cotangent, cotangents[i]);
    if (tape->order == DIFF_ORDER_DATA)
        pass_data_order(&pass, count, roots);
    else
        pass_program_order(&pass, count, roots);
    request_complete_all_late(tape);
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
    return silent ? 0 : probe_factor(state);
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
            tensor_part_set(tangent, i, direction[i] * probe_factor(state));
        inputs[count] = x;
        tangents[count++] = tangent;
    }
    state->row->carrying = true;
    diff_no_grad_begin(tape);
    diff_jvp(tape, count, inputs, tangents);
    diff_no_grad_end(tape);
    state->row->carrying = false;
    for (const struct diff_node *node = tape->first; node; node = node->next)
        trace_tangents(node, tape->tangents);
    probe_add_tangent(state, tape->epoch, tape->backwards, tensor_part(diff_tangent(loss), 0));
}

static void backward_loss(struct diff_tensor *loss, bool replicated)
{
    struct diff_state *state = loss->tape->state;
    loss_check(loss);
    loss->tape->backwards++;
    probe_add_objective(state, loss->tape->epoch, loss->tape->backwards, tensor_part(loss, 0),
                        replicated ? channel_team(loss->tape->channels) : (struct probe_team){0});
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
    tape->backwards++;
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
    tape->backwards++;
    for (size_t i = 0; i < count; i++) {
        seeds[i] = cotangents ? cotangents[i] : NULL;
        if (!seeds[i]) {
            loss_check(roots[i]);
            probe_add_objective(state, tape->epoch, tape->backwards, tensor_part(roots[i], 0),
                                (struct probe_team){0});
            if (!probe_perturbed(state))
                tangent_measure(roots[i]);
            seeds[i] = seed_new(roots[i], seed_value(state));
        } else if (seeds[i]->count != roots[i]->count || seeds[i]->type != roots[i]->type) {
            state_fail(state, "M009", "root %zu and its cotangent differ in type or count", i);
        } else if (!tape->outer && !(flags & DIFF_GRAPH)) {
            probe_note_given(state, tape->epoch);
        }
    }
    if (!probe_skips_passes(state) || (flags & DIFF_GRAPH))
        pass_run(tape, count, roots, seeds, flags);
    state_leave(state);
}

/* ---- gradients ---- */

/* A program may look at its gradients, and end where they are not what it expects. A world without
 * passes shows it those of the first run. */
static struct diff_tensor *gradient_shown(const struct diff_tensor *x)
{
    const struct diff_tape *tape = x->tape;
    size_t parts = x->count * diff_type_parts(x->type);
    bool passed = tape->backwards > 0 && tape->backwards >= x->first_pass;
    const double *values = passed && x->input != SIZE_MAX
                               ? probe_base_gradient(tape->state, x->input, parts, x->first_pass)
                               : NULL;
    struct diff_tensor *shown = values ? tensor_new_like(x) : NULL;
    for (size_t i = 0; shown && i < parts; i++)
        tensor_part_set(shown, i, values[i]);
    return shown;
}

const void *diff_gradient(struct diff_tensor *x)
{
    if (!x->gradient)
        x->gradient = gradient_shown(x);
    if (!x->gradient && probe_skips_passes(x->tape->state)) /* a later one may be shown */
        return tensor_zeros_like(x)->storage->data;
    if (!x->gradient)
        x->gradient = tensor_zeros_like(x);
    return x->gradient->storage->data;
}

struct diff_tensor *diff_gradient_tensor(struct diff_tensor *x)
{
    if (!x->gradient)
        x->gradient = gradient_shown(x);
    if (x->gradient) /* the next pass adds to another one */
        x->gradient->exclusive = false;
    return x->gradient;
}

void diff_gradient_clear(struct diff_tensor *x)
{
    x->gradient = NULL;
    if (x->tape->backwards)
        x->first_pass = x->tape->backwards + 1;
}

void diff_retain_gradient(struct diff_tensor *x)
{
    if (x->retains_gradient || !x->requires_gradient)
        return;
    x->retains_gradient = true;
    x->next_retained = x->tape->retained;
    x->tape->retained = x;
}
