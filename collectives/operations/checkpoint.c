/* Checkpoints: a loop whose steps are run again in the backward pass.
 *
 * The loop is one node. Its steps run on a tape of their own, which is emptied after each; the node
 * keeps some of the states between, binomially spaced (Griewank's rule: with c states and every
 * step run at most r times, c + r over c steps can be undone). The adjoint undoes the steps from
 * the last to the first: it takes the newest kept state, goes forward from there to the step in
 * question, keeping states where there is room, records that step alone, and runs its backward
 * pass. In a traced world (see bisect.c) the steps run on the tape itself, so that each operation
 * can be blamed. */
#include "collectives/experiment/probe.h"
#include "collectives/tape/backward.h"
#include "collectives/tape/tape.h"
#include "recorder/recorder.h"

#include <string.h>

enum { RUNS_MOST = 5, TRACED_STEPS_MOST = 4096 };

struct kept_state {
    size_t step; /* before which it is */
    char *bytes;
};

struct checkpoint {
    diff_step *body;
    void *context;
    size_t steps, count, room; /* count: tensors of a state; room: states that may be kept */
    size_t *offsets;           /* of each tensor in a state, and of its end */
    struct kept_state *kept;
    size_t kept_count;
    char *here; /* the state that is moved along */
    struct diff_tensor **state;
};

/* ---- the spacing ---- */

/* c + r over c, up to `most`. */
static size_t reach(size_t c, size_t r, size_t most)
{
    double value = 1;
    for (size_t i = 1; i <= r; i++) {
        value = value * (double)(c + i) / (double)i;
        if (value >= (double)most)
            return most;
    }
    return (size_t)(value + 0.5);
}

/* How far to go from a kept state before the next one is kept, where `steps` steps are left and
 * `room` (at least one) more states can be kept. */
static size_t stride(size_t steps, size_t room)
{
    size_t runs = 1;
    while (reach(room + 1, runs, steps) < steps)
        runs++;
    size_t ahead = reach(room, runs, steps);
    size_t least = runs > 1 ? reach(room + 1, runs - 2, steps) : 1;
    size_t by = steps > ahead ? steps - ahead : 1;
    by = by > least ? by : least;
    return by < steps ? by : steps - 1;
}

static size_t room_for(size_t steps)
{
    size_t room = 1;
    while (reach(room, RUNS_MOST - 2, steps) < steps)
        room++;
    return room;
}

/* ---- states ---- */

static void state_save(const struct checkpoint *own, struct diff_tensor *const *state, char *bytes)
{
    for (size_t i = 0; i < own->count; i++)
        memcpy(bytes + own->offsets[i], state[i]->storage->data,
               state[i]->count * diff_type_size(state[i]->type));
}

static struct diff_tensor *like(struct diff_tape *tape, const struct diff_tensor *model,
                                const void *values, bool leaf)
{
    return leaf ? diff_leaf(tape, model->type, model->dims, model->shape, values)
                : diff_constant(tape, model->type, model->dims, model->shape, values);
}

static void state_check(const struct diff_node *node, size_t i, const struct diff_tensor *after)
{
    const struct diff_tensor *before = node->inputs[i];
    if (after && after->tape != node->tape->inner)
        node_fail(node, "M009", "a step left a tensor of another tape in place %zu of the state",
                  i);
    if (!after || after->type != before->type || after->count != before->count)
        node_fail(
            node, "M009",
            "a step changed type or count of tensor %zu of the state: both stay what they are", i);
}

/* The program's own function, with its own lines. */
static void body_call(const struct diff_node *node, size_t step)
{
    const struct checkpoint *own = node->extra;
    struct diff_state *state = node->tape->state;
    const void *site = state->site;
    int depth = state->depth;
    uint32_t entered = state->entered;
    state->depth = 0;
    own->body(node->tape->inner, step, own->count, own->state, own->context);
    state->depth = depth;
    state->entered = entered;
    state->site = site;
    for (size_t i = 0; i < own->count; i++)
        state_check(node, i, own->state[i]);
}

/* Step `step` from own->here on, into own->here. */
static void step_forward(const struct diff_node *node, size_t step)
{
    const struct checkpoint *own = node->extra;
    struct diff_tape *inner = node->tape->inner;
    tape_empty(inner);
    for (size_t i = 0; i < own->count; i++)
        own->state[i] = like(inner, node->inputs[i], own->here + own->offsets[i], false);
    diff_no_grad_begin(inner);
    body_call(node, step);
    diff_no_grad_end(inner);
    state_save(own, own->state, own->here);
}

static void keep(struct checkpoint *own, size_t step)
{
    struct kept_state *kept = &own->kept[own->kept_count++];
    kept->step = step;
    memcpy(kept->bytes, own->here, own->offsets[own->count]);
}

/* From step `from`, where own->here is and has been kept, to step `to`. */
static void advance(const struct diff_node *node, size_t from, size_t to, size_t end)
{
    struct checkpoint *own = node->extra;
    size_t next = to; /* where to keep the next one */
    if (own->kept && own->kept_count < own->room && end - from > 1)
        next = from + stride(end - from, own->room - own->kept_count);
    for (size_t step = from; step < to;) {
        step_forward(node, step++);
        if (step != next || step == to)
            continue;
        keep(own, step);
        if (own->kept_count < own->room)
            next = step + stride(end - step, own->room - own->kept_count);
    }
}

