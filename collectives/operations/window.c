/* Epochs of windows. All accesses of an epoch are one operation, that of the fence which ends it:
 * a linear map of the members' memories and the origins' values to the memories afterwards and what
 * was got. Its transpose is again an epoch, of the transposed accesses, and its tangent is the same
 * epoch of the tangents. */
#include "collectives/tape/window.h"
#include "collectives/experiment/mutant.h"
#include "collectives/tape/backward.h"
#include "recorder/recorder.h"

#include <stdlib.h>
#include <string.h>

struct epoch {
    struct diff_window *window;
    size_t count;
    struct window_access *accesses;
    bool checked; /* accesses are the program's: they may overlap where they must not */
};

static bool gives(enum window_move kind)
{
    return kind != MOVE_GET && kind != MOVE_TAKE;
}

static bool fetches(enum window_move kind)
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

/* ---- accesses that overlap ---- */

/* One of the accesses to this rank's memory. */
struct met {
    uint64_t begin, end, kind;
    int origin;
};
enum { MET_NUMBERS = 3 };

static int by_begin(const void *a, const void *b)
{
    const struct met *left = a, *right = b;
    return (left->begin > right->begin) - (left->begin < right->begin);
}

static const char *kind_text(uint64_t kind)
{
    static const char *const names[] = {[MOVE_PUT] = "put",
                                        [MOVE_GET] = "get",
                                        [MOVE_ADD] = "accumulate",
                                        [MOVE_TAKE] = "take",
                                        [MOVE_SWAP] = "get and replace",
                                        [MOVE_FETCH_ADD] = "get and accumulate"};
    return names[kind];
}

static bool may_overlap(uint64_t a, uint64_t b)
{
    return a == b && (a == MOVE_GET || a == MOVE_ADD);
}

/* Accesses in order of their begins; of each kind, the one that ends last is kept. */
static void overlaps_refuse(const struct diff_node *node, struct met *met, size_t count)
{
    const struct met *last[MOVE_FETCH_ADD + 1] = {NULL};
    qsort(met, count, sizeof *met, by_begin);
    for (size_t i = 0; i < count; i++) {
        for (size_t kind = 0; kind <= MOVE_FETCH_ADD; kind++) {
            const struct met *other = last[kind];
            if (!other || other->end <= met[i].begin || may_overlap(kind, met[i].kind))
                continue;
            uint64_t end = other->end < met[i].end ? other->end : met[i].end;
            node_fail(node, "B003",
                      "in one epoch rank %d's %s and rank %d's %s meet in values %zu to %zu of "
                      "this window, in an order that nothing decides; do one of them after a "
                      "diff_win_fence",
                      other->origin, kind_text(kind), met[i].origin, kind_text(met[i].kind),
                      (size_t)met[i].begin, (size_t)end - 1);
        }
        const struct met **longest = &last[met[i].kind];
        if (!*longest || (*longest)->end < met[i].end)
            *longest = &met[i];
    }
}

