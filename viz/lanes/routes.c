/* Routes of links that are not straight: arcs over marks in the way, missing orders, wait-for links
 * that go round. See layout.c. */
#include "viz/lanes/layout.h"

#include "viz/paper/escape.h"

#include <math.h>
#include <stdlib.h>

enum {
    BRACKET_STEP = LAYOUT_BRACKET_STEP,
    BRACKETS = LAYOUT_BRACKETS,
    ARC_STEP = 6,
    ARC_LEVELS = 6,
    SCAN_LIMIT = 64
};

bool layout_goes_round(const struct scene *scene, const struct link *link, const uint32_t *lane_of)
{
    if (link->kind != LINK_WAIT_CORE && link->kind != LINK_WAIT_OUTSIDE)
        return false;
    const struct mark *from = &scene->marks[link->from], *to = &scene->marks[link->to];
    uint32_t a = lane_of[link->from], b = lane_of[link->to];
    return from->column == to->column && (a > b ? a - b : b - a) > 1;
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
    route->label_x = (route->points[0].x + route->points[3].x) / 2;
    route->label_y = peak;
}

/* Where the missing order and its repair run between two marks of one lane. */
static void make_dispute(struct route *route, bool repair, bool among_waits, double aside,
                         const struct mark *from, const struct mark *to)
{
    double side = !repair ? -12 : among_waits ? 0 : 12; /* clear of wait-for links */
    if (from->column == to->column) {
        double sign = to->y > from->y ? 1 : -1;
        double start = from->y + sign * from->height / 2, end = to->y - sign * to->height / 2;
        route->points[0] = (struct route_point){from->x + side, start};
        route->points[1] = (struct route_point){from->x + side, start + (end - start) / 3};
        route->points[2] = (struct route_point){from->x + side, end - (end - start) / 3};
        route->points[3] = (struct route_point){from->x + side, end};
        route->label_x = fmax(from->x + from->width / 2, to->x + to->width / 2) + 48 + aside;
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

/* Whether a straight link's label would lie on the marks between which it stands. */
static bool is_crowded(const struct link *link, const struct mark *from, const struct mark *to)
{
    double room = to->x - to->width / 2 - from->x - from->width / 2;
    return link->label && viz_text_width(link->label, 9, true) + 10 > room;
}

void layout_route_in_lane(struct scene *scene, const struct grid *grid, const struct lane *lane,
                          struct link *link, uint32_t *level)
{
    const struct mark *from = &scene->marks[link->from], *to = &scene->marks[link->to];
    if (link->kind == LINK_MISSING || link->kind == LINK_REPAIR) {
        if (add_route(scene, link))
            make_dispute(link->route, link->kind == LINK_REPAIR, scene->standstill,
                         fmin((double)scene->brackets, BRACKETS) * BRACKET_STEP, from, to);
        return;
    }
    bool backwards = from->column >= to->column;
    double top =
        backwards ? -fmax(from->height, to->height) / 2 : obstacle(scene, grid, lane, link);
    if (top >= 0 && is_crowded(link, from, to))
        top = -fmax(from->height, to->height) / 2;
    if (top < 0 && add_route(scene, link))
        make_arc(link->route, from, to, top - 8 - ARC_STEP * (double)((*level)++ % ARC_LEVELS));
}

/* How far up and down a route reaches; a curve stays within three quarters of its control points.
 */
void layout_route_span(const struct link *link, double *top, double *bottom)
{
    const struct route *route = link->route;
    bool labelled = link->label != NULL;
    if (!route)
        return;
    const struct route_point *points = route->points;
    double peak = route->count == 4
                      ? 0.125 * (points[0].y + points[3].y) + 0.375 * (points[1].y + points[2].y)
                      : 0;
    *top = fmin(*top, labelled ? fmin(peak, route->label_y - 8) : peak);
    *bottom = fmax(*bottom, labelled ? fmax(peak, route->label_y + 8) : peak);
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
    route->label_x = out + 30;
    route->label_y = (leave + arrive) / 2;
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
            if (!layout_goes_round(scene, link, lane_of) ||
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
        link->route->label_x = x;
        link->route->label_y = (from->y + to->y) / 2;
    }
}

static void place_link_labels(struct scene *scene)
{
    for (size_t i = 0; i < scene->link_count; i++) {
        struct link *link = &scene->links[i];
        if (!link->label || link->route) /* has its place already */
            continue;
        const struct mark *from = &scene->marks[link->from], *to = &scene->marks[link->to];
        if (!add_route(scene, link))
            return;
        link->route->label_x = (from->x + to->x) / 2;
        link->route->label_y = (from->y + to->y) / 2;
    }
}

void layout_routes_between(struct scene *scene, const uint32_t *lane_of)
{
    route_waits(scene, lane_of);
    route_mutual(scene, lane_of);
    place_link_labels(scene);
}
