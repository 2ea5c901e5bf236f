/* Rows of a trace as a table that SQLite reads by itself, so that a million of them are one
 * statement: INSERT ... SELECT ... FROM trace_rows. Stepping a statement once per row costs more
 * than storing the row. For store*.c. */
#ifndef TRACES_STORE_ROWS_H
#define TRACES_STORE_ROWS_H

#include "traces/store/internal.h"

enum { STORE_ROWS_COLUMNS = 48, STORE_ROWS_WORDS = 64 };

/* Goes from the row before to the next one; false after the last. The first call is before all. */
struct store_rows;
typedef bool store_rows_next(struct store_rows *rows);
/* Gives a column of the current row with sqlite3_result_...; without that it is NULL. */
typedef void store_rows_value(struct store_rows *rows, sqlite3_context *result, int column);

struct store_rows {
    store_rows_next *next;
    store_rows_value *value;
    int columns; /* named c0, c1, ... */
    void *context;
    size_t at, first; /* of use to next and value */
};

/* Runs the statement, which reads trace_rows once, over these rows; `parameters` are its ?1, ?2 ...
 */
int store_rows_insert(struct store *store, const char *sql, struct store_rows *rows,
                      const int64_t *parameters, int parameter_count, struct failure *failure);

/* A table of C structs described by columns: into `table`, with the columns `id` and run_id before
 * the described ones. */
struct store_structs {
    const char *table, *id;
    int64_t first_id;
    const struct column *columns;
    size_t column_count;
    const void *rows;
    size_t row_size, count;
    /* Rows that do not stand like this: makes one of what `rows` is, at `row`. */
    void (*make)(const void *rows, size_t index, void *row);
    const char *what; /* for the progress, NULL for none */
};
int store_structs_insert(struct store *store, const struct store_structs *structs,
                         const struct store_ids *ids, struct failure *failure);

#endif
