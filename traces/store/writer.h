/* A run being written: the statement of the table at hand, and its columns' values. The first
 * failure stays in `code`, and nothing is written after it. */
#ifndef TRACES_STORE_WRITER_H
#define TRACES_STORE_WRITER_H

#include "traces/store/internal.h"

struct writer {
    struct store *store;
    struct store_ids ids;
    const struct trace *trace;
    struct failure *failure;
    size_t op_count, node_count; /* 0 when they are left out */
    sqlite3_stmt *insert;        /* of the table being written */
    bool stored;                 /* the trace is, by store_run_trace */
    int code;
};

/* Prepares the statement of a table: false where something failed, now or before. */
bool writer_begin(struct writer *writer, const char *sql);
void writer_end(struct writer *writer);
/* Writes one row. */
bool writer_row(struct writer *writer);

void writer_number(struct writer *writer, int at, int64_t value);
/* NULL is stored as "". */
void writer_text(struct writer *writer, int at, const char *text);
/* NULL is stored as NULL. */
void writer_optional(struct writer *writer, int at, const char *text);
/* NaN is stored as the text 'nan': SQLite would store NULL. */
void writer_double(struct writer *writer, int at, double value);
/* The id of an index below count; NULL for others. */
void writer_index(struct writer *writer, int at, uint32_t index, size_t count, int64_t first);
void writer_site(struct writer *writer, int at, uint32_t site);

/* The tables of a trace; call sites alone (their ids are needed by findings, too); findings with
 * their operations; coverage. */
void store_write_trace(struct writer *writer, bool without_ops);
/* Operations with their matches, waits and times as rows, and not in pages. */
void store_write_ops(struct writer *writer);
void store_write_sites(struct writer *writer);
void store_write_findings(struct writer *writer, const struct findings *findings);
void store_write_coverage(struct writer *writer, const struct coverage *coverage);

#endif
