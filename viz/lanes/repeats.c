/* Iterations of loops that are alike are drawn once: see scene.h.
 *
 * A run is at least four blocks of marks, one behind the other in a lane, that are the same but for
 * when they were: same calls from the same places, to and from the same ranks. Its first block
 * stays. What findings name is in no run. The marks of a collective stay together or go together:
 * where a run keeps what another one leaves out, one of them begins later, ends earlier or is
 * dissolved. Short lanes are left alone. */
#include "viz/lanes/layout.h"

#include <stdlib.h>
#include <string.h>

enum { LANE_LONG = 24, BLOCKS_MIN = 4, PERIOD_MAX = 64, ROUNDS_MAX = 100 };

struct run {
    uint32_t begin, period, blocks; /* blocks: 0 where it is dissolved */
    uint32_t end, alike;            /* behind what it may have; behind what is alike */
};

struct repeats {
    uint64_t *key;    /* per mark: equal ones are alike */
    uint32_t *run_of; /* per mark, TRACE_NO: in none */
    bool *kept;       /* per group, by its first mark: one of its marks stays */
    struct run *runs;
    size_t count;
};

/* A rank, for a mark that stands for one rank: with all others in its lane. */
static int32_t peer_of(const struct scene *scene, const struct mark *mark, int32_t peer)
{
    enum op_class class = op_kind_class(scene->trace->ops[mark->op].kind);
    bool message = class == CLASS_SEND || class == CLASS_RECEIVE || class == CLASS_PROBE;
    bool lanes = scene->leader && message && mark->alike == 1 && peer >= 0 &&
                 (uint32_t)peer < scene->trace->ranks;
    return lanes ? (int32_t)scene->leader[peer] : peer;
}

static uint64_t key_of(const struct scene *scene, const struct mark *mark)
{
    uint64_t key = scene_key(scene, mark);
    if (mark->op != TRACE_NO) {
        const struct trace_op *op = &scene->trace->ops[mark->op];
        key = scene_mixed(key, (uint64_t)(uint32_t)peer_of(scene, mark, op->peer) << 32 |
                                   (uint32_t)peer_of(scene, mark, trace_op_peer_matched(op)));
        key = scene_mixed(key, (uint64_t)op->count);
    }
    return key | 1;
}

/* Marks that a picture points at are like no other: even keys, one each. */
static void find_keys(struct scene *scene, struct repeats *repeats)
{
    for (size_t i = 0; i < scene->mark_count; i++) {
        const struct mark *mark = &scene->marks[i];
        bool own = mark->tone >= TONE_WAITS || mark->blocked || mark->badge || mark->wrong ||
                   mark->shape == MARK_END || mark->shape == MARK_LEAF || mark->shape == MARK_SEED;
        repeats->key[i] = own ? 2 * (uint64_t)i : key_of(scene, mark);
    }
    for (size_t i = 0; i < scene->link_count; i++) {
        const struct link *link = &scene->links[i];
        if (layout_is_order(link) || link->kind == LINK_MESSAGE || link->kind == LINK_ADJOINT ||
            link->kind == LINK_HIDDEN)
            continue;
        repeats->key[link->from] = 2 * (uint64_t)link->from;
        repeats->key[link->to] = 2 * (uint64_t)link->to;
    }
}

/* The run that begins at a mark and covers most; no blocks: there is none. */
static struct run run_at(const uint64_t *key, uint32_t at, uint32_t end)
{
    struct run best = {.begin = at};
    for (uint32_t period = 1; period <= PERIOD_MAX && at + BLOCKS_MIN * period <= end; period++) {
        uint32_t next = at + period;
        while (next < end && key[next] == key[next - period])
            next++;
        uint32_t blocks = (next - at) / period;
        if (blocks >= BLOCKS_MIN && blocks * period > best.blocks * best.period)
            best = (struct run){at, period, blocks, next, next};
    }
    return best;
}

