/* An eponymous virtual table of one cursor, and the statement over it. See rows.h. */
#include "traces/store/rows.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table {
    sqlite3_vtab base;
    struct store_rows *rows;
};

struct cursor {
    sqlite3_vtab_cursor base;
    struct store_rows *rows;
    sqlite3_int64 number;
    bool ended;
};

static int connect_table(sqlite3 *db, void *context, int count, const char *const *arguments,
                         sqlite3_vtab **made, char **error)
{
    (void)count, (void)arguments, (void)error;
    struct store_rows *rows = context;
    char sql[32 + STORE_ROWS_COLUMNS * 5] = "CREATE TABLE rows(";
    for (int i = 0, used = (int)strlen(sql); i < rows->columns; i++)
        used += snprintf(sql + used, sizeof sql - (size_t)used, "%sc%d%s", i ? "," : "", i,
                         i + 1 < rows->columns ? "" : ")");
    int code = sqlite3_declare_vtab(db, sql);
    struct table *table = code == SQLITE_OK ? calloc(1, sizeof *table) : NULL;
    if (!table)
        return code == SQLITE_OK ? SQLITE_NOMEM : code;
    table->rows = rows;
    *made = &table->base;
    return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *table)
{
    free(table);
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    info->estimatedCost = 1e6;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **made)
{
    struct cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return SQLITE_NOMEM;
    cursor->rows = ((struct table *)(void *)table)->rows;
    *made = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
    free(cursor);
    return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)(void *)base;
    cursor->ended = !cursor->rows->next(cursor->rows);
    cursor->number++;
    return SQLITE_OK;
}

static int first_row(sqlite3_vtab_cursor *cursor, int number, const char *text, int count,
                     sqlite3_value **values)
{
    (void)number, (void)text, (void)count, (void)values;
    return next_row(cursor);
}

static int is_ended(sqlite3_vtab_cursor *cursor)
{
    return ((struct cursor *)(void *)cursor)->ended;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *result, int number)
{
    struct store_rows *rows = ((struct cursor *)(void *)base)->rows;
    rows->value(rows, result, number);
    return SQLITE_OK;
}

static int row_number(sqlite3_vtab_cursor *cursor, sqlite3_int64 *number)
{
    *number = ((struct cursor *)(void *)cursor)->number;
    return SQLITE_OK;
}

static const sqlite3_module module = {.xConnect = connect_table,
                                      .xDisconnect = disconnect_table,
                                      .xBestIndex = best_index,
                                      .xOpen = open_cursor,
                                      .xClose = close_cursor,
                                      .xFilter = first_row,
                                      .xNext = next_row,
                                      .xEof = is_ended,
                                      .xColumn = column,
                                      .xRowid = row_number};

int store_rows_insert(struct store *store, const char *sql, struct store_rows *rows,
                      const int64_t *parameters, int parameter_count, struct failure *failure)
{
    if (sqlite3_create_module_v2(store->db, "trace_rows", &module, rows, NULL) != SQLITE_OK)
        return store_failed(store, failure);
    sqlite3_stmt *insert = store_prepare(store, sql, failure);
    int code = insert ? 0 : failure ? failure->code : FAILURE_INTERNAL;
    for (int i = 0; insert && i < parameter_count; i++)
        sqlite3_bind_int64(insert, i + 1, parameters[i]);
    if (insert)
        code = store_step(store, insert, failure);
    sqlite3_finalize(insert);
    sqlite3_create_module_v2(store->db, "trace_rows", NULL, NULL, NULL);
    return code;
}

/* Structs: which columns are read row by row. */
struct reading {
    const struct store_structs *structs;
    const struct store_ids *ids;
    struct progress *progress;
    const struct column *columns[STORE_ROWS_COLUMNS]; /* c1 and on; c0 is the id */
    uint64_t made[STORE_ROWS_WORDS];                  /* the row that was made last */
};

