/* simrun db: the database itself. */
#include "cli/command.h"
#include "cli/options/show_options.h"
#include "cli/options/suggest.h"
#include "cli/telling/run_store_load.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEEP_USUALLY = 100 };

static long long number(struct store *store, const char *sql)
{
    sqlite3_stmt *rows;
    long long count = -1;
    if (sqlite3_prepare_v2(store_handle(store), sql, -1, &rows, NULL) == SQLITE_OK &&
        sqlite3_step(rows) == SQLITE_ROW)
        count = sqlite3_column_int64(rows, 0);
    sqlite3_finalize(rows);
    return count;
}

static bool info(const struct show_options *options, const char *word, struct failure *failure)
{
    static const struct {
        const char *name, *sql;
    } tables[] = {{"runs", "SELECT count(*) FROM runs"},
                  {"ops", "SELECT (SELECT count(*) FROM ops)+(SELECT coalesce(sum(count),0) FROM "
                          "pages WHERE content='ops')"},
                  {"findings", "SELECT count(*) FROM findings"},
                  {"gradients", "SELECT count(*) FROM gradients"},
                  {"artifacts", "SELECT count(*) FROM artifacts"}};
    struct stat file = {0};
    (void)word;
    struct store *store = stored_database(options->database, failure);
    bool good = store && !store_verify(store, failure);
    if (good) {
        stat(options->database, &file);
        printf("file       %s\nsize       %.1f KiB\nversion    %d\nintegrity  ok\n",
               options->database, (double)file.st_size / 1024, STORE_VERSION);
        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
            printf("%-10s %lld\n", tables[i].name, number(store, tables[i].sql));
    }
    store_close(store);
    return good;
}

static bool exists(const struct show_options *options, struct failure *failure)
{
    if (!access(options->database, F_OK))
        return true;
    failure_set(failure, FAILURE_INPUT, "no database %s here; use --db FILE", options->database);
    return false;
}

static bool migrate(const struct show_options *options, const char *word, struct failure *failure)
{
    (void)word;
    if (!exists(options, failure) || store_migrate(options->database, failure))
        return false;
    printf("%s is of version %d\n", options->database, STORE_VERSION);
    return true;
}

static bool collect(const struct show_options *options, const char *word, struct failure *failure)
{
    (void)word;
    int64_t removed = 0, keep = options->keep < 0 ? KEEP_USUALLY : options->keep;
    struct store *store =
        exists(options, failure) ? store_open(options->database, STORE_WRITE, failure) : NULL;
    bool good = store && !store_gc(store, keep, &removed, failure);
    if (good)
        printf("%lld runs removed, the newest %lld kept\n", (long long)removed, (long long)keep);
    store_close(store);
    return good;
}

/* Rows of a run's pages: `word` is its number, NULL for the newest. */
static bool unpack(const struct show_options *options, const char *word, struct failure *failure)
{
    struct store *store =
        exists(options, failure) ? store_open(options->database, STORE_WRITE, failure) : NULL;
    int64_t run = 0;
    char sql[100];
    bool good = store;
    if (good && word && !stored_is_number(word))
        good = !failure_set(failure, FAILURE_INPUT, "%s is no number of a run", word);
    if (good)
        run = word ? strtoll(word, NULL, 10) : store_run_last(store, failure);
    good = good && !store_unpack(store, run, failure);
    if (good) {
        snprintf(sql, sizeof sql, "SELECT op_count FROM runs WHERE run_id=%lld", (long long)run);
        printf("run %lld: %lld operations are rows\n", (long long)run, number(store, sql));
    }
    store_close(store);
    return good;
}

int command_db(int argc, char **argv)
{
    static const struct {
        const char *name;
        bool (*run)(const struct show_options *options, const char *word, struct failure *failure);
    } actions[] = {{"info", info}, {"migrate", migrate}, {"gc", collect}, {"unpack", unpack}};
    static const char *const names[] = {"info", "migrate", "gc", "unpack", NULL};
    struct show_options options;
    struct command_words words = {.least = 1, .most = 2};
    struct failure failure = {0};
    show_options_init(&options);
    int status = command_parse("db", &options, argc, argv, &words);
    if (status >= 0)
        return status;
    if (words.count > 1 && strcmp(words.words[0], "unpack") != 0) {
        fprintf(stderr, "simrun db: unexpected '%s'\n", words.words[1]);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (!strcmp(words.words[0], actions[i].name))
            return actions[i].run(&options, words.count > 1 ? words.words[1] : NULL, &failure)
                       ? EXIT_PASSED
                       : command_fail("db", &failure);
    const char *near = suggest_name(words.words[0], names);
    fprintf(stderr, "simrun db: no action '%s'%s%s%s; there are info, migrate, gc and unpack\n",
            words.words[0], near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return EXIT_USAGE;
}