static void find_runs(struct scene *scene, struct repeats *repeats)
{
    uint32_t end;
    for (uint32_t first = 0; first < scene->mark_count; first = end) {
        for (end = first;
             end < scene->mark_count && scene->marks[end].rank == scene->marks[first].rank;)
            end++;
        for (uint32_t at = first; end - first > LANE_LONG && at < end;) {
            struct run run = run_at(repeats->key, at, end);
            if (run.blocks)
                repeats->runs[repeats->count++] = run;
            at += run.blocks ? run.blocks * run.period : 1;
        }
    }
}

static const struct run *run_with(const struct repeats *repeats, uint32_t mark)
{
    uint32_t number = repeats->run_of[mark];
    return number == TRACE_NO ? NULL : &repeats->runs[number];
}

static uint32_t block_of(const struct run *run, uint32_t mark)
{
    return (mark - run->begin) / run->period;
}

/* The mark that stands for this one. */
static uint32_t head_of(const struct repeats *repeats, uint32_t mark)
{
    const struct run *run = run_with(repeats, mark);
    return run ? run->begin + (mark - run->begin) % run->period : mark;
}

static void number_marks(struct scene *scene, struct repeats *repeats)
{
    memset(repeats->run_of, 0xFF, scene->mark_count * sizeof *repeats->run_of);
    for (size_t r = 0; r < repeats->count; r++)
        for (uint32_t i = 0; i < repeats->runs[r].blocks * repeats->runs[r].period; i++)
            repeats->run_of[repeats->runs[r].begin + i] = (uint32_t)r;
    memset(repeats->kept, 0, scene->mark_count * sizeof *repeats->kept);
    for (uint32_t i = 0; i < scene->mark_count; i++)
        if (scene->marks[i].group != TRACE_NO && head_of(repeats, i) == i)
            repeats->kept[scene->marks[i].group] = true;
}

/* True: a run leaves out what others of a collective keep. It gives way: it begins so late that the
 * first block has what was kept, or ends so early that the last one has not. */
static bool give_way(struct scene *scene, struct repeats *repeats, struct run *run, bool dissolve)
{
    uint32_t second = run->begin + run->period, last = second + (run->blocks - 2) * run->period;
    uint32_t late = 0, early = run->end, inside = 0;
    for (uint32_t i = second; i < last + run->period; i++) {
        uint32_t group = scene->marks[i].group;
        if (group == TRACE_NO || !repeats->kept[group])
            continue;
        if (i < second + run->period)
            late = i + 1 - run->period;
        else if (i < last)
            inside = i;
        else if (early == run->end)
            early = i;
    }
    if (!late && !inside && early == run->end)
        return false;
    if (late)
        run->begin = late;
    run->end = early;
    run->blocks = run->end > run->begin ? (run->end - run->begin) / run->period : 0;
    if ((inside && !late) || dissolve || run->blocks < BLOCKS_MIN)
        run->blocks = 0;
    return true;
}

static void settle(struct scene *scene, struct repeats *repeats)
{
    bool changed = true;
    for (int round = 0; changed; round++) {
        changed = false;
        number_marks(scene, repeats);
        for (size_t r = 0; r < repeats->count; r++)
            if (repeats->runs[r].blocks &&
                give_way(scene, repeats, &repeats->runs[r], round >= ROUNDS_MAX))
                changed = true;
    }
}

/* How many iterations a run is, with those that were not recorded. */
static uint64_t times_of(const struct scene *scene, const struct run *run)
{
    uint32_t first = scene->marks[run->begin].op;
    uint32_t last = scene->marks[run->begin + (run->blocks - 1) * run->period].op;
    if (first == TRACE_NO || last == TRACE_NO || last <= first)
        return run->blocks;
    uint32_t end = scene->marks[run->alike - 1].op;
    uint64_t body = (last - first) / (run->blocks - 1), left_out = 0;
    for (size_t i = 0; i < scene->trace->fold_count; i++) {
        const struct trace_fold *fold = &scene->trace->folds[i];
        if (fold->op >= first && fold->op <= end)
            left_out += fold->times * fold->body;
    }
    return run->blocks + left_out / body;
}

/* Order goes on from the last block to what follows. Inside of a run and into it, that of the first
 * block is what is drawn. */
