/* Where everything stands: our own layout, linear but for sorting within a lane.
 *
 * Columns: the longest path over order on a rank and messages, collectives in one column across
 * their lanes, the blocked frontier in one column. Messages between marks that depend on each other
 * both ways (a Sendrecv and its peer) do not move anything; any cycle that a foreign trace may
 * still hold is cut at its first mark, so every input gets a layout. Rows: parallel marks of a rank
 * stand above each other. Links that would run through a mark of their own lane become arcs;
 * wait-for links between lanes that are not neighbours go round on the right. */
#include "viz/scene.h"

#include "viz/escape.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LANE_LABEL = 68,
    LANE_PADDING = 18,
    LANE_GAP = 10,
    COLUMN_GAP = 30,
    ROW_GAP = 16,
    DISPUTE_GAP = 38, /* between rows of a lane in which an order is missing */
    BRACKET_STEP = 12,
    BRACKETS = 8,
    ARC_STEP = 6,
    ARC_LEVELS = 6,
    SCAN_LIMIT = 64
};

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

static bool is_order(const struct link *link)
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

/* One column for a collective, for the blocked frontier, and for two marks whose order is missing.
 */
static void units_number(struct scene *scene, struct units *units)
{
    size_t n = scene->mark_count;
    uint32_t frontier = TRACE_NO;
    uint32_t *parent = scene_allocate(scene, n, sizeof *parent);
    for (uint32_t i = 0; parent && i < n; i++) {
        uint32_t group = scene->marks[i].group;
        parent[i] = i;
        if (group < i)
            unite(parent, group, i);
        if (scene->marks[i].blocked && frontier != TRACE_NO)
            unite(parent, frontier, i);
        else if (scene->marks[i].blocked)
            frontier = i;
    }
    for (size_t i = 0; parent && i < scene->link_count; i++)
        if (scene->links[i].kind == LINK_MISSING)
            unite(parent, scene->links[i].from, scene->links[i].to);
    for (uint32_t i = 0; parent && i < n; i++) /* a root comes before what it leads */
        units->of[i] = find(parent, i) == i ? (uint32_t)units->count++ : units->of[find(parent, i)];
    free(parent);
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
            if (from == to || (!is_order(link) && !is_message(link)))
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
        if (!is_order(link))
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

static void place_columns(struct scene *scene)
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

/* Marks of a group are ascending: each is joined to the one before it. */
static void join_groups(struct scene *scene)
{
    uint32_t *last = scene_allocate(scene, scene->mark_count, sizeof *last);
    for (uint32_t i = 0; last && i < scene->mark_count; i++) {
        struct mark *mark = &scene->marks[i];
        bool member = mark->group < i && scene->marks[mark->group].group == mark->group;
        mark->before = member ? last[mark->group] : TRACE_NO;
        if (mark->group == i || member)
            last[mark->group] = i;
    }
    free(last);
}

static void make_lanes(struct scene *scene)
{
    size_t ranks = 0;
    for (size_t i = 0; i < scene->mark_count; i++)
        ranks += i == 0 || scene->marks[i].rank != scene->marks[i - 1].rank;
    bool whole = scene->shown == scene->total && scene->trace->ranks <= 64;
    if (whole)
        ranks = scene->trace->ranks; /* a rank that did nothing is worth seeing */
    scene->lanes = scene_allocate(scene, ranks, sizeof *scene->lanes);
    if (!scene->lanes)
        return;
    uint32_t at = 0, expected = 0;
    for (size_t i = 0; i < ranks; i++) {
        struct lane *lane = &scene->lanes[scene->lane_count++];
        lane->rank = whole ? (uint32_t)i : scene->marks[at].rank;
        lane->hidden_before = lane->rank - expected;
        expected = lane->rank + 1;
        lane->first = at;
        while (at < scene->mark_count && scene->marks[at].rank == lane->rank)
            at++;
        lane->end = at;
    }
    scene->ranks_hidden = scene->trace->ranks - scene->lane_count;
}

/* The marks of a lane by column, then by the row they would like. */
struct place {
    uint32_t column, mark;
    double wish;
};

static int compare_columns(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    return x->mark < y->mark ? -1 : x->mark > y->mark;
}

static int compare_wishes(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->wish < y->wish || y->wish < x->wish)
        return x->wish < y->wish ? -1 : 1;
    return x->mark < y->mark ? -1 : x->mark > y->mark;
}

