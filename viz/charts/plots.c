/* Plots: see plots.h. */
#include "viz/charts/plots.h"

#include "viz/paper/svg.h"

#include <math.h>
#include <string.h>

enum { WIDTH = VIZ_PLOT_WIDTH, HEIGHT = 280, LEFT = 62, RIGHT = 16, TOP = 34, BOTTOM = 44 };
enum { LEGEND_ROW = 15, LEGEND_COLUMNS = 2 };

struct axis {
    bool logarithmic;
    double low, high; /* in the axis' own units: exponents of ten when logarithmic */
};

static bool usable(double value, bool logarithmic)
{
    return isfinite(value) && (!logarithmic || value > 0);
}

static double on_axis(const struct axis *axis, double value)
{
    double at = axis->logarithmic ? log10(value) : value;
    return (at - axis->low) / (axis->high - axis->low);
}

static void axis_take(struct axis *axis, double value)
{
    double at = axis->logarithmic ? log10(value) : value;
    axis->low = fmin(axis->low, at);
    axis->high = fmax(axis->high, at);
}

/* Rounds the range outwards to ticks; returns the distance between ticks. */
static double axis_settle(struct axis *axis)
{
    if (!(axis->low <= axis->high)) {
        axis->low = 0;
        axis->high = 1;
    }
    if (axis->high - axis->low < 1e-300 + 1e-12 * fabs(axis->high)) {
        double room = axis->logarithmic ? 1 : fmax(fabs(axis->high) * 0.1, 1e-30);
        axis->low -= room;
        axis->high += room;
    }
    double step;
    if (axis->logarithmic) {
        step = fmax(1, ceil((axis->high - axis->low) / 7));
    } else {
        double rough = (axis->high - axis->low) / 5, power = pow(10, floor(log10(rough)));
        double lead = rough / power;
        step = power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
    }
    axis->low = floor(axis->low / step + 1e-9) * step;
    axis->high = ceil(axis->high / step - 1e-9) * step;
    return step;
}

static double x_at(const struct axis *axis, double value)
{
    return LEFT + on_axis(axis, value) * (WIDTH - LEFT - RIGHT);
}

static double y_at(const struct axis *axis, double value)
{
    return HEIGHT - BOTTOM - on_axis(axis, value) * (HEIGHT - TOP - BOTTOM);
}

static double tick_value(const struct axis *axis, double at)
{
    return axis->logarithmic ? pow(10, at) : at;
}

/* "0.01", "1", "1000", beyond these "1e-5". */
static void put_tick(struct svg *svg, const struct axis *axis, double x, double y,
                     enum svg_anchor anchor, double at)
{
    if (!axis->logarithmic)
        svg_text(svg, "small soft", x, y, anchor, "%.4g", at);
    else if (fabs(at) <= 3)
        svg_text(svg, "small soft", x, y, anchor, "%g", pow(10, at));
    else
        svg_text(svg, "small soft", x, y, anchor, "1e%g", at);
}

static void draw_axes(struct svg *svg, const struct axis *x, const struct axis *y, double x_step,
                      double y_step)
{
    for (double at = x->low; at <= x->high + x_step / 2; at += x_step) {
        double place = x_at(x, tick_value(x, at));
        svg_line(svg, "grid", place, TOP, place, HEIGHT - BOTTOM);
        put_tick(svg, x, place, HEIGHT - BOTTOM + 14, SVG_MIDDLE,
                 fabs(at) < x_step * 1e-9 ? 0 : at);
    }
    for (double at = y->low; at <= y->high + y_step / 2; at += y_step) {
        double place = y_at(y, tick_value(y, at));
        svg_line(svg, "grid", LEFT, place, WIDTH - RIGHT, place);
        put_tick(svg, y, LEFT - 6, place + 3, SVG_END, fabs(at) < y_step * 1e-9 ? 0 : at);
    }
    svg_line(svg, "axis", LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM);
    svg_line(svg, "axis", LEFT, TOP, LEFT, HEIGHT - BOTTOM);
}

