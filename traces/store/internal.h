/* The inside of the store, for store*.c. */
#ifndef TRACES_STORE_INTERNAL_H
#define TRACES_STORE_INTERNAL_H

#include "traces/store/store.h"

#include <sqlite3.h>

struct store {
    sqlite3 *db;
    char *path;
    enum store_mode mode;
    struct progress *progress; /* NULL: nobody looks */
    uint64_t rows_most;        /* operations of a run that are rows; more are pages */
    char *rescue;              /* see store_rescued */
};

/* The SQL texts compiled in: the tables of today, and from each version to the next. Version 1 was
 * rearranged: its tables are renamed, and their rows copied into those of today. */
extern const char store_schema[], store_migrate_1[], store_migrate_1_copy[];
extern const char *const store_migrations[STORE_VERSION];

/* Sets the sentence from SQLite's, with the path; the code is FAILURE_INPUT for corrupt files, else
 * FAILURE_INTERNAL. */
int store_failed(struct store *store, struct failure *failure);
/* Opens the file at store->path, without looking at what is in it. */
int store_connect(struct store *store, struct failure *failure);
/* Before something is written: rule 6. */
int store_rescue(struct store *store, struct failure *failure);
int store_exec(struct store *store, const char *sql, struct failure *failure);
sqlite3_stmt *store_prepare(struct store *store, const char *sql, struct failure *failure);
/* Runs a statement to its end and resets it. */
int store_step(struct store *store, sqlite3_stmt *statement, struct failure *failure);

/* Columns described as data: a row of C structs to a statement and back, exactly. */
enum column_type {
    COLUMN_U8,
    COLUMN_U16,
    COLUMN_U32,
    COLUMN_I32,
    COLUMN_I64,
    COLUMN_U64,
    COLUMN_OP,   /* index of an op: op_id */
    COLUMN_NODE, /* index of a node: node_id */
    COLUMN_SITE,
    COLUMN_STRING
};

struct column {
    const char *name;
    size_t offset;
    enum column_type type;
    int64_t none; /* stored as NULL */
};

/* Between indices of a trace and ids of the file. */
struct store_ids {
    int64_t run, first_op, first_node;
    int64_t *sites, *strings; /* by index, when writing */
    size_t site_count, string_count;
};

extern const struct column store_op_columns[], store_node_columns[];
extern const size_t store_op_column_count, store_node_column_count;

/* A value of a row; and what is stored for it, when it is not the column's none. */
int64_t store_get(const struct column *column, const void *row);
int64_t store_id(const struct column *column, int64_t value, const struct store_ids *ids);
/* A value read back; references come as ids (TRACE_NO-independent), resolved by the reader. */
void store_put(const struct column *column, void *row, int64_t value);

#endif
