/* The options of `simrun run`. */
#ifndef CLI_RUN_OPTIONS_H
#define CLI_RUN_OPTIONS_H

#include "cli/job.h"
#include "cli/options.h"

struct run_options {
    int ranks[64];
    int rank_count; /* 0: not given */
    enum sim_loader loader;
    struct sim_world_options world;
    bool all_models;
    int order;
    const char *mutant, *database, *checks, *fail_on;
    const char *allow[64];
    int allow_count;
    enum record_level record;
    double timeout;
    int workers;
    bool tap, json, quiet, verbose, help, tag_output;
    const char *junit, *html, *dot, *chrome;
    bool github;
    size_t check_elements;
    bool no_gradients;
};

void run_options_init(struct run_options *options);
extern const struct option_row run_option_rows[];

#endif