static void draw_labels(struct svg *svg, const char *title, const char *x_label,
                        const char *y_label)
{
    svg_text(svg, "bold", LEFT, 14, SVG_START, "%s", title);
    svg_text(svg, "mid soft", (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 10, SVG_MIDDLE, "%s", x_label);
    svg_text(svg, "mid soft", LEFT, TOP - 7, SVG_START, "%s", y_label);
}

static void draw_mark(struct svg *svg, const char *class, size_t series, double x, double y,
                      const char *tip)
{
    const double r = 3;
    switch (series % 4) {
    case 0:
        svg_circle(svg, class, x, y, r, tip);
        break;
    case 1:
        svg_rect(svg, class, x - r, y - r, 2 * r, 2 * r, 0, tip);
        break;
    case 2:
        svg_polygon(svg, class, (double[]){x, y - r - 1, x + r + 1, y + r, x - r - 1, y + r}, 3,
                    tip);
        break;
    default:
        svg_polygon(svg, class, (double[]){x, y - r - 1, x + r + 1, y, x, y + r + 1, x - r - 1, y},
                    4, tip);
        break;
    }
}

static void draw_series(struct svg *svg, const struct viz_curves *curves, size_t index,
                        const struct axis *x, const struct axis *y)
{
    enum { POINTS = 2000 };
    const struct viz_series *series = &curves->series[index];
    char line[32], dot[32];
    double points[2 * POINTS];
    size_t count = 0, stride = series->count / POINTS + 1;
    snprintf(line, sizeof line, "series %c", (char)('a' + index));
    snprintf(dot, sizeof dot, "dot %c", (char)('a' + index));
    for (size_t i = 0; i < series->count; i += stride) {
        if (!usable(series->x[i], x->logarithmic) || !usable(series->y[i], y->logarithmic))
            continue;
        points[2 * count] = x_at(x, series->x[i]);
        points[2 * count + 1] = y_at(y, series->y[i]);
        count++;
    }
    if (!series->points_only && count > 1)
        svg_polyline(svg, line, points, count);
    for (size_t i = 0; i < count && (count <= 60 || series->points_only); i++)
        draw_mark(svg, dot, index, points[2 * i], points[2 * i + 1], NULL);
}

double viz_fitted_slope(const struct viz_series *series)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (size_t i = 0; i < series->count; i++) {
        if (!usable(series->x[i], true) || !usable(series->y[i], true))
            continue;
        double x = log10(series->x[i]), y = log10(series->y[i]);
        n++;
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    double spread = n * sxx - sx * sx;
    return n >= 3 && spread > 1e-12 * n * sxx ? (n * sxy - sx * sy) / spread : NAN;
}

static bool has_slopes(const struct viz_curves *curves)
{
    return curves->fit && curves->log_x && curves->log_y;
}

static size_t legend_rows(const struct viz_curves *curves)
{
    if (curves->series_count == 1 && !has_slopes(curves))
        return 0;
    return (curves->series_count + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS;
}

/* Below the picture, where it hides nothing. */
static void draw_legend(struct svg *svg, const struct viz_curves *curves)
{
    for (size_t i = 0; legend_rows(curves) && i < curves->series_count; i++) {
        const struct viz_series *series = &curves->series[i];
        double x = LEFT + (double)(i % LEGEND_COLUMNS) * (WIDTH - LEFT - RIGHT) / LEGEND_COLUMNS;
        double y = HEIGHT + 6 + LEGEND_ROW * (double)(i / LEGEND_COLUMNS);
        char line[32], dot[32], slope[40] = "";
        snprintf(line, sizeof line, "series %c", (char)('a' + i));
        snprintf(dot, sizeof dot, "dot %c", (char)('a' + i));
        double fitted = has_slopes(curves) ? viz_fitted_slope(series) : NAN;
        if (isfinite(fitted))
            snprintf(slope, sizeof slope, ": slope %.2f", fitted);
        svg_polyline(svg, line, (double[]){x, y - 3, x + 22, y - 3}, 2);
        draw_mark(svg, dot, i, x + 11, y - 3, NULL);
        svg_text(svg, "small", x + 28, y, SVG_START, "%.34s%s", series->name ? series->name : "",
                 slope);
    }
}

/* A line of this slope through the first point, as far as the picture goes. */
static void draw_slope(struct svg *svg, const struct viz_curves *curves, double slope,
                       const struct axis *x, const struct axis *y)
{
    const struct viz_series *series = &curves->series[0];
    size_t first = 0;
    while (first < series->count &&
           !(usable(series->x[first], true) && usable(series->y[first], true)))
        first++;
    if (slope == 0 || first == series->count || !x->logarithmic || !y->logarithmic)
        return;
    double x0 = log10(series->x[first]), y0 = log10(series->y[first]), ends[4];
    size_t count = 0;
    for (int side = 0; side < 2; side++) {
        double at = side ? x->high : x->low, value = y0 + slope * (at - x0);
        double clipped = fmin(fmax(value, y->low), y->high);
        at += (clipped - value) / slope;
        ends[count++] = x_at(x, pow(10, at));
        ends[count++] = y_at(y, pow(10, clipped));
    }
    svg_polyline(svg, "guide", ends, 2);
    size_t low = ends[1] > ends[3] ? 0 : 2; /* the end further down, where there is room */
    bool right = ends[low] > (LEFT + WIDTH - RIGHT) / 2.0;
    svg_text(svg, "small soft", ends[low] + (right ? -6 : 4), ends[low + 1] - (right ? 4 : 10),
             right ? SVG_END : SVG_START, "slope %g", slope);
}

static void draw_chosen(struct svg *svg, const struct viz_curves *curves, const struct axis *x,
                        const struct axis *y)
{
    if (!usable(curves->chosen_x, x->logarithmic) || !usable(curves->chosen_y, y->logarithmic))
        return;
    double cx = x_at(x, curves->chosen_x), cy = y_at(y, curves->chosen_y);
    svg_circle(svg, "chosen", cx, cy, 7, NULL);
    bool right = cx > (LEFT + WIDTH - RIGHT) / 2.0;
    svg_text(svg, "small bad", cx + (right ? -11 : 11), cy + 14, right ? SVG_END : SVG_START, "%s",
             curves->chosen ? curves->chosen : "chosen");
}

void viz_plot_curves(FILE *file, const struct viz_curves *curves)
{
    struct svg svg = {file, curves->prefix ? curves->prefix : "plot", curves->alone};
    struct axis x = {curves->log_x, INFINITY, -INFINITY}, y = {curves->log_y, INFINITY, -INFINITY};
    for (size_t s = 0; s < curves->series_count; s++)
        for (size_t i = 0; i < curves->series[s].count; i++) {
            double at = curves->series[s].x[i], value = curves->series[s].y[i];
            if (usable(at, x.logarithmic) && usable(value, y.logarithmic)) {
                axis_take(&x, at);
                axis_take(&y, value);
            }
        }
    double x_step = axis_settle(&x), y_step = axis_settle(&y);
    size_t rows = legend_rows(curves);
    svg_open(&svg, WIDTH, HEIGHT + (rows ? (double)rows * LEGEND_ROW + 6 : 0), curves->title,
             curves->description ? curves->description : curves->y_label);
    draw_labels(&svg, curves->title, curves->x_label, curves->y_label);
    draw_axes(&svg, &x, &y, x_step, y_step);
    for (size_t i = 0; i < 2; i++)
        draw_slope(&svg, curves, curves->slopes[i], &x, &y);
    for (size_t s = 0; s < curves->series_count; s++)
        draw_series(&svg, curves, s, &x, &y);
    draw_chosen(&svg, curves, &x, &y);
    draw_legend(&svg, curves);
    svg_close(&svg);
}

/* 0: within the limit; then one step for every two orders of magnitude above it; -1: nothing there.
 */
static int heat_level(const struct viz_heat *heat, double value)
{
    if (isnan(value))
        return -1;
    if (value <= heat->limit)
        return 0;
    double above = heat->limit > 0 ? log10(value / heat->limit) : 8;
    return above < 2 ? 1 : above < 4 ? 2 : above < 6 ? 3 : 4;
}

static void heat_name(char *out, size_t size, const char *const *names, size_t index)
{
    if (names)
        snprintf(out, size, "%s", names[index]);
    else
        snprintf(out, size, "%zu", index);
}

static void draw_cell(struct svg *svg, const struct viz_heat *heat, size_t row, size_t column,
                      double x, double y, double size)
{
    double value = heat->values[row * heat->columns + column];
    int level = heat_level(heat, value);
    char class[32], tip[120];
    snprintf(class, sizeof class, level < 0 ? "cell none" : "cell v%d", level);
    snprintf(tip, sizeof tip, "row %zu, column %zu: %.3g", row, column, value);
    svg_rect(svg, class, x, y, size, size, 0, tip);
    if (level >= 0 && size >= 34)
        svg_text(svg,
                 level == 4 ? "small in4"
                 : level    ? "small in1"
                            : "small in0",
                 x + size / 2, y + size / 2 + 3, SVG_MIDDLE, value == 0 ? "0" : "%.0e", value);
    else if (level > 0 && size >= 12) /* shape besides colour: wrong cells are crossed */
        svg_text(svg, level == 4 ? "small in4" : "small in1", x + size / 2, y + size / 2 + 3,
                 SVG_MIDDLE, "\xC3\x97");
}

void viz_plot_heat(FILE *file, const struct viz_heat *heat)
{
    struct svg svg = {file, heat->prefix ? heat->prefix : "heat", heat->alone};
    size_t longest = heat->rows > heat->columns ? heat->rows : heat->columns;
    double size = fmax(4, fmin(38, 420.0 / (double)(longest ? longest : 1)));
    size_t every = size >= 12 ? 1 : (size_t)ceil(12 / size);
    double left = 78, top = 52, width = left + size * (double)heat->columns + 20;
    double height = top + size * (double)heat->rows + 30;
    char name[64];
    svg_open(&svg, fmax(width, 330), height, heat->title, heat->description);
    svg_text(&svg, "bold", 4, 14, SVG_START, "%s", heat->title);
    svg_text(&svg, "mid soft", left, 30, SVG_START, "%s", heat->column_label);
    svg_text(&svg, "mid soft", 4, top - 6, SVG_START, "%s", heat->row_label);
    for (size_t c = 0; c < heat->columns; c += every) {
        heat_name(name, sizeof name, heat->column_names, c);
        svg_text(&svg, "small soft", left + size * ((double)c + 0.5), top - 6, SVG_MIDDLE, "%.6s%s",
                 name, strlen(name) > 6 ? "\xE2\x80\xA6" : "");
    }
    for (size_t r = 0; r < heat->rows; r++) {
        heat_name(name, sizeof name, heat->row_names, r);
        if (r % every == 0)
            svg_text(&svg, "small soft", left - 6, top + size * ((double)r + 0.5) + 3, SVG_END,
                     "%.12s", name);
        for (size_t c = 0; c < heat->columns; c++)
            draw_cell(&svg, heat, r, c, left + size * (double)c, top + size * (double)r, size);
    }
    svg_text(&svg, "small soft", 4, height - 10, SVG_START,
             "green: up to %.1e; then one shade for every two orders above", heat->limit);
    svg_close(&svg);
}

void viz_plot_histogram(FILE *file, const struct viz_histogram *histogram)
{
    enum { BINS = 24 };
    struct svg svg = {file, histogram->prefix ? histogram->prefix : "hist", histogram->alone};
    double low = INFINITY, high = -INFINITY;
    bool integers = true;
    for (size_t i = 0; i < histogram->count; i++)
        if (isfinite(histogram->values[i])) {
            low = fmin(low, histogram->values[i]);
            high = fmax(high, histogram->values[i]);
            integers = integers && histogram->values[i] == floor(histogram->values[i]);
        }
    if (!(low <= high))
        low = high = 0;
    size_t bins = integers && high - low < BINS ? (size_t)(high - low) + 1 : BINS;
    double width = bins < BINS || integers ? fmax(1, ceil((high - low + 1) / (double)bins))
                                           : (high - low) / BINS;
    size_t counts[BINS] = {0}, most = 0;
    for (size_t i = 0; i < histogram->count; i++) {
        if (!isfinite(histogram->values[i]))
            continue;
        size_t bin = (size_t)((histogram->values[i] - low) / width);
        bin = bin < bins ? bin : bins - 1;
        most = ++counts[bin] > most ? counts[bin] : most;
    }
    struct axis y = {false, 0, (double)(most ? most : 1)};
    double y_step = axis_settle(&y), room = (WIDTH - LEFT - RIGHT) / (double)bins;
    svg_open(&svg, WIDTH, HEIGHT, histogram->title, histogram->description);
    draw_labels(&svg, histogram->title, histogram->x_label, "count");
    for (double at = y.low; at <= y.high + y_step / 2; at += y_step) {
        svg_line(&svg, "grid", LEFT, y_at(&y, at), WIDTH - RIGHT, y_at(&y, at));
        svg_text(&svg, "small soft", LEFT - 6, y_at(&y, at) + 3, SVG_END, "%g", at);
    }
    for (size_t b = 0; b < bins; b++) {
        char tip[80];
        double left = LEFT + room * (double)b, top = y_at(&y, (double)counts[b]);
        snprintf(tip, sizeof tip, "%.4g: %zu", low + width * (double)b, counts[b]);
        svg_rect(&svg, "bar", left + 1, top, room - 2, HEIGHT - BOTTOM - top, 0, tip);
        if (b % (bins / 8 + 1) == 0)
            svg_text(&svg, "small soft", left + room / 2, HEIGHT - BOTTOM + 14, SVG_MIDDLE, "%.4g",
                     low + width * (double)b);
    }
    svg_line(&svg, "axis", LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM);
    svg_close(&svg);
}
