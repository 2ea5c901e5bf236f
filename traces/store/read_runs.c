/* Reading rows of runs, and artifacts, back from the store. See store.h. */
#include "traces/store/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char run_columns[] =
    "SELECT "
    "r.run_id,r.scenario,r.variant,coalesce(r.outcome,'running'),datetime(r.started_ns/"
    "1000000000,'unixepoch'),"
    "r.argv,r.schedule,coalesce(r.trace_hash,''),r.params,r.ranks,r.seed,(SELECT count(*) FROM "
    "findings f WHERE "
    "f.run_id=r.run_id AND f.severity='error' AND f.root IS NULL AND NOT "
    "coalesce(f.allowed,0)),r.exit_code,(r.ended_ns-r.started_ns)/1e6 "
    "FROM runs r ";

static int see_runs(struct store *store, const char *rest, int64_t run, store_run_see *see,
                    void *context, struct failure *failure)
{
    char sql[1024];
    struct failure own;
    struct reader reader = {.store = store, .run = run, .failure = failure ? failure : &own};
    snprintf(sql, sizeof sql, "%s%s", run_columns, rest);
    if (!reader_begin(&reader, sql))
        return reader.code;
    bool more = true, seen = false;
    while (reader_next(&reader)) {
        sqlite3_stmt *rows = reader.rows;
        struct store_run_row row = {.run = sqlite3_column_int64(rows, 0),
                                    .scenario = reader_text(rows, 1),
                                    .variant = reader_text(rows, 2),
                                    .outcome = reader_text(rows, 3),
                                    .started = reader_text(rows, 4),
                                    .argv = reader_text(rows, 5),
                                    .schedule = reader_text(rows, 6),
                                    .trace_hash = reader_text(rows, 7),
                                    .params = reader_text(rows, 8),
                                    .ranks = (uint32_t)sqlite3_column_int64(rows, 9),
                                    .seed = (uint64_t)sqlite3_column_int64(rows, 10),
                                    .errors = sqlite3_column_int64(rows, 11),
                                    .exit_code = sqlite3_column_int64(rows, 12),
                                    .milliseconds = sqlite3_column_double(rows, 13)};
        seen = true;
        more = more && see(context, &row);
    }
    if (!reader.code && run && !seen)
        return failure_set(reader.failure, FAILURE_NOTHING, "%s: no run %lld", store->path,
                           (long long)run);
    return reader.code;
}

int store_runs(struct store *store, store_run_see *see, void *context, struct failure *failure)
{
    return see_runs(store, "WHERE ?1=0 ORDER BY r.run_id DESC", 0, see, context, failure);
}

int store_run_get(struct store *store, int64_t run, store_run_see *see, void *context,
                  struct failure *failure)
{
    return see_runs(store, "WHERE r.run_id=?1", run, see, context, failure);
}

int store_artifact_get(struct store *store, int64_t run, const char *name, void **data,
                       size_t *size, struct failure *failure)
{
    struct failure own;
    struct reader reader = {.store = store, .run = run, .failure = failure ? failure : &own};
    *data = NULL;
    *size = 0;
    if (!reader_begin(&reader, "SELECT data FROM artifacts WHERE run_id=? AND name=?"))
        return reader.code;
    sqlite3_bind_text(reader.rows, 2, name, -1, SQLITE_STATIC);
    while (reader_next(&reader)) {
        *size = (size_t)sqlite3_column_bytes(reader.rows, 0);
        *data = malloc(*size + 1);
        if (*data && *size)
            memcpy(*data, sqlite3_column_blob(reader.rows, 0), *size);
    }
    if (!reader.code && !*data)
        return failure_set(reader.failure, FAILURE_NOTHING, "%s: run %lld has no artifact %s",
                           store->path, (long long)run, name);
    return reader.code;
}