static const void *row_at(const struct store_structs *structs, size_t index, void *made)
{
    if (!structs->make)
        return (const char *)structs->rows + index * structs->row_size;
    structs->make(structs->rows, index, made);
    return made;
}

static bool next_struct(struct store_rows *rows)
{
    struct reading *reading = rows->context;
    const struct store_structs *structs = reading->structs;
    if (structs->make && rows->at < structs->count)
        structs->make(structs->rows, rows->at, reading->made);
    if (structs->what && rows->at % PROGRESS_ROWS == 0)
        progress_report(reading->progress, "storing", rows->at, structs->count, structs->what);
    return ++rows->at <= structs->count;
}

static void struct_value(struct store_rows *rows, sqlite3_context *result, int number)
{
    const struct reading *reading = rows->context;
    const struct store_structs *structs = reading->structs;
    size_t index = rows->at - 1;
    if (number == 0) {
        sqlite3_result_int64(result, structs->first_id + (int64_t)index);
        return;
    }
    const struct column *described = reading->columns[number - 1];
    const void *row = structs->make ? (const void *)reading->made
                                    : (const char *)structs->rows + index * structs->row_size;
    int64_t value = store_get(described, row);
    if (value != described->none)
        sqlite3_result_int64(result, store_id(described, value, reading->ids));
}

/* The bits in which a row differs from the first, of all rows together: one walk over the memory.
 */
static void differences(const struct store_structs *structs, const uint64_t *first, uint64_t *bits)
{
    size_t words = structs->row_size / sizeof *bits;
    uint64_t made[STORE_ROWS_WORDS];
    memset(bits, 0, structs->row_size);
    for (size_t i = 1; i < structs->count; i++) {
        const uint64_t *row = row_at(structs, i, made);
        for (size_t k = 0; k < words; k++)
            bits[k] |= row[k] ^ first[k];
    }
}

/* What the statement names: columns that are none in all rows it leaves out, those that are the
 * same in all are numbers in it. */
struct statement {
    char names[1024], values[1024];
    size_t names_used, values_used;
};

static void name_column(struct statement *statement, const char *name, const char *prefix,
                        int64_t value)
{
    size_t names = sizeof statement->names - statement->names_used;
    size_t values = sizeof statement->values - statement->values_used;
    statement->names_used +=
        (size_t)snprintf(statement->names + statement->names_used, names, ",%s", name);
    statement->values_used += (size_t)snprintf(statement->values + statement->values_used, values,
                                               ",%s%" PRId64, prefix, value);
}

int store_structs_insert(struct store *store, const struct store_structs *structs,
                         const struct store_ids *ids, struct failure *failure)
{
    struct reading reading = {.structs = structs, .ids = ids, .progress = store->progress};
    struct store_rows rows = {
        .next = next_struct, .value = struct_value, .columns = 1, .context = &reading};
    struct statement statement = {0};
    uint64_t bits[STORE_ROWS_WORDS], made[STORE_ROWS_WORDS];
    char sql[2560];
    if (structs->count == 0)
        return 0;
    assert(structs->row_size <= sizeof bits && structs->row_size % sizeof *bits == 0);
    const void *first = row_at(structs, 0, made);
    differences(structs, first, bits);
    for (size_t i = 0; i < structs->column_count; i++) {
        const struct column *described = &structs->columns[i];
        int64_t value = store_get(described, first);
        if (store_get(described, bits) != 0) {
            reading.columns[rows.columns - 1] = described;
            name_column(&statement, described->name, "c", rows.columns++);
        } else if (value != described->none) {
            name_column(&statement, described->name, "", store_id(described, value, ids));
        }
    }
    snprintf(sql, sizeof sql, "INSERT OR FAIL INTO %s(%s,run_id%s) SELECT c0,?1%s FROM trace_rows",
             structs->table, structs->id, statement.names, statement.values);
    return store_rows_insert(store, sql, &rows, &ids->run, 1, failure);
}