static bool order_stays(const struct repeats *repeats, const struct link *link)
{
    const struct run *from = run_with(repeats, link->from);
    if (head_of(repeats, link->to) != link->to)
        return false;
    if (head_of(repeats, link->from) == link->from)
        return true;
    return block_of(from, link->from) == from->blocks - 1 && run_with(repeats, link->to) != from;
}

static void lead_links(struct scene *scene, const struct repeats *repeats)
{
    size_t links = 0;
    for (size_t i = 0; i < scene->link_count; i++) {
        struct link link = scene->links[i];
        if (layout_is_order(&link) && !order_stays(repeats, &link))
            continue;
        link.from = head_of(repeats, link.from);
        link.to = head_of(repeats, link.to);
        if (link.from != link.to)
            scene->links[links++] = link;
    }
    scene->link_count = links;
    scene_merge_links(scene);
    for (size_t i = 0; i < scene->link_count; i++) { /* in iterations that were not recorded, too */
        struct link *link = &scene->links[i];
        const struct mark *from = &scene->marks[link->from];
        if (from->times > from->repeat && scene->marks[link->to].times > from->repeat)
            link->repeat = link->repeat * from->times / from->repeat;
    }
}

static int compare_peers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* With whom a mark and those like it in other iterations communicate, where not all with one. */
static const char *spread_of(struct scene *scene, const struct run *run, uint32_t first)
{
    enum { CHARACTERS = 24 };
    uint32_t *ranks = scene_allocate(scene, run->blocks, sizeof *ranks);
    size_t count = 0, distinct = 0;
    for (uint32_t block = 0; ranks && block < run->blocks; block++) {
        int32_t peers[2];
        scene_peers(scene, &scene->marks[first + block * run->period], peers);
        if (peers[1] >= 0)
            ranks[count++] = (uint32_t)peers[1];
    }
    if (count)
        qsort(ranks, count, sizeof *ranks, compare_peers);
    size_t longest = 0; /* how often one is there at most */
    for (size_t i = 0, since = 0; i < count; i++) {
        if (i == 0 || ranks[i] != ranks[distinct - 1]) {
            ranks[distinct++] = ranks[i];
            since = i;
        }
        longest = i + 1 - since > longest ? i + 1 - since : longest;
    }
    const char *text = NULL;
    if (distinct > 1)
        text = scene_text(scene, "ranks %s%s", scene_ranks(scene, ranks, distinct, CHARACTERS),
                          longest * distinct == count ? "" : ", not evenly");
    free(ranks);
    return text;
}

static void fold(struct scene *scene, struct repeats *repeats)
{
    find_keys(scene, repeats);
    find_runs(scene, repeats);
    settle(scene, repeats);
    bool *keep = scene_allocate(scene, scene->mark_count, sizeof *keep);
    for (uint32_t i = 0; keep && i < scene->mark_count; i++) {
        const struct run *run = run_with(repeats, i);
        keep[i] = head_of(repeats, i) == i;
        if (!run || !keep[i])
            continue;
        scene->marks[i].repeat = run->blocks;
        scene->marks[i].times = times_of(scene, run);
        if (scene->leader && scene->marks[i].alike == 1 && scene->marks[i].op != TRACE_NO)
            scene->marks[i].spread = spread_of(scene, run, i);
    }
    if (keep && repeats->count)
        lead_links(scene, repeats);
    if (!scene->exhausted)
        scene_keep(scene, keep, NULL);
    free(keep);
}

void scene_repeats(struct scene *scene)
{
    size_t n = scene->mark_count;
    struct repeats repeats = {.key = scene_allocate(scene, n, sizeof(uint64_t)),
                              .run_of = scene_allocate(scene, n, sizeof(uint32_t)),
                              .kept = scene_allocate(scene, n, sizeof(bool)),
                              .runs = scene_allocate(scene, n / BLOCKS_MIN, sizeof(struct run))};
    if (!scene->exhausted)
        fold(scene, &repeats);
    free(repeats.key);
    free(repeats.run_of);
    free(repeats.kept);
    free(repeats.runs);
}
