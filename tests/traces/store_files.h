/* Databases of tests: files in a folder of their own, and what a SELECT says. */
#ifndef TESTS_TRACES_STORE_FILES_H
#define TESTS_TRACES_STORE_FILES_H

#include "traces/store/store.h"

#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>

static char folder[64];

/* Good until the fourth call after it. */
static inline const char *file(const char *name)
{
    static char paths[4][128];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* -1: nothing. */
static inline int64_t number(struct store *store, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t value = -1;
    if (sqlite3_prepare_v2(store_handle(store), sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

#endif
