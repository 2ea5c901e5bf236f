/* The SVG writer: see svg.h. Colours are Okabe-Ito's, darkened or lightened where text needs
 * contrast; every class that has a colour has a shape, a dash or a hatch of its own too. */
#include "viz/paper/svg.h"

#include "viz/paper/escape.h"

#include <math.h>
#include <stdarg.h>

static const char light[] =
    "--paper:#fff;--lane:#f7f7f7;--edge:#d9d9d9;--ink:#1a1a1a;--soft:#555;--faint:#6b6b6b;--line:#"
    "444;"
    "--blue:#0072b2;--blue-fill:#cfe8f6;--amber:#8a5a00;--amber-fill:#ffe8bf;--plum:#a0507d;--plum-"
    "fill:#f3dcea;"
    "--green:#00694d;--green-fill:#d5f0e6;--fault:#d55e00;--fault-ink:#b23a00;--fault-fill:#fbe3d6;"
    "--taint-fill:#fff6e5;--wait-fill:#efefef;--sky:#56b4e9;--repair:#009e73;--band:#cc79a766";
static const char dark[] =
    "--paper:#14171c;--lane:#1c2027;--edge:#3b424d;--ink:#e9e9e9;--soft:#b4bac3;--faint:#959ca6;--"
    "line:#b4bac3;"
    "--blue:#6cc0f0;--blue-fill:#123a55;--amber:#f0b030;--amber-fill:#4a360c;--plum:#e0a0c6;--plum-"
    "fill:#482a40;"
    "--green:#4fd0a5;--green-fill:#0f3d31;--fault:#ff8a3d;--fault-ink:#ffa066;--fault-fill:#4e2711;"
    "--taint-fill:#3b2f13;--wait-fill:#2b3038;--sky:#56b4e9;--repair:#2fc79a;--band:#cc79a766";

