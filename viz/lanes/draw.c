/* Inline SVG of a scene: see draw.h. The same picture as dot.c writes, with links clipped at the
 * marks' boxes. */
#include "viz/lanes/draw.h"

#include "viz/paper/escape.h"
#include "viz/paper/svg.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MARGIN = 8, TITLE_LINE = 17, TABLE_LINE = 18 };

static const char *const shape_names[] = {
    [MARK_COMPUTE] = "compute", [MARK_SEND] = "send",
    [MARK_RECEIVE] = "receive", [MARK_COLLECTIVE] = "collective",
    [MARK_WAIT] = "wait",       [MARK_SEED] = "seed",
    [MARK_LEAF] = "leaf",       [MARK_RUN] = "run",
    [MARK_END] = "end"};
static const char *const tone_names[] = {
    [TONE_PLAIN] = "",           [TONE_QUIET] = " quiet", [TONE_NEVER] = " never",
    [TONE_TAINTED] = " tainted", [TONE_WAITS] = " waits", [TONE_FAULT] = " fault"};
static const char *const link_names[LINK_KINDS] = {
    [LINK_DATA] = "data",         [LINK_ORDER] = "order",
    [LINK_SEQUENCE] = "sequence", [LINK_MESSAGE] = "message",
    [LINK_COULD] = "could",       [LINK_ADJOINT] = "adjoint",
    [LINK_WAIT_CORE] = "core",    [LINK_WAIT_OUTSIDE] = "outside",
    [LINK_MISSING] = "missing",   [LINK_REPAIR] = "repair",
    [LINK_HIDDEN] = "",           [LINK_ABREAST] = ""};

static void draw_polygon(struct svg *svg, const char *class, const struct mark *mark,
                         const double (*corners)[2], size_t count)
{
    double points[32];
    for (size_t i = 0; i < count; i++) {
        points[2 * i] = mark->x + corners[i][0] * mark->width / 2;
        points[2 * i + 1] = mark->y + corners[i][1] * mark->height / 2;
    }
    svg_polygon(svg, class, points, count, NULL);
}

static void draw_shape(struct svg *svg, const char *class, const struct mark *mark)
{
    double w = mark->width, h = mark->height, left = mark->x - w / 2, top = mark->y - h / 2;
    double nib = fmin(14 / (w / 2), 1), cut = fmin(10 / (w / 2), 1);
    switch ((enum mark_shape)mark->shape) {
    case MARK_SEND:
        draw_polygon(
            svg, class, mark,
            (const double[][2]){{-1, -.84}, {1 - nib, -.84}, {1, 0}, {1 - nib, .84}, {-1, .84}}, 5);
        break;
    case MARK_RECEIVE:
        draw_polygon(
            svg, class, mark,
            (const double[][2]){{1, -.84}, {nib - 1, -.84}, {-1, 0}, {nib - 1, .84}, {1, .84}}, 5);
        break;
    case MARK_COLLECTIVE:
        draw_polygon(svg, class, mark,
                     (const double[][2]){{-1, -.45},
                                         {cut * 1.4 - 1, -1},
                                         {1 - cut * 1.4, -1},
                                         {1, -.45},
                                         {1, .45},
                                         {1 - cut * 1.4, 1},
                                         {cut * 1.4 - 1, 1},
                                         {-1, .45}},
                     8);
        break;
    case MARK_WAIT:
        draw_polygon(svg, class, mark,
                     (const double[][2]){
                         {-1, 0}, {cut - 1, -1}, {1 - cut, -1}, {1, 0}, {1 - cut, 1}, {cut - 1, 1}},
                     6);
        break;
    case MARK_LEAF:
        svg_rect(svg, class, left, top + 4, w - 4, h - 4, 0, NULL);
        svg_polygon(svg, class,
                    (double[]){left, top + 4, left + 4, top, left + w, top, left + w - 4, top + 4},
                    4, NULL);
        svg_polygon(svg, class,
                    (double[]){left + w - 4, top + 4, left + w, top, left + w, top + h - 4,
                               left + w - 4, top + h},
                    4, NULL);
        break;
    case MARK_RUN:
        svg_rect(svg, class, left, top, w, h, 10, NULL);
        svg_rect(svg, class, left + 3, top + 3, w - 6, h - 6, 8, NULL);
        break;
    case MARK_COMPUTE:
        svg_rect(svg, class, left, top, w, h, 10, NULL);
        break;
    case MARK_SEED:
    case MARK_END:
        svg_rect(svg, class, left, top, w, h, 0, NULL);
        break;
    }
}

