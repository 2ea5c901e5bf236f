/* A table being read: see reader.h. */
#include "traces/store/reader.h"
#include "traces/trace/names.h"

#include <math.h>
#include <stdint.h>

const char *reader_text(sqlite3_stmt *statement, int column)
{
    const unsigned char *value = sqlite3_column_text(statement, column);
    return value ? (const char *)value : "";
}

double reader_real(sqlite3_stmt *statement, int column)
{
    int type = sqlite3_column_type(statement, column);
    return type == SQLITE_TEXT || type == SQLITE_NULL ? NAN
                                                      : sqlite3_column_double(statement, column);
}

bool reader_begin(struct reader *reader, const char *sql)
{
    if (reader->code)
        return false;
    reader->rows = store_prepare(reader->store, sql, reader->failure);
    if (!reader->rows) {
        reader->code = reader->failure ? reader->failure->code : FAILURE_INTERNAL;
        return false;
    }
    sqlite3_bind_int64(reader->rows, 1, reader->run);
    return true;
}

bool reader_next(struct reader *reader)
{
    int step = reader->code ? SQLITE_DONE : sqlite3_step(reader->rows);
    if (step == SQLITE_ROW)
        return true;
    if (step != SQLITE_DONE && !reader->code)
        reader->code = store_failed(reader->store, reader->failure);
    sqlite3_finalize(reader->rows);
    reader->rows = NULL;
    return false;
}

static uint32_t kept(struct handle_map *map, int64_t id, uint32_t index)
{
    if (index != TRACE_NO)
        handle_map_add(map, (uint64_t)id + 1, (void *)((uintptr_t)index + 1));
    return index;
}

uint32_t reader_site(struct reader *reader, int64_t id)
{
    void *known = handle_map_find(&reader->sites, (uint64_t)id + 1);
    if (known)
        return (uint32_t)((uintptr_t)known - 1);
    uint32_t index = TRACE_NO;
    sqlite3_bind_int64(reader->site, 1, id);
    if (sqlite3_step(reader->site) == SQLITE_ROW)
        index = trace_add_site(reader->trace, reader_text(reader->site, 0),
                               sqlite3_column_int(reader->site, 1), reader_text(reader->site, 2));
    sqlite3_reset(reader->site);
    return kept(&reader->sites, id, index);
}

uint32_t reader_string(struct reader *reader, int64_t id)
{
    void *known = handle_map_find(&reader->strings, (uint64_t)id + 1);
    if (known)
        return (uint32_t)((uintptr_t)known - 1);
    uint32_t index = TRACE_NO;
    sqlite3_bind_int64(reader->string, 1, id);
    if (sqlite3_step(reader->string) == SQLITE_ROW)
        index = trace_add_string(reader->trace, reader_text(reader->string, 0));
    sqlite3_reset(reader->string);
    return kept(&reader->strings, id, index);
}

uint32_t reader_op(const struct reader *reader, int64_t id)
{
    return id >= reader->first_op && id - reader->first_op < reader->op_count
               ? (uint32_t)(id - reader->first_op)
               : TRACE_NO;
}

uint32_t reader_node(const struct reader *reader, int64_t id)
{
    return id >= reader->first_node && id - reader->first_node < reader->node_count
               ? (uint32_t)(id - reader->first_node)
               : TRACE_NO;
}

uint32_t reader_op_column(const struct reader *reader, int column)
{
    return sqlite3_column_type(reader->rows, column) == SQLITE_NULL
               ? TRACE_NO
               : reader_op(reader, sqlite3_column_int64(reader->rows, column));
}

uint32_t reader_node_column(const struct reader *reader, int column)
{
    return sqlite3_column_type(reader->rows, column) == SQLITE_NULL
               ? TRACE_NO
               : reader_node(reader, sqlite3_column_int64(reader->rows, column));
}

uint32_t reader_site_column(struct reader *reader, int column)
{
    return sqlite3_column_type(reader->rows, column) == SQLITE_NULL
               ? TRACE_NO
               : reader_site(reader, sqlite3_column_int64(reader->rows, column));
}

int reader_name_number(const char *const *names, const char *name, int otherwise)
{
    int number = trace_name_number(names, name);
    return number < 0 ? otherwise : number;
}