void svg_style(FILE *file)
{
    fprintf(file, ".viz{%s;background:var(--paper);color:var(--ink)}\n", light);
    fprintf(file, "@media screen and (prefers-color-scheme:dark){.viz{%s}}\n", dark);
    fputs(
        ".viz text{white-space:pre;font-family:'DejaVu "
        "Sans',Verdana,sans-serif;font-size:11px;fill:var(--ink)}\n"
        ".viz text.small{font-size:9px}.viz text.soft{fill:var(--soft)}.viz "
        "text.faint{fill:var(--faint)}\n"
        ".viz text.bold{font-weight:bold}.viz text.title{font-size:14px}.viz "
        "tspan.bad{fill:var(--fault-ink);font-weight:bold}.viz "
        "tspan.ok{fill:var(--green);font-weight:bold}.viz text.mid{font-size:10px}\n"
        ".viz text.bad{fill:var(--fault-ink);font-weight:bold}.viz "
        "text.ok{fill:var(--green);font-weight:bold}\n"
        ".viz text.tainted{fill:var(--amber)}.viz text.repair{fill:var(--green);font-weight:bold}\n"
        ".viz .paper{fill:var(--paper)}.viz .lane{fill:var(--lane);stroke:var(--edge)}.viz "
        ".grid{stroke:var(--edge);fill:none}\n"
        ".viz .axis{stroke:var(--soft);fill:none}\n"
        ".viz .m{fill:var(--paper);stroke:var(--line)}.viz "
        ".m.send{fill:var(--blue-fill);stroke:var(--blue)}\n"
        ".viz .m.receive{fill:var(--amber-fill);stroke:var(--amber)}\n"
        ".viz .m.collective{fill:var(--plum-fill);stroke:var(--plum)}.viz "
        ".m.wait{fill:var(--wait-fill);stroke:var(--soft)}\n"
        ".viz .m.leaf{fill:var(--green-fill);stroke:var(--green)}.viz .m.end{stroke-dasharray:4 "
        "3;stroke:var(--amber)}\n"
        ".viz .m.quiet{fill:var(--paper);stroke:var(--faint);stroke-opacity:.6}\n"
        ".viz .m.never{fill:none;stroke:var(--faint);stroke-dasharray:5 4}\n"
        ".viz .m.tainted,.viz "
        ".m.waits{fill:var(--taint-fill);stroke:var(--amber);stroke-width:1.4;stroke-dasharray:6 "
        "3}\n"
        ".viz .m.wrong{stroke-dasharray:none}\n"
        ".viz "
        ".m.fault{fill:var(--fault-fill);stroke:var(--fault);stroke-width:2.6;stroke-dasharray:"
        "none}\n"
        ".viz .pill{fill:var(--fault-fill);stroke:var(--fault)}.viz "
        ".pill.green{fill:var(--green-fill);stroke:var(--green)}\n"
        ".viz .pill.blue{fill:var(--paper);stroke:var(--blue)}\n"
        ".viz .l{fill:none;stroke:var(--line)}.viz .l.order{stroke:var(--faint);stroke-dasharray:6 "
        "4}\n"
        ".viz .l.sequence{stroke:var(--faint);stroke-width:.8}.viz "
        ".l.message{stroke:var(--blue);stroke-width:2}\n"
        ".viz .l.could{stroke:var(--blue);stroke-width:1.4;stroke-dasharray:6 4}\n"
        ".viz .l.adjoint{stroke:var(--plum);stroke-dasharray:1.5 3}\n"
        ".viz .l.core{stroke:var(--fault);stroke-width:3}\n"
        ".viz .l.outside{stroke:var(--amber);stroke-width:1.6;stroke-dasharray:6 4}\n"
        ".viz .l.missing{stroke:var(--fault);stroke-width:4;stroke-dasharray:2.5 5}\n"
        ".viz .l.repair{stroke:var(--repair);stroke-width:5}.viz "
        ".l.inner{stroke:var(--paper);stroke-width:1.6}\n"
        ".viz .l.never{stroke:var(--faint);stroke-dasharray:1.5 4}.viz "
        ".l.quiet{stroke-opacity:.5}\n"
        ".viz .band{fill:none;stroke:var(--band);stroke-width:9}.viz "
        ".band.fault{stroke:var(--fault);stroke-opacity:.4}\n"
        ".viz .h{fill:var(--line)}.viz .h.order,.viz .h.sequence,.viz .h.never{fill:var(--faint)}\n"
        ".viz .h.message,.viz .h.could{fill:var(--blue)}.viz .h.core{fill:var(--fault)}.viz "
        ".h.outside{fill:var(--amber)}\n"
        ".viz .h.repair{fill:var(--repair)}.viz .h.quiet{fill-opacity:.5}\n",
        file);
    fputs(
        ".viz .series{fill:none;stroke:var(--blue);stroke-width:1.8}\n"
        ".viz .series.b{stroke:var(--fault);stroke-dasharray:7 3}.viz "
        ".series.c{stroke:var(--green);stroke-dasharray:2 3}\n"
        ".viz .series.d{stroke:var(--plum);stroke-dasharray:9 3 2 3}\n"
        ".viz .series.e{stroke:var(--amber);stroke-dasharray:12 3}.viz "
        ".series.f{stroke:var(--sky);stroke-dasharray:5 2}\n"
        ".viz .series.g{stroke:var(--ink);stroke-dasharray:1 3}.viz "
        ".series.h{stroke:var(--faint);stroke-dasharray:12 3 2 3 2 3}\n"
        ".viz .dot.e,.viz .dot.f,.viz .dot.g,.viz .dot.h{fill:var(--paper);stroke-width:1.4}\n"
        ".viz .dot.e{stroke:var(--amber)}.viz .dot.f{stroke:var(--sky)}.viz "
        ".dot.g{stroke:var(--ink)}.viz .dot.h{stroke:var(--faint)}\n"
        ".viz .dot{fill:var(--blue)}.viz .dot.b{fill:var(--fault)}.viz "
        ".dot.c{fill:var(--green)}.viz .dot.d{fill:var(--plum)}\n"
        ".viz .guide{fill:none;stroke:var(--faint);stroke-dasharray:3 3}.viz "
        ".chosen{fill:none;stroke:var(--fault);stroke-width:2}\n"
        ".viz .bar{fill:var(--blue-fill);stroke:var(--blue)}.viz .cell{stroke:var(--paper)}\n"
        ".viz .cell.none{fill:var(--lane)}.viz .cell.v0{fill:var(--green-fill)}.viz "
        ".cell.v1{fill:#ffe9a8}\n"
        ".viz .cell.v2{fill:#fdbf6f}.viz .cell.v3{fill:#f0804a}.viz .cell.v4{fill:#c2410c}\n"
        ".viz text.in0{fill:var(--ink)}.viz text.in1{fill:#1a1a1a}.viz text.in4{fill:#fff}\n"
        ".viz .t{stroke-width:.7}.viz .t.compute{fill:var(--paper);stroke:var(--line)}\n"
        ".viz .t.send{fill:var(--blue-fill);stroke:var(--blue)}.viz "
        ".t.receive{fill:var(--amber-fill);stroke:var(--amber)}\n"
        ".viz .t.collective{fill:var(--plum-fill);stroke:var(--plum)}\n"
        ".viz .t.wait{fill:var(--wait-fill);stroke:var(--soft);stroke-dasharray:2 2}\n"
        ".viz "
        ".t.stuck{fill:var(--fault-fill);stroke:var(--fault);stroke-width:2;stroke-dasharray:5 3}\n"
        ".viz .l.thin{stroke-width:1.2;stroke-opacity:.75}.viz "
        ".critical{fill:none;stroke:var(--fault);stroke-width:2.4}\n"
        ".viz .k.f{fill:var(--blue-fill);stroke:var(--blue)}.viz "
        ".k.b{fill:var(--amber-fill);stroke:var(--amber)}\n"
        ".viz .k.w{fill:var(--green-fill);stroke:var(--green)}.viz "
        ".k.o{fill:var(--plum-fill);stroke:var(--plum)}\n"
        ".viz .k.idle{fill:none;stroke:var(--edge);stroke-dasharray:2 3}\n"
        "@media (forced-colors:active){.viz{forced-color-adjust:none}}\n",
        file);
}

