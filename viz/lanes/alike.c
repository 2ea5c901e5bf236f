/* Ranks that are alike are drawn in one lane: see scene.h.
 *
 * Ranks are alike that do the same calls at the same places in the same order, in the same
 * collectives, with the same tags. Their peers are the same rank, or as far away (counted round):
 * of both what more of them agree on. A lane of several has its label, its marks and itself drawn
 * twice; links between lanes are kept, equal ones as one with their number.
 *
 * Left alone: ranks that a finding in the picture names as more than a consequence, those that what
 * it names communicates with or waits for (where these are few), and every rank of a small world.
 */
#include "viz/lanes/layout.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS_SMALL = 8, ALIKE_MIN = 3, FEW = 8 };

struct standing { /* a rank among others */
    uint64_t key; /* what it does; then with whom, too */
    uint32_t rank;
};

struct alike {
    uint32_t *begin; /* a rank's marks: begin[rank] .. begin[rank + 1] */
    bool *own;       /* a rank that has a lane of its own */
    uint64_t *key;   /* by rank: what it does */
    uint64_t *leaf;  /* by rank: the names of its inputs */
    struct standing *standings;
    int64_t *values; /* room for one number per rank, three times */
};

static uint32_t rank_count(const struct scene *scene)
{
    return scene->trace->ranks;
}

static void find_begins(struct scene *scene, struct alike *alike)
{
    for (size_t i = 0; i < scene->mark_count; i++)
        alike->begin[scene->marks[i].rank + 1]++;
    for (uint32_t rank = 0; rank < rank_count(scene); rank++)
        alike->begin[rank + 1] += alike->begin[rank];
}

static void own_named(struct scene *scene, struct alike *alike)
{
    const struct trace *trace = scene->trace;
    for (size_t i = 0; i < scene->findings->count; i++) {
        const struct finding *finding = &scene->findings->items[i];
        bool drawn = scene->options->finding < 0 || (size_t)scene->options->finding == i;
        for (size_t k = 0; drawn && k < finding->op_count; k++) {
            const struct finding_op *name = &finding->ops[k];
            if (!finding_names(trace, finding, k))
                continue;
            if (name->op < trace->op_count)
                alike->own[trace->ops[name->op].rank] = true;
            if (name->node < trace->node_count)
                alike->own[trace->nodes[name->node].rank] = true;
        }
    }
    for (size_t i = 0; i < scene->mark_count; i++)
        if (scene->marks[i].named)
            alike->own[scene->marks[i].rank] = true;
}

/* What a named mark has to do with, unless that is half the world. */
static void own_explaining(struct scene *scene, struct alike *alike)
{
    uint32_t *count = scene_allocate(scene, scene->mark_count, sizeof *count);
    for (int round = 0; count && round < 2; round++)
        for (size_t i = 0; i < scene->link_count; i++) {
            const struct link *link = &scene->links[i];
            const uint32_t ends[2] = {link->from, link->to};
            bool in_lane = scene->marks[ends[0]].rank == scene->marks[ends[1]].rank;
            for (int end = 0; end < 2 && !in_lane && link->kind != LINK_HIDDEN; end++) {
                if (!scene->marks[ends[end]].named)
                    continue;
                if (round == 0)
                    count[ends[end]]++;
                else if (count[ends[end]] <= FEW)
                    alike->own[scene->marks[ends[1 - end]].rank] = true;
            }
        }
    free(count);
}

/* The inputs whose gradients a leaf is named after. */
static void find_leaves(struct scene *scene, struct alike *alike)
{
    const struct trace *trace = scene->trace;
    for (size_t i = 0; i < trace->gradient_count; i++) {
        const struct trace_gradient *row = &trace->gradients[i];
        if (row->rank < trace->ranks && row->index >= 0)
            alike->leaf[row->rank] = scene_mixed(alike->leaf[row->rank], row->variable);
    }
}