/* Every rank tells each target what it does there. */
static void overlaps_check(const struct diff_node *node, const struct epoch *epoch)
{
    const struct diff_channel *channel = node->channel;
    struct arena *arena = &node->tape->arena;
    size_t size = (size_t)channel->size, got = 0, sent = 0;
    int *counts = arena_take_zeroed(arena, 4 * size * sizeof *counts);
    int *begins = counts + size, *theirs = begins + size, *places = theirs + size;
    for (size_t i = 0; i < epoch->count; i++)
        counts[epoch->accesses[i].target] += MET_NUMBERS;
    MPI_Alltoall(counts, 1, MPI_INT, theirs, 1, MPI_INT, channel->comm);
    for (size_t i = 0; i < size; i++) {
        begins[i] = (int)sent;
        places[i] = (int)got;
        sent += (size_t)counts[i];
        got += (size_t)theirs[i];
    }
    uint64_t *out = arena_take(arena, (sent + got + 1) * sizeof *out), *in = out + sent;
    int *next = arena_take(arena, size * sizeof *next);
    memcpy(next, begins, size * sizeof *next);
    for (size_t i = 0; i < epoch->count; i++) {
        const struct window_access *a = &epoch->accesses[i];
        uint64_t *at = out + next[a->target];
        next[a->target] += MET_NUMBERS;
        at[0] = a->begin;
        at[1] = a->begin + a->count;
        at[2] = a->kind;
    }
    MPI_Alltoallv(out, counts, begins, MPI_UINT64_T, in, theirs, places, MPI_UINT64_T,
                  channel->comm);
    struct met *met = arena_take(arena, (got / MET_NUMBERS + 1) * sizeof *met);
    size_t known = 0;
    for (int r = 0; r < channel->size; r++)
        for (int i = 0; i < theirs[r]; i += MET_NUMBERS) {
            const uint64_t *at = in + places[r] + i;
            if (at[0] < at[1])
                met[known++] = (struct met){at[0], at[1], at[2], r};
        }
    overlaps_refuse(node, met, known);
}

/* ---- the operation ---- */

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

/* The memory after these accesses, which it takes as they are; results that they bring get their
 * values, the others are made. */
static struct diff_tensor *epoch_run(const struct epoch *what, struct diff_channel *channel,
                                     struct diff_tensor *memory)
{
    struct diff_tape *tape = memory->tape;
    uint32_t given = 1, fetched = 1;
    struct epoch *epoch = arena_take(&tape->arena, sizeof *epoch);
    *epoch = *what;
    for (size_t i = 0; i < epoch->count; i++) {
        given += gives(epoch->accesses[i].kind);
        fetched += fetches(epoch->accesses[i].kind);
    }
    struct diff_tensor **inputs = arena_take(&tape->arena, given * sizeof(struct diff_tensor *));
    inputs[0] = memory;
    given = 1;
    for (size_t i = 0; i < epoch->count; i++)
        if (gives(epoch->accesses[i].kind))
            inputs[given++] = epoch->accesses[i].x;
    struct diff_node *node = node_begin_many(tape, &fence_operation, fetched + 1, given, inputs);
    node->channel = channel;
    node->extra = epoch;
    struct diff_tensor *after = node_output(node, tensor_new_like(memory));
    for (size_t i = 0; i < epoch->count; i++) {
        struct window_access *a = &epoch->accesses[i];
        if (a->kind == MOVE_TAKE) /* what it leaves there */
            a->x = diff_zeros(tape, epoch->window->type, 1, &a->count);
        if (!fetches(a->kind))
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
        if (fetches(a->kind)) {
            b->x = cotangent_or_zeros(y_bar[output], node->outputs[output]);
            output++;
        }
    }
    x_bar[0] = epoch_run(&reverse, channel_adjoint(node->channel),
                         cotangent_or_zeros(y_bar[0], node->outputs[0]));
    for (size_t i = 0; i < epoch->count; i++)
        if (gives(epoch->accesses[i].kind))
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
        if (gives(a->kind)) {
            a->x = cotangent_or_zeros(x_dot[input], node->inputs[input]);
            input++;
        }
    }
    y_dot[0] =
        epoch_run(&again, node->channel->adjoint, cotangent_or_zeros(x_dot[0], node->inputs[0]));
    for (size_t i = 0; i < epoch->count; i++)
        if (fetches(again.accesses[i].kind))
            y_dot[output++] = again.accesses[i].result;
}

/* ---- public ---- */

struct diff_window *diff_win_create(struct diff_tensor *memory, MPI_Comm comm)
{
    struct diff_state *state = memory->tape->state;
    ENTER(state);
    if (memory->type == DIFF_HANDLE)
        state_fail(state, "M009", "diff_win_create of a handle: wait for it first");
    struct diff_channel *channel = channel_find(memory->tape, comm, true);
    if (channel->intercomm)
        state_fail(state, "M009", "diff_win_create over an intercommunicator: merge it first");
    struct diff_window *window = window_new(channel, memory);
    state_leave(state);
    return window;
}

