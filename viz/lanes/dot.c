/* DOT text of a scene: see dot.h.
 *
 * Rules: names of nodes are ours (m0, m1, ...), so nothing from a trace can be one. Every other
 * text goes through paper/escape.c. Sizes are fixed, so Graphviz never moves a thing. No empty
 * <FONT></FONT>, which Graphviz refuses. */
#include "viz/lanes/dot.h"

#include "viz/paper/escape.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct look {
    const char *shape, *style, *fill, *line, *text;
    double pen;
};

static const struct look shapes[] = {
    [MARK_COMPUTE] = {"box", "filled,rounded", "#FFFFFF", "#444444", "#000000", 1},
    [MARK_SEND] = {"cds", "filled", "#CFE8F6", "#0072B2", "#000000", 1},
    [MARK_RECEIVE] = {"cds", "filled", "#FFE8BF", "#9A6700", "#000000", 1},
    [MARK_COLLECTIVE] = {"octagon", "filled", "#F3DCEA", "#A0507D", "#000000", 1},
    [MARK_WAIT] = {"hexagon", "filled", "#EFEFEF", "#666666", "#000000", 1},
    [MARK_SEED] = {"box", "filled", "#FFFFFF", "#444444", "#000000", 1},
    [MARK_LEAF] = {"box3d", "filled", "#D5F0E6", "#00694D", "#000000", 1},
    [MARK_RUN] = {"box", "filled,rounded", "#FFFFFF", "#444444", "#000000", 1},
    [MARK_END] = {"box", "dashed", "#FFFFFF", "#9A6700", "#555555", 1}};

static struct look look_of(const struct mark *mark)
{
    struct look look = shapes[mark->shape];
    bool rounded = mark->shape == MARK_COMPUTE || mark->shape == MARK_RUN;
    switch ((enum mark_tone)mark->tone) {
    case TONE_PLAIN:
        break;
    case TONE_QUIET:
        look.fill = "#FFFFFF";
        look.line = "#BBBBBB";
        look.text = "#6E6E6E";
        break;
    case TONE_NEVER:
        look.style = rounded ? "dashed,rounded" : "dashed";
        look.fill = "none";
        look.line = "#999999";
        look.text = "#6E6E6E";
        break;
    case TONE_TAINTED:
    case TONE_WAITS:
        look.style = mark->wrong ? "filled" : rounded ? "filled,rounded,dashed" : "filled,dashed";
        look.fill = "#FFF6E5";
        look.line = "#9A6700";
        look.pen = 1.4;
        break;
    case TONE_FAULT:
        look.style = "filled,bold";
        look.fill = "#FBE3D6";
        look.line = "#D55E00";
        look.pen = 2.6;
        break;
    }
    return look;
}

struct stroke {
    const char *color, *style, *head;
    double pen;
};

static const struct stroke strokes[LINK_KINDS] = {
    [LINK_DATA] = {"#444444", "solid", "normal", 1},
    [LINK_ORDER] = {"#888888", "dashed", "vee", 1},
    [LINK_SEQUENCE] = {"#999999", "solid", "vee", 0.8},
    [LINK_MESSAGE] = {"#0072B2", "solid", "normal", 2},
    [LINK_COULD] = {"#0072B2", "dashed", "onormal", 1.4},
    [LINK_ADJOINT] = {"#A0507D", "dotted", "none", 1},
    [LINK_WAIT_CORE] = {"#D55E00", "solid", "normal", 3},
    [LINK_WAIT_OUTSIDE] = {"#9A6700", "dashed", "normal", 1.6},
    [LINK_MISSING] = {"#D55E00", "dotted", "none", 4},
    [LINK_REPAIR] = {"#009E73:#FFFFFF:#009E73", "solid", "normal", 1.6}};

static struct stroke stroke_of(const struct link *link)
{
    struct stroke stroke = strokes[link->kind];
    bool order = link->kind == LINK_DATA || link->kind == LINK_ORDER || link->kind == LINK_SEQUENCE;
    if (order && link->never) {
        stroke.style = "dotted";
        stroke.color = "#999999";
    } else if (link->quiet) {
        stroke.color = link->kind == LINK_MESSAGE ? "#9CC4DC" : "#BBBBBB";
    }
    return stroke;
}

/* Halves of a point are enough, and "-0" would be a difference without one. */
static double tidy(double value)
{
    double rounded = round(value * 2) / 2;
    return rounded == 0 ? 0 : rounded;
}

