/* Writing a finished run into the store, in one transaction. See store.h. */
#include "traces/store/writer.h"
#include "traces/trace/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The first id after all runs': ids are handed out inside the write transaction. */
static void reserve(struct writer *writer)
{
    if (!writer_begin(
            writer,
            "SELECT "
            "coalesce(max(first_op_id+op_count),1),coalesce(max(first_node_id+node_count),1) "
            "FROM runs"))
        return;
    if (sqlite3_step(writer->insert) == SQLITE_ROW) {
        writer->ids.first_op = sqlite3_column_int64(writer->insert, 0);
        writer->ids.first_node = sqlite3_column_int64(writer->insert, 1);
    }
    writer_row(writer);
    writer_end(writer);
}

static void write_run(struct writer *writer, const struct store_result *result, bool finished)
{
    const struct trace *trace = writer->trace;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!writer_begin(writer,
                      "UPDATE runs SET outcome=?,exit_code=?,ended_ns=?,ended=coalesce(?,ended),"
                      "model=coalesce(?,model),trace_hash=coalesce(?,trace_hash),"
                      "objective=coalesce(?,objective),first_op_id=coalesce(?,first_op_id),"
                      "op_count=coalesce(?,op_count),first_node_id=coalesce(?,first_node_id),"
                      "node_count=coalesce(?,node_count),word=? WHERE run_id=?"))
        return;     /* the trace may have been stored before, and be given up now */
    if (finished) { /* without an outcome it still runs: see store_run_trace */
        writer_text(writer, 1, result->outcome);
        writer_number(writer, 2, result->exit_code);
        writer_number(writer, 3, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
    }
    if (trace && !writer->stored) { /* else its hash stands there */
        char hash[32];
        snprintf(hash, sizeof hash, "%016llx", (unsigned long long)trace_hash(trace));
        writer_text(writer, 6, hash);
    }
    if (trace) {
        writer_text(writer, 4, trace_outcome_names[trace->outcome]);
        writer_text(writer, 5, trace->model);
        writer_double(writer, 7, trace->objective);
        writer_number(writer, 8, writer->ids.first_op);
        writer_number(writer, 9, (int64_t)writer->op_count);
        writer_number(writer, 10, writer->ids.first_node);
        writer_number(writer, 11, (int64_t)writer->node_count);
    }
    writer_optional(writer, 12, result->word);
    writer_number(writer, 13, writer->ids.run);
    writer_row(writer);
    writer_end(writer);
    if (!writer->code && sqlite3_changes(writer->store->db) != 1)
        writer->code = failure_set(writer->failure, FAILURE_INTERNAL, "%s: run %lld is not there",
                                   writer->store->path, (long long)writer->ids.run);
}

/* Ids of a trace that store_run_trace has written: false where it has not. */
static bool is_stored(struct writer *writer)
{
    bool stored = false;
    if (!writer_begin(writer,
                      "SELECT first_op_id,op_count,first_node_id,node_count FROM runs WHERE "
                      "run_id=? AND first_op_id IS NOT NULL"))
        return false;
    writer_number(writer, 1, writer->ids.run);
    if (sqlite3_step(writer->insert) == SQLITE_ROW) {
        stored = true;
        writer->ids.first_op = sqlite3_column_int64(writer->insert, 0);
        writer->op_count = (size_t)sqlite3_column_int64(writer->insert, 1);
        writer->ids.first_node = sqlite3_column_int64(writer->insert, 2);
        writer->node_count = (size_t)sqlite3_column_int64(writer->insert, 3);
    }
    writer_row(writer);
    writer_end(writer);
    return stored;
}

static void write_all(struct writer *writer, const struct store_result *result, bool finished)
{
    writer->stored = writer->trace && is_stored(writer);
    if (!writer->stored)
        reserve(writer);
    if (writer->stored)
        store_write_sites(writer); /* their ids, for the findings */
    else if (writer->trace && !writer->code)
        store_write_trace(writer, result->without_ops);
    if (finished) {
        store_write_findings(writer, result->findings);
        store_write_coverage(writer,
                             result->coverage ? result->coverage : trace_coverage(result->trace));
    }
    write_run(writer, result, finished);
}

static int run_write(struct store *store, int64_t run, const struct store_result *result,
                     bool finished, struct failure *failure)
{
    struct writer writer = {
        .store = store, .trace = result->trace, .failure = failure, .ids = {.run = run}};
    if (result->trace && !result->without_ops) {
        writer.op_count = result->trace->op_count;
        writer.node_count = result->trace->node_count;
    }
    writer.code = store_exec(store, "BEGIN IMMEDIATE", failure);
    if (writer.code)
        return writer.code;
    write_all(&writer, result, finished);
    if (!writer.code)
        writer.code = store_exec(store, "COMMIT", failure);
    if (writer.code)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    free(writer.ids.sites);
    free(writer.ids.strings);
    return writer.code;
}

int store_run_trace(struct store *store, int64_t run, const struct trace *trace, bool without_ops,
                    struct failure *failure)
{
    const struct store_result result = {.trace = trace, .without_ops = without_ops};
    int code = store_rescue(store, failure);
    return code ? code : run_write(store, run, &result, false, failure);
}

int store_run_finish(struct store *store, int64_t run, const struct store_result *result,
                     struct failure *failure)
{
    int code = store_rescue(store, failure);
    return code ? code : run_write(store, run, result, true, failure);
}

/* False when there are none, and nothing is to be written in their place. */
static bool delete_pages(struct writer *writer)
{
    if (!writer_begin(writer, "DELETE FROM pages WHERE run_id=?"))
        return false;
    writer_number(writer, 1, writer->ids.run);
    writer_row(writer);
    writer_end(writer);
    return !writer->code && sqlite3_changes(writer->store->db) > 0;
}

int store_unpack(struct store *store, int64_t run, struct failure *failure)
{
    struct trace *trace = store_load_trace(store, run, failure);
    struct writer writer = {
        .store = store, .trace = trace, .failure = failure, .ids = {.run = run}};
    if (!trace)
        return failure ? failure->code : FAILURE_INTERNAL;
    writer.code = store_exec(store, "BEGIN IMMEDIATE", failure);
    if (!writer.code && is_stored(&writer) && delete_pages(&writer)) {
        store_write_sites(&writer);
        store_write_ops(&writer);
    }
    if (!writer.code)
        writer.code = store_exec(store, "COMMIT", failure);
    if (writer.code)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    free(writer.ids.sites);
    trace_free(trace);
    return writer.code;
}

int store_artifact_put(struct store *store, int64_t run, const char *name, const char *media,
                       const void *data, size_t size, struct failure *failure)
{
    sqlite3_stmt *insert = store_prepare(
        store, "INSERT OR REPLACE INTO artifacts(run_id,name,media,data) VALUES(?,?,?,?)", failure);
    if (!insert)
        return FAILURE_INTERNAL;
    sqlite3_bind_int64(insert, 1, run);
    sqlite3_bind_text(insert, 2, name, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 3, media, -1, SQLITE_STATIC);
    sqlite3_bind_blob64(insert, 4, size ? data : "", size, SQLITE_STATIC);
    int code = store_step(store, insert, failure);
    sqlite3_finalize(insert);
    return code;
}