struct grid { /* all lanes' places, lane by lane in the order of the marks; links by their end */
    struct place *places;
    size_t *begin;
    uint32_t *source;
};

static void grid_init(struct scene *scene, struct grid *grid)
{
    grid->places = scene_allocate(scene, scene->mark_count, sizeof *grid->places);
    grid->begin = scene_allocate(scene, scene->mark_count + 2, sizeof *grid->begin);
    grid->source = scene_allocate(scene, scene->link_count, sizeof *grid->source);
    if (scene->exhausted)
        return;
    for (size_t i = 0; i < scene->link_count; i++)
        if (is_order(&scene->links[i]))
            grid->begin[scene->links[i].to + 2]++;
    for (size_t i = 0; i < scene->mark_count; i++)
        grid->begin[i + 2] += grid->begin[i + 1];
    for (size_t i = 0; i < scene->link_count; i++)
        if (is_order(&scene->links[i]))
            grid->source[grid->begin[scene->links[i].to + 1]++] = scene->links[i].from;
    for (uint32_t i = 0; i < scene->mark_count; i++)
        grid->places[i] = (struct place){scene->marks[i].column, i, 0};
    for (size_t i = 0; i < scene->lane_count; i++) {
        const struct lane *lane = &scene->lanes[i];
        if (lane->end > lane->first)
            qsort(grid->places + lane->first, lane->end - lane->first, sizeof *grid->places,
                  compare_columns);
    }
}

static void place_cell(struct scene *scene, struct grid *grid, uint32_t first, uint32_t end)
{
    for (uint32_t k = first; k < end; k++) {
        struct place *place = &grid->places[k];
        size_t count = 0;
        for (size_t s = grid->begin[place->mark]; s < grid->begin[place->mark + 1]; s++, count++)
            place->wish += scene->marks[grid->source[s]].row;
        place->wish = count ? place->wish / (double)count : 0;
    }
    qsort(grid->places + first, end - first, sizeof *grid->places, compare_wishes);
    for (uint32_t k = first; k < end; k++)
        scene->marks[grid->places[k].mark].row =
            (double)(k - first) - (double)(end - first - 1) / 2;
}

static void place_rows(struct scene *scene, struct grid *grid)
{
    for (size_t i = 0; i < scene->lane_count; i++) {
        const struct lane *lane = &scene->lanes[i];
        for (uint32_t k = lane->first; k < lane->end;) {
            uint32_t end = k + 1;
            while (end < lane->end && grid->places[end].column == grid->places[k].column)
                end++;
            place_cell(scene, grid, k, end);
            k = end;
        }
    }
}

static bool goes_round(const struct scene *scene, const struct link *link, const uint32_t *lane_of)
{
    if (link->kind != LINK_WAIT_CORE && link->kind != LINK_WAIT_OUTSIDE)
        return false;
    const struct mark *from = &scene->marks[link->from], *to = &scene->marks[link->to];
    uint32_t a = lane_of[link->from], b = lane_of[link->to];
    return from->column == to->column && (a > b ? a - b : b - a) > 1;
}

/* The lanes reach as far as the words above them. */
static double words_width(const struct scene *scene)
{
    double width = viz_text_width(scene->title, 14, false);
    if (scene->verdict)
        width += viz_text_width(scene->verdict, 14, true) + 10;
    width = fmax(width, viz_text_width(scene->remark, 10, false));
    for (size_t i = 0; scene->subtitles[i]; i++)
        width = fmax(width, viz_text_width(scene->subtitles[i], 10, false));
    return fmin(width, 1100);
}

static void place_x(struct scene *scene, const uint32_t *lane_of)
{
    uint32_t columns = 1;
    size_t rounds = 0;
    for (size_t i = 0; i < scene->mark_count; i++)
        if (scene->marks[i].column >= columns)
            columns = scene->marks[i].column + 1;
    double *x = scene_allocate(scene, (size_t)columns + 1, sizeof *x);
    double *extra = scene_allocate(scene, columns, sizeof *extra);
    if (scene->exhausted)
        goto done;
    for (size_t i = 0; i < scene->mark_count; i++)
        if (scene->marks[i].width > x[scene->marks[i].column])
            x[scene->marks[i].column] = scene->marks[i].width;
    for (size_t i = 0; i < scene->link_count; i++) {
        struct link *link = &scene->links[i];
        uint32_t column = scene->marks[link->from].column;
        if (goes_round(scene, link, lane_of))
            extra[column] = fmin((double)++rounds, BRACKETS) * BRACKET_STEP + 6;
        else if (link->label && scene->marks[link->to].column == column && extra[column] < 70)
            extra[column] = 70;
    }
    double at = LANE_LABEL;
    for (uint32_t c = 0; c < columns; c++) {
        double width = x[c];
        x[c] = at + width / 2;
        at += width > 0 ? width + COLUMN_GAP + extra[c] : 0;
    }
    for (size_t i = 0; i < scene->mark_count; i++)
        scene->marks[i].x = x[scene->marks[i].column];
    scene->width = fmax(at - COLUMN_GAP + 16, words_width(scene));
done:
    free(x);
    free(extra);
}

