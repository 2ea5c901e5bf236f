/* Forward mode: tangents carried through the tape in program order.
 *
 * A communication runs its tangent whatever its inputs (the other ranks take part), a local
 * operation only if a tangent arrived. Tangents are built of differentiable operations and recorded
 * unless told otherwise (diff_no_grad_begin), so forward over reverse and reverse over forward both
 * work. */
#include "collectives/experiment/probe.h"
#include "collectives/tape/backward.h"
#include "collectives/tape/request.h"
#include "collectives/windows/window.h"

static struct diff_tensor *tangent_of(const struct diff_tensor *x, uint64_t pass)
{
    return x->tangent_pass == pass ? x->tangent : NULL;
}

static void tangent_set(struct diff_tensor *x, struct diff_tensor *tangent, uint64_t pass)
{
    if (tangent) /* several operations may read it: nobody adds to it in place */
        tangent->exclusive = false;
    x->tangent = tangent;
    x->tangent_pass = pass;
}

void tangent_node(struct diff_node *node, struct diff_tensor *const *x_dot,
                  struct diff_tensor **y_dot)
{
    if (!node->operation->tangent) {
        node_tangent_missing(node, "the operation has no tangent");
        return;
    }
    const void *site = node->tape->state->site;
    node->tape->state->site = node->site;
    node->operation->tangent(node, x_dot, y_dot);
    node->tape->state->site = site;
}

static void node_carry(struct diff_node *node, uint64_t pass)
{
    struct diff_tensor *few[8], **x_dot = few, *few_y[2] = {NULL, NULL}, **y_dot = few_y;
    if (node->input_count > 8)
        x_dot = arena_take(&node->tape->arena, node->input_count * sizeof(struct diff_tensor *));
    bool reached = node->operation->communicates || node->operation->inputs_elsewhere;
    for (uint32_t i = 0; i < node->input_count; i++) {
        x_dot[i] = tangent_of(node->inputs[i], pass);
        reached = reached || x_dot[i];
    }
    if (!reached)
        return;
    if (node->output_count > 2)
        y_dot = arena_take_zeroed(&node->tape->arena, node->output_count * sizeof *y_dot);
    tangent_node(node, x_dot, y_dot);
    for (uint32_t i = 0; i < node->output_count; i++)
        tangent_set(node->outputs[i], y_dot[i], pass);
}

void diff_jvp(struct diff_tape *tape, size_t count, struct diff_tensor *const *inputs,
              struct diff_tensor *const *tangents)
{
    struct diff_state *state = tape->state;
    ENTER(state);
    uint64_t pass = ++tape->tangents;
    for (size_t i = 0; i < count; i++) {
        if (inputs[i]->count != tangents[i]->count || inputs[i]->type != tangents[i]->type)
            state_fail(state, "M009", "input %zu and its tangent differ in type or count", i);
        tangent_set(inputs[i], tangents[i], pass);
    }
    struct diff_node *limit = tape->last;
    if (!probe_perturbed(state))
        window_prepare_all(tape);
    if (!probe_perturbed(state))
        for (struct diff_node *node = tape->first; node; node = node->next) {
            node_carry(node, pass);
            if (node == limit)
                break;
        }
    request_complete_all_late(tape);
    state_leave(state);
}

struct diff_tensor *diff_tangent(struct diff_tensor *x)
{
    struct diff_tensor *tangent = tangent_of(x, x->tape->tangents);
    return tangent ? tangent : tensor_zeros_like(x);
}
