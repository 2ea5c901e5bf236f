/* A small SVG writer: one figure, made of classed shapes that take their colours from CSS
 * variables.
 *
 * Figures are written to live inline in an HTML page, several to a page: ids carry a prefix. The
 * style sheet they all share follows light, dark and print; a figure that stands alone in a file
 * carries it. Text is escaped here. Nothing fails but through the FILE, whose error indicator is
 * the caller's to look at. */
#ifndef VIZ_PAPER_SVG_H
#define VIZ_PAPER_SVG_H

#include <stdbool.h>
#include <stdio.h>

struct svg {
    FILE *file;
    const char *prefix; /* of the figure's ids; letters and digits */
    bool alone;         /* carries the style sheet and a name space of its own */
};

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

/* The style sheet, without <style>. */
void svg_style(FILE *file);

/* Opens the figure. title and description are its text alternative. */
void svg_open(struct svg *svg, double width, double height, const char *title,
              const char *description);
void svg_close(struct svg *svg);

/* `class` is ours, never a trace's. `tip`: text shown on hovering and read aloud, NULL for none. */
void svg_rect(struct svg *svg, const char *class, double x, double y, double width, double height,
              double radius, const char *tip);
void svg_line(struct svg *svg, const char *class, double x1, double y1, double x2, double y2);
void svg_circle(struct svg *svg, const char *class, double x, double y, double radius,
                const char *tip);
/* `points`: x, y pairs. */
void svg_polygon(struct svg *svg, const char *class, const double *points, size_t count,
                 const char *tip);
void svg_polyline(struct svg *svg, const char *class, const double *points, size_t count);
/* The head of an arrow whose tip is at x, y and which comes along (dx, dy). */
void svg_arrow(struct svg *svg, const char *class, double x, double y, double dx, double dy,
               double size);
void svg_text(struct svg *svg, const char *class, double x, double y, enum svg_anchor anchor,
              const char *format, ...) __attribute__((format(printf, 6, 7)));
void svg_group_open(struct svg *svg, const char *class, const char *tip);
void svg_group_close(struct svg *svg);

#endif