static void put_point(FILE *file, const struct scene *scene, double x, double y)
{
    fprintf(file, "%g,%g", tidy(x), tidy(scene->height - y));
}

static void put_line(FILE *file, const char *text, int points, const char *color, bool strong)
{
    if (!text || !*text)
        return;
    fprintf(file, "<BR/><FONT POINT-SIZE=\"%d\" COLOR=\"%s\">%s", points, color,
            strong ? "<B>" : "");
    viz_escape_dot_label(file, text);
    fputs(strong ? "</B></FONT>" : "</FONT>", file);
}

static bool is_badge(const struct mark *mark, const char *line)
{
    return line && line == mark->badge;
}

/* A badge is red where something is wrong and green where a leaf agrees with its reference. */
static const char *line_color(const struct mark *mark, const char *line)
{
    if (is_badge(mark, line))
        return mark->tone == TONE_FAULT || mark->wrong ? "#B23A00" : "#00694D";
    if (mark->tone == TONE_QUIET || mark->tone == TONE_NEVER)
        return "#6E6E6E";
    return mark->tone == TONE_TAINTED ? "#7A4F00" : line == mark->place ? "#555555" : "#222222";
}

static void write_mark(FILE *file, const struct scene *scene, size_t index)
{
    const struct mark *mark = &scene->marks[index];
    struct look look = look_of(mark);
    bool strong = mark->blocked || mark->shape == MARK_COLLECTIVE || mark->tone == TONE_FAULT;
    fprintf(file, "    m%zu [label=<%s", index, strong ? "<B>" : "");
    viz_escape_dot_label(file, *mark->name ? mark->name : "?");
    fputs(strong ? "</B>" : "", file);
    put_line(file, mark->note, 9, line_color(mark, mark->note), is_badge(mark, mark->note));
    put_line(file, mark->place, 9, line_color(mark, mark->place), is_badge(mark, mark->place));
    fprintf(file, ">, shape=%s, style=\"%s\", fillcolor=\"%s\", color=\"%s\", fontcolor=\"%s\"",
            look.shape, look.style, look.fill, look.line, look.text);
    if (look.pen != 1)
        fprintf(file, ", penwidth=%g", look.pen);
    if (mark->shape == MARK_RUN || mark->times || mark->alike > 1)
        fputs(", peripheries=2", file);
    if (mark->shape == MARK_RECEIVE) /* points in where a send points out */
        fputs(", orientation=180", file);
    fprintf(file, ", width=%.3f, height=%.3f, pos=\"", mark->width / 72, mark->height / 72);
    put_point(file, scene, mark->x, mark->y);
    fputs("!\", tooltip=\"", file);
    viz_escape_dot_quoted(file, mark->tip);
    fputs("\"];\n", file);
}

static void write_route(FILE *file, const struct scene *scene, const struct link *link, bool arrow)
{
    uint32_t last = link->route->count - 1;
    struct route_point tip = link->route->points[last], before = link->route->points[last - 1],
                       end = tip;
    double length = hypot(tip.x - before.x, tip.y - before.y);
    double head = fmin(8, length / 2);
    fputs(", pos=\"", file);
    if (arrow && length > 0) { /* the curve ends where the arrow begins */
        end.x -= (tip.x - before.x) / length * head;
        end.y -= (tip.y - before.y) / length * head;
        fputs("e,", file);
        put_point(file, scene, tip.x, tip.y);
        fputc(' ', file);
    }
    for (uint32_t i = 0; i <= last; i++) {
        struct route_point point = i == last ? end : link->route->points[i];
        put_point(file, scene, point.x, point.y);
        fputs(i < last ? " " : "\"", file);
    }
}

static void write_link(FILE *file, const struct scene *scene, const struct link *link)
{
    struct stroke stroke = stroke_of(link);
    bool arrow = strcmp(stroke.head, "none") != 0;
    fprintf(file, "  m%" PRIu32 " -> m%" PRIu32 " [color=\"%s\"", link->from, link->to,
            stroke.color);
    if (strcmp(stroke.style, "solid") != 0)
        fprintf(file, ", style=%s", stroke.style);
    if (stroke.pen != 1)
        fprintf(file, ", penwidth=%g", stroke.pen);
    if (!arrow)
        fputs(", dir=none", file);
    else if (strcmp(stroke.head, "normal") != 0)
        fprintf(file, ", arrowhead=%s", stroke.head);
    if (link->route && link->route->count)
        write_route(file, scene, link, arrow);
    if (link->tip) {
        fputs(", tooltip=\"", file);
        viz_escape_dot_quoted(file, link->tip);
        fputc('"', file);
    }
    fputs("];\n", file);
}

