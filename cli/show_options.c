/* Options of the commands that read the database: see show_options.h. */
#include "cli/show_options.h"

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

static bool set_view(void *target, const char *value)
{
    static const char *const names[] = {"auto", "forward", "backward", "both"};
    ((struct show_options *)target)->gradients = !strcmp(value, "gradients");
    if (!strcmp(value, "gradients"))
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(value, names[i])) {
            ((struct show_options *)target)->view = (enum viz_view)i;
            return true;
        }
    fprintf(stderr, "simrun: --view '%s': expected auto, forward, backward, both or gradients\n",
            value);
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
    {"verbose", 'v', NULL, "every gradient comparison in full", set_verbose},
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
     "auto (default), forward, backward, both; or gradients: plots of the check (.svg)", set_view},
    {"all", 0, NULL, "every operation instead of the findings' neighbourhood", set_all},
    {"output", 'o', "FILE", ".dot, .svg or .png (default: DOT on standard output)", set_output},
    END};
const struct option_row report_option_rows[] = {
    DB, {"output", 'o', "FILE", "where to write (default: standard output)", set_output}, END};
const struct option_row diff_option_rows[] = {DB, END};
const struct option_row replay_option_rows[] = {
    DB,
    {"witness", 0, "F", "the witness of this finding instead of the run", set_finding},
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
