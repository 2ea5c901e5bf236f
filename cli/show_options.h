/* Options of the commands that read the database. */
#ifndef CLI_SHOW_OPTIONS_H
#define CLI_SHOW_OPTIONS_H

#include "cli/options.h"
#include "viz/graph.h"

struct show_options {
    const char *database, *output, *finding, *format, *color;
    enum viz_view view;
    bool gradients; /* the view is that of the gradient check's plots */
    bool all, json, csv, verbose;
    long limit, rank, keep;
};

void show_options_init(struct show_options *options);
extern const struct option_row show_option_rows[], log_option_rows[], query_option_rows[],
    graph_option_rows[], report_option_rows[], diff_option_rows[], replay_option_rows[],
    db_option_rows[], export_option_rows[], import_option_rows[];

#endif