static const char *line_class(const struct mark *mark, const char *line)
{
    if (mark->badge && line == mark->badge)
        return mark->tone == TONE_FAULT || mark->wrong ? "small bad" : "small ok";
    if (mark->tone == TONE_QUIET || mark->tone == TONE_NEVER)
        return "small faint";
    return mark->tone == TONE_TAINTED ? "small tainted"
           : line == mark->place      ? "small soft"
                                      : "small";
}

static void draw_mark(struct svg *svg, const struct mark *mark)
{
    char class[64];
    bool strong = mark->blocked || mark->shape == MARK_COLLECTIVE || mark->tone == TONE_FAULT;
    bool dim = mark->tone == TONE_QUIET || mark->tone == TONE_NEVER;
    const char *lines[3] = {mark->name, mark->note, mark->place};
    int count = 1 + (mark->note && *mark->note) + (mark->place && *mark->place);
    double y = mark->y + 4 - (count - 1) * 6.0 + (mark->shape == MARK_LEAF ? 2 : 0);
    double x = mark->x + (mark->shape == MARK_SEND ? -3 : mark->shape == MARK_RECEIVE ? 4 : 0);
    snprintf(class, sizeof class, "m %s%s%s", shape_names[mark->shape], tone_names[mark->tone],
             mark->wrong ? " wrong" : "");
    svg_group_open(svg, "mark", mark->tip);
    draw_shape(svg, class, mark);
    if (mark->times || mark->alike > 1) {
        struct mark inner = *mark;
        inner.width -= 8;
        inner.height -= 7;
        draw_shape(svg, class, &inner);
    }
    for (int i = 0; i < 3; i++) {
        if (!lines[i] || !*lines[i])
            continue;
        const char *text_class = i > 0    ? line_class(mark, lines[i])
                                 : dim    ? "faint"
                                 : strong ? "bold"
                                          : "name";
        svg_text(svg, text_class, x, y, SVG_MIDDLE, "%s", lines[i]);
        y += 12;
    }
    svg_group_close(svg);
}

/* Where the line from a mark's middle towards (dx, dy) leaves its box. */
static struct route_point leave_box(const struct mark *mark, double dx, double dy)
{
    double h =
        mark->shape == MARK_SEND || mark->shape == MARK_RECEIVE ? mark->height * .84 : mark->height;
    double tx = dx != 0 ? mark->width / 2 / fabs(dx) : INFINITY,
           ty = dy != 0 ? h / 2 / fabs(dy) : INFINITY;
    double t = fmin(tx, ty);
    if (!isfinite(t))
        t = 0;
    return (struct route_point){mark->x + dx * t, mark->y + dy * t};
}

static double head_size(const struct link *link)
{
    return link->kind == LINK_WAIT_CORE                              ? 12
           : link->kind == LINK_MESSAGE || link->kind == LINK_REPAIR ? 9
                                                                     : 7.5;
}

static void draw_path(struct svg *svg, const char *class, const struct route_point *points,
                      uint32_t count)
{
    fprintf(svg->file, "<path class=\"%s\" d=\"M%.1f,%.1f C", class, points[0].x, points[0].y);
    for (uint32_t i = 1; i < count; i++)
        fprintf(svg->file, "%s%.1f,%.1f", i > 1 ? " " : "", points[i].x, points[i].y);
    fputs("\"/>\n", svg->file);
}

