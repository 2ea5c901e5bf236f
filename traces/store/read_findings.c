/* Reading a run's findings back from the store. See store.h. */
#include "traces/store/reader.h"
#include "traces/trace/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t site_in(const struct trace *trace, sqlite3_stmt *rows, int column)
{
    if (sqlite3_column_type(rows, column) == SQLITE_NULL)
        return TRACE_NO;
    for (uint32_t i = 0; i < trace->site_count; i++)
        if (trace->sites[i].line == sqlite3_column_int(rows, column + 1) &&
            strcmp(trace->sites[i].file, reader_text(rows, column)) == 0)
            return i;
    return TRACE_NO;
}

static char *optional(sqlite3_stmt *rows, int column)
{
    return sqlite3_column_type(rows, column) == SQLITE_NULL ? NULL
                                                            : strdup(reader_text(rows, column));
}

/* "[[from,to,type],...]" with node ids. */
static void read_repair(struct reader *reader, struct finding *finding, const char *list)
{
    size_t room = 1;
    for (const char *c = list; *c; c++)
        room += *c == '[';
    finding->repair_edges = list[0] == '[' ? calloc(room, sizeof *finding->repair_edges) : NULL;
    long long from, to;
    unsigned type;
    for (const char *c = list; finding->repair_edges && (c = strchr(c + 1, '[')) != NULL;)
        if (sscanf(c, "[%lld,%lld,%u]", &from, &to, &type) == 3 &&
            reader_node(reader, from) != TRACE_NO && reader_node(reader, to) != TRACE_NO)
            finding->repair_edges[finding->repair_count++] = (struct trace_edge){
                .from = reader_node(reader, from), .to = reader_node(reader, to), .type = type};
}

static void read_places(struct reader *reader, struct finding *finding, int64_t id)
{
    sqlite3_stmt *outer = reader->rows;
    int64_t run = reader->run;
    reader->run = id; /* the first parameter */
    if (reader_begin(reader,
                     "SELECT op_id,node_id,role FROM finding_ops WHERE finding_id=? ORDER BY ord"))
        while (reader_next(reader)) {
            uint32_t op = reader_op_column(reader, 0), node = reader_node_column(reader, 1);
            if (node != TRACE_NO)
                finding_node_add(finding, node, reader_text(reader->rows, 2));
            else
                finding_op_add(finding, op, reader_text(reader->rows, 2));
        }
    reader->run = run;
    reader->rows = outer;
}

/* The newest finding, under the root with this fingerprint. */
static void fold_again(struct findings *findings, const char *fingerprint)
{
    for (size_t i = 0; i + 1 < findings->count; i++)
        if (!strcmp(findings->items[i].fingerprint, fingerprint)) {
            findings_fold(findings, findings->count - 1, &findings->items[i]);
            return;
        }
}

int store_load_findings(struct store *store, int64_t run, const struct trace *trace,
                        struct findings *findings, struct failure *failure)
{
    struct failure own;
    struct reader reader = {.store = store, .run = run, .failure = failure ? failure : &own};
    if (reader_begin(
            &reader,
            "SELECT first_op_id,op_count,first_node_id,node_count FROM runs WHERE run_id=?"))
        while (reader_next(&reader)) {
            reader.first_op = sqlite3_column_int64(reader.rows, 0);
            reader.op_count = sqlite3_column_int64(reader.rows, 1);
            reader.first_node = sqlite3_column_int64(reader.rows, 2);
            reader.node_count = sqlite3_column_int64(reader.rows, 3);
        }
    if (!reader_begin(
            &reader,
            "SELECT "
            "f.code,f.severity,f.fingerprint,f.title,f.detail,s.file,s.line,f.witness,f.repair,"
            "f.repair_edges,f.confirmation,f.models,f.inherited,f.allowed,f.finding_id,coalesce("
            "f.because,''),(SELECT "
            "g.fingerprint FROM findings g WHERE g.finding_id=f.root) FROM "
            "findings f LEFT "
            "JOIN sites s ON s.site_id=f.site_id WHERE f.run_id=? ORDER BY f.finding_id"))
        return reader.code;
    while (reader_next(&reader)) {
        sqlite3_stmt *rows = reader.rows;
        struct finding *finding =
            findings_add(findings, reader_text(rows, 0), "%s", reader_text(rows, 3));
        bool folded = sqlite3_column_type(rows, 16) != SQLITE_NULL;
        finding->severity = (enum severity)reader_name_number(trace_severity_names,
                                                              reader_text(rows, 1), SEVERITY_ERROR);
        snprintf(finding->fingerprint, sizeof finding->fingerprint, "%s", reader_text(rows, 2));
        finding_detail(finding, "%s", reader_text(rows, 4));
        finding->site = site_in(trace, rows, 5);
        finding->witness = optional(rows, 7);
        finding->repair = optional(rows, 8);
        read_repair(&reader, finding, reader_text(rows, 9));
        int confirmation = sqlite3_column_int(rows, 10);
        finding->confirmation = confirmation >= 0 && confirmation <= CONFIRM_REFUTED
                                    ? (enum confirmation)confirmation
                                    : CONFIRM_NONE;
        snprintf(finding->models, sizeof finding->models, "%s", reader_text(rows, 11));
        finding->inherited = sqlite3_column_int(rows, 12) != 0;
        finding->allowed = sqlite3_column_int(rows, 13) != 0;
        snprintf(finding->because, sizeof finding->because, "%s", reader_text(rows, 15));
        read_places(&reader, finding, sqlite3_column_int64(rows, 14));
        if (folded)
            fold_again(findings, reader_text(rows, 16));
    }
    return reader.code;
}