static void checkpoint_forward(struct diff_node *node)
{
    struct checkpoint *own = node->extra;
    state_save(own, node->inputs, own->here);
    if (own->kept)
        keep(own, 0);
    advance(node, 0, own->steps, own->steps);
    for (size_t i = 0; i < own->count; i++)
        memcpy(node->outputs[i]->storage->data, own->here + own->offsets[i],
               own->offsets[i + 1] - own->offsets[i]);
}

/* ---- backward ---- */

/* Cotangents of a state; absent ones are zero, and stay absent. */
struct bars {
    char *bytes;
    bool *there;
};

/* Records step `step` from own->here on, and takes the cotangents through it. */
static void step_back(const struct diff_node *node, size_t step, struct bars *bars)
{
    const struct checkpoint *own = node->extra;
    struct diff_tape *inner = node->tape->inner;
    tape_empty(inner);
    struct diff_tensor **leaves = arena_take(&inner->arena, (own->count + 1) * sizeof *leaves);
    struct diff_tensor **roots = arena_take(&inner->arena, (own->count + 1) * sizeof *roots);
    struct diff_tensor **seeds = arena_take(&inner->arena, (own->count + 1) * sizeof *seeds);
    size_t count = 0;
    for (size_t i = 0; i < own->count; i++)
        own->state[i] = leaves[i] = like(inner, node->inputs[i], own->here + own->offsets[i], true);
    body_call(node, step);
    for (size_t i = 0; i < own->count; i++)
        if (bars->there[i]) {
            roots[count] = own->state[i];
            seeds[count++] = like(inner, node->inputs[i], bars->bytes + own->offsets[i], false);
        }
    diff_backward_from(inner, count, roots, seeds, 0);
    for (size_t i = 0; i < own->count; i++) {
        bars->there[i] = leaves[i]->gradient != NULL;
        if (bars->there[i])
            memcpy(bars->bytes + own->offsets[i], leaves[i]->gradient->storage->data,
                   own->offsets[i + 1] - own->offsets[i]);
    }
}

/* Steps that are run again mirror nothing: in a trace they are a node of their own. */
static void advance_again(const struct diff_node *node, size_t from, size_t end)
{
    uint32_t again = from + 1 < end ? record_node("recompute", OP_COMPUTE, 0, 0, node->site) : 0;
    if (again)
        record_node_enter(again);
    advance(node, from, end - 1, end);
    if (again)
        record_node_leave(again);
}

static void checkpoint_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                               struct diff_tensor **x_bar)
{
    struct checkpoint *own = node->extra;
    struct diff_tape *tape = node->tape;
    int no_grad = tape->state->no_grad;
    if (no_grad == 0)
        node_fail(node, "M009", "a checkpointed loop is differentiated once only");
    tape->state->no_grad = 0;
    struct bars bars = {arena_take_zeroed(&tape->arena, own->offsets[own->count] + 1),
                        arena_take_zeroed(&tape->arena, own->count + 1)};
    for (size_t i = 0; i < own->count; i++)
        if (y_bar[i]) {
            bars.there[i] = true;
            memcpy(bars.bytes + own->offsets[i], y_bar[i]->storage->data,
                   own->offsets[i + 1] - own->offsets[i]);
        }
    for (size_t end = own->steps; end > 0; end--) {
        while (own->kept_count > 1 && own->kept[own->kept_count - 1].step >= end)
            own->kept_count--;
        const struct kept_state *newest = &own->kept[own->kept_count - 1];
        memcpy(own->here, newest->bytes, own->offsets[own->count]);
        advance_again(node, newest->step, end);
        step_back(node, end - 1, &bars);
    }
    own->kept_count = 1;
    for (size_t i = 0; i < own->count; i++)
        if (bars.there[i])
            x_bar[i] = like(tape, node->inputs[i], bars.bytes + own->offsets[i], false);
    tape_empty(tape->inner);
    tape->state->no_grad = no_grad;
}

/* ---- forward mode ---- */

static void step_carry(const struct diff_node *node, size_t step, struct bars *dots)
{
    const struct checkpoint *own = node->extra;
    struct diff_tape *inner = node->tape->inner;
    tape_empty(inner);
    struct diff_tensor **inputs = arena_take(&inner->arena, (own->count + 1) * sizeof *inputs);
    struct diff_tensor **tangents = arena_take(&inner->arena, (own->count + 1) * sizeof *tangents);
    for (size_t i = 0; i < own->count; i++) {
        own->state[i] = inputs[i] = like(inner, node->inputs[i], own->here + own->offsets[i], true);
        tangents[i] = like(inner, node->inputs[i], dots->bytes + own->offsets[i], false);
    }
    body_call(node, step);
    diff_no_grad_begin(inner);
    diff_jvp(inner, own->count, inputs, tangents);
    diff_no_grad_end(inner);
    state_save(own, own->state, own->here);
    for (size_t i = 0; i < own->count; i++)
        memcpy(dots->bytes + own->offsets[i], diff_tangent(own->state[i])->storage->data,
               own->offsets[i + 1] - own->offsets[i]);
}