static void draw_link(struct svg *svg, const struct scene *scene, const struct link *link)
{
    char class[48], head[48];
    bool order = link->kind == LINK_DATA || link->kind == LINK_ORDER || link->kind == LINK_SEQUENCE;
    bool arrow = link->kind != LINK_MISSING && link->kind != LINK_ADJOINT;
    const char *state = order && link->never ? " never" : link->quiet ? " quiet" : "";
    snprintf(class, sizeof class, "l %s%s", link_names[link->kind], state);
    snprintf(head, sizeof head, "h %s%s", link_names[link->kind], state);
    struct route_point points[10];
    uint32_t count = link->route ? link->route->count : 0;
    if (count) {
        memcpy(points, link->route->points, count * sizeof *points);
    } else {
        const struct mark *from = &scene->marks[link->from], *to = &scene->marks[link->to];
        struct route_point a = leave_box(from, to->x - from->x, to->y - from->y);
        struct route_point b = leave_box(to, from->x - to->x, from->y - to->y);
        for (int k = 0; k <= 3; k++)
            points[k] = (struct route_point){a.x + (b.x - a.x) * k / 3, a.y + (b.y - a.y) * k / 3};
        count = 4;
    }
    struct route_point tip = points[count - 1];
    double dx = tip.x - points[count - 2].x, dy = tip.y - points[count - 2].y,
           length = hypot(dx, dy);
    if (arrow && length > 0) { /* the line ends inside the head */
        points[count - 1].x -= dx / length * head_size(link) * 0.7;
        points[count - 1].y -= dy / length * head_size(link) * 0.7;
    }
    draw_path(svg, class, points, count);
    if (link->kind == LINK_REPAIR)
        draw_path(svg, "l inner", points, count);
    if (arrow)
        svg_arrow(svg, head, tip.x, tip.y, dx, dy, head_size(link));
}

static void draw_band(struct svg *svg, const struct scene *scene, const struct mark *mark)
{
    const struct mark *above = &scene->marks[mark->before];
    bool fault = mark->tone == TONE_FAULT || above->tone == TONE_FAULT;
    bool apart = above->row != 0 && mark->row != 0; /* parallel bands stand side by side */
    double from = above->x + (apart ? fmax(-24, fmin(24, above->row * 44)) : 0);
    double to = mark->x + (apart ? fmax(-24, fmin(24, mark->row * 44)) : 0);
    svg_line(svg, fault ? "band fault" : "band", from, above->y, to, mark->y);
}

static void draw_label(struct svg *svg, const struct link *link)
{
    bool repair = link->kind == LINK_REPAIR, could = link_label_is_blue(link);
    double width = 10 + 6.2 * (double)strlen(link->label);
    svg_rect(svg,
             repair  ? "pill green"
             : could ? "pill blue"
                     : "pill",
             link->route->label_x - width / 2, link->route->label_y - 7.5, width, 15, 5, NULL);
    svg_text(svg,
             repair  ? "small repair"
             : could ? "small bold"
                     : "small bad",
             link->route->label_x, link->route->label_y + 3.5, SVG_MIDDLE, "%s", link->label);
}

static void draw_lane(struct svg *svg, const struct scene *scene, const struct lane *lane)
{
    svg_rect(svg, "lane", 0.5, lane->top, scene->width, lane->height, 0, NULL);
    if (lane->alike > 1) {
        svg_group_open(svg, "mark", lane->tip);
        for (int inner = 0; inner < 2; inner++)
            svg_rect(svg, "m seed", 8 + 3.0 * inner, lane->middle - 18 + 3 * inner,
                     scene->label_width - 24 - 6 * inner, 36 - 6 * inner, 0, NULL);
        svg_text(svg, "bold", scene->label_width / 2 - 4, lane->middle - 1, SVG_MIDDLE, "%s",
                 lane->name);
        svg_text(svg, "small", scene->label_width / 2 - 4, lane->middle + 11, SVG_MIDDLE,
                 "%" PRIu32 " alike", lane->alike);
        svg_group_close(svg);
    } else {
        svg_text(svg, "bold", 12, lane->middle + 4, SVG_START, "%s", lane->name);
    }
    if (lane->hidden_before)
        svg_text(svg, "small soft", 12, lane->top - 5, SVG_START, "%" PRIu32 " rank%s not shown",
                 lane->hidden_before, lane->hidden_before == 1 ? "" : "s");
}

