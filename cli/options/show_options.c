/* Options of the commands that read the database: see show_options.h. */
#include "cli/options/show_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void show_options_init(struct show_options *options)
{
    *options = (struct show_options){.database = "./simrun.db",
                                     .output = "-",
                                     .format = "jsonl",
                                     .limit = 40,
                                     .rank = -1,
                                     .keep = -1};
}

static bool number(const char *option, const char *value, long *out)
{
    char *end;
    *out = strtol(value, &end, 10);
    if (*value && !*end && *out >= 0)
        return true;
    fprintf(stderr, "simrun: --%s '%s': expected a number\n", option, value);
    return false;
}

#define TEXT(field)                                                                                \
    static bool set_##field(void *target, const char *value)                                       \
    {                                                                                              \
        ((struct show_options *)target)->field = value;                                            \
        return true;                                                                               \
    }
#define SWITCH(field)                                                                              \
    static bool set_##field(void *target, const char *value)                                       \
    {                                                                                              \
        (void)value;                                                                               \
        ((struct show_options *)target)->field = true;                                             \
        return true;                                                                               \
    }
#define NUMBER(field)                                                                              \
    static bool set_##field(void *target, const char *value)                                       \
    {                                                                                              \
        return number(#field, value, &((struct show_options *)target)->field);                     \
    }

TEXT(database)
TEXT(output)
TEXT(finding)
TEXT(format)
SWITCH(all)
SWITCH(json)
SWITCH(csv)
SWITCH(verbose)
NUMBER(limit)
NUMBER(rank)
NUMBER(keep)

/* The views of --view, in the order in which they are named. */
static const struct {
    const char *name;
    enum picture picture;
    enum viz_view view;
} views[] = {
    {"auto", PICTURE_DAG, VIZ_AUTO},         {"forward", PICTURE_DAG, VIZ_FORWARD},
    {"backward", PICTURE_DAG, VIZ_BACKWARD}, {"both", PICTURE_DAG, VIZ_BOTH},
    {"timeline", PICTURE_TIMELINE, 0},       {"wall", PICTURE_WALL, 0},
    {"schedule", PICTURE_SCHEDULE, 0},       {"gradients", PICTURE_GRADIENTS, 0},
    {"metrics", PICTURE_METRICS, 0},         {"passes", PICTURE_PASSES, 0},
};

static bool set_view(void *target, const char *value)
{
    struct show_options *options = target;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (!strcmp(value, views[i].name)) {
            options->picture = views[i].picture;
            options->view = views[i].view;
            return true;
        }
    fprintf(stderr, "simrun: --view '%s': expected", value);
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        fprintf(stderr, "%s %s", i ? "," : "", views[i].name);
    fputc('\n', stderr);
    return false;
}

static bool set_plot(void *target, const char *value)
{
    struct show_options *options = target;
    options->picture = PICTURE_METRICS;
    options->plot = value;
    return true;
}

static bool set_axes(void *target, const char *value)
{
    static const char *const names[] = {"auto", "linear", "logx", "logy", "loglog"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(value, names[i])) {
            ((struct show_options *)target)->axes = (enum metric_axes)i;
            return true;
        }
    fprintf(stderr, "simrun: --axes '%s': expected auto, linear, logx, logy or loglog\n", value);
    return false;
}

#define END                                                                                        \
    {                                                                                              \
        NULL, 0, NULL, NULL, NULL                                                                  \
    }
#define DB                                                                                         \
    {                                                                                              \
        "db", 0, "FILE", "the database of results (default: ./simrun.db)", set_database            \
    }

const struct option_row show_option_rows[] = {
    DB,
    {"limit", 0, "N", "rows of a table to show (default: 40, 0: all)", set_limit},
    {"rank", 0, "R", "only this rank", set_rank},
    {"json", 0, NULL, "the whole run as one JSON object", set_json},
    {"verbose", 'v', NULL, "every gradient comparison, every point of a curve", set_verbose},
    END};
const struct option_row log_option_rows[] = {
    DB, {"limit", 'n', "N", "runs to show, newest first (default: 40, 0: all)", set_limit}, END};
const struct option_row query_option_rows[] = {DB,
                                               {"csv", 0, NULL, "comma-separated values", set_csv},
                                               {"json", 0, NULL, "one object per row", set_json},
                                               END};
const struct option_row graph_option_rows[] = {
    DB,
    {"finding", 0, "F", "draw this finding only, numbered as 'simrun show findings' does",
     set_finding},
    {"view", 0, "VIEW",
     "auto (default), forward, backward, both; timeline, wall (timeline in wall time), schedule, "
     "passes (who contacted whom in distributed autograd), "
     "gradients (plots of the check), metrics (plots of what the run measured)",
     set_view},
    {"plot", 0, "NAME", "one plot of the metrics: their first word, or a whole name", set_plot},
    {"axes", 0, "AXES", "of plots: auto (default), linear, logx, logy, loglog", set_axes},
    {"all", 0, NULL, "every rank and operation by itself, not only around the findings", set_all},
    {"output", 'o', "FILE",
     ".dot, .svg or .png; timelines and plots: .svg (default: standard output)", set_output},
    END};
const struct option_row report_option_rows[] = {
    DB, {"output", 'o', "FILE", "where to write (default: standard output)", set_output}, END};
const struct option_row diff_option_rows[] = {DB, END};
const struct option_row replay_option_rows[] = {
    DB,
    {"witness", 0, "F",
     "the witness of this finding (its number, or a file) instead of the run: on the trace, and by "
     "running the program",
     set_finding},
    {"verbose", 'v', NULL, "the witness itself, too", set_verbose},
    END};
const struct option_row db_option_rows[] = {
    DB, {"keep", 0, "N", "gc: the newest runs to keep (default: 100)", set_keep}, END};
const struct option_row export_option_rows[] = {
    DB,
    {"format", 'f', "NAME", "jsonl (default), chrome, csv, ...", set_format},
    {"output", 'o', "FILE", "where to write (default: standard output)", set_output},
    END};
const struct option_row import_option_rows[] = {DB, END};
