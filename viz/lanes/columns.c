/* Columns: who stands left of whom. See layout.c.
 *
 * The longest path over order on a rank and messages. Marks that share a column are one unit: those
 * of a collective, of the blocked frontier, of a missing order. Messages between units that depend
 * on each other both ways move nothing; a cycle that is left in a foreign trace is cut at its first
 * mark. */
#include "viz/lanes/layout.h"

#include <stdlib.h>
#include <string.h>

/* Units: marks that share a column. */
struct units {
    uint32_t *of; /* mark -> unit */
    size_t count;
    size_t *begin; /* links by the unit they start in: target[begin[u] .. begin[u + 1]) */
    uint32_t *target;
    bool *soft; /* a message: may be ignored */
    uint32_t *column;
    uint32_t *part; /* strongly connected component */
};

bool layout_is_order(const struct link *link)
{
    return link->kind == LINK_DATA || link->kind == LINK_ORDER || link->kind == LINK_SEQUENCE;
}

static bool is_message(const struct link *link)
{
    return link->kind == LINK_MESSAGE || link->kind == LINK_HIDDEN;
}

static uint32_t find(uint32_t *parent, uint32_t mark)
{
    while (parent[mark] != mark) {
        parent[mark] = parent[parent[mark]];
        mark = parent[mark];
    }
    return mark;
}

static void unite(uint32_t *parent, uint32_t a, uint32_t b)
{
    a = find(parent, a);
    b = find(parent, b);
    parent[a > b ? a : b] = a > b ? b : a;
}

/* Per mark that leads a collective: some of its ranks stand in it and others have left it. */
static bool *find_left(struct scene *scene)
{
    bool *left = scene_allocate(scene, scene->mark_count, sizeof *left);
    for (uint32_t i = 0; left && i < scene->mark_count; i++) {
        uint32_t group = scene->marks[i].group;
        left[i] = false;
        if (group < i && scene->marks[group].blocked != scene->marks[i].blocked)
            left[group] = true;
    }
    return left;
}

/* One column for a collective, for the blocked frontier, and for two marks whose order is missing.
 * Who stands where others have passed is behind the frontier. */
static void units_number(struct scene *scene, struct units *units)
{
    size_t n = scene->mark_count;
    uint32_t frontier = TRACE_NO;
    uint32_t *parent = scene_allocate(scene, n, sizeof *parent);
    bool *left = find_left(scene);
    for (uint32_t i = 0; parent && left && i < n; i++) {
        uint32_t group = scene->marks[i].group;
        bool behind = group < n && left[group];
        parent[i] = i;
        if (group < i)
            unite(parent, group, i);
        if (scene->marks[i].blocked && !behind && frontier != TRACE_NO)
            unite(parent, frontier, i);
        else if (scene->marks[i].blocked && !behind)
            frontier = i;
    }
    for (size_t i = 0; parent && i < scene->link_count; i++)
        if (scene->links[i].kind == LINK_MISSING || scene->links[i].kind == LINK_ABREAST)
            unite(parent, scene->links[i].from, scene->links[i].to);
    for (uint32_t i = 0; parent && i < n; i++) /* a root comes before what it leads */
        units->of[i] = find(parent, i) == i ? (uint32_t)units->count++ : units->of[find(parent, i)];
    free(parent);
    free(left);
}

static void units_link(struct scene *scene, struct units *units)
{
    size_t *fill = scene_allocate(scene, units->count + 1, sizeof *fill);
    units->begin = scene_allocate(scene, units->count + 1, sizeof *units->begin);
    units->target = scene_allocate(scene, scene->link_count, sizeof *units->target);
    units->soft = scene_allocate(scene, scene->link_count, sizeof *units->soft);
    for (int round = 0; round < 2 && !scene->exhausted; round++) {
        for (size_t i = 0; i < scene->link_count; i++) {
            const struct link *link = &scene->links[i];
            uint32_t from = units->of[link->from], to = units->of[link->to];
            if (from == to || (!layout_is_order(link) && !is_message(link)))
                continue;
            if (round == 0) {
                units->begin[from + 1]++;
            } else {
                units->soft[fill[from]] = is_message(link);
                units->target[fill[from]++] = to;
            }
        }
        for (size_t u = 0; round == 0 && u < units->count; u++)
            units->begin[u + 1] += units->begin[u];
        if (round == 0)
            memcpy(fill, units->begin, (units->count + 1) * sizeof *fill);
    }
    free(fill);
}