/* Whether a straight line would cut marks of the lane strictly between its columns: then how far up
 * (negative) any mark there reaches, so that an arc clears them all. 0: it cuts none. */
static double obstacle(const struct scene *scene, const struct grid *grid, const struct lane *lane,
                       const struct link *link)
{
    const struct mark *from = &scene->marks[link->from], *to = &scene->marks[link->to];
    uint32_t low = lane->first, high = lane->end, scanned = 0;
    double top = 0;
    bool cut = false;
    while (low < high) { /* the first place right of the start */
        uint32_t middle = low + (high - low) / 2;
        if (grid->places[middle].column <= from->column)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < lane->end && grid->places[low].column < to->column && scanned < SCAN_LIMIT;
         low++, scanned++) {
        const struct mark *mark = &scene->marks[grid->places[low].mark];
        double t = (mark->x - from->x) / (to->x - from->x);
        double line = from->y + t * (to->y - from->y);
        cut = cut || fabs(mark->y - line) < mark->height / 2 + 2;
        top = fmin(top, fmin(mark->y - mark->height / 2, -1));
    }
    return cut ? top : 0;
}

/* Curves over the obstacle; the points are relative to the middle of the lane until the lanes have
 * theirs. */
static void make_arc(struct route *route, const struct mark *from, const struct mark *to,
                     double peak)
{
    double start = from->y - from->height / 2, end = to->y - to->height / 2;
    peak = fmin(peak, fmin(start, end) - 8);
    double control = (peak - 0.125 * (start + end)) / 0.75;
    route->points[0] = (struct route_point){from->x + from->width / 6, start};
    route->points[1] = (struct route_point){from->x + from->width / 6 + 18, control};
    route->points[2] = (struct route_point){to->x - to->width / 6 - 18, control};
    route->points[3] = (struct route_point){to->x - to->width / 6, end};
    route->count = 4;
}

/* Where the missing order and its repair run between two marks of one lane. */
static void make_dispute(struct route *route, bool repair, const struct mark *from,
                         const struct mark *to)
{
    double side = repair ? 12 : -12;
    if (from->column == to->column) {
        double sign = to->y > from->y ? 1 : -1;
        double start = from->y + sign * from->height / 2, end = to->y - sign * to->height / 2;
        route->points[0] = (struct route_point){from->x + side, start};
        route->points[1] = (struct route_point){from->x + side, start + (end - start) / 3};
        route->points[2] = (struct route_point){from->x + side, end - (end - start) / 3};
        route->points[3] = (struct route_point){from->x + side, end};
        route->label_x = fmax(from->x + from->width / 2, to->x + to->width / 2) + 45;
        route->label_y = (start + end) / 2 + (repair ? 9 : -9);
    } else {
        double start = from->y + from->height / 2, end = to->y + to->height / 2;
        double peak = fmax(start, end) + (repair ? 30 : 16);
        double control = (peak - 0.125 * (start + end)) / 0.75;
        route->points[0] = (struct route_point){from->x + side / 2, start};
        route->points[1] = (struct route_point){from->x + side / 2 + 10, control};
        route->points[2] = (struct route_point){to->x + side / 2 - 10, control};
        route->points[3] = (struct route_point){to->x + side / 2, end};
        route->label_x = (from->x + to->x) / 2 + side * 2.5;
        route->label_y = peak;
    }
    route->count = 4;
}

static bool add_route(struct scene *scene, struct link *link)
{
    if (!link->route)
        link->route = scene_arena(scene, sizeof *link->route);
    return link->route != NULL;
}

