/* Passive phases and their locks, as operations: see phase.h. */
#include "collectives/windows/phase.h"

#include "collectives/experiment/mutant.h"
#include "collectives/tape/backward.h"
#include "collectives/tape/tape.h"

/* What the nodes of a phase carry: an end of it, or one lock. */
struct passage {
    struct phase *phase;
    struct turn *turn;
    int target, type;
    enum direction direction;
};

static enum direction opposite(enum direction direction)
{
    return direction == DIRECTION_DOWN ? DIRECTION_UP : DIRECTION_DOWN;
}

static enum direction again(enum direction direction)
{
    return direction == DIRECTION_FIRST ? DIRECTION_UP : direction;
}

static const struct window_at *own_lock(const struct diff_node *node)
{
    const struct passage *passage = node->extra;
    const struct window_at *at = window_at(passage->phase->window, node->channel);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, node->channel->rank, 0, at->win);
    return at;
}

static void begin_forward(struct diff_node *node)
{
    const struct window_at *at = own_lock(node);
    memory_fill(at, node->inputs[0]);
    MPI_Win_unlock(node->channel->rank, at->win);
    node_collective(node);
    MPI_Barrier(at->comm);
}

static void end_forward(struct diff_node *node)
{
    const struct passage *passage = node->extra;
    struct phase *phase = passage->phase;
    node_collective(node);
    MPI_Barrier(window_at(phase->window, node->channel)->comm);
    const struct window_at *at = own_lock(node);
    memory_read(at, node->outputs[0]);
    MPI_Win_unlock(node->channel->rank, at->win);
    if (passage->direction == DIRECTION_FIRST)
        turns_settle(node, phase);
    MPI_Waitall((int)phase->told_count, phase->told, MPI_STATUSES_IGNORE);
    phase->told_count = 0;
}

static void begin_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                          struct diff_tensor **x_bar)
{
    const struct passage *passage = node->extra;
    x_bar[0] = phase_end(passage->phase, opposite(passage->direction),
                         channel_adjoint(node->channel), y_bar[0]);
}

static void begin_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                          struct diff_tensor **y_dot)
{
    const struct passage *passage = node->extra;
    y_dot[0] = phase_begin(passage->phase, again(passage->direction), node->channel->adjoint,
                           cotangent_or_zeros(x_dot[0], node->inputs[0]));
}

static void end_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                        struct diff_tensor **x_bar)
{
    const struct passage *passage = node->extra;
    x_bar[0] =
        phase_begin(passage->phase, opposite(passage->direction), channel_adjoint(node->channel),
                    cotangent_or_zeros(y_bar[0], node->outputs[0]));
}

static void end_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                        struct diff_tensor **y_dot)
{
    const struct passage *passage = node->extra;
    y_dot[0] =
        phase_end(passage->phase, again(passage->direction), node->channel->adjoint, x_dot[0]);
}

static void lock_forward(struct diff_node *node)
{
    const struct passage *passage = node->extra;
    const struct window_at *at = window_at(passage->phase->window, node->channel);
    if (!passage->turn) {
        MPI_Win_lock_all(0, at->win);
        return;
    }
    if (node->tape->state->mutant != MUTANT_LOCK_ORDER)
        turn_await(passage->turn, passage->phase, passage->direction);
    MPI_Win_lock(passage->type, passage->target, 0, at->win);
    if (passage->direction == DIRECTION_FIRST)
        turn_count(passage->turn, passage->phase->window);
}

static void unlock_forward(struct diff_node *node)
{
    const struct passage *passage = node->extra;
    const struct window_at *at = window_at(passage->phase->window, node->channel);
    if (!passage->turn) {
        MPI_Win_unlock_all(at->win);
        return;
    }
    MPI_Win_unlock(passage->target, at->win);
    if (node->tape->state->mutant != MUTANT_LOCK_ORDER)
        turn_pass(passage->turn, passage->phase, passage->direction);
}

static struct held held_by(const struct diff_node *node)
{
    const struct passage *passage = node->extra;
    return (struct held){passage->phase, passage->turn, passage->target, passage->type, NULL};
}

static void lock_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                         struct diff_tensor **x_bar)
{
    const struct passage *passage = node->extra;
    struct held held = held_by(node);
    (void)y_bar, (void)x_bar;
    lock_give(&held, opposite(passage->direction), channel_adjoint(node->channel));
}

static void lock_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                         struct diff_tensor **y_dot)
{
    const struct passage *passage = node->extra;
    struct held held = held_by(node);
    (void)x_dot, (void)y_dot;
    lock_take(&held, again(passage->direction), node->channel->adjoint);
}

static void unlock_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                           struct diff_tensor **x_bar)
{
    const struct passage *passage = node->extra;
    struct held held = held_by(node);
    (void)y_bar, (void)x_bar;
    lock_take(&held, opposite(passage->direction), channel_adjoint(node->channel));
}

static void unlock_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                           struct diff_tensor **y_dot)
{
    const struct passage *passage = node->extra;
    struct held held = held_by(node);
    (void)x_dot, (void)y_dot;
    lock_give(&held, again(passage->direction), node->channel->adjoint);
}

#define PASSAGE(text, op, function)                                                                \
    {                                                                                              \
        .name = text, .kind = op, .communicates = true, .forward = function##_forward,             \
        .adjoint = function##_adjoint, .tangent = function##_tangent                               \
    }
static const struct diff_operation begin_operation = PASSAGE("passive_begin", OP_BARRIER, begin);
static const struct diff_operation end_operation = PASSAGE("passive_end", OP_BARRIER, end);
static const struct diff_operation lock_operation = PASSAGE("Win_lock", OP_WIN_LOCK, lock);
static const struct diff_operation unlock_operation = PASSAGE("Win_unlock", OP_WIN_UNLOCK, unlock);

static struct diff_node *passage_node(const struct diff_operation *operation,
                                      const struct passage *what, struct diff_channel *channel,
                                      struct diff_tensor *input)
{
    struct diff_tape *tape = channel->tape;
    struct diff_node *node = node_begin_on(tape, operation, input != NULL, &input);
    struct passage *copy = node_take(node, sizeof *copy);
    *copy = *what;
    node->channel = channel;
    node->extra = copy;
    return node;
}

struct diff_tensor *phase_begin(struct phase *phase, enum direction direction,
                                struct diff_channel *channel, struct diff_tensor *memory)
{
    struct passage passage = {.phase = phase, .direction = direction};
    struct diff_node *node = passage_node(&begin_operation, &passage, channel, memory);
    struct diff_tensor *handle = node_output(node, tensor_handle(node->tape, NULL));
    node_run(node);
    return handle;
}

struct diff_tensor *phase_end(struct phase *phase, enum direction direction,
                              struct diff_channel *channel, struct diff_tensor *handle)
{
    struct passage passage = {.phase = phase, .direction = direction};
    struct diff_node *node = passage_node(&end_operation, &passage, channel, handle);
    struct diff_tensor *memory = node_output(node, memory_new(phase->window));
    node_run(node);
    return memory;
}

void lock_take(const struct held *held, enum direction direction, struct diff_channel *channel)
{
    struct passage passage = {held->phase, held->turn, held->target, held->type, direction};
    node_run(passage_node(&lock_operation, &passage, channel, NULL));
}

void lock_give(const struct held *held, enum direction direction, struct diff_channel *channel)
{
    struct passage passage = {held->phase, held->turn, held->target, held->type, direction};
    node_run(passage_node(&unlock_operation, &passage, channel, NULL));
}