static struct diff_tensor *memory_of(const struct diff_window *window, const char *function)
{
    if (!window->memory)
        state_fail(window->tape->state, "M009",
                   "%s of a window whose values diff_tape_clear has forgotten: give it some by "
                   "diff_win_store",
                   function);
    return window->memory;
}

struct diff_tensor *diff_win_memory(struct diff_window *window)
{
    ENTER(window->tape->state);
    struct diff_tensor *memory = memory_of(window, "diff_win_memory");
    state_leave(window->tape->state);
    return memory;
}

void diff_win_store(struct diff_window *window, struct diff_tensor *memory)
{
    struct diff_state *state = window->tape->state;
    size_t count = window->counts[window->channel->rank];
    ENTER(state);
    if (memory->tape != window->tape)
        state_fail(state, "M009", "diff_win_store of another tape's tensor");
    if (memory->type != window->type || memory->count != count)
        state_fail(state, "M009", "diff_win_store of %zu values of type %s over %zu of type %s",
                   memory->count, diff_type_name(memory->type), count,
                   diff_type_name(window->type));
    window->memory = memory;
    state_leave(state);
}

void diff_win_fence(struct diff_window *window)
{
    struct diff_state *state = window->tape->state;
    ENTER(state);
    struct diff_tensor *memory = memory_of(window, "diff_win_fence");
    struct arena *arena = &window->tape->arena;
    struct epoch epoch = {window, 0, NULL, true};
    epoch.accesses = arena_take(arena, (window->accesses + 1) * sizeof *epoch.accesses);
    for (const struct window_access *a = window->first; a; a = a->next) {
        if (a->x && a->x->storage->version != a->version)
            state_fail(state, "M009",
                       "the tensor of a %s was changed before the fence that ends its epoch: "
                       "change it afterwards, or a copy",
                       a->name);
        epoch.accesses[epoch.count++] = *a;
    }
    window->first = window->last = NULL;
    window->accesses = 0;
    window->open = true;
    window->memory = epoch_run(&epoch, window->channel, memory);
    state_leave(state);
}

/* Ends the rank if the access cannot be. */
static void access_check(const struct diff_window *window, const struct window_access *a)
{
    struct diff_state *state = window->tape->state;
    if (!window->open)
        state_fail(state, "B004",
                   "%s before the first fence: call diff_win_fence to begin an epoch", a->name);
    if (a->x && a->x->tape != window->tape)
        state_fail(state, "M009", "%s mixes tensors of two tapes", a->name);
    if (a->x && a->x->type != window->type)
        state_fail(state, "M009", "%s of a %s tensor to a window of type %s", a->name,
                   diff_type_name(a->x->type), diff_type_name(window->type));
    if (a->target == MPI_PROC_NULL)
        return;
    if (a->target < 0 || a->target >= window->channel->size)
        state_fail(state, "M009", "%s: the target %d is no rank of the window's %d", a->name,
                   a->target, window->channel->size);
    size_t there = window->counts[a->target];
    if (a->begin > there || a->count > there - a->begin)
        state_fail(state, "M009",
                   "%s: %zu values from %zu on do not fit the %zu of rank %d's window", a->name,
                   a->count, a->begin, there, a->target);
}

static void access_add(struct diff_window *window, const struct window_access *wanted)
{
    access_check(window, wanted);
    if (wanted->target == MPI_PROC_NULL)
        return;
    struct window_access *a = arena_take(&window->tape->arena, sizeof *a);
    *a = *wanted;
    a->site = window->tape->state->site;
    a->version = a->x ? a->x->storage->version : 0;
    a->next = NULL;
    if (window->last)
        window->last->next = a;
    else
        window->first = a;
    window->last = a;
    window->accesses++;
}