static void route_in_lane(struct scene *scene, const struct grid *grid, const struct lane *lane,
                          struct link *link, uint32_t *level)
{
    const struct mark *from = &scene->marks[link->from], *to = &scene->marks[link->to];
    if (link->kind == LINK_MISSING || link->kind == LINK_REPAIR) {
        if (add_route(scene, link))
            make_dispute(link->route, link->kind == LINK_REPAIR, from, to);
        return;
    }
    bool backwards = from->column >= to->column;
    double top =
        backwards ? -fmax(from->height, to->height) / 2 : obstacle(scene, grid, lane, link);
    if (top < 0 && add_route(scene, link))
        make_arc(link->route, from, to, top - 8 - ARC_STEP * (double)((*level)++ % ARC_LEVELS));
}

/* How far up and down a route reaches; a curve stays within three quarters of its control points.
 */
static void route_span(const struct route *route, bool labelled, double *top, double *bottom)
{
    const struct route_point *points = route->points;
    double peak = route->count == 4
                      ? 0.125 * (points[0].y + points[3].y) + 0.375 * (points[1].y + points[2].y)
                      : 0;
    *top = fmin(*top, labelled ? fmin(peak, route->label_y - 8) : peak);
    *bottom = fmax(*bottom, labelled ? fmax(peak, route->label_y + 8) : peak);
}

/* Marks get y relative to the middle of their lane, links within a lane their routes; then lanes
 * get their place. */
static void place_y(struct scene *scene, const struct grid *grid, const uint32_t *lane_of)
{
    double *top = scene_allocate(scene, scene->lane_count, sizeof *top);
    double *bottom = scene_allocate(scene, scene->lane_count, sizeof *bottom);
    uint32_t *level = scene_allocate(scene, scene->lane_count, sizeof *level);
    double *gap = scene_allocate(scene, scene->lane_count, sizeof *gap);
    if (scene->exhausted)
        goto done;
    for (size_t i = 0; i < scene->lane_count; i++)
        gap[i] = ROW_GAP;
    for (size_t i = 0; i < scene->link_count; i++)
        if (scene->links[i].kind == LINK_MISSING || scene->links[i].kind == LINK_REPAIR)
            gap[lane_of[scene->links[i].from]] = DISPUTE_GAP;
    for (size_t i = 0; i < scene->lane_count; i++) {
        double pitch = 34 + gap[i];
        for (uint32_t k = scene->lanes[i].first; k < scene->lanes[i].end; k++)
            pitch = fmax(pitch, scene->marks[k].height + gap[i]);
        top[i] = -17;
        bottom[i] = 17;
        for (uint32_t k = scene->lanes[i].first; k < scene->lanes[i].end; k++) {
            struct mark *mark = &scene->marks[k];
            mark->y = mark->row * pitch;
            top[i] = fmin(top[i], mark->y - mark->height / 2);
            bottom[i] = fmax(bottom[i], mark->y + mark->height / 2);
        }
    }
    for (size_t i = 0; i < scene->link_count; i++) {
        struct link *link = &scene->links[i];
        uint32_t lane = lane_of[link->from];
        if (lane != lane_of[link->to] || link->kind == LINK_HIDDEN)
            continue;
        route_in_lane(scene, grid, &scene->lanes[lane], link, &level[lane]);
        if (link->route)
            route_span(link->route, link->label != NULL, &top[lane], &bottom[lane]);
    }
    double at = 0;
    for (size_t i = 0; i < scene->lane_count; i++) {
        struct lane *lane = &scene->lanes[i];
        at += lane->hidden_before ? 16 : 0;
        lane->top = at;
        lane->middle = at + LANE_PADDING - top[i];
        lane->height = bottom[i] - top[i] + 2 * LANE_PADDING;
        at += lane->height + LANE_GAP;
        for (uint32_t k = lane->first; k < lane->end; k++)
            scene->marks[k].y += lane->middle;
    }
    scene->height = at - LANE_GAP;
    for (size_t i = 0; i < scene->link_count; i++) {
        struct route *route = scene->links[i].route;
        double middle = scene->lanes[lane_of[scene->links[i].from]].middle;
        for (uint32_t k = 0; route && k < route->count; k++)
            route->points[k].y += middle;
        if (route)
            route->label_y += middle;
    }
done:
    free(top);
    free(bottom);
    free(level);
    free(gap);
}

static void add_leg(struct route *route, double x, double y)
{
    struct route_point last = route->points[route->count - 1];
    for (int k = 1; k <= 3; k++)
        route->points[route->count++] =
            (struct route_point){last.x + (x - last.x) * k / 3.0, last.y + (y - last.y) * k / 3.0};
}