static void write_link_label(FILE *file, const struct scene *scene, size_t index)
{
    const struct link *link = &scene->links[index];
    bool repair = link->kind == LINK_REPAIR, could = link_label_is_blue(link);
    const char *line = repair ? "#00694D" : could ? "#0072B2" : "#D55E00";
    fprintf(
        file,
        "  l%zu [shape=box, style=\"filled,rounded\", fillcolor=\"%s\", color=\"%s\", height=0.2, "
        "width=%.3f, fontsize=9, label=<<FONT COLOR=\"%s\"><B>",
        index,
        repair  ? "#D5F0E6"
        : could ? "#FFFFFF"
                : "#FBE3D6",
        line, (viz_text_width(link->label, 9, true) + 10) / 72,
        repair  ? "#00694D"
        : could ? "#00527F"
                : "#B23A00");
    viz_escape_dot_label(file, link->label);
    fputs("</B></FONT>>, pos=\"", file);
    put_point(file, scene, link->route->label_x, link->route->label_y);
    fputs("!\"];\n", file);
}

/* Bands of parallel collectives stand side by side, as their marks stand above each other. */
static void write_band(FILE *file, const struct scene *scene, size_t from, size_t to)
{
    const struct mark *a = &scene->marks[from], *b = &scene->marks[to];
    bool fault = a->tone == TONE_FAULT || b->tone == TONE_FAULT;
    bool quiet = a->tone == TONE_QUIET && b->tone == TONE_QUIET;
    fprintf(file, "  m%zu -> m%zu [dir=none, penwidth=9, color=\"%s\"", from, to,
            fault   ? "#D55E0055"
            : quiet ? "#CC79A733"
                    : "#CC79A766");
    if (a->column == b->column && a->row != 0 && b->row != 0) {
        double ax = a->x + fmax(-24, fmin(24, a->row * 44)),
               bx = b->x + fmax(-24, fmin(24, b->row * 44));
        fputs(", pos=\"", file);
        for (int k = 0; k <= 3; k++) {
            put_point(file, scene, ax + (bx - ax) * k / 3, a->y + (b->y - a->y) * k / 3);
            fputs(k < 3 ? " " : "\"", file);
        }
    }
    fputs("];\n", file);
}

static void write_bands(FILE *file, const struct scene *scene)
{
    for (size_t i = 0; i < scene->mark_count; i++)
        if (scene->marks[i].before != TRACE_NO)
            write_band(file, scene, scene->marks[i].before, i);
}

static void write_lane_name(FILE *file, const struct scene *scene, const struct lane *lane)
{
    double plain = fmax(0.7 * 72, viz_text_width(lane->name, 11, true));
    fprintf(file, "    r%" PRIu32 " [label=<<B>%s</B>", lane->rank, lane->name);
    if (lane->alike > 1)
        fprintf(file,
                "<BR/><FONT POINT-SIZE=\"9\">%" PRIu32 " alike</FONT>>, shape=box, "
                "style=filled, fillcolor=\"#FFFFFF\", color=\"#666666\", peripheries=2, "
                "width=%.3f, height=0.5, tooltip=\"%s\", pos=\"",
                lane->alike, (scene->label_width - 24) / 72, lane->tip);
    else
        fprintf(file, ">, shape=plaintext, style=\"\", width=%.3g, height=0.3, pos=\"", plain / 72);
    put_point(file, scene, lane->alike > 1 ? scene->label_width / 2 - 4 : fmax(34, 8 + plain / 2),
              lane->middle);
    fputs("!\"];\n", file);
}

static void write_lane(FILE *file, const struct scene *scene, size_t index)
{
    const struct lane *lane = &scene->lanes[index];
    fprintf(file, "  subgraph cluster_rank%" PRIu32 " {\n    graph [bb=\"", lane->rank);
    put_point(file, scene, 0, lane->top + lane->height);
    fputc(',', file);
    put_point(file, scene, scene->width, lane->top);
    fputs("\", style=filled, color=\"#D9D9D9\", fillcolor=\"#F7F7F7\", label=\"\"];\n", file);
    write_lane_name(file, scene, lane);
    for (size_t i = lane->first; i < lane->end; i++)
        write_mark(file, scene, i);
    fputs("  }\n", file);
    if (lane->hidden_before) {
        fprintf(file,
                "  h%" PRIu32 " [label=\"%" PRIu32
                " rank%s not shown\", shape=plaintext, style=\"\", fontsize=9, "
                "fontcolor=\"#555555\", width=1.6, height=0.2, pos=\"",
                lane->rank, lane->hidden_before, lane->hidden_before == 1 ? "" : "s");
        put_point(file, scene, 70, lane->top - 12);
        fputs("!\"];\n", file);
    }
}

