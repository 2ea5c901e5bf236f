/* Accesses of one epoch that overlap in a target's memory: all may get, or all add; any others
 * have no order. */
#include "collectives/windows/epoch.h"

#include "collectives/tape/tape.h"

#include <stdlib.h>
#include <string.h>

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
void overlaps_check(const struct diff_node *node, const struct epoch *epoch)
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