static void put_tip(struct svg *svg, const char *tip)
{
    if (!tip) {
        fputs("/>\n", svg->file);
        return;
    }
    fputs("><title>", svg->file);
    viz_escape_html(svg->file, tip);
    fputs("</title>", svg->file);
}

/* A tenth of a pixel; never "-0", never anything XML cannot hold. */
static double tidy(double value)
{
    double rounded = isfinite(value) ? round(value * 10) / 10 : 0;
    return rounded == 0 ? 0 : rounded;
}

void svg_open(struct svg *svg, double width, double height, const char *title,
              const char *description)
{
    FILE *file = svg->file;
    fprintf(file,
            "<svg class=\"viz\"%s width=\"%g\" height=\"%g\" viewBox=\"0 0 %g %g\" role=\"img\" "
            "aria-labelledby=\"%s-t %s-d\">\n",
            svg->alone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "", tidy(width), tidy(height),
            tidy(width), tidy(height), svg->prefix, svg->prefix);
    fprintf(file, "<title id=\"%s-t\">", svg->prefix);
    viz_escape_html(file, title);
    fprintf(file, "</title><desc id=\"%s-d\">", svg->prefix);
    viz_escape_html(file, description);
    fputs("</desc>\n", file);
    if (svg->alone) {
        fputs("<style>", file);
        svg_style(file);
        fputs("</style>\n", file);
        svg_rect(svg, "paper", 0, 0, width, height, 0, NULL);
    }
}

void svg_close(struct svg *svg)
{
    fputs("</svg>\n", svg->file);
}

void svg_rect(struct svg *svg, const char *class, double x, double y, double width, double height,
              double radius, const char *tip)
{
    fprintf(svg->file, "<rect class=\"%s\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"", class,
            tidy(x), tidy(y), tidy(fmax(width, 0)), tidy(fmax(height, 0)));
    if (radius > 0)
        fprintf(svg->file, " rx=\"%g\"", tidy(radius));
    put_tip(svg, tip);
    fputs(tip ? "</rect>\n" : "", svg->file);
}

void svg_line(struct svg *svg, const char *class, double x1, double y1, double x2, double y2)
{
    fprintf(svg->file, "<line class=\"%s\" x1=\"%g\" y1=\"%g\" x2=\"%g\" y2=\"%g\"/>\n", class,
            tidy(x1), tidy(y1), tidy(x2), tidy(y2));
}

void svg_circle(struct svg *svg, const char *class, double x, double y, double radius,
                const char *tip)
{
    fprintf(svg->file, "<circle class=\"%s\" cx=\"%g\" cy=\"%g\" r=\"%g\"", class, tidy(x), tidy(y),
            tidy(radius));
    put_tip(svg, tip);
    fputs(tip ? "</circle>\n" : "", svg->file);
}

static void put_points(struct svg *svg, const char *element, const char *class,
                       const double *points, size_t count)
{
    fprintf(svg->file, "<%s class=\"%s\" points=\"", element, class);
    for (size_t i = 0; i < count; i++)
        fprintf(svg->file, "%s%g,%g", i ? " " : "", tidy(points[2 * i]), tidy(points[2 * i + 1]));
    fputc('"', svg->file);
}

void svg_polygon(struct svg *svg, const char *class, const double *points, size_t count,
                 const char *tip)
{
    put_points(svg, "polygon", class, points, count);
    put_tip(svg, tip);
    fputs(tip ? "</polygon>\n" : "", svg->file);
}

void svg_polyline(struct svg *svg, const char *class, const double *points, size_t count)
{
    put_points(svg, "polyline", class, points, count);
    put_tip(svg, NULL);
}

void svg_arrow(struct svg *svg, const char *class, double x, double y, double dx, double dy,
               double size)
{
    double length = hypot(dx, dy);
    if (!(length > 0))
        return;
    dx *= size / length;
    dy *= size / length;
    double points[] = {
        x, y, x - dx - dy * 0.4, y - dy + dx * 0.4, x - dx + dy * 0.4, y - dy - dx * 0.4};
    svg_polygon(svg, class, points, 3, NULL);
}

void svg_text(struct svg *svg, const char *class, double x, double y, enum svg_anchor anchor,
              const char *format, ...)
{
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(svg->file, "<text class=\"%s\" x=\"%g\" y=\"%g\"%s>", class, tidy(x), tidy(y),
            anchors[anchor]);
    viz_escape_html(svg->file, text);
    fputs("</text>\n", svg->file);
}

void svg_group_open(struct svg *svg, const char *class, const char *tip)
{
    fprintf(svg->file, "<g class=\"%s\">", class);
    if (tip) {
        fputs("<title>", svg->file);
        viz_escape_html(svg->file, tip);
        fputs("</title>", svg->file);
    }
}

void svg_group_close(struct svg *svg)
{
    fputs("</g>\n", svg->file);
}