/* What an access will bring: a handle until the fence. */
static struct diff_tensor *result_new(struct diff_window *window, size_t count, int target)
{
    struct diff_tensor *result = tensor_new_flat(window->tape, window->type, count);
    memset(result->storage->data, 0, count * diff_type_size(window->type));
    if (target != MPI_PROC_NULL)
        result->type = DIFF_HANDLE;
    return result;
}

/* One access; what it brings, or NULL. */
static struct diff_tensor *access_make(struct diff_window *window, enum window_move kind,
                                       struct window_access access)
{
    access.kind = kind;
    if (access.x)
        access.count = access.x->count;
    if (!gives(kind))
        access.x = NULL;
    if (fetches(kind))
        access.result = result_new(window, access.count, access.target);
    access_add(window, &access);
    return access.result;
}

void diff_win_put(struct diff_window *window, struct diff_tensor *x, int target,
                  size_t displacement)
{
    ENTER(window->tape->state);
    struct window_access access = {
        .name = __func__, .x = x, .target = target, .begin = displacement};
    access_make(window, MOVE_PUT, access);
    state_leave(window->tape->state);
}

struct diff_tensor *diff_win_get(struct diff_window *window, size_t count, int target,
                                 size_t displacement)
{
    ENTER(window->tape->state);
    struct window_access access = {
        .name = __func__, .count = count, .target = target, .begin = displacement};
    struct diff_tensor *result = access_make(window, MOVE_GET, access);
    state_leave(window->tape->state);
    return result;
}

/* Others than these are not linear in what the target holds, and the fence's order of accesses is
 * nobody's. */
static void op_refuse(const struct diff_window *window, const char *function, const char *known)
{
    state_fail(window->tape->state, "M009",
               "%s: only %s have a derivative here; for others diff_win_get what the target holds, "
               "compute, and diff_win_put it in a later epoch",
               function, known);
}

void diff_win_accumulate(struct diff_window *window, struct diff_tensor *x, int target,
                         size_t displacement, MPI_Op op)
{
    ENTER(window->tape->state);
    struct window_access access = {
        .name = __func__, .x = x, .target = target, .begin = displacement};
    if (op != MPI_SUM && op != MPI_REPLACE)
        op_refuse(window, __func__, "MPI_SUM and MPI_REPLACE");
    access_make(window, op == MPI_SUM ? MOVE_ADD : MOVE_PUT, access);
    state_leave(window->tape->state);
}

static struct diff_tensor *fetch(struct diff_window *window, struct window_access access, MPI_Op op)
{
    if (op != MPI_SUM && op != MPI_REPLACE && op != MPI_NO_OP)
        op_refuse(window, access.name, "MPI_SUM, MPI_REPLACE and MPI_NO_OP");
    enum window_move kind = op == MPI_SUM ? MOVE_FETCH_ADD : op == MPI_NO_OP ? MOVE_GET : MOVE_SWAP;
    return access_make(window, kind, access);
}

struct diff_tensor *diff_win_get_accumulate(struct diff_window *window, struct diff_tensor *x,
                                            int target, size_t displacement, MPI_Op op)
{
    ENTER(window->tape->state);
    struct window_access access = {
        .name = __func__, .x = x, .target = target, .begin = displacement};
    struct diff_tensor *result = fetch(window, access, op);
    state_leave(window->tape->state);
    return result;
}

struct diff_tensor *diff_win_fetch_and_op(struct diff_window *window, struct diff_tensor *x,
                                          int target, size_t displacement, MPI_Op op)
{
    ENTER(window->tape->state);
    if (x->count != 1)
        state_fail(window->tape->state, "M009",
                   "diff_win_fetch_and_op of %zu values: it takes one; for more there is "
                   "diff_win_get_accumulate",
                   x->count);
    struct window_access access = {
        .name = __func__, .x = x, .target = target, .begin = displacement, .single = true};
    struct diff_tensor *result = fetch(window, access, op);
    state_leave(window->tape->state);
    return result;
}