/* What a wait is written to wait for. */
static uint64_t key_of_wait(const struct scene *scene, const struct mark *mark)
{
    uint32_t start, open = mark->blocked ? scene_open_request(scene, mark->op) : TRACE_NO;
    uint64_t key = trace_op_requests(scene->trace, mark->op, &start, 1);
    if (key == 1)
        key = scene_mixed(key, trace_op_number(scene->trace, start) << 8 |
                                   scene->trace->ops[start].kind);
    if (open != TRACE_NO)
        key = scene_mixed(key, (uint64_t)(uint32_t)scene->trace->ops[open].tag << 32 |
                                   scene->trace->ops[open].kind);
    return key;
}

static uint64_t key_of(const struct scene *scene, const struct alike *alike,
                       const struct mark *mark)
{
    const struct trace *trace = scene->trace;
    uint64_t key = scene_mixed(scene_key(scene, mark), mark->group);
    key = scene_mixed(key, (uint64_t)mark->blocked << 1 | mark->wrong);
    if (mark->shape == MARK_LEAF && mark->node == TRACE_NO)
        key = scene_mixed(key, alike->leaf[mark->rank]);
    if (mark->shape == MARK_LEAF && mark->node != TRACE_NO &&
        trace->nodes[mark->node].forward != TRACE_NO)
        key = scene_mixed(key, trace->nodes[trace->nodes[mark->node].forward].name);
    if (mark->shape == MARK_END)
        key = scene_mixed(key, trace->rank_info[mark->rank].state);
    if (mark->op == TRACE_NO)
        return key;
    const struct trace_op *op = &trace->ops[mark->op];
    key = scene_mixed(key, (uint64_t)op->form->identity << 32 | op->form->reduce_op);
    key = scene_mixed(key, (uint64_t)(uint32_t)trace_op_tag_matched(op) << 32 |
                               (uint64_t)op->state << 1 | (op->match != TRACE_NO));
    if (op_kind_class(op->kind) == CLASS_WAIT)
        key = scene_mixed(key, key_of_wait(scene, mark));
    return key;
}

/* Everything a rank does, its peers apart. Links come in any order. */
static void find_keys(struct scene *scene, struct alike *alike)
{
    const struct trace *trace = scene->trace;
    for (size_t i = 0; i < scene->mark_count; i++) {
        const struct mark *mark = &scene->marks[i];
        alike->key[mark->rank] =
            scene_mixed(alike->key[mark->rank], key_of(scene, alike, mark) | 1);
    }
    for (size_t i = 0; i < scene->link_count; i++) {
        const struct link *link = &scene->links[i];
        uint32_t rank = scene->marks[link->from].rank, first = alike->begin[rank];
        if (scene->marks[link->to].rank == rank)
            alike->key[rank] += scene_mixed(link->kind, (uint64_t)(link->from - first + 1) << 32 |
                                                            (link->to - first + 1));
    }
    for (size_t i = 0; i < trace->fold_count; i++) {
        const struct trace_fold *fold = &trace->folds[i];
        uint32_t rank = trace->ops[fold->op].rank;
        alike->key[rank] +=
            scene_mixed(fold->times << 32 | fold->body, trace_op_seq(trace, &trace->ops[fold->op]));
    }
}

