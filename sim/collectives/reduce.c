/* Collectives that combine: the members' inputs are folded in rank order, always with the same
 * association, so that a result is the same bits every time. Another order can be asked for
 * (options.reduce_order), to show how far a result depends on it.
 *
 * The inputs are folded chunk by chunk, so that the accumulator stays in the first-level cache;
 * large reductions are shared among an OpenMP team while that is quicker: on a machine busy with
 * other things a team waits for whichever of its threads does not run. Who folds a chunk changes no
 * bit of it. An output may be its member's own input (in
 * place): a chunk of all inputs is read before any output is written. */
#include "sim/collectives/alike.h"
#include "sim/collectives/data.h"
#include "sim/memory/region.h"

#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CHUNK = 8 * 1024,
    TEAM_FROM = 2 << 20, /* bytes of all inputs and outputs together */
    LOOK_AGAIN = 64      /* large reductions until the slower way is tried once more */
};

struct fold {
    const struct sim_op *op;
    const struct sim_datatype *type;
    struct sim_inputs given;
    const char **inputs; /* their n addresses, each at the same element */
    int n;
    struct sim_world *world;
    enum sim_reduce_order order;
    uint64_t seed;
};

static void *need(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    assert(memory && "out of memory for a reduction");
    return memory;
}

/* The order in which inputs are taken: rank order unless another was asked for and the op commutes.
 */
static void permute(struct fold *fold)
{
    if (!fold->op->commutative)
        return;
    if (fold->order == SIM_REDUCE_RING && fold->n > 1) {
        const char *first = fold->inputs[0];
        memmove(fold->inputs, fold->inputs + 1, (size_t)(fold->n - 1) * sizeof *fold->inputs);
        fold->inputs[fold->n - 1] = first;
    }
    for (int i = fold->n - 1; fold->order == SIM_REDUCE_SEED && i > 0; i--) {
        int j = (int)(sim_random(fold->seed, (uint64_t)i) % (uint64_t)(i + 1));
        const char *swap = fold->inputs[i];
        fold->inputs[i] = fold->inputs[j];
        fold->inputs[j] = swap;
    }
}

/* The bytes that elements span, and how far from their address these begin: below it where an extent is
 * negative. */
struct span {
    ptrdiff_t low;
    size_t bytes;
};

static struct span span_of(const struct sim_datatype *type, size_t count)
{
    struct sim_hull hull = sim_region_hull(&(struct sim_region){.type = type, .count = count});
    return (struct span){(ptrdiff_t)hull.low, hull.high - hull.low};
}

/* Pairs neighbours recursively: the association of a binary tree. result = fold of
 * inputs[from..to). */
static void fold_tree(const struct fold *fold, int from, int to, size_t offset, size_t count,
                      char *result)
{
    struct span span = span_of(fold->type, count);
    if (to - from == 1) {
        memcpy(result + span.low, fold->inputs[from] + offset + span.low, span.bytes);
        return;
    }
    int middle = from + (to - from + 1) / 2;
    fold_tree(fold, from, middle, offset, count, result);
    char *right = need(span.bytes);
    fold_tree(fold, middle, to, offset, count, right - span.low);
    sim_op_apply_right(fold->op, result, right - span.low, count, fold->type);
    free(right);
}

/* result = fold of all inputs' `count` elements at byte `offset`; result is laid out like an input.
 */
static void fold_range(const struct fold *fold, size_t offset, size_t count, char *result)
{
    if (fold->order == SIM_REDUCE_TREE) {
        fold_tree(fold, 0, fold->n, offset, count, result);
        return;
    }
    struct span span = span_of(fold->type, count);
    memcpy(result + span.low, fold->inputs[0] + offset + span.low, span.bytes);
    for (int i = 1; i < fold->n; i++)
        sim_op_apply_right(fold->op, result, fold->inputs[i] + offset, count, fold->type);
}

/* Whether a large reduction is for the team: each way is tried twice, since a team's first time is
 * spent on starting it, then the quicker one is taken. */
