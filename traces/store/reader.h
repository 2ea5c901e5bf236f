/* A run being read: the statement of the table at hand, and what its columns refer to. The first
 * failure stays in `code`, and nothing is read after it.
 *
 * A file may have been written by anybody: every reference is checked before it becomes an index.
 * References to what is not there become TRACE_NO. */
#ifndef TRACES_STORE_READER_H
#define TRACES_STORE_READER_H

#include "traces/store/internal.h"
#include "traces/trace/handle_map.h"
#include "traces/trace/trace.h"

struct reader {
    struct store *store;
    struct trace *trace;
    struct failure *failure;
    int64_t run, first_op, op_count, first_node, node_count;
    struct handle_map sites, strings; /* id -> index + 1 */
    sqlite3_stmt *site, *string, *rows;
    int code;
};

/* Prepares the statement of a table, ?1 being the run: false where something failed, now or before.
 * Then reader_next until it is false. */
bool reader_begin(struct reader *reader, const char *sql);
bool reader_next(struct reader *reader);

/* Values of the row: NULL reads as "" or NaN, and so does the text 'nan'. */
const char *reader_text(sqlite3_stmt *statement, int column);
double reader_real(sqlite3_stmt *statement, int column);

/* Indices of ids, and of the ids in a column. */
uint32_t reader_site(struct reader *reader, int64_t id);
uint32_t reader_string(struct reader *reader, int64_t id);
uint32_t reader_op(const struct reader *reader, int64_t id);
uint32_t reader_node(const struct reader *reader, int64_t id);
uint32_t reader_op_column(const struct reader *reader, int column);
uint32_t reader_node_column(const struct reader *reader, int column);
uint32_t reader_site_column(struct reader *reader, int column);

/* The number of a name; `otherwise` for a name that no version of ours wrote. */
int reader_name_number(const char *const *names, const char *name, int otherwise);

#endif
