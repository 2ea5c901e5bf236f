/* Epochs: see epoch.h. */
#include "collectives/windows/epoch.h"

#include "collectives/experiment/mutant.h"
#include "collectives/tape/backward.h"
#include "recorder/recorder.h"

#include <string.h>

bool move_gives(enum window_move kind)
{
    return kind != MOVE_GET && kind != MOVE_TAKE;
}

bool move_fetches(enum window_move kind)
{
    return kind != MOVE_PUT && kind != MOVE_ADD;
}

static enum window_move transposed(enum window_move kind, int mutant)
{
    switch (kind) {
    case MOVE_PUT:
        return mutant == MUTANT_PUT_KEEPS ? MOVE_GET : MOVE_TAKE;
    case MOVE_GET:
        return mutant == MUTANT_GET_REPLACES ? MOVE_PUT : MOVE_ADD;
    case MOVE_ADD:
        return MOVE_GET;
    case MOVE_TAKE:
        return MOVE_PUT;
    default:
        return kind;
    }
}

static void access_issue(const struct diff_node *node, const struct window_access *a, MPI_Win win)
{
    MPI_Datatype type = diff_type_mpi(((struct epoch *)node->extra)->window->type);
    MPI_Op op = a->kind == MOVE_FETCH_ADD ? MPI_SUM : MPI_REPLACE;
    const void *x = a->x ? a->x->storage->data : NULL;
    void *result = a->result ? a->result->storage->data : NULL;
    int n = (int)a->count, target = a->target;
    MPI_Aint at = (MPI_Aint)a->begin;
    if (node->tape->state->recorded)
        record_site_enter(a->site);
    if (a->kind == MOVE_PUT)
        MPI_Put(x, n, type, target, at, n, type, win);
    else if (a->kind == MOVE_GET)
        MPI_Get(result, n, type, target, at, n, type, win);
    else if (a->kind == MOVE_ADD)
        MPI_Accumulate(x, n, type, target, at, n, type, MPI_SUM, win);
    else if (a->single)
        MPI_Fetch_and_op(x, result, type, target, at, op, win);
    else
        MPI_Get_accumulate(x, n, type, result, n, type, target, at, n, type, op, win);
    if (node->tape->state->recorded)
        record_site_leave();
}

static void fence_forward(struct diff_node *node)
{
    const struct epoch *epoch = node->extra;
    const struct diff_tensor *before = node->inputs[0];
    struct window_at *at = window_at(epoch->window, node->channel);
    size_t bytes = before->count * diff_type_size(before->type);
    node_collective(node);
    if (epoch->checked)
        overlaps_check(node, epoch);
    memcpy(at->buffer, before->storage->data, bytes);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, at->win);
    for (size_t i = 0; i < epoch->count; i++)
        access_issue(node, &epoch->accesses[i], at->win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, at->win);
    memcpy(node->outputs[0]->storage->data, at->buffer, bytes);
}

static void fence_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                          struct diff_tensor **x_bar);
static void fence_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                          struct diff_tensor **y_dot);

static const struct diff_operation fence_operation = {.name = "Win_fence",
                                                      .kind = OP_WIN_FENCE,
                                                      .saves = SAVES_NOTHING,
                                                      .communicates = true,
                                                      .forward = fence_forward,
                                                      .adjoint = fence_adjoint,
                                                      .tangent = fence_tangent};

struct diff_tensor *epoch_run(const struct epoch *what, struct diff_channel *channel,
                              struct diff_tensor *memory)
{
    struct diff_tape *tape = memory->tape;
    uint32_t given = 1, fetched = 1;
    struct epoch *epoch = arena_take(&tape->arena, sizeof *epoch);
    *epoch = *what;
    for (size_t i = 0; i < epoch->count; i++) {
        given += move_gives(epoch->accesses[i].kind);
        fetched += move_fetches(epoch->accesses[i].kind);
    }
    struct diff_tensor **inputs = arena_take(&tape->arena, given * sizeof(struct diff_tensor *));
    inputs[0] = memory;
    given = 1;
    for (size_t i = 0; i < epoch->count; i++)
        if (move_gives(epoch->accesses[i].kind))
            inputs[given++] = epoch->accesses[i].x;
    struct diff_node *node = node_begin_many(tape, &fence_operation, fetched + 1, given, inputs);
    node->channel = channel;
    node->extra = epoch;
    struct diff_tensor *after = node_output(node, tensor_new_like(memory));
    for (size_t i = 0; i < epoch->count; i++) {
        struct window_access *a = &epoch->accesses[i];
        if (a->kind == MOVE_TAKE) /* what it leaves there */
            a->x = diff_zeros(tape, epoch->window->type, 1, &a->count);
        if (!move_fetches(a->kind))
            continue;
        if (!a->result)
            a->result = tensor_new_flat(tape, epoch->window->type, a->count);
        a->result->type = epoch->window->type;
        node_output(node, a->result);
    }
    node_run(node);
    return after;
}

/* The k-th access that fetches has output 1 + k, the one that gives input 1 + k. */
static void fence_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                          struct diff_tensor **x_bar)
{
    const struct epoch *epoch = node->extra;
    int mutant = node->tape->state->mutant;
    struct epoch reverse = {epoch->window, epoch->count, NULL, false};
    reverse.accesses =
        arena_take_zeroed(&node->tape->arena, (epoch->count + 1) * sizeof *reverse.accesses);
    size_t output = 1, input = 1;
    for (size_t i = 0; i < epoch->count; i++) {
        const struct window_access *a = &epoch->accesses[i];
        struct window_access *b = &reverse.accesses[i];
        *b = (struct window_access){.kind = transposed(a->kind, mutant),
                                    .target = a->target,
                                    .begin = mutant == MUTANT_WINDOW_START ? 0 : a->begin,
                                    .count = a->count,
                                    .site = a->site,
                                    .single = a->single};
        if (move_fetches(a->kind)) {
            b->x = cotangent_or_zeros(y_bar[output], node->outputs[output]);
            output++;
        }
    }
    x_bar[0] = epoch_run(&reverse, channel_adjoint(node->channel),
                         cotangent_or_zeros(y_bar[0], node->outputs[0]));
    for (size_t i = 0; i < epoch->count; i++)
        if (move_gives(epoch->accesses[i].kind))
            x_bar[input++] = reverse.accesses[i].result;
}

static void fence_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                          struct diff_tensor **y_dot)
{
    const struct epoch *epoch = node->extra;
    struct epoch again = {epoch->window, epoch->count, NULL, false};
    again.accesses = arena_take(&node->tape->arena, (epoch->count + 1) * sizeof *again.accesses);
    size_t output = 1, input = 1;
    for (size_t i = 0; i < epoch->count; i++) {
        struct window_access *a = &again.accesses[i];
        *a = epoch->accesses[i];
        a->result = NULL;
        if (move_gives(a->kind)) {
            a->x = cotangent_or_zeros(x_dot[input], node->inputs[input]);
            input++;
        }
    }
    y_dot[0] =
        epoch_run(&again, node->channel->adjoint, cotangent_or_zeros(x_dot[0], node->inputs[0]));
    for (size_t i = 0; i < epoch->count; i++)
        if (move_fetches(again.accesses[i].kind))
            y_dot[output++] = again.accesses[i].result;
}
