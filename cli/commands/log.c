/* simrun log: the runs of a database, newest first. */
#include "cli/command.h"
#include "cli/options/show_options.h"
#include "cli/telling/present.h"
#include "cli/telling/run_store_load.h"

#include <stdlib.h>
#include <string.h>

struct log {
    long limit, count;
};

static bool print_run(void *context, const struct store_run_row *row)
{
    struct log *log = context;
    if (log->limit && log->count == log->limit)
        return false;
    if (!log->count++)
        printf("%5s %-19s %-22s %5s %-11s %6s %6s\n", "run", "started (UTC)", "scenario", "ranks",
               "outcome", "errors", "ms");
    char started[32], scenario[256];
    printf("%5lld %-19s %-22s %5u %-11s %6lld %6.1f", (long long)row->run,
           present_clean(started, sizeof started, row->started),
           present_clean(scenario, sizeof scenario, row->scenario), row->ranks, row->outcome,
           (long long)row->errors, row->milliseconds);
    const char *restart = strstr(row->params, "\"restart\":");
    long count = restart ? strtol(restart + strlen("\"restart\":"), NULL, 10) : 0;
    if (count > 0)
        printf("  restart %ld", count);
    putchar('\n');
    return true;
}

int command_log(int argc, char **argv)
{
    struct show_options options;
    struct command_words words = {0};
    struct failure failure = {0};
    show_options_init(&options);
    int status = command_parse("log", &options, argc, argv, &words);
    if (status >= 0)
        return status;
    struct log log = {.limit = options.limit};
    struct store *store = stored_database(options.database, &failure);
    bool good = store && !store_runs(store, print_run, &log, &failure);
    store_close(store);
    if (!good)
        return command_fail("log", &failure);
    if (!log.count)
        fprintf(stderr, "simrun log: %s holds no run yet\n", options.database);
    return log.count ? EXIT_PASSED : EXIT_NOTHING;
}
