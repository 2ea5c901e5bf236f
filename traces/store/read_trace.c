/* Reading a trace back from the store. See store.h. The finished trace is checked as a whole. */
#include "traces/store/pages.h"
#include "traces/trace/memory.h"
#include "traces/trace/names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t value_of(struct reader *reader, const struct column *column, int at)
{
    if (sqlite3_column_type(reader->rows, at) == SQLITE_NULL)
        return column->none;
    int64_t value = sqlite3_column_int64(reader->rows, at);
    switch (column->type) {
    case COLUMN_OP:
        return reader_op(reader, value);
    case COLUMN_NODE:
        return reader_node(reader, value);
    case COLUMN_SITE:
        return reader_site(reader, value);
    case COLUMN_STRING:
        return reader_string(reader, value);
    default:
        return value;
    }
}

static void fill_row(struct reader *reader, const struct column *columns, size_t count, void *row)
{
    for (size_t i = 0; i < count; i++)
        store_put(&columns[i], row, value_of(reader, &columns[i], 1 + (int)i));
}

/* "SELECT id,columns... FROM table WHERE id>=?2 AND id<?3 AND run_id=?1 ORDER BY id". */
static void select_sql(char *sql, size_t size, const char *table, const char *id,
                       const struct column *columns, size_t count)
{
    size_t used = (size_t)snprintf(sql, size, "SELECT %s", id);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(sql + used, size - used, ",%s", columns[i].name);
    snprintf(sql + used, size - used, " FROM %s WHERE %s>=?2 AND %s<?3 AND +run_id=?1 ORDER BY %s",
             table, id, id, id);
}

static void broken(struct reader *reader, const char *what, int64_t id)
{
    reader->code = failure_set(reader->failure, FAILURE_INPUT, "%s: run %lld: %s %lld",
                               reader->store->path, (long long)reader->run, what, (long long)id);
}

static void read_ops(struct reader *reader)
{
    char sql[1024];
    select_sql(sql, sizeof sql, "ops", "op_id", store_op_columns, store_op_column_count);
    if (!reader_begin(reader, sql))
        return;
    sqlite3_bind_int64(reader->rows, 2, reader->first_op);
    sqlite3_bind_int64(reader->rows, 3, reader->first_op + reader->op_count);
    int64_t expected = reader->first_op;
    while (reader_next(reader)) {
        struct trace_whole_op whole = {.op = trace_op_none(0, OP_NONE)};
        int64_t id = sqlite3_column_int64(reader->rows, 0);
        fill_row(reader, store_op_columns, store_op_column_count, &whole);
        if (id != expected++ || whole.op.rank >= reader->trace->ranks)
            broken(reader, "a gap or a wrong rank at operation", id);
        else
            trace_add_whole_op(reader->trace, &whole);
        if (reader->trace->op_count % PROGRESS_ROWS == 0)
            progress_report(reader->store->progress, "reading", reader->trace->op_count,
                            (uint64_t)reader->op_count, "operations");
    }
    if (!reader->code && expected != reader->first_op + reader->op_count)
        broken(reader, "operations are missing from", expected);
}

static void read_nodes(struct reader *reader)
{
    char sql[512];
    select_sql(sql, sizeof sql, "nodes", "node_id", store_node_columns, store_node_column_count);
    if (!reader_begin(reader, sql))
        return;
    sqlite3_bind_int64(reader->rows, 2, reader->first_node);
    sqlite3_bind_int64(reader->rows, 3, reader->first_node + reader->node_count);
    int64_t expected = reader->first_node;
    while (reader_next(reader)) {
        struct trace_node node = {0};
        int64_t id = sqlite3_column_int64(reader->rows, 0);
        fill_row(reader, store_node_columns, store_node_column_count, &node);
        if (id != expected++ || node.rank >= reader->trace->ranks)
            broken(reader, "a gap or a wrong rank at node", id);
        else
            trace_add_node(reader->trace, &node);
    }
    if (!reader->code && expected != reader->first_node + reader->node_count)
        broken(reader, "nodes are missing from", expected);
    if (!reader_begin(reader,
                      "SELECT src,dst,type FROM edges WHERE run_id=? ORDER BY src,dst,type"))
        return;
    while (reader_next(reader))
        trace_add_edge(reader->trace, reader_node_column(reader, 0), reader_node_column(reader, 1),
                       sqlite3_column_int(reader->rows, 2) == EDGE_ORDER ? EDGE_ORDER : EDGE_DATA);
}