/* Out on the right, along, and in on the right; the more lanes it passes, the further out. */
static void make_bracket(struct route *route, const struct mark *from, const struct mark *to,
                         size_t number, size_t arrivals)
{
    double out = fmax(from->x + from->width / 2, to->x + to->width / 2) + 10 +
                 BRACKET_STEP * (double)(number % BRACKETS);
    double leave = from->y + (to->y > from->y ? 8 : -8);
    double arrive = to->y + (to->y > from->y ? -14 : 14) +
                    (to->y > from->y ? 6.0 : -6.0) * (double)(arrivals % 5);
    route->points[0] = (struct route_point){from->x + from->width / 2, leave};
    route->count = 1;
    add_leg(route, out, leave);
    add_leg(route, out, arrive);
    add_leg(route, to->x + to->width / 2, arrive);
}

static void route_waits(struct scene *scene, const uint32_t *lane_of)
{
    size_t *arrivals = scene_allocate(scene, scene->mark_count, sizeof *arrivals);
    size_t number = 0;
    /* Short ones first, so that long ones go round them. */
    for (uint32_t span = 1; arrivals && span < scene->lane_count && span < 64; span++)
        for (size_t i = 0; i < scene->link_count; i++) {
            struct link *link = &scene->links[i];
            uint32_t a = lane_of[link->from], b = lane_of[link->to];
            bool last = span + 1 == scene->lane_count || span == 63;
            uint32_t distance = a > b ? a - b : b - a;
            if (!goes_round(scene, link, lane_of) ||
                (distance != span && !(last && distance > span)))
                continue;
            const struct mark *to = &scene->marks[link->to];
            if (add_route(scene, link))
                make_bracket(link->route, &scene->marks[link->from], to, number++,
                             arrivals[link->to]++);
        }
    free(arrivals);
}

/* Two neighbours that wait for each other: the arrows stand side by side. */
static void route_mutual(struct scene *scene, const uint32_t *lane_of)
{
    for (size_t i = 0; i < scene->link_count; i++) {
        struct link *link = &scene->links[i];
        const struct mark *from = &scene->marks[link->from], *to = &scene->marks[link->to];
        bool wait = link->kind == LINK_WAIT_CORE || link->kind == LINK_WAIT_OUTSIDE;
        if (!wait || link->route || from->column != to->column ||
            lane_of[link->from] == lane_of[link->to])
            continue;
        double sign = to->y > from->y ? 1 : -1, x = from->x - 12 * sign;
        if (!add_route(scene, link))
            return;
        link->route->points[0] = (struct route_point){x, from->y + sign * from->height / 2};
        link->route->count = 1;
        add_leg(link->route, x, to->y - sign * to->height / 2);
    }
}

static void place_link_labels(struct scene *scene)
{
    for (size_t i = 0; i < scene->link_count; i++) {
        struct link *link = &scene->links[i];
        if (!link->label || link->kind == LINK_MISSING || link->kind == LINK_REPAIR)
            continue;
        const struct mark *from = &scene->marks[link->from], *to = &scene->marks[link->to];
        if (!add_route(scene, link))
            return;
        link->route->label_x = (from->x + to->x) / 2;
        link->route->label_y = (from->y + to->y) / 2;
    }
}

static void place_table(struct scene *scene)
{
    if (scene->table_count == 0)
        return;
    scene->table_width = 230;
    scene->table_x = scene->width + 12 + scene->table_width / 2;
    scene->table_y = scene->height / 2;
}

void scene_layout(struct scene *scene)
{
    struct grid grid = {0};
    place_columns(scene);
    join_groups(scene);
    if (!scene->exhausted)
        make_lanes(scene);
    uint32_t *lane_of = scene_allocate(scene, scene->mark_count, sizeof *lane_of);
    for (uint32_t i = 0; !scene->exhausted && i < scene->lane_count; i++)
        for (uint32_t k = scene->lanes[i].first; k < scene->lanes[i].end; k++)
            lane_of[k] = i;
    if (!scene->exhausted)
        grid_init(scene, &grid);
    if (!scene->exhausted) { /* grid.begin is one ahead after filling: begin[i] is where i starts */
        place_rows(scene, &grid);
        place_x(scene, lane_of);
    }
    if (!scene->exhausted)
        place_y(scene, &grid, lane_of);
    if (!scene->exhausted) {
        route_waits(scene, lane_of);
        route_mutual(scene, lane_of);
        place_link_labels(scene);
        place_table(scene);
    }
    free(grid.places);
    free(grid.begin);
    free(grid.source);
    free(lane_of);
}