static void draw_table(struct svg *svg, const struct scene *scene)
{
    if (scene->table_count == 0)
        return;
    double rows = (double)scene->table_count + 2 + (scene->table_more > 0),
           height = rows * TABLE_LINE + 6;
    double left = scene->width + 14, y = fmax(1, scene->table_y - height / 2);
    svg_rect(svg, "m seed", left, y, scene->table_width, height, 0, NULL);
    svg_rect(svg, "pill", left, y, scene->table_width, TABLE_LINE + 3, 0, NULL);
    svg_text(svg, "bold", left + 6, y + 14, SVG_START, "Unmatched at the stop");
    y += 2 * TABLE_LINE - 2;
    svg_text(svg, "soft", left + 6, y, SVG_START, "rank");
    svg_text(svg, "soft", left + scene->table_columns[0], y, SVG_START, "operation");
    svg_text(svg, "soft", left + scene->table_columns[1], y, SVG_START, "needs");
    for (size_t i = 0; i < scene->table_count; i++) {
        y += TABLE_LINE;
        svg_text(svg, "mid", left + 6, y, SVG_START, "%s", scene->table[i].ranks);
        svg_text(svg, "mid", left + scene->table_columns[0], y, SVG_START, "%s",
                 scene->table[i].operation);
        svg_text(svg, "mid", left + scene->table_columns[1], y, SVG_START, "%s",
                 scene->table[i].needs);
    }
    if (scene->table_more)
        svg_text(svg, "mid", left + 6, y + TABLE_LINE, SVG_START, "and %zu more",
                 scene->table_more);
}

static double draw_title(struct svg *svg, const struct scene *scene)
{
    double y = 16;
    const char *word = scene->verdict ? scene->verdict : scene->good ? "PASS" : "";
    fprintf(svg->file, "<text class=\"title\" x=\"2\" y=\"16\">");
    if (*word) {
        fprintf(svg->file, "<tspan class=\"%s\">", scene->verdict ? "bad" : "ok");
        viz_escape_html(svg->file, word);
        fputs("</tspan>  ", svg->file);
    }
    viz_escape_html(svg->file, scene->title);
    fputs("</text>\n", svg->file);
    for (size_t i = 0; scene->subtitles[i]; i++)
        svg_text(svg, "mid soft", 2, y += TITLE_LINE, SVG_START, "%s", scene->subtitles[i]);
    if (*scene->remark)
        svg_text(svg, "mid soft", 2, y += TITLE_LINE, SVG_START, "%s", scene->remark);
    return y + 10;
}

static double title_height(const struct scene *scene)
{
    double height = 26 + (*scene->remark ? TITLE_LINE : 0);
    for (size_t i = 0; scene->subtitles[i]; i++)
        height += TITLE_LINE;
    return height;
}

void draw_write(FILE *file, const struct scene *scene)
{
    struct svg svg = {.file = file,
                      .prefix = scene->options->prefix ? scene->options->prefix : "g"};
    double table = scene->table_count ? scene->table_width + 20 : 0;
    double width = scene->width + table + 2.0 * MARGIN;
    double height =
        fmax(scene->height, ((double)scene->table_count + 3) * TABLE_LINE * (table > 0)) +
        title_height(scene) + 2.0 * MARGIN;
    svg_open(&svg, width, height, scene->title,
             scene->subtitles[0] ? scene->subtitles[0] : scene->remark);
    fprintf(file, "<g transform=\"translate(%d %d)\">\n", MARGIN, MARGIN);
    double top = draw_title(&svg, scene);
    fprintf(file, "<g transform=\"translate(0 %g)\">\n", top);
    for (size_t i = 0; i < scene->lane_count; i++)
        draw_lane(&svg, scene, &scene->lanes[i]);
    for (size_t i = 0; i < scene->mark_count; i++)
        if (scene->marks[i].before != TRACE_NO)
            draw_band(&svg, scene, &scene->marks[i]);
    for (size_t i = 0; i < scene->link_count; i++)
        if (scene->links[i].kind < LINK_HIDDEN)
            draw_link(&svg, scene, &scene->links[i]);
    for (size_t i = 0; i < scene->mark_count; i++)
        draw_mark(&svg, &scene->marks[i]);
    for (size_t i = 0; i < scene->link_count; i++)
        if (scene->links[i].label)
            draw_label(&svg, &scene->links[i]);
    draw_table(&svg, scene);
    fputs("</g></g>\n", file);
    svg_close(&svg);
}