static void read_matches(struct reader *reader)
{
    if (!reader_begin(reader, "SELECT send_op,recv_op FROM matches WHERE run_id=?"))
        return;
    while (reader_next(reader)) {
        uint32_t send = reader_op_column(reader, 0), receive = reader_op_column(reader, 1);
        if (send >= reader->trace->op_count || receive >= reader->trace->op_count) {
            broken(reader, "no such operation for the match of",
                   sqlite3_column_int64(reader->rows, 0));
        } else {
            reader->trace->ops[send].match = receive;
            reader->trace->ops[receive].match = send;
        }
    }
}

static void read_waits(struct reader *reader)
{
    if (!reader_begin(
            reader,
            "SELECT wait_op,start_op,completed FROM waits WHERE run_id=? ORDER BY wait_op,ord"))
        return;
    while (reader_next(reader))
        trace_add_wait(reader->trace, reader_op_column(reader, 0), reader_op_column(reader, 1),
                       sqlite3_column_int(reader->rows, 2) != 0);
}

/* "[1,2,3]" as numbers; NULL for no list. */
static int64_t *numbers(const char *list, uint32_t *count)
{
    size_t room = 1;
    for (const char *c = list; *c; c++)
        room += *c == ',';
    int64_t *values = list[0] == '[' ? malloc((room + 1) * sizeof *values) : NULL;
    *count = 0;
    for (const char *c = list + 1; values && *c && *c != ']' && *count < room;) {
        char *end;
        values[*count] = strtoll(c, &end, 10);
        if (end == c)
            break;
        ++*count;
        c = *end == ',' ? end + 1 : end;
    }
    return values;
}

static void read_counts(struct reader *reader)
{
    if (!reader_begin(reader,
                      "SELECT op_id,send,receive FROM counts WHERE run_id=? ORDER BY op_id"))
        return;
    while (reader_next(reader)) {
        uint32_t sends, receives;
        int64_t *send = numbers(reader_text(reader->rows, 1), &sends);
        int64_t *receive = numbers(reader_text(reader->rows, 2), &receives);
        if (!send || !receive || sends == receives)
            trace_add_counts(reader->trace, reader_op_column(reader, 0), send ? sends : receives,
                             send, receive);
        free(send);
        free(receive);
    }
}

static void read_events(struct reader *reader)
{
    if (!reader_begin(reader, "SELECT op_id,what,t_ns FROM events WHERE run_id=?"))
        return;
    while (reader_next(reader)) {
        uint32_t op = reader_op_column(reader, 0);
        if (op >= reader->trace->op_count)
            continue;
        uint64_t time = (uint64_t)sqlite3_column_int64(reader->rows, 2);
        struct trace_times times = trace_op_times(reader->trace, &reader->trace->ops[op]);
        if (sqlite3_column_int(reader->rows, 1))
            times.end_ns = time;
        else
            times.begin_ns = time;
        trace_set_times(reader->trace, op, times.begin_ns, times.end_ns);
    }
}

static int32_t *members(const char *list, uint32_t size)
{
    int first, last;
    int32_t *values = calloc((size_t)size + 1, sizeof *values);
    if (!values)
        return NULL;
    if (list[0] != '[' && sscanf(list, "%d..%d", &first, &last) == 2 &&
        last - first + 1 == (int)size) {
        for (uint32_t i = 0; i < size; i++)
            values[i] = first + (int32_t)i;
        return values;
    }
    uint32_t count;
    int64_t *wide = numbers(list, &count);
    for (uint32_t i = 0; wide && i < count && i < size; i++)
        values[i] = (int32_t)wide[i];
    bool complete = wide && count == size;
    free(wide);
    if (complete)
        return values;
    free(values);
    return NULL;
}

static void read_comms(struct reader *reader)
{
    if (!reader_begin(reader,
                      "SELECT name,size,members,coalesce(id,comm),parent,adjoint_of FROM comms "
                      "WHERE run_id=? "
                      "ORDER BY comm"))
        return;
    while (reader_next(reader)) {
        struct trace_comm comm = {.id = (uint32_t)sqlite3_column_int64(reader->rows, 3),
                                  .parent = TRACE_NO,
                                  .adjoint_of = TRACE_NO};
        int64_t size = sqlite3_column_int64(reader->rows, 1);
        if (size < 0 || size > 2 * (int64_t)reader->trace->ranks) {
            broken(reader, "a communicator of size", size);
            continue;
        }
        comm.size = (uint32_t)size;
        snprintf(comm.name, sizeof comm.name, "%s", reader_text(reader->rows, 0));
        comm.members = members(reader_text(reader->rows, 2), comm.size);
        if (sqlite3_column_type(reader->rows, 4) != SQLITE_NULL)
            comm.parent = (uint32_t)sqlite3_column_int64(reader->rows, 4);
        if (sqlite3_column_type(reader->rows, 5) != SQLITE_NULL)
            comm.adjoint_of = (uint32_t)sqlite3_column_int64(reader->rows, 5);
        trace_add_comm(reader->trace, &comm);
        free(comm.members);
    }
}