static void write_table(FILE *file, const struct scene *scene)
{
    if (scene->table_count == 0)
        return;
    fputs("  unmatched [shape=plaintext, style=\"\", fixedsize=false, pos=\"", file);
    put_point(file, scene, scene->table_x, scene->table_y);
    fputs("!\", label=<<TABLE BORDER=\"1\" COLOR=\"#BBBBBB\" CELLBORDER=\"0\" CELLSPACING=\"0\" "
          "CELLPADDING=\"4\" "
          "BGCOLOR=\"#FFFFFF\"><TR><TD COLSPAN=\"3\" ALIGN=\"LEFT\" "
          "BGCOLOR=\"#FBE3D6\"><B>Unmatched at the stop</B></TD></TR>"
          "<TR><TD ALIGN=\"LEFT\">rank</TD><TD ALIGN=\"LEFT\">operation</TD><TD "
          "ALIGN=\"LEFT\">needs</TD></TR><HR/>",
          file);
    for (size_t i = 0; i < scene->table_count; i++) {
        fprintf(file, "<TR><TD ALIGN=\"LEFT\">%s</TD><TD ALIGN=\"LEFT\">", scene->table[i].ranks);
        viz_escape_dot_label(file, scene->table[i].operation);
        fputs("</TD><TD ALIGN=\"LEFT\">", file);
        viz_escape_dot_label(file, scene->table[i].needs);
        fputs("</TD></TR>", file);
    }
    if (scene->table_more)
        fprintf(file, "<TR><TD COLSPAN=\"3\" ALIGN=\"LEFT\">and %zu more</TD></TR>",
                scene->table_more);
    fputs("</TABLE>>];\n", file);
}

static void put_small_row(FILE *file, const char *text)
{
    if (!text || !*text)
        return;
    fputs("<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"10\" COLOR=\"#555555\">", file);
    viz_escape_dot_label(file, text);
    fputs("</FONT></TD></TR>", file);
}

static void write_head(FILE *file, const struct scene *scene)
{
    fputs("digraph simrun {\n  graph [layout=neato, inputscale=72, splines=line, "
          "outputorder=edgesfirst, "
          "fontname=\"DejaVu Sans\", fontsize=14, labelloc=t, labeljust=l, pad=0.2, "
          "bgcolor=\"white\", tooltip=\" \",\n"
          "    label=<<TABLE BORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"1\"><TR><TD "
          "ALIGN=\"LEFT\">",
          file);
    if (scene->verdict) {
        fputs("<FONT COLOR=\"#B23A00\"><B>", file);
        viz_escape_dot_label(file, scene->verdict);
        fputs("</B></FONT>  ", file);
    } else if (scene->good) {
        fputs("<FONT COLOR=\"#00694D\"><B>PASS</B></FONT>  ", file);
    }
    viz_escape_dot_label(file, scene->title);
    fputs("</TD></TR>", file);
    for (size_t i = 0; scene->subtitles[i]; i++)
        put_small_row(file, scene->subtitles[i]);
    put_small_row(file, scene->remark);
    fputs("</TABLE>>];\n", file);
    fputs("  node [fontname=\"DejaVu Sans\", fontsize=11, fixedsize=true, margin=0];\n"
          "  edge [fontname=\"DejaVu Sans\", fontsize=9, arrowsize=0.7];\n",
          file);
}

void dot_write(FILE *file, const struct scene *scene)
{
    write_head(file, scene);
    for (size_t i = 0; i < scene->lane_count; i++)
        write_lane(file, scene, i);
    write_table(file, scene);
    write_bands(file, scene);
    for (size_t i = 0; i < scene->link_count; i++)
        if (scene->links[i].kind < LINK_HIDDEN)
            write_link(file, scene, &scene->links[i]);
    for (size_t i = 0; i < scene->link_count; i++)
        if (scene->links[i].label)
            write_link_label(file, scene, i);
    fputs("}\n", file);
}
