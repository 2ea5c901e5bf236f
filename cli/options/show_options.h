/* Options of the commands that read the database. */
#ifndef CLI_OPTIONS_SHOW_OPTIONS_H
#define CLI_OPTIONS_SHOW_OPTIONS_H

#include "cli/options/options.h"
#include "viz/charts/metric_plots.h"
#include "viz/lanes/graph.h"

/* What 'simrun graph' draws; all but the DAG are SVG, drawn here and not by Graphviz. */
enum picture {
    PICTURE_DAG,
    PICTURE_TIMELINE,
    PICTURE_WALL,
    PICTURE_SCHEDULE,
    PICTURE_PASSES,
    PICTURE_GRADIENTS,
    PICTURE_METRICS
};

struct show_options {
    const char *database, *output, *finding, *format, *color;
    enum viz_view view;
    enum picture picture;
    const char *plot; /* one plot of the metrics, NULL: all */
    enum metric_axes axes;
    bool all, json, csv, verbose;
    long limit, rank, keep;
};

void show_options_init(struct show_options *options);
extern const struct option_row show_option_rows[], log_option_rows[], query_option_rows[],
    graph_option_rows[], report_option_rows[], diff_option_rows[], replay_option_rows[],
    db_option_rows[], export_option_rows[], import_option_rows[];

#endif
