/* simrun query: one SELECT on the database, as a table, CSV or JSON. Nothing can be changed: the
 * file is opened for reading, and an authorizer refuses everything but reading. */
#include "cli/command.h"
#include "cli/options/show_options.h"
#include "cli/telling/present.h"
#include "cli/telling/run_store_load.h"
#include "traces/input/write.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CELLS_HELD = 4000, CELL_WIDTH = 48 };

static int authorize(void *context, int action, const char *one, const char *two, const char *three,
                     const char *four)
{
    static const char *const paged[] = {"ops", "waits", "matches", "events"};
    bool *operations = context;
    (void)three, (void)four;
    switch (action) {
    case SQLITE_READ:
        for (size_t i = 0; one && i < sizeof paged / sizeof *paged; i++)
            *operations = *operations || !sqlite3_stricmp(one, paged[i]);
        return SQLITE_OK;
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return two && !sqlite3_stricmp(two, "load_extension") ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA: /* table_info(runs) and such; setting one is caught by the read-only file */
        return one && !sqlite3_strnicmp(one, "table_", 6) ? SQLITE_OK : SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

static const char *cell(sqlite3_stmt *rows, int column)
{
    const char *text = (const char *)sqlite3_column_text(rows, column);
    return text ? text : "";
}

static void print_csv(const char *text, bool last)
{
    bool quote = text[strcspn(text, ",\"\r\n")] != '\0';
    if (quote)
        putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    fputs(quote ? "\"" : "", stdout);
    fputs(last ? "\n" : ",", stdout);
}

static void print_json(sqlite3_stmt *rows)
{
    int columns = sqlite3_column_count(rows);
    for (int i = 0; i < columns; i++) {
        putchar(i ? ',' : '{');
        json_write_text(stdout, sqlite3_column_name(rows, i));
        putchar(':');
        switch (sqlite3_column_type(rows, i)) {
        case SQLITE_INTEGER:
            printf("%lld", (long long)sqlite3_column_int64(rows, i));
            break;
        case SQLITE_FLOAT:
            json_write_double(stdout, sqlite3_column_double(rows, i));
            break;
        case SQLITE_NULL:
            fputs("null", stdout);
            break;
        default:
            json_write_text(stdout, cell(rows, i));
        }
    }
    puts("}");
}

/* Held back until the widths of its columns are known; what is beyond follows in those widths. */
struct table {
    int columns;
    size_t count;
    char **cells;
    bool *right;
    int *width;
    bool flushed;
    int screen;    /* columns of the terminal, 0: no terminal */
    size_t record; /* number of the last row printed as a record, 0: they are printed in lines */
};

static bool is_too_wide(const struct table *table)
{
    int width = -2;
    for (int i = 0; i < table->columns; i++)
        width += table->width[i] + 2;
    return table->screen && table->columns > 1 && width > table->screen;
}

/* One cell, at most so many bytes of it. */
static void print_cell(const char *cell, int width, int most, bool right)
{
    char whole[4200], text[4200];
    snprintf(whole, sizeof whole, "%.*s", most, cell);
    printf(right ? "%*s" : "%-*s", width, present_clean(text, sizeof text, whole));
}

/* A row too wide for the terminal: a line per column. */
static void print_record(struct table *table, const char *const *cells)
{
    int widest = 0;
    for (int i = 0; i < table->columns; i++) {
        int length = (int)strnlen(table->cells[i], CELL_WIDTH);
        widest = length > widest ? length : widest;
    }
    printf("-- row %zu\n", table->record++);
    for (int i = 0; i < table->columns; i++) {
        print_cell(table->cells[i], widest, CELL_WIDTH, false);
        fputs("  ", stdout);
        print_cell(cells[i], 0, 4096, false);
        putchar('\n');
    }
}

static void print_row(struct table *table, const char *const *cells)
{
    if (table->record) {
        print_record(table, cells);
        return;
    }
    for (int i = 0; i < table->columns; i++) {
        bool last = i == table->columns - 1;
        int width = table->width[i], most = last ? 4096 : CELL_WIDTH;
        print_cell(cells[i], last && !table->right[i] ? 0 : width, most, table->right[i]);
        fputs(last ? "\n" : "  ", stdout);
    }
}

static void table_flush(struct table *table)
{
    bool records = !table->flushed && is_too_wide(table);
    table->record += records;
    for (size_t row = records; !table->flushed && row < table->count; row++)
        print_row(table, (const char *const *)&table->cells[row * (size_t)table->columns]);
    table->flushed = true;
}

static void widen(struct table *table, int column, const char *text)
{
    int length = (int)strnlen(text, CELL_WIDTH);
    if (length > table->width[column])
        table->width[column] = length;
}

/* The head, with columns as wide as their names. */
static bool table_begin(struct table *table, sqlite3_stmt *rows)
{
    size_t columns = (size_t)sqlite3_column_count(rows);
    struct present present;
    present_init(&present, stdout, NULL);
    *table = (struct table){
        .columns = (int)columns, .count = 1, .screen = isatty(STDOUT_FILENO) ? present.width : 0};
    table->cells = calloc((size_t)CELLS_HELD + columns, sizeof *table->cells);
    table->right = calloc(columns, sizeof *table->right);
    table->width = calloc(columns, sizeof *table->width);
    if (!table->cells || !table->right || !table->width)
        return false;
    for (int i = 0; i < table->columns; i++) {
        table->cells[i] = strdup(sqlite3_column_name(rows, i));
        widen(table, i, table->cells[i]);
    }
    return true;
}

static void table_row(struct table *table, sqlite3_stmt *rows)
{
    size_t at = table->count++ * (size_t)table->columns;
    if (at + (size_t)table->columns <= CELLS_HELD) {
        for (int i = 0; i < table->columns; i++) {
            int type = sqlite3_column_type(rows, i);
            table->right[i] |= type == SQLITE_INTEGER || type == SQLITE_FLOAT;
            table->cells[at + (size_t)i] = strdup(cell(rows, i));
            widen(table, i, table->cells[at + (size_t)i]);
        }
        return;
    }
    const char *cells[2000];
    table->count--;
    table_flush(table);
    for (int i = 0; i < table->columns; i++)
        cells[i] = cell(rows, i);
    print_row(table, cells);
}

static void table_end(struct table *table)
{
    table_flush(table);
    for (size_t i = 0; table->cells && i < table->count * (size_t)table->columns; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table->right);
    free(table->width);
}

static int print_rows(sqlite3_stmt *rows, const struct show_options *options)
{
    struct table table = {0};
    int code, columns = sqlite3_column_count(rows);
    if (!options->csv && !options->json && !table_begin(&table, rows))
        return SQLITE_NOMEM;
    for (int i = 0; options->csv && i < columns; i++)
        print_csv(sqlite3_column_name(rows, i), i == columns - 1);
    while ((code = sqlite3_step(rows)) == SQLITE_ROW) {
        if (options->json)
            print_json(rows);
        else if (!options->csv)
            table_row(&table, rows);
        for (int i = 0; options->csv && i < columns; i++)
            print_csv(cell(rows, i), i == columns - 1);
    }
    table_end(&table);
    return code;
}

/* A SELECT sees nothing of the operations that lie in pages: which runs' they are. */
static void tell_pages(sqlite3 *db, const char *database)
{
    sqlite3_stmt *rows = NULL;
    sqlite3_set_authorizer(db, NULL, NULL);
    if (sqlite3_prepare_v2(db,
                           "SELECT count(*),max(run_id) FROM (SELECT DISTINCT run_id FROM pages)",
                           -1, &rows, NULL) == SQLITE_OK &&
        sqlite3_step(rows) == SQLITE_ROW && sqlite3_column_int64(rows, 0) > 0) {
        long long runs = sqlite3_column_int64(rows, 0), last = sqlite3_column_int64(rows, 1);
        fprintf(stderr,
                "simrun query: the operations of %lld long run%s are in pages, which this does not "
                "see; rows of run %lld's: simrun db unpack %lld --db %s\n",
                runs, runs == 1 ? "" : "s", last, last, database);
    }
    sqlite3_finalize(rows);
}

static int query(struct store *store, const char *sql, const struct show_options *options)
{
    sqlite3 *db = store_handle(store);
    sqlite3_stmt *rows = NULL;
    const char *rest = "";
    bool operations = false;
    sqlite3_set_authorizer(db, authorize, &operations);
    int code = sqlite3_prepare_v2(db, sql, -1, &rows, &rest);
    if (code == SQLITE_AUTH || (code == SQLITE_OK && rows && !sqlite3_stmt_readonly(rows))) {
        fputs("simrun query: only reading is allowed: SELECT ...\n", stderr);
        code = SQLITE_AUTH;
    } else if (code != SQLITE_OK || !rows) {
        fprintf(stderr,
                "simrun query: %s\n  the tables and views: simrun query \"select name from "
                "sqlite_schema\"\n",
                rows || code ? sqlite3_errmsg(db) : "no statement");
        code = SQLITE_ERROR;
    } else if (rest[strspn(rest, " \t\r\n;")]) {
        fputs("simrun query: one statement at a time\n", stderr);
        code = SQLITE_ERROR;
    }
    int status = code == SQLITE_OK ? EXIT_PASSED : EXIT_USAGE;
    if (code == SQLITE_OK && print_rows(rows, options) != SQLITE_DONE) {
        fprintf(stderr, "simrun query: %s\n", sqlite3_errmsg(db));
        status = EXIT_INPUT;
    }
    sqlite3_finalize(rows);
    if (status == EXIT_PASSED && operations)
        tell_pages(db, options->database);
    return status;
}

int command_query(int argc, char **argv)
{
    struct show_options options;
    struct command_words words = {.least = 1, .most = 1};
    struct failure failure = {0};
    show_options_init(&options);
    int status = command_parse("query", &options, argc, argv, &words);
    if (status >= 0)
        return status;
    struct store *store = stored_database(options.database, &failure);
    status = store ? query(store, words.words[0], &options) : command_fail("query", &failure);
    store_close(store);
    return status;
}