static void checkpoint_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                               struct diff_tensor **y_dot)
{
    const struct checkpoint *own = node->extra;
    struct diff_tape *tape = node->tape;
    int no_grad = tape->state->no_grad;
    if (no_grad == 0)
        node_fail(node, "M009", "a checkpointed loop is differentiated once only");
    tape->state->no_grad = 0;
    struct bars dots = {arena_take_zeroed(&tape->arena, own->offsets[own->count] + 1), NULL};
    for (size_t i = 0; i < own->count; i++)
        if (x_dot[i])
            memcpy(dots.bytes + own->offsets[i], x_dot[i]->storage->data,
                   own->offsets[i + 1] - own->offsets[i]);
    state_save(own, node->inputs, own->here);
    for (size_t step = 0; step < own->steps; step++)
        step_carry(node, step, &dots);
    for (size_t i = 0; i < own->count; i++)
        y_dot[i] = like(tape, node->inputs[i], dots.bytes + own->offsets[i], false);
    tape_empty(tape->inner);
    tape->state->no_grad = no_grad;
}

static const struct diff_operation checkpoint_operation = {.name = "checkpoint",
                                                           .kind = OP_COMPUTE,
                                                           .saves = SAVES_NOTHING,
                                                           .communicates = true,
                                                           .forward = checkpoint_forward,
                                                           .adjoint = checkpoint_adjoint,
                                                           .tangent = checkpoint_tangent};

/* ---- the call ---- */

/* The tape of the steps knows every communicator that this one knows. */
static void inner_prepare(struct diff_tape *tape)
{
    if (!tape->inner) {
        tape->inner = diff_tape_new(tape->comm);
        tape->inner->outer = tape;
    }
    tape->inner->order = tape->order;
    for (struct diff_channel *channel = tape->channels; channel; channel = channel->next)
        if (!channel->freed)
            channel_find(tape->inner, channel->comm, true);
}

/* As many states as the rank with the least room can keep: all go the same way. */
static size_t room_agree(const struct diff_tape *tape, size_t steps, size_t memory, size_t bytes)
{
    uint64_t mine = memory == 0 ? UINT64_MAX : bytes ? memory / bytes : UINT64_MAX, least;
    MPI_Allreduce(&mine, &least, 1, MPI_UINT64_T, MPI_MIN, tape->inner->channels->adjoint->comm);
    size_t most = room_for(steps);
    size_t room = least == UINT64_MAX ? most : least < steps ? (size_t)least : steps;
    return room > 0 ? room : 1;
}

static struct checkpoint *checkpoint_new(struct diff_node *node, size_t count, size_t steps)
{
    struct checkpoint *own = node_take(node, sizeof *own);
    own->steps = steps;
    own->count = count;
    own->offsets = node_take(node, (count + 1) * sizeof *own->offsets);
    own->state = node_take(node, (count + 1) * sizeof(struct diff_tensor *));
    for (size_t i = 0; i < count; i++) {
        const struct diff_tensor *x = node->inputs[i];
        if (x->type == DIFF_HANDLE)
            node_fail(node, "M009", "tensor %zu of the state is a handle: wait for it before", i);
        own->offsets[i + 1] = own->offsets[i] + x->count * diff_type_size(x->type);
    }
    own->here = node_take(node, own->offsets[count] + 1);
    node->extra = own;
    return own;
}

static void kept_take(struct diff_node *node, struct checkpoint *own)
{
    own->kept = node_take(node, own->room * sizeof *own->kept);
    for (size_t i = 0; i < own->room; i++)
        own->kept[i].bytes = arena_take(&node->tape->arena, own->offsets[own->count] + 1);
}

void diff_checkpoint(struct diff_tape *tape, size_t steps, size_t memory, diff_step *body,
                     size_t count, struct diff_tensor **state, void *context)
{
    struct diff_state *rank = tape->state;
    if (steps == 0)
        return;
    if (rank->probe && rank->probe->trace && steps <= TRACED_STEPS_MOST) {
        for (size_t step = 0; step < steps; step++)
            body(tape, step, count, state, context);
        return;
    }
    ENTER(rank);
    inner_prepare(tape);
    struct diff_node *node = node_begin_many(
        tape, &checkpoint_operation, (uint32_t)(count > 2 ? count : 2), (uint32_t)count, state);
    struct checkpoint *own = checkpoint_new(node, count, steps);
    own->body = body;
    own->context = context;
    own->room = room_agree(tape, steps, memory, own->offsets[count]);
    if (rank->no_grad == 0 && !probe_needs_no_tape(rank))
        kept_take(node, own);
    if (rank->row)
        rank->row->checkpoints = true;
    for (size_t i = 0; i < count; i++)
        state[i] = node_output(node, tensor_new_like(node->inputs[i]));
    node_run(node);
    state_leave(rank);
}
