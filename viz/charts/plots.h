/* Small plots as SVG: curves, heat maps, histograms. No trace in here, only numbers and words.
 *
 * Values that are not finite, or not positive on a logarithmic axis, are left out of a curve and
 * shown as "none" in a heat map. Every curve has its own dash or mark besides its colour. Nothing
 * fails but through the FILE. */
#ifndef VIZ_CHARTS_PLOTS_H
#define VIZ_CHARTS_PLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { VIZ_SERIES_MAX = 8 };
/* What a curve or a histogram takes at most; its legend stands below. */
enum { VIZ_PLOT_WIDTH = 460, VIZ_PLOT_HEIGHT_MAX = 350 };

struct viz_series {
    const char *name;
    const double *x, *y;
    size_t count;
    bool points_only;
};

struct viz_curves {
    const char *title, *x_label, *y_label, *description;
    bool log_x, log_y;
    struct viz_series series[VIZ_SERIES_MAX];
    size_t series_count;
    double chosen_x, chosen_y; /* a point to ring, NaN for none */
    const char *chosen;        /* its words */
    double slopes[2];          /* guide lines of these slopes on logarithmic axes, 0 for none */
    bool fit;                  /* print each curve's fitted slope on two logarithmic axes */
    const char *prefix;        /* of ids */
    bool alone;                /* a file of its own, not a part of a page */
};

void viz_plot_curves(FILE *file, const struct viz_curves *curves);
/* The slope of log y over log x by least squares; NaN with fewer than three usable points. */
double viz_fitted_slope(const struct viz_series *series);

struct viz_heat {
    const char *title, *row_label, *column_label, *description;
    const double *values; /* rows x columns; NaN: nothing there */
    size_t rows, columns;
    const char *const *row_names, *const *column_names; /* NULL: numbers */
    double limit;                                       /* values up to here are right: green */
    const char *prefix;
    bool alone;
};

/* Cells by orders of magnitude above the limit, with their values where they fit. */
void viz_plot_heat(FILE *file, const struct viz_heat *heat);

struct viz_histogram {
    const char *title, *x_label, *description;
    const double *values;
    size_t count;
    const char *prefix;
    bool alone;
};

/* Integers get a bar each when they are few, else up to 24 bars of equal width. */
void viz_plot_histogram(FILE *file, const struct viz_histogram *histogram);

#endif