static int compare_standings(const void *a, const void *b)
{
    const struct standing *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static size_t behind_equal(const struct standing *standings, size_t at, size_t count)
{
    size_t end = at + 1;
    while (end < count && standings[end].key == standings[at].key)
        end++;
    return end;
}

static int compare_values(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* How often a value is among sorted ones. */
static size_t times_in(const int64_t *sorted, size_t count, int64_t value)
{
    size_t bound[2];
    for (int side = 0; side < 2; side++) {
        size_t low = 0, high = count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (sorted[middle] < value + side)
                low = middle + 1;
            else
                high = middle;
        }
        bound[side] = low;
    }
    return bound[1] - bound[0];
}

static bool all_equal(const int64_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (values[i] != values[0])
            return false;
    return true;
}

/* How far away a peer is, counted round; none for what is no rank. */
static int64_t distance(const struct scene *scene, uint32_t rank, int32_t peer)
{
    uint32_t ranks = rank_count(scene);
    return peer < 0 || (uint32_t)peer >= ranks ? -1 : ((int64_t)peer - rank + ranks) % ranks;
}

static bool is_collective(const struct scene *scene, const struct mark *mark)
{
    return mark->op != TRACE_NO &&
           op_kind_class(scene->trace->ops[mark->op].kind) == CLASS_COLLECTIVE;
}

/* Ranks that do the same: tells apart those with other peers at a place of their lanes. Where a
 * peer is read as a distance, says so at the rank's mark. */
static void tell_apart(struct scene *scene, struct alike *alike, struct standing *rows,
                       size_t count, uint32_t place, unsigned peer)
{
    int64_t *same = alike->values, *sorted_same = same + rank_count(scene),
            *sorted_far = sorted_same + rank_count(scene);
    bool one_peer, one_distance;
    for (size_t i = 0; i < count; i++) {
        struct mark *mark = &scene->marks[alike->begin[rows[i].rank] + place];
        int32_t peers[2];
        scene_peers(scene, mark, peers);
        same[i] = sorted_same[i] = peers[peer];
        sorted_far[i] = distance(scene, rows[i].rank, peers[peer]);
    }
    one_peer = all_equal(sorted_same, count);
    one_distance = all_equal(sorted_far, count);
    if (!one_peer && !one_distance) {
        qsort(sorted_same, count, sizeof *sorted_same, compare_values);
        qsort(sorted_far, count, sizeof *sorted_far, compare_values);
    }
    for (size_t i = 0; i < count; i++) {
        struct mark *mark = &scene->marks[alike->begin[rows[i].rank] + place];
        int64_t far = distance(scene, rows[i].rank, (int32_t)same[i]);
        bool relative = !one_peer && far >= 0 && !is_collective(scene, mark) &&
                        (one_distance ||
                         times_in(sorted_far, count, far) > times_in(sorted_same, count, same[i]));
        if (relative)
            mark->peers |= (uint8_t)(PEER_RELATIVE << peer);
        rows[i].key = scene_mixed(rows[i].key, relative ? (uint64_t)far << 32 | 1
                                                        : (uint64_t)(uint32_t)same[i] << 1);
    }
}

/* A rank's peer that is as far away as those of the others, but round the end of the world. */
static void find_around(struct scene *scene, const struct alike *alike, uint32_t leader,
                        uint32_t rank)
{
    uint32_t first = alike->begin[leader];
    for (uint32_t i = first; i < alike->begin[leader + 1]; i++) {
        int32_t peers[2], others[2];
        struct mark *mark = &scene->marks[i];
        if (!mark->peers)
            continue;
        scene_peers(scene, mark, peers);
        scene_peers(scene, &scene->marks[alike->begin[rank] + (i - first)], others);
        for (unsigned k = 0; k < 2; k++)
            if ((mark->peers & PEER_RELATIVE << k) &&
                (int64_t)peers[k] - leader != (int64_t)others[k] - rank)
                mark->peers |= (uint8_t)(PEER_AROUND << k);
    }
}

/* One lane for ranks that are alike. */
static void join(struct scene *scene, struct alike *alike, const struct standing *rows,
                 size_t count)
{
    uint32_t leader = rows[0].rank, first = alike->begin[leader];
    for (size_t i = 1; i < count; i++) {
        scene->leader[rows[i].rank] = leader;
        scene->next_alike[rows[i - 1].rank] = rows[i].rank;
        find_around(scene, alike, leader, rows[i].rank);
        for (uint32_t k = first; k < alike->begin[leader + 1]; k++)
            leaf_take(&scene->marks[k].leaf,
                      &scene->marks[alike->begin[rows[i].rank] + (k - first)].leaf);
    }
    for (uint32_t i = first; i < alike->begin[leader + 1]; i++)
        scene->marks[i].alike = (uint32_t)count;
}

/* True: some ranks are drawn in one lane. */
static bool find_alike(struct scene *scene, struct alike *alike)
{
    size_t count = 0;
    bool some = false;
    for (uint32_t rank = 0; rank < rank_count(scene); rank++) {
        scene->leader[rank] = rank;
        scene->next_alike[rank] = TRACE_NO;
        if (!alike->own[rank])
            alike->standings[count++] = (struct standing){alike->key[rank], rank};
    }
    if (count)
        qsort(alike->standings, count, sizeof *alike->standings, compare_standings);
    for (size_t at = 0, end; at < count; at = end) {
        struct standing *rows = alike->standings + at;
        end = behind_equal(alike->standings, at, count);
        if (end - at < ALIKE_MIN)
            continue;
        uint32_t marks = alike->begin[rows->rank + 1] - alike->begin[rows->rank];
        for (uint32_t place = 0; place < marks; place++)
            for (unsigned peer = 0; peer < 2; peer++)
                tell_apart(scene, alike, rows, end - at, place, peer);
        qsort(rows, end - at, sizeof *rows, compare_standings);
        for (size_t i = 0, behind; i < end - at; i = behind) {
            behind = behind_equal(rows, i, end - at);
            if (behind - i < ALIKE_MIN)
                continue;
            join(scene, alike, rows + i, behind - i);
            some = true;
        }
    }
    for (size_t i = 0; i < scene->mark_count; i++)
        if (scene->marks[i].alike == 1)
            scene->marks[i].peers = 0;
    return some;
}

/* The mark in the leader's lane that stands for this one. */
static uint32_t head_of(const struct scene *scene, const struct alike *alike, uint32_t mark)
{
    uint32_t rank = scene->marks[mark].rank;
    return alike->begin[scene->leader[rank]] + (mark - alike->begin[rank]);
}

static void lead_links(struct scene *scene, const struct alike *alike)
{
    size_t links = 0;
    for (size_t i = 0; i < scene->link_count; i++) {
        struct link link = scene->links[i];
        link.ends[0] = scene->marks[link.from].rank;
        link.ends[1] = scene->marks[link.to].rank;
        bool in_lane = link.ends[0] == link.ends[1];
        if (in_lane && scene->leader[link.ends[0]] != link.ends[0])
            continue; /* as in the lane of its leader */
        link.from = head_of(scene, alike, link.from);
        link.to = head_of(scene, alike, link.to);
        if (link.from != link.to)
            scene->links[links++] = link;
        else if (link.kind == LINK_MESSAGE)
            scene->marks[link.from].among += link.repeat;
    }
    scene->link_count = links;
    scene_merge_links(scene);
}

static void fold(struct scene *scene, struct alike *alike)
{
    find_begins(scene, alike);
    own_named(scene, alike);
    own_explaining(scene, alike);
    find_leaves(scene, alike);
    find_keys(scene, alike);
    bool some = find_alike(scene, alike);
    bool *keep = scene_allocate(scene, scene->mark_count, sizeof *keep);
    for (uint32_t i = 0; keep && i < scene->mark_count; i++)
        keep[i] = scene->leader[scene->marks[i].rank] == scene->marks[i].rank;
    if (keep && some) {
        lead_links(scene, alike);
        scene_keep(scene, keep, NULL);
    }
    free(keep);
    if (!some) {
        free(scene->leader);
        scene->leader = NULL;
    }
}

void scene_alike(struct scene *scene)
{
    size_t n = rank_count(scene);
    if (n <= RANKS_SMALL)
        return;
    scene->leader = scene_allocate(scene, n, sizeof *scene->leader);
    scene->next_alike = scene_allocate(scene, n, sizeof *scene->next_alike);
    struct alike alike = {
        .begin = scene_allocate(scene, n + 1, sizeof *alike.begin),
        .own = scene_allocate(scene, n, sizeof *alike.own),
        .key = scene_allocate(scene, n, sizeof *alike.key),
        .leaf = scene_allocate(scene, n, sizeof *alike.leaf),
        .standings = scene_allocate(scene, n, sizeof *alike.standings),
        .values = scene_allocate(scene, 3 * n, sizeof *alike.values),
    };
    if (!scene->exhausted)
        fold(scene, &alike);
    free(alike.begin);
    free(alike.own);
    free(alike.key);
    free(alike.leaf);
    free(alike.standings);
    free(alike.values);
}
