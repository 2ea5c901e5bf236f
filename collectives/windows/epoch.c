/* Epochs: see epoch.h. */
#include "collectives/windows/epoch.h"

#include "collectives/experiment/mutant.h"
#include "collectives/tape/backward.h"
#include "recorder/recorder.h"

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

static void accesses_issue(const struct diff_node *node, const struct window_at *at)
{
    const struct epoch *epoch = node->extra;
    if (epoch->checked)
        overlaps_check(node, epoch);
    for (size_t i = 0; i < epoch->count; i++)
        access_issue(node, &epoch->accesses[i], at->win);
}

static void fence_forward(struct diff_node *node)
{
    const struct epoch *epoch = node->extra;
    const struct window_at *at = window_at(epoch->window, node->channel);
    node_collective(node);
    memory_fill(at, node->inputs[0]);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, at->win);
    accesses_issue(node, at);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, at->win);
    memory_read(at, node->outputs[0]);
}

static void complete_forward(struct diff_node *node)
{
    const struct epoch *epoch = node->extra;
    const struct window_at *at = window_at(epoch->window, node->channel);
    MPI_Group targets = ranks_group(epoch->targets, at->comm);
    MPI_Win_start(targets, 0, at->win);
    accesses_issue(node, at);
    MPI_Win_complete(at->win);
    MPI_Group_free(&targets);
}

static void flush_forward(struct diff_node *node)
{
    const struct epoch *epoch = node->extra;
    const struct window_at *at = window_at(epoch->window, node->channel);
    accesses_issue(node, at);
    if (epoch->flushed == ALL_TARGETS)
        MPI_Win_flush_all(at->win);
    else
        MPI_Win_flush(epoch->flushed, at->win);
}

static void epoch_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                          struct diff_tensor **x_bar);
static void epoch_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                          struct diff_tensor **y_dot);

#define EPOCH(text, op, function)                                                                  \
    {                                                                                              \
        .name = text, .kind = op, .saves = SAVES_NOTHING, .communicates = true,                    \
        .forward = function, .adjoint = epoch_adjoint, .tangent = epoch_tangent                    \
    }
static const struct diff_operation operations[] = {
    [EPOCH_FENCE] = EPOCH("Win_fence", OP_WIN_FENCE, fence_forward),
    [EPOCH_STARTED] = EPOCH("Win_complete", OP_WIN_COMPLETE, complete_forward),
    [EPOCH_FLUSHED] = EPOCH("Win_flush", OP_WIN_FLUSH, flush_forward),
};

static struct diff_tensor **given_list(const struct epoch *epoch, struct diff_tensor *memory,
                                       uint32_t *count)
{
    struct diff_tensor **given =
        arena_take(&epoch->window->tape->arena, (epoch->count + 1) * sizeof(struct diff_tensor *));
    *count = 0;
    if (memory)
        given[(*count)++] = memory;
    for (size_t i = 0; i < epoch->count; i++)
        if (move_gives(epoch->accesses[i].kind))
            given[(*count)++] = epoch->accesses[i].x;
    return given;
}

static void access_output(struct diff_node *node, struct window_access *a)
{
    struct diff_tape *tape = node->tape;
    enum diff_type type = ((struct epoch *)node->extra)->window->type;
    if (a->kind == MOVE_TAKE) /* what it leaves there */
        a->x = diff_zeros(tape, type, 1, &a->count);
    if (!move_fetches(a->kind))
        return;
    if (!a->result)
        a->result = tensor_new_flat(tape, type, a->count);
    a->result->type = type;
    node_output(node, a->result);
}

struct diff_tensor *epoch_run(const struct epoch *what, struct diff_channel *channel,
                              struct diff_tensor *memory)
{
    struct diff_tape *tape = what->window->tape;
    uint32_t given;
    struct epoch *epoch = arena_take(&tape->arena, sizeof *epoch);
    *epoch = *what;
    struct diff_tensor **inputs = given_list(epoch, memory, &given), *after = NULL;
    struct diff_node *node =
        node_begin_many(tape, &operations[epoch->kind], (uint32_t)epoch->count + 1, given, inputs);
    node->channel = channel;
    node->extra = epoch;
    if (memory)
        after = node_output(node, tensor_new_like(memory));
    for (size_t i = 0; i < epoch->count; i++)
        access_output(node, &epoch->accesses[i]);
    node_run(node);
    return after;
}

/* An epoch whose accesses the caller makes of this one's. */
static struct epoch epoch_like(const struct epoch *epoch)
{
    struct epoch made = *epoch;
    made.checked = false;
    made.accesses =
        arena_take_zeroed(&epoch->window->tape->arena, (epoch->count + 1) * sizeof *made.accesses);
    return made;
}

/* The k-th access that fetches has the k-th output, the one that gives the k-th input; a fence's
 * memory comes before them. */
static void epoch_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                          struct diff_tensor **x_bar)
{
    const struct epoch *epoch = node->extra;
    int mutant = node->tape->state->mutant;
    bool fence = epoch->kind == EPOCH_FENCE;
    struct epoch reverse = epoch_like(epoch);
    size_t output = fence, input = fence;
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
    struct diff_tensor *memory = fence ? cotangent_or_zeros(y_bar[0], node->outputs[0]) : NULL;
    struct diff_tensor *before = epoch_run(&reverse, channel_adjoint(node->channel), memory);
    if (fence)
        x_bar[0] = before;
    for (size_t i = 0; i < epoch->count; i++)
        if (move_gives(epoch->accesses[i].kind))
            x_bar[input++] = reverse.accesses[i].result;
}

static void epoch_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                          struct diff_tensor **y_dot)
{
    const struct epoch *epoch = node->extra;
    bool fence = epoch->kind == EPOCH_FENCE;
    struct epoch again = epoch_like(epoch);
    size_t output = fence, input = fence;
    for (size_t i = 0; i < epoch->count; i++) {
        struct window_access *a = &again.accesses[i];
        *a = epoch->accesses[i];
        a->result = NULL;
        if (move_gives(a->kind)) {
            a->x = cotangent_or_zeros(x_dot[input], node->inputs[input]);
            input++;
        }
    }
    struct diff_tensor *memory = fence ? cotangent_or_zeros(x_dot[0], node->inputs[0]) : NULL;
    struct diff_tensor *after = epoch_run(&again, node->channel->adjoint, memory);
    if (fence)
        y_dot[0] = after;
    for (size_t i = 0; i < epoch->count; i++)
        if (move_fetches(again.accesses[i].kind))
            y_dot[output++] = again.accesses[i].result;
}
