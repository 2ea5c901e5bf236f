/* Where everything stands: our own layout, linear but for sorting within a lane.
 *
 * Columns: the longest path over order on a rank and messages, collectives in one column across
 * their lanes, the blocked frontier in one column. Messages between marks that depend on each other
 * both ways (a Sendrecv and its peer) do not move anything; any cycle that a foreign trace may
 * still hold is cut at its first mark, so every input gets a layout. Rows: parallel marks of a rank
 * stand above each other. Links that would run through a mark of their own lane become arcs;
 * wait-for links between lanes that are not neighbours go round on the right. */
#include "viz/lanes/layout.h"

#include "viz/paper/escape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LANE_LABEL = 68,
    LANE_CHARACTERS = 24,
    LANE_PADDING = 18,
    LANE_GAP = 10,
    COLUMN_GAP = 30,
    ROW_GAP = 16,
    DISPUTE_GAP = 38, /* between rows of a lane in which an order is missing */
    LABEL_ROOM = 74,  /* for the words of a missing order */
    BRACKET_STEP = LAYOUT_BRACKET_STEP,
    BRACKETS = LAYOUT_BRACKETS
};

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
    /* A rank that did nothing is worth seeing; of many, where they are alike. */
    bool whole = scene->shown == scene->total && (scene->trace->ranks <= 64 || scene->leader);
    scene->lanes = scene_allocate(scene, whole ? scene->trace->ranks : ranks, sizeof *scene->lanes);
    uint32_t *lane_of = scene_allocate(scene, scene->trace->ranks, sizeof *lane_of);
    for (uint32_t rank = 0, at = 0, hidden = 0; !scene->exhausted && rank < scene->trace->ranks;
         rank++) {
        uint32_t leader = scene->leader ? scene->leader[rank] : rank;
        if (leader != rank) {
            lane_of[rank] = lane_of[leader];
        } else if (whole || (at < scene->mark_count && scene->marks[at].rank == rank)) {
            struct lane *lane = &scene->lanes[scene->lane_count++];
            *lane = (struct lane){.rank = rank, .first = at, .hidden_before = hidden};
            while (at < scene->mark_count && scene->marks[at].rank == rank)
                at++;
            lane->end = at;
            lane_of[rank] = (uint32_t)scene->lane_count;
            hidden = 0;
        }
        if (lane_of[rank]) /* one ahead: 0 is none */
            scene->lanes[lane_of[rank] - 1].alike++;
        else
            hidden++;
        scene->ranks_hidden += !lane_of[rank];
    }
    free(lane_of);
    for (size_t i = 0; i < scene->lane_count; i++) {
        struct lane *lane = &scene->lanes[i];
        lane->name = scene_text(scene, "rank%s %s", lane->alike > 1 ? "s" : "",
                                scene_alike_ranks(scene, lane->rank, LANE_CHARACTERS));
        lane->tip = lane->alike > 1 ? scene_text(scene, "ranks %s",
                                                 scene_alike_ranks(scene, lane->rank, SIZE_MAX))
                                    : NULL;
    }
}

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

static void grid_init(struct scene *scene, struct grid *grid)
{
    grid->places = scene_allocate(scene, scene->mark_count, sizeof *grid->places);
    grid->begin = scene_allocate(scene, scene->mark_count + 2, sizeof *grid->begin);
    grid->source = scene_allocate(scene, scene->link_count, sizeof *grid->source);
    if (scene->exhausted)
        return;
    for (size_t i = 0; i < scene->link_count; i++)
        if (layout_is_order(&scene->links[i]))
            grid->begin[scene->links[i].to + 2]++;
    for (size_t i = 0; i < scene->mark_count; i++)
        grid->begin[i + 2] += grid->begin[i + 1];
    for (size_t i = 0; i < scene->link_count; i++)
        if (layout_is_order(&scene->links[i]))
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

static double label_width(const struct scene *scene)
{
    double width = LANE_LABEL;
    for (size_t i = 0; i < scene->lane_count; i++)
        if (scene->lanes[i].alike > 1)
            width = fmax(width, viz_text_width(scene->lanes[i].name, 11, true) + 36);
    return width;
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
    for (size_t i = 0; i < scene->mark_count; i++)
        if (scene->marks[i].column >= columns)
            columns = scene->marks[i].column + 1;
    scene->label_width = label_width(scene);
    double *x = scene_allocate(scene, (size_t)columns + 1, sizeof *x);
    double *extra = scene_allocate(scene, columns, sizeof *extra);
    if (scene->exhausted)
        goto done;
    for (size_t i = 0; i < scene->mark_count; i++)
        if (scene->marks[i].width > x[scene->marks[i].column])
            x[scene->marks[i].column] = scene->marks[i].width;
    double *pills = scene_allocate(scene, columns, sizeof *pills);
    for (size_t i = 0; pills && i < scene->link_count; i++) {
        struct link *link = &scene->links[i];
        uint32_t column = scene->marks[link->from].column;
        if (layout_goes_round(scene, link, lane_of))
            extra[column] = fmin((double)++scene->brackets, BRACKETS) * BRACKET_STEP + 6;
        if (link->label && scene->marks[link->to].column == column)
            pills[column] = LABEL_ROOM;
    }
    for (uint32_t c = 0; pills && c < columns; c++)
        extra[c] += pills[c];
    free(pills);
    double at = scene->label_width;
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
        if (lane != lane_of[link->to] || link->kind >= LINK_HIDDEN)
            continue;
        layout_route_in_lane(scene, grid, &scene->lanes[lane], link, &level[lane]);
        layout_route_span(link, &top[lane], &bottom[lane]);
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

static void place_table(struct scene *scene)
{
    if (scene->table_count == 0)
        return;
    double widths[3] = {28, 72, 92};
    for (size_t i = 0; i < scene->table_count; i++) {
        const struct unmatched *row = &scene->table[i];
        const char *const cells[3] = {row->ranks, row->operation, row->needs};
        for (int k = 0; k < 3; k++)
            widths[k] = fmax(widths[k], viz_text_width(cells[k], 11, false));
    }
    scene->table_columns[0] = 6 + widths[0] + 12;
    scene->table_columns[1] = scene->table_columns[0] + widths[1] + 12;
    scene->table_width = scene->table_columns[1] + widths[2] + 8;
    scene->table_x = scene->width + 12 + scene->table_width / 2;
    scene->table_y = scene->height / 2;
}

void scene_layout(struct scene *scene)
{
    struct grid grid = {0};
    layout_columns(scene);
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
        layout_routes_between(scene, lane_of);
        place_table(scene);
    }
    free(grid.places);
    free(grid.begin);
    free(grid.source);
    free(lane_of);
}