static void read_ranks(struct reader *reader)
{
    if (!reader_begin(
            reader,
            "SELECT "
            "rank,final_state,bytes_sent,msgs_sent,trace_hash,exit_code,finalized,site_id FROM "
            "ranks WHERE run_id=?"))
        return;
    while (reader_next(reader)) {
        int64_t rank = sqlite3_column_int64(reader->rows, 0);
        if (rank < 0 || rank >= reader->trace->ranks)
            continue;
        struct trace_rank *row = &reader->trace->rank_info[rank];
        row->state = (enum rank_state)reader_name_number(
            trace_rank_state_names, reader_text(reader->rows, 1), RANK_RUNNING);
        row->bytes_sent = (uint64_t)sqlite3_column_int64(reader->rows, 2);
        row->messages_sent = (uint64_t)sqlite3_column_int64(reader->rows, 3);
        row->hash = strtoull(reader_text(reader->rows, 4), NULL, 16);
        row->exit_code = sqlite3_column_int(reader->rows, 5);
        row->finalized = sqlite3_column_int(reader->rows, 6) != 0;
        row->site = reader_site_column(reader, 7);
    }
}

static void read_passes(struct reader *reader)
{
    if (!reader_begin(reader, "SELECT rank,pass,mode,complete FROM passes WHERE run_id=?"))
        return;
    while (reader_next(reader)) {
        struct trace_pass pass = {.rank = (uint32_t)sqlite3_column_int64(reader->rows, 0),
                                  .pass = (uint32_t)sqlite3_column_int64(reader->rows, 1),
                                  .mode = reader_text(reader->rows, 2)[0] == 'd' ? PASS_DATA
                                                                                 : PASS_PROGRAM,
                                  .complete = sqlite3_column_int(reader->rows, 3) != 0};
        if (pass.rank < reader->trace->ranks && pass.pass > 0)
            trace_add_pass(reader->trace, &pass);
    }
}

static void read_folds(struct reader *reader)
{
    if (!reader_begin(reader,
                      "SELECT op_id,body,times,before FROM folds WHERE run_id=? ORDER BY op_id"))
        return;
    while (reader_next(reader)) {
        struct trace_fold fold = {.op = reader_op_column(reader, 0),
                                  .body = (uint32_t)sqlite3_column_int64(reader->rows, 1),
                                  .times = (uint64_t)sqlite3_column_int64(reader->rows, 2),
                                  .before = (uint64_t)sqlite3_column_int64(reader->rows, 3)};
        trace_add_fold(reader->trace, &fold);
    }
}

static void read_notes(struct reader *reader)
{
    if (!reader_begin(
            reader,
            "SELECT code,rank,op_id,node_id,site_id,text FROM notes WHERE run_id=? ORDER BY ord"))
        return;
    while (reader_next(reader)) {
        char *words = strdup(reader_text(reader->rows, 5));
        struct trace_note note = {.rank = (uint32_t)sqlite3_column_int64(reader->rows, 1),
                                  .op = reader_op_column(reader, 2),
                                  .node = reader_node_column(reader, 3),
                                  .site = reader_site_column(reader, 4),
                                  .text = words};
        snprintf(note.code, sizeof note.code, "%s", reader_text(reader->rows, 0));
        if (words)
            trace_add_note(reader->trace, &note);
        free(words);
    }
}

static void read_gradients(struct reader *reader)
{
    if (!reader_begin(reader,
                      "SELECT rank,var,idx,method,step,analytic,numeric,abs_err,rel_err,atol,ok,"
                      "undecided,elements FROM gradients "
                      "WHERE run_id=? ORDER BY grad_id"))
        return;
    while (reader_next(reader)) {
        struct trace_gradient row = {
            .rank = (uint32_t)sqlite3_column_int64(reader->rows, 0),
            .variable = trace_add_string(reader->trace, reader_text(reader->rows, 1)),
            .index = sqlite3_column_int64(reader->rows, 2),
            .method = trace_method_names[reader_name_number(trace_method_names,
                                                            reader_text(reader->rows, 3), 5)],
            .step = reader_real(reader->rows, 4),
            .analytic = reader_real(reader->rows, 5),
            .numeric = reader_real(reader->rows, 6),
            .error = reader_real(reader->rows, 7),
            .relative = reader_real(reader->rows, 8),
            .tolerance = reader_real(reader->rows, 9),
            .ok = sqlite3_column_int(reader->rows, 10) != 0,
            .undecided = trace_doubt(reader_text(reader->rows, 11)),
            .elements = (uint32_t)sqlite3_column_int64(reader->rows, 12)};
        row.ok = row.ok && !row.undecided;
        trace_add_gradient(reader->trace, &row);
    }
    if (!reader_begin(reader,
                      "SELECT name,rank,value,unit,step FROM metrics WHERE run_id=? ORDER BY ord"))
        return;
    while (reader_next(reader))
        trace_add_metric_at(reader->trace, reader_text(reader->rows, 0),
                            sqlite3_column_int(reader->rows, 1), reader_real(reader->rows, 4),
                            reader_real(reader->rows, 2), reader_text(reader->rows, 3));
}