struct tarjan {
    uint32_t *index, *low, *stack, *path;
    size_t *next;
    bool *on_stack;
    size_t depth, height;
    uint32_t counter, parts;
};

static void tarjan_enter(struct tarjan *state, const struct units *units, uint32_t unit)
{
    state->index[unit] = state->low[unit] = ++state->counter;
    state->next[unit] = units->begin[unit];
    state->stack[state->depth++] = unit;
    state->on_stack[unit] = true;
    state->path[state->height++] = unit;
}

static void tarjan_leave(struct tarjan *state, struct units *units, uint32_t unit)
{
    state->height--;
    if (state->height > 0 && state->low[unit] < state->low[state->path[state->height - 1]])
        state->low[state->path[state->height - 1]] = state->low[unit];
    if (state->low[unit] != state->index[unit])
        return;
    uint32_t member;
    do {
        member = state->stack[--state->depth];
        state->on_stack[member] = false;
        units->part[member] = state->parts;
    } while (member != unit);
    state->parts++;
}

static void tarjan_walk(struct tarjan *state, struct units *units, uint32_t root)
{
    tarjan_enter(state, units, root);
    while (state->height > 0) {
        uint32_t at = state->path[state->height - 1];
        if (state->next[at] == units->begin[at + 1]) {
            tarjan_leave(state, units, at);
            continue;
        }
        uint32_t to = units->target[state->next[at]++];
        if (state->index[to] == 0)
            tarjan_enter(state, units, to);
        else if (state->on_stack[to] && state->index[to] < state->low[at])
            state->low[at] = state->index[to];
    }
}

/* Which units depend on each other both ways; without recursion, for deep graphs. */
static void units_components(struct scene *scene, struct units *units)
{
    size_t n = units->count;
    struct tarjan state = {0};
    state.index = scene_allocate(scene, n, sizeof *state.index);
    state.low = scene_allocate(scene, n, sizeof *state.low);
    state.stack = scene_allocate(scene, n, sizeof *state.stack);
    state.path = scene_allocate(scene, n, sizeof *state.path);
    state.next = scene_allocate(scene, n, sizeof *state.next);
    state.on_stack = scene_allocate(scene, n, sizeof *state.on_stack);
    units->part = scene_allocate(scene, n, sizeof *units->part);
    for (uint32_t u = 0; !scene->exhausted && u < n; u++)
        if (state.index[u] == 0)
            tarjan_walk(&state, units, u);
    free(state.index);
    free(state.low);
    free(state.stack);
    free(state.path);
    free(state.next);
    free(state.on_stack);
}

static bool counts(const struct units *units, uint32_t from, size_t link)
{
    return !units->soft[link] || units->part[from] != units->part[units->target[link]];
}

/* Longest paths in topological order; a unit on a cycle goes when nothing else can. */
static void units_levels(struct scene *scene, struct units *units)
{
    size_t n = units->count, head = 0, tail = 0;
    uint32_t *waiting = scene_allocate(scene, n, sizeof *waiting);
    uint32_t *queue = scene_allocate(scene, n, sizeof *queue);
    bool *queued = scene_allocate(scene, n, sizeof *queued);
    uint32_t rest = 0;
    units->column = scene_allocate(scene, n, sizeof *units->column);
    for (uint32_t u = 0; !scene->exhausted && u < n; u++)
        for (size_t k = units->begin[u]; k < units->begin[u + 1]; k++)
            waiting[units->target[k]] += counts(units, u, k);
    for (uint32_t u = 0; !scene->exhausted && u < n; u++)
        if (waiting[u] == 0) {
            queued[u] = true;
            queue[tail++] = u;
        }
    while (!scene->exhausted && head < n) {
        if (head == tail) {
            while (queued[rest])
                rest++;
            queued[rest] = true;
            queue[tail++] = rest;
        }
        uint32_t u = queue[head++];
        for (size_t k = units->begin[u]; k < units->begin[u + 1]; k++) {
            uint32_t to = units->target[k];
            if (!counts(units, u, k) || queued[to])
                continue;
            if (units->column[to] < units->column[u] + 1)
                units->column[to] = units->column[u] + 1;
            if (--waiting[to] == 0) {
                queued[to] = true;
                queue[tail++] = to;
            }
        }
    }
    free(waiting);
    free(queue);
    free(queued);
}