static bool team_is_quicker(struct sim_fold_pace *pace)
{
    uint32_t turn = pace->turns++;
    if (turn < 4)
        return turn % 2 == 0;
    bool team = pace->team < pace->alone;
    return turn % LOOK_AGAIN ? team : !team;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Folds elements of a predefined op and copies the result to every output. */
static void fold_chunks(const struct fold *fold, size_t count, const struct sim_block *outputs,
                        int output_count)
{
    size_t size = fold->type->size, step = CHUNK / size ? CHUNK / size : 1;
    long chunks = (long)((count + step - 1) / step);
    size_t total = count * size * (size_t)(fold->n + output_count);
    bool large = total >= TEAM_FROM && !omp_in_parallel();
    bool team = large && team_is_quicker(&fold->world->fold_pace);
    double start = large ? seconds() : 0;
#pragma omp parallel for schedule(dynamic) if (team)
    for (long chunk = 0; chunk < chunks; chunk++) {
        _Alignas(64) char accumulator[CHUNK];
        size_t from = (size_t)chunk * step;
        size_t here = count - from < step ? count - from : step;
        fold_range(fold, from * size, here, accumulator);
        for (int i = 0; i < output_count; i++)
            memcpy(outputs[i].data + from * size, accumulator, here * size);
    }
    if (!large)
        return;
    double took = (seconds() - start) / (double)total;
    double *known = team ? &fold->world->fold_pace.team : &fold->world->fold_pace.alone;
    bool better = *known <= 0 || took < *known; /* a delay may have been somebody else's */
    *known = better ? took : 0.75 * *known + 0.25 * took;
}

/* Whether all outputs are as many elements of the type that is folded, or lie like them. */
static bool outputs_alike(const struct fold *fold, size_t count, const struct sim_block *outputs,
                          int output_count)
{
    for (int i = 0; i < output_count; i++)
        if (!sim_alike(outputs[i], (struct sim_block){NULL, count, fold->type}))
            return false;
    return true;
}

/* Folds `count` elements and copies the result to every output. */
static void fold_all(struct fold *fold, size_t count, const struct sim_block *outputs,
                     int output_count)
{
    permute(fold);
    if (fold->type->contiguous && fold->op->predefined &&
        outputs_alike(fold, count, outputs, output_count)) {
        if (fold->type->size)
            fold_chunks(fold, count, outputs, output_count);
        return;
    }
    struct span span = span_of(fold->type, count);
    char *result = need(span.bytes);
    fold_range(fold, 0, count, result - span.low);
    for (int i = 0; i < output_count; i++)
        sim_datatype_transfer(result - span.low, fold->type, count, outputs[i].data,
                              outputs[i].type, outputs[i].count);
    free(result);
}

/* Of `count` elements like those of a call. `given`: how many each member gives; NULL: as many as it says. */
static struct fold fold_of(struct sim_collective *collective,
                           const struct sim_collective_call *like, size_t count,
                           const size_t *given)
{
    const struct sim_world_options *options = &collective->context->world->options;
    struct fold fold = {.op = like->op,
                        .type = like->send.type,
                        .given = sim_inputs_new(collective->size),
                        .n = collective->size,
                        .world = collective->context->world,
                        .order = options->reduce_order,
                        .seed = options->seed + collective->number};
    for (int r = 0; r < collective->size; r++) {
        struct sim_block input = sim_side_whole(&collective->calls[r]->send);
        input.count = given ? given[r] : input.count;
        sim_inputs_set(&fold.given, r, input, fold.type, count);
    }
    fold.inputs = fold.given.data;
    return fold;
}

/* The call whose op is used: it must be the running rank's own, since a user's function lives in
 * that rank's image. */
static const struct sim_collective_call *own_call(struct sim_collective *collective)
{
    for (int r = 0; r < collective->size; r++)
        if (!collective->calls[r]->stashed && collective->calls[r]->comm->owner == sim_current_rank)
            return collective->calls[r];
    return collective->calls[collective->size - 1];
}

static inline void copy_small(void *to, const void *from, size_t bytes)
{
    if (bytes == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, bytes);
}

/* One small value, the case that large worlds meet most: no array of addresses, no team. */
static bool allreduce_small(struct sim_collective *collective)
{
    const struct sim_collective_call *mine = own_call(collective);
    size_t bytes = mine->send.type->size * mine->send.count;
    sim_kernel *kernel =
        mine->op->predefined ? sim_op_kernel(mine->op, mine->send.type->kind) : NULL;
    if (bytes > 64 || !kernel || !mine->send.type->contiguous ||
        collective->context->world->options.reduce_order != SIM_REDUCE_LINEAR)
        return false;
    _Alignas(64) char accumulator[64];
    copy_small(accumulator, collective->calls[0]->send.buffer, bytes);
    for (int r = 1; r < collective->size; r++)
        kernel(accumulator, collective->calls[r]->send.buffer, accumulator, mine->send.count);
    for (int r = 0; r < collective->size; r++)
        copy_small(collective->calls[r]->receive.buffer, accumulator, bytes);
    return true;
}

static void allreduce_execute(struct sim_collective *collective)
{
    const struct sim_collective_call *mine = own_call(collective);
    if (!mine->send.count || allreduce_small(collective))
        return;
    struct fold fold = fold_of(collective, mine, mine->send.count, NULL);
    struct sim_block *outputs = need((size_t)collective->size * sizeof *outputs);
    for (int r = 0; r < collective->size; r++)
        outputs[r] = sim_side_whole(&collective->calls[r]->receive);
    fold_all(&fold, mine->send.count, outputs, collective->size);
    free(outputs);
    sim_inputs_free(&fold.given);
}

static void reduce_execute(struct sim_collective *collective)
{
    const struct sim_collective_call *mine = own_call(collective),
                                     *root = collective->calls[collective->first_root];
    if (!mine->send.count)
        return;
    struct fold fold = fold_of(collective, mine, mine->send.count, NULL);
    struct sim_block output = sim_side_whole(&root->receive);
    fold_all(&fold, mine->send.count, &output, 1);
    sim_inputs_free(&fold.given);
}

/* Elements of member r's share, and those before it. */
static size_t share_of(const struct sim_collective_call *call, int r)
{
    return call->receive.vectored ? sim_counts_at(call->receive.counts, r) : call->send.count;
}

/* How many elements each member's input has; the least of them, as elements like those of a call: they may not agree about
 * the shares, and nothing is read behind the end of the shortest. */
static size_t elements_of_all(const struct sim_collective *collective,
                              const struct sim_collective_call *like, size_t *given)
{
    size_t size = like->send.type->size, least = SIZE_MAX;
    for (int r = 0; r < collective->size; r++) {
        const struct sim_collective_call *call = collective->calls[r];
        given[r] = sim_call_all_shares(call);
        size_t fitting = size ? given[r] * call->send.type->size / size : given[r];
        least = fitting < least ? fitting : least;
    }
    return least;
}

/* In place, the input is the receive buffer, of which the share is a part: all shares are folded
 * before any is written. */
static void reduce_scatter_execute(struct sim_collective *collective)
{
    const struct sim_collective_call *mine = own_call(collective);
    size_t *given = need((size_t)collective->size * sizeof *given);
    size_t total = elements_of_all(collective, mine, given);
    struct fold fold = fold_of(collective, mine, total, given);
    free(given);
    permute(&fold);
    struct span span = span_of(fold.type, total);
    char *result = need(span.bytes);
    if (total)
        fold_range(&fold, 0, total, result - span.low);
    size_t before = 0;
    for (int r = 0; r < collective->size; r++) {
        struct sim_collective_call *call = collective->calls[r];
        size_t share = share_of(mine, r);
        if (share != share_of(call, r))
            sim_call_remark_share(collective, r, share, share_of(call, r));
        else if (before + share > total)
            call->error = MPI_ERR_TRUNCATE;
        else if (share)
            sim_datatype_transfer(result - span.low + (ptrdiff_t)before * fold.type->extent,
                                  fold.type, share, call->receive.buffer, call->receive.type,
                                  share);
        before += share;
    }
    free(result);
    sim_inputs_free(&fold.given);
}

/* Extends the running result, which is kept without gaps, by a member's input. The member's output is
 * written after its input has been read. */
static void scan_advance(struct sim_collective *collective, int rank)
{
    struct sim_collective_call *call = collective->calls[rank];
    const struct sim_datatype *type = call->send.type;
    size_t count = call->send.count;
    struct span span = span_of(type, count);
    bool exclusive = collective->kind == &sim_exscan;
    if (!type->size || !count)
        return;
    if (rank == 0) {
        collective->running = need(count * type->size);
        sim_datatype_copy_out(type, call->send.buffer, count, collective->running);
        if (!exclusive)
            sim_datatype_copy_in(type, call->receive.buffer, count, collective->running);
        return;
    }
    char *here = need(span.bytes), *sum = here - span.low;
    if (!type->contiguous) /* gaps as in the input */
        memcpy(here, (char *)call->send.buffer + span.low, span.bytes);
    sim_datatype_copy_in(type, sum, count, collective->running);
    sim_op_apply_right(call->op, sum, call->send.buffer, count, type);
    if (exclusive)
        sim_datatype_copy_in(type, call->receive.buffer, count, collective->running);
    else
        sim_datatype_transfer(sum, type, count, call->receive.buffer, type, count);
    if (type->contiguous) { /* it has no gaps */
        free(collective->running);
        collective->running = here;
        return;
    }
    sim_datatype_copy_out(type, sum, count, collective->running);
    free(here);
}

#define KIND(spelled, when, ...)                                                                   \
    {                                                                                              \
        .name = spelled, .synchronisation = when, .uniform = true, .reduces = true, __VA_ARGS__    \
    }

const struct sim_collective_kind sim_allreduce =
    KIND("Allreduce", SIM_NEEDS_ALL, .execute = allreduce_execute, .across = &sim_allreduce_across);
const struct sim_collective_kind sim_reduce_scatter_block =
    KIND("Reduce_scatter_block", SIM_NEEDS_ALL, .sends_each = true,
         .execute = reduce_scatter_execute, .across = &sim_reduce_scatter_block_across);
const struct sim_collective_kind sim_scan = KIND("Scan", SIM_PREFIX, .advance = scan_advance);
const struct sim_collective_kind sim_exscan = KIND("Exscan", SIM_PREFIX, .advance = scan_advance);
const struct sim_collective_kind sim_reduce_scatter = {.name = "Reduce_scatter",
                                                       .sends_each = true,
                                                       .synchronisation = SIM_NEEDS_ALL,
                                                       .execute = reduce_scatter_execute,
                                                       .reduces = true,
                                                       .across = &sim_reduce_scatter_across};
const struct sim_collective_kind sim_reduce = {.name = "Reduce",
                                               .synchronisation = SIM_TO_ROOT,
                                               .execute = reduce_execute,
                                               .uniform = true,
                                               .reduces = true,
                                               .rooted = true,
                                               .across = &sim_reduce_across};
