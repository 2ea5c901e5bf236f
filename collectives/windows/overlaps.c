/* Accesses of one epoch that overlap in a target's memory: all may get, or all add; any others
 * have no order. */
#include "collectives/windows/epoch.h"

#include "collectives/tape/tape.h"
#include "collectives/windows/exchange.h"

#include <stdlib.h>

/* One of the accesses to a rank's memory. */
struct met {
    uint64_t begin, end, kind;
    int origin, target;
};
enum { MET_NUMBERS = 3 };

static int by_place(const void *a, const void *b)
{
    const struct met *left = a, *right = b;
    if (left->target != right->target)
        return left->target < right->target ? -1 : 1;
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

static void overlap_refuse(const struct diff_node *node, const struct met *one,
                           const struct met *other)
{
    uint64_t end = one->end < other->end ? one->end : other->end;
    const char *after = node->operation->kind == OP_WIN_FENCE      ? "fence"
                        : node->operation->kind == OP_WIN_COMPLETE ? "complete and another start"
                                                                   : "flush";
    node_fail(node, "B003",
              "in one epoch rank %d's %s and rank %d's %s meet in values %zu to %zu of rank %d's "
              "window, in an order that nothing decides; do one of them after a diff_win_%s",
              one->origin, kind_text(one->kind), other->origin, kind_text(other->kind),
              (size_t)other->begin, (size_t)end - 1, one->target, after);
}

/* In order of their places; of each kind, the access that ends last is kept. */
static void overlaps_refuse(const struct diff_node *node, struct met *met, size_t count)
{
    const struct met *last[MOVE_FETCH_ADD + 1] = {NULL};
    qsort(met, count, sizeof *met, by_place);
    for (size_t i = 0; i < count; i++) {
        for (size_t kind = 0; kind <= MOVE_FETCH_ADD; kind++) {
            if (last[kind] && last[kind]->target != met[i].target)
                last[kind] = NULL;
            if (last[kind] && last[kind]->end > met[i].begin && !may_overlap(kind, met[i].kind))
                overlap_refuse(node, last[kind], &met[i]);
        }
        const struct met **longest = &last[met[i].kind];
        if (!*longest || (*longest)->end < met[i].end)
            *longest = &met[i];
    }
}

static void met_add(struct met *met, size_t *count, struct met more)
{
    if (more.begin < more.end)
        met[(*count)++] = more;
}

static void own_check(const struct diff_node *node, const struct epoch *epoch)
{
    struct met *met = arena_take(&node->tape->arena, (epoch->count + 1) * sizeof *met);
    size_t count = 0;
    for (size_t i = 0; i < epoch->count; i++) {
        const struct window_access *a = &epoch->accesses[i];
        met_add(
            met, &count,
            (struct met){a->begin, a->begin + a->count, a->kind, node->channel->rank, a->target});
    }
    overlaps_refuse(node, met, count);
}

/* Every rank tells each target what it does there. */
static struct exchange told(const struct diff_node *node, const struct epoch *epoch)
{
    size_t size = (size_t)node->channel->size;
    int *counts = arena_take_zeroed(&node->tape->arena, 2 * size * sizeof *counts);
    int *used = counts + size;
    for (size_t i = 0; i < epoch->count; i++)
        counts[epoch->accesses[i].target] += MET_NUMBERS;
    MPI_Comm comm = window_at(epoch->window, node->channel)->comm;
    struct exchange own = exchange_new(&node->tape->arena, comm, counts);
    for (size_t i = 0; i < epoch->count; i++) {
        const struct window_access *a = &epoch->accesses[i];
        uint64_t *at = own.numbers + own.begins[a->target] + used[a->target];
        used[a->target] += MET_NUMBERS;
        at[0] = a->begin;
        at[1] = a->begin + a->count;
        at[2] = a->kind;
    }
    return exchange_run(&own);
}

void overlaps_check(const struct diff_node *node, const struct epoch *epoch)
{
    if (epoch->kind != EPOCH_FENCE) {
        own_check(node, epoch);
        return;
    }
    const struct diff_channel *channel = node->channel;
    struct exchange theirs = told(node, epoch);
    int last = channel->size - 1;
    size_t got = (size_t)(theirs.begins[last] + theirs.counts[last]), count = 0;
    struct met *met = arena_take(&node->tape->arena, (got / MET_NUMBERS + 1) * sizeof *met);
    for (int r = 0; r < channel->size; r++)
        for (int i = 0; i < theirs.counts[r]; i += MET_NUMBERS) {
            const uint64_t *at = theirs.numbers + theirs.begins[r] + i;
            met_add(met, &count, (struct met){at[0], at[1], at[2], r, channel->rank});
        }
    overlaps_refuse(node, met, count);
}