static void units_release(struct units *units)
{
    free(units->of);
    free(units->begin);
    free(units->target);
    free(units->soft);
    free(units->column);
    free(units->part);
}

/* Each pass stands right of the passes before it. */
static void shift_passes(struct scene *scene)
{
    uint32_t passes = 0;
    for (size_t i = 0; i < scene->mark_count; i++)
        if (scene->marks[i].pass > passes && scene->marks[i].shape != MARK_END)
            passes = scene->marks[i].pass;
    uint32_t *low = scene_allocate(scene, (size_t)passes + 1, sizeof *low);
    uint32_t *high = scene_allocate(scene, (size_t)passes + 1, sizeof *high);
    uint32_t *shift = scene_allocate(scene, (size_t)passes + 1, sizeof *shift);
    if (scene->exhausted)
        goto done;
    memset(low, 0xFF, ((size_t)passes + 1) * sizeof *low);
    for (size_t i = 0; i < scene->mark_count; i++) {
        const struct mark *mark = &scene->marks[i];
        if (mark->column < low[mark->pass])
            low[mark->pass] = mark->column;
        if (mark->column > high[mark->pass])
            high[mark->pass] = mark->column;
    }
    uint32_t edge = 0; /* the first free column */
    for (uint32_t pass = 0; pass <= passes; pass++) {
        if (low[pass] == TRACE_NO)
            continue;
        shift[pass] = low[pass] < edge ? edge - low[pass] : 0;
        edge = high[pass] + shift[pass] + 1;
    }
    for (size_t i = 0; i < scene->mark_count; i++)
        scene->marks[i].column += shift[scene->marks[i].pass];
done:
    free(low);
    free(high);
    free(shift);
}

/* Leaves stand together on the right when there are few per rank. */
static void align_leaves(struct scene *scene)
{
    uint32_t last = 0, most = 0, here = 0;
    for (size_t i = 0; i < scene->mark_count; i++) {
        const struct mark *mark = &scene->marks[i];
        if (mark->column > last)
            last = mark->column;
        here = i && mark->rank == scene->marks[i - 1].rank ? here : 0;
        here += mark->shape == MARK_LEAF;
        most = here > most ? here : most;
    }
    for (size_t i = 0; i < scene->mark_count && most <= 2; i++)
        if (scene->marks[i].shape == MARK_LEAF)
            scene->marks[i].column = last;
    for (size_t i = 0; i < scene->mark_count; i++)
        if (scene->marks[i].shape == MARK_END)
            scene->marks[i].column = last;
}

/* A mark that depends on nothing stands just before the first that needs it. */
static void pull_roots(struct scene *scene)
{
    bool *entered = scene_allocate(scene, scene->mark_count, sizeof *entered);
    uint32_t *need = scene_allocate(scene, scene->mark_count, sizeof *need);
    if (scene->exhausted)
        goto done;
    memset(need, 0xFF, scene->mark_count * sizeof *need);
    for (size_t i = 0; i < scene->link_count; i++) {
        const struct link *link = &scene->links[i];
        if (!layout_is_order(link))
            continue;
        entered[link->to] = true;
        if (scene->marks[link->to].column < need[link->from])
            need[link->from] = scene->marks[link->to].column;
    }
    for (size_t i = 0; i < scene->mark_count; i++) {
        struct mark *mark = &scene->marks[i];
        bool root =
            mark->shape == MARK_COMPUTE && !entered[i] && need[i] != TRACE_NO && need[i] > 0;
        if (root && need[i] - 1 > mark->column)
            mark->column = need[i] - 1;
    }
done:
    free(entered);
    free(need);
}

void layout_columns(struct scene *scene)
{
    struct units units = {0};
    units.of = scene_allocate(scene, scene->mark_count, sizeof *units.of);
    void (*const steps[])(struct scene *, struct units *) = {units_number, units_link,
                                                             units_components, units_levels};
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !scene->exhausted; i++)
        steps[i](scene, &units);
    for (size_t i = 0; !scene->exhausted && i < scene->mark_count; i++)
        scene->marks[i].column = units.column[units.of[i]];
    units_release(&units);
    if (!scene->exhausted && scene->view == VIZ_BOTH)
        shift_passes(scene);
    if (!scene->exhausted)
        align_leaves(scene);
    if (!scene->exhausted)
        pull_roots(scene);
}