static void read_coverage(struct reader *reader)
{
    if (!reader_begin(reader,
                      "SELECT check_name,count,text FROM coverage WHERE run_id=? ORDER BY ord"))
        return;
    while (reader_next(reader))
        coverage_add(reader->trace->coverage, reader_text(reader->rows, 0),
                     (uint64_t)sqlite3_column_int64(reader->rows, 1), reader_text(reader->rows, 2));
}

static void read_run(struct reader *reader)
{
    if (!reader_begin(reader,
                      "SELECT "
                      "ranks,seed,scenario,coalesce(model,''),coalesce(ended,''),objective,first_"
                      "op_id,op_count,"
                      "first_node_id,node_count,outcome FROM runs WHERE run_id=?"))
        return;
    if (sqlite3_step(reader->rows) != SQLITE_ROW) {
        reader->code = failure_set(reader->failure, FAILURE_NOTHING, "%s: no run %lld",
                                   reader->store->path, (long long)reader->run);
    } else {
        int64_t ranks = sqlite3_column_int64(reader->rows, 0);
        reader->first_op = sqlite3_column_int64(reader->rows, 6);
        reader->op_count = sqlite3_column_int64(reader->rows, 7);
        reader->first_node = sqlite3_column_int64(reader->rows, 8);
        reader->node_count = sqlite3_column_int64(reader->rows, 9);
        if (ranks <= 0 || ranks > 1 << 24 || reader->op_count < 0 || reader->op_count >= TRACE_NO ||
            reader->node_count < 0 || reader->node_count >= TRACE_NO)
            broken(reader, "an impossible number of ranks or rows", ranks);
        reader->trace = reader->code ? NULL : trace_new((uint32_t)ranks);
        if (!reader->trace && !reader->code)
            reader->code =
                failure_set(reader->failure, FAILURE_INTERNAL, "out of memory for a trace");
    }
    if (!reader->code) {
        struct trace *trace = reader->trace;
        trace->seed = (uint64_t)sqlite3_column_int64(reader->rows, 1);
        snprintf(trace->program, sizeof trace->program, "%s", reader_text(reader->rows, 2));
        snprintf(trace->model, sizeof trace->model, "%s", reader_text(reader->rows, 3));
        trace->outcome = (enum trace_outcome)reader_name_number(
            trace_outcome_names, reader_text(reader->rows, 4), OUTCOME_INTERRUPTED);
        trace->objective = sqlite3_column_type(reader->rows, 5) == SQLITE_NULL
                               ? NAN
                               : reader_real(reader->rows, 5);
    }
    sqlite3_finalize(reader->rows);
    reader->rows = NULL;
}

static void read_all(struct reader *reader)
{
    read_run(reader);
    if (reader->code)
        return;
    reader->site = store_prepare(reader->store, "SELECT file,line,func FROM sites WHERE site_id=?",
                                 reader->failure);
    reader->string =
        store_prepare(reader->store, "SELECT s FROM strings WHERE id=?", reader->failure);
    if (!reader->site || !reader->string) {
        reader->code = FAILURE_INTERNAL;
        return;
    }
    read_comms(reader);
    read_ranks(reader);
    read_nodes(reader);
    if (store_has_pages(reader)) {
        store_read_pages(reader);
    } else {
        read_ops(reader);
        read_matches(reader);
        read_waits(reader);
        read_events(reader);
    }
    read_counts(reader);
    read_folds(reader);
    read_passes(reader);
    read_notes(reader);
    read_gradients(reader);
    read_coverage(reader);
}

struct trace *store_load_trace(struct store *store, int64_t run, struct failure *failure)
{
    struct failure own;
    struct reader reader = {.store = store, .run = run, .failure = failure ? failure : &own};
    if (store_exec(store, "BEGIN", reader.failure)) /* one snapshot */
        return NULL;
    read_all(&reader);
    sqlite3_finalize(reader.site);
    sqlite3_finalize(reader.string);
    sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL);
    handle_map_release(&reader.sites);
    handle_map_release(&reader.strings);
    bool good = !reader.code && trace_finish(reader.trace, reader.failure) &&
                trace_check(reader.trace, reader.failure);
    if (good)
        return reader.trace;
    if (!reader.code)
        failure_prefix(reader.failure, "%s: run %lld", store->path, (long long)run);
    trace_free(reader.trace);
    return NULL;
}
