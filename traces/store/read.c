/* Reading runs, traces and findings back from the store. See store.h.
 *
 * A file may have been written by anybody: every reference is checked before it becomes an index,
 * and the finished trace is checked as a whole. */
#include "traces/store/internal.h"
#include "traces/trace/handle_map.h"
#include "traces/trace/memory.h"
#include "traces/trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const rank_states[] = {"finished", "blocked", "aborted",
                                          "crashed",  "polling", "running"};
static const char *const outcomes[] = {"finished", "deadlock", "livelock",    "aborted",
                                       "crashed",  "timeout",  "interrupted", "imported"};
static const char *const severities[] = {"note", "warning", "error"};
static const char *const methods[] = {"central", "complex", "dot", "tangent", "one-sided", "value"};

#define WORD(words, text, otherwise) word(words, sizeof(words) / sizeof *(words), text, otherwise)

static int word(const char *const *words, size_t count, const char *text, int otherwise)
{
    for (size_t i = 0; text && i < count; i++)
        if (strcmp(words[i], text) == 0)
            return (int)i;
    return otherwise;
}

struct reader {
    struct store *store;
    struct trace *trace;
    struct failure *failure;
    int64_t run, first_op, op_count, first_node, node_count;
    struct handle_map sites, strings; /* id -> index + 1 */
    sqlite3_stmt *site, *string, *rows;
    int code;
};

static const char *text(sqlite3_stmt *statement, int column)
{
    const unsigned char *value = sqlite3_column_text(statement, column);
    return value ? (const char *)value : "";
}

static double real(sqlite3_stmt *statement, int column)
{
    int type = sqlite3_column_type(statement, column);
    return type == SQLITE_TEXT || type == SQLITE_NULL ? NAN
                                                      : sqlite3_column_double(statement, column);
}

static bool begin(struct reader *reader, const char *sql)
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

static bool next(struct reader *reader)
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

static uint32_t site_of(struct reader *reader, int64_t id)
{
    void *known = handle_map_find(&reader->sites, (uint64_t)id + 1);
    if (known)
        return (uint32_t)((uintptr_t)known - 1);
    uint32_t index = TRACE_NO;
    sqlite3_bind_int64(reader->site, 1, id);
    if (sqlite3_step(reader->site) == SQLITE_ROW)
        index = trace_add_site(reader->trace, text(reader->site, 0),
                               sqlite3_column_int(reader->site, 1), text(reader->site, 2));
    sqlite3_reset(reader->site);
    return kept(&reader->sites, id, index);
}

static uint32_t string_of(struct reader *reader, int64_t id)
{
    void *known = handle_map_find(&reader->strings, (uint64_t)id + 1);
    if (known)
        return (uint32_t)((uintptr_t)known - 1);
    uint32_t index = TRACE_NO;
    sqlite3_bind_int64(reader->string, 1, id);
    if (sqlite3_step(reader->string) == SQLITE_ROW)
        index = trace_add_string(reader->trace, text(reader->string, 0));
    sqlite3_reset(reader->string);
    return kept(&reader->strings, id, index);
}

static uint32_t op_of(const struct reader *reader, int64_t id)
{
    return id >= reader->first_op && id - reader->first_op < reader->op_count
               ? (uint32_t)(id - reader->first_op)
               : TRACE_NO;
}

static uint32_t node_of(const struct reader *reader, int64_t id)
{
    return id >= reader->first_node && id - reader->first_node < reader->node_count
               ? (uint32_t)(id - reader->first_node)
               : TRACE_NO;
}

static uint32_t op_column(const struct reader *reader, int column)
{
    return sqlite3_column_type(reader->rows, column) == SQLITE_NULL
               ? TRACE_NO
               : op_of(reader, sqlite3_column_int64(reader->rows, column));
}

static uint32_t node_column(const struct reader *reader, int column)
{
    return sqlite3_column_type(reader->rows, column) == SQLITE_NULL
               ? TRACE_NO
               : node_of(reader, sqlite3_column_int64(reader->rows, column));
}

static uint32_t site_column(struct reader *reader, int column)
{
    return sqlite3_column_type(reader->rows, column) == SQLITE_NULL
               ? TRACE_NO
               : site_of(reader, sqlite3_column_int64(reader->rows, column));
}

static int64_t value_of(struct reader *reader, const struct column *column, int at)
{
    if (sqlite3_column_type(reader->rows, at) == SQLITE_NULL)
        return column->none;
    int64_t value = sqlite3_column_int64(reader->rows, at);
    switch (column->type) {
    case COLUMN_OP:
        return op_of(reader, value);
    case COLUMN_NODE:
        return node_of(reader, value);
    case COLUMN_SITE:
        return site_of(reader, value);
    case COLUMN_STRING:
        return string_of(reader, value);
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
    if (!begin(reader, sql))
        return;
    sqlite3_bind_int64(reader->rows, 2, reader->first_op);
    sqlite3_bind_int64(reader->rows, 3, reader->first_op + reader->op_count);
    int64_t expected = reader->first_op;
    while (next(reader)) {
        struct trace_op op = trace_op_none(0, OP_NONE);
        int64_t id = sqlite3_column_int64(reader->rows, 0);
        fill_row(reader, store_op_columns, store_op_column_count, &op);
        if (id != expected++ || op.rank >= reader->trace->ranks)
            broken(reader, "a gap or a wrong rank at operation", id);
        else
            trace_add_op(reader->trace, &op);
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
    if (!begin(reader, sql))
        return;
    sqlite3_bind_int64(reader->rows, 2, reader->first_node);
    sqlite3_bind_int64(reader->rows, 3, reader->first_node + reader->node_count);
    int64_t expected = reader->first_node;
    while (next(reader)) {
        struct trace_node node = {0};
        int64_t id = sqlite3_column_int64(reader->rows, 0);
        fill_row(reader, store_node_columns, store_node_column_count, &node);
        if (id != expected++ || node.rank >= reader->trace->ranks)
            broken(reader, "a gap or a wrong rank at node", id);
        else
            trace_add_node(reader->trace, &node);
    }
    if (!begin(reader, "SELECT src,dst,type FROM edges WHERE run_id=? ORDER BY src,dst,type"))
        return;
    while (next(reader))
        trace_add_edge(reader->trace, node_column(reader, 0), node_column(reader, 1),
                       sqlite3_column_int(reader->rows, 2) == EDGE_ORDER ? EDGE_ORDER : EDGE_DATA);
}

static void read_matches(struct reader *reader)
{
    if (!begin(reader, "SELECT send_op,recv_op FROM matches WHERE run_id=?"))
        return;
    while (next(reader)) {
        uint32_t send = op_column(reader, 0), receive = op_column(reader, 1);
        if (send >= reader->trace->op_count || receive >= reader->trace->op_count)
            continue;
        reader->trace->ops[send].match = receive;
        reader->trace->ops[receive].match = send;
    }
}

static void read_waits(struct reader *reader)
{
    if (!begin(reader,
               "SELECT wait_op,start_op,completed FROM waits WHERE run_id=? ORDER BY wait_op,ord"))
        return;
    while (next(reader))
        trace_add_wait(reader->trace, op_column(reader, 0), op_column(reader, 1),
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
    if (!begin(reader, "SELECT op_id,send,receive FROM counts WHERE run_id=? ORDER BY op_id"))
        return;
    while (next(reader)) {
        uint32_t sends = 0, receives = 0;
        int64_t *send = numbers(text(reader->rows, 1), &sends);
        int64_t *receive = numbers(text(reader->rows, 2), &receives);
        if (!send || !receive || sends == receives)
            trace_add_counts(reader->trace, op_column(reader, 0), send ? sends : receives, send,
                             receive);
        free(send);
        free(receive);
    }
}

static void read_events(struct reader *reader)
{
    if (!begin(reader, "SELECT op_id,what,t_ns FROM events WHERE run_id=?"))
        return;
    while (next(reader)) {
        uint32_t op = op_column(reader, 0);
        if (op >= reader->trace->op_count)
            continue;
        uint64_t time = (uint64_t)sqlite3_column_int64(reader->rows, 2);
        if (sqlite3_column_int(reader->rows, 1))
            reader->trace->ops[op].end_ns = time;
        else
            reader->trace->ops[op].begin_ns = time;
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
    uint32_t count = 0;
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
    if (!begin(reader, "SELECT name,size,members,coalesce(id,comm),parent,adjoint_of FROM comms "
                       "WHERE run_id=? "
                       "ORDER BY comm"))
        return;
    while (next(reader)) {
        struct trace_comm comm = {.id = (uint32_t)sqlite3_column_int64(reader->rows, 3),
                                  .parent = TRACE_NO,
                                  .adjoint_of = TRACE_NO};
        int64_t size = sqlite3_column_int64(reader->rows, 1);
        if (size < 0 || size > 2 * (int64_t)reader->trace->ranks) {
            broken(reader, "a communicator of size", size);
            continue;
        }
        comm.size = (uint32_t)size;
        snprintf(comm.name, sizeof comm.name, "%s", text(reader->rows, 0));
        comm.members = members(text(reader->rows, 2), comm.size);
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
    if (!begin(reader,
               "SELECT "
               "rank,final_state,bytes_sent,msgs_sent,trace_hash,exit_code,finalized,site_id FROM "
               "ranks WHERE run_id=?"))
        return;
    while (next(reader)) {
        int64_t rank = sqlite3_column_int64(reader->rows, 0);
        if (rank < 0 || rank >= reader->trace->ranks)
            continue;
        struct trace_rank *row = &reader->trace->rank_info[rank];
        row->state = (enum rank_state)WORD(rank_states, text(reader->rows, 1), RANK_RUNNING);
        row->bytes_sent = (uint64_t)sqlite3_column_int64(reader->rows, 2);
        row->messages_sent = (uint64_t)sqlite3_column_int64(reader->rows, 3);
        row->hash = strtoull(text(reader->rows, 4), NULL, 16);
        row->exit_code = sqlite3_column_int(reader->rows, 5);
        row->finalized = sqlite3_column_int(reader->rows, 6) != 0;
        row->site = site_column(reader, 7);
    }
}

static void read_passes(struct reader *reader)
{
    if (!begin(reader, "SELECT rank,pass,mode,complete FROM passes WHERE run_id=?"))
        return;
    while (next(reader)) {
        struct trace_pass pass = {.rank = (uint32_t)sqlite3_column_int64(reader->rows, 0),
                                  .pass = (uint32_t)sqlite3_column_int64(reader->rows, 1),
                                  .mode =
                                      text(reader->rows, 2)[0] == 'd' ? PASS_DATA : PASS_PROGRAM,
                                  .complete = sqlite3_column_int(reader->rows, 3) != 0};
        if (pass.rank < reader->trace->ranks && pass.pass > 0)
            trace_add_pass(reader->trace, &pass);
    }
}

static void read_folds(struct reader *reader)
{
    if (!begin(reader, "SELECT op_id,body,times,before FROM folds WHERE run_id=? ORDER BY op_id"))
        return;
    while (next(reader)) {
        struct trace_fold fold = {.op = op_column(reader, 0),
                                  .body = (uint32_t)sqlite3_column_int64(reader->rows, 1),
                                  .times = (uint64_t)sqlite3_column_int64(reader->rows, 2),
                                  .before = (uint64_t)sqlite3_column_int64(reader->rows, 3)};
        trace_add_fold(reader->trace, &fold);
    }
}

static void read_notes(struct reader *reader)
{
    if (!begin(
            reader,
            "SELECT code,rank,op_id,node_id,site_id,text FROM notes WHERE run_id=? ORDER BY ord"))
        return;
    while (next(reader)) {
        char *words = strdup(text(reader->rows, 5));
        struct trace_note note = {.rank = (uint32_t)sqlite3_column_int64(reader->rows, 1),
                                  .op = op_column(reader, 2),
                                  .node = node_column(reader, 3),
                                  .site = site_column(reader, 4),
                                  .text = words};
        snprintf(note.code, sizeof note.code, "%s", text(reader->rows, 0));
        if (words)
            trace_add_note(reader->trace, &note);
        free(words);
    }
}

static void read_gradients(struct reader *reader)
{
    if (!begin(reader, "SELECT rank,var,idx,method,step,analytic,numeric,abs_err,rel_err,atol,ok,"
                       "undecided,elements FROM gradients "
                       "WHERE run_id=? ORDER BY grad_id"))
        return;
    while (next(reader)) {
        struct trace_gradient row = {.rank = (uint32_t)sqlite3_column_int64(reader->rows, 0),
                                     .variable =
                                         trace_add_string(reader->trace, text(reader->rows, 1)),
                                     .index = sqlite3_column_int64(reader->rows, 2),
                                     .method = methods[WORD(methods, text(reader->rows, 3), 5)],
                                     .step = real(reader->rows, 4),
                                     .analytic = real(reader->rows, 5),
                                     .numeric = real(reader->rows, 6),
                                     .error = real(reader->rows, 7),
                                     .relative = real(reader->rows, 8),
                                     .tolerance = real(reader->rows, 9),
                                     .ok = sqlite3_column_int(reader->rows, 10) != 0,
                                     .undecided = trace_doubt(text(reader->rows, 11)),
                                     .elements = (uint32_t)sqlite3_column_int64(reader->rows, 12)};
        row.ok = row.ok && !row.undecided;
        trace_add_gradient(reader->trace, &row);
    }
    if (!begin(reader, "SELECT name,rank,value,unit,step FROM metrics WHERE run_id=? ORDER BY ord"))
        return;
    while (next(reader))
        trace_add_metric_at(reader->trace, text(reader->rows, 0),
                            sqlite3_column_int(reader->rows, 1), real(reader->rows, 4),
                            real(reader->rows, 2), text(reader->rows, 3));
}

static void read_coverage(struct reader *reader)
{
    if (!begin(reader, "SELECT check_name,count,text FROM coverage WHERE run_id=? ORDER BY ord"))
        return;
    while (next(reader))
        coverage_add(reader->trace->coverage, text(reader->rows, 0),
                     (uint64_t)sqlite3_column_int64(reader->rows, 1), text(reader->rows, 2));
}

static void read_run(struct reader *reader)
{
    if (!begin(reader, "SELECT "
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
        snprintf(trace->program, sizeof trace->program, "%s", text(reader->rows, 2));
        snprintf(trace->model, sizeof trace->model, "%s", text(reader->rows, 3));
        trace->outcome =
            (enum trace_outcome)WORD(outcomes, text(reader->rows, 4), OUTCOME_INTERRUPTED);
        trace->objective =
            sqlite3_column_type(reader->rows, 5) == SQLITE_NULL ? NAN : real(reader->rows, 5);
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
    read_ops(reader);
    read_matches(reader);
    read_waits(reader);
    read_counts(reader);
    read_events(reader);
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

static uint32_t site_in(const struct trace *trace, sqlite3_stmt *rows, int column)
{
    if (sqlite3_column_type(rows, column) == SQLITE_NULL)
        return TRACE_NO;
    for (uint32_t i = 0; i < trace->site_count; i++)
        if (trace->sites[i].line == sqlite3_column_int(rows, column + 1) &&
            strcmp(trace->sites[i].file, text(rows, column)) == 0)
            return i;
    return TRACE_NO;
}

static char *optional(sqlite3_stmt *rows, int column)
{
    return sqlite3_column_type(rows, column) == SQLITE_NULL ? NULL : strdup(text(rows, column));
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
            node_of(reader, from) != TRACE_NO && node_of(reader, to) != TRACE_NO)
            finding->repair_edges[finding->repair_count++] = (struct trace_edge){
                .from = node_of(reader, from), .to = node_of(reader, to), .type = type};
}

static void read_places(struct reader *reader, struct finding *finding, int64_t id)
{
    sqlite3_stmt *outer = reader->rows;
    int64_t run = reader->run;
    reader->run = id; /* the first parameter */
    if (begin(reader, "SELECT op_id,node_id,role FROM finding_ops WHERE finding_id=? ORDER BY ord"))
        while (next(reader)) {
            uint32_t op = op_column(reader, 0), node = node_column(reader, 1);
            if (node != TRACE_NO)
                finding_node_add(finding, node, text(reader->rows, 2));
            else
                finding_op_add(finding, op, text(reader->rows, 2));
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
    if (begin(&reader,
              "SELECT first_op_id,op_count,first_node_id,node_count FROM runs WHERE run_id=?"))
        while (next(&reader)) {
            reader.first_op = sqlite3_column_int64(reader.rows, 0);
            reader.op_count = sqlite3_column_int64(reader.rows, 1);
            reader.first_node = sqlite3_column_int64(reader.rows, 2);
            reader.node_count = sqlite3_column_int64(reader.rows, 3);
        }
    if (!begin(&reader,
               "SELECT "
               "f.code,f.severity,f.fingerprint,f.title,f.detail,s.file,s.line,f.witness,f.repair,"
               "f.repair_edges,f.confirmation,f.models,f.inherited,f.allowed,f.finding_id,coalesce("
               "f.because,''),(SELECT "
               "g.fingerprint FROM findings g WHERE g.finding_id=f.root) FROM "
               "findings f LEFT "
               "JOIN sites s ON s.site_id=f.site_id WHERE f.run_id=? ORDER BY f.finding_id"))
        return reader.code;
    while (next(&reader)) {
        sqlite3_stmt *rows = reader.rows;
        struct finding *finding = findings_add(findings, text(rows, 0), "%s", text(rows, 3));
        bool folded = sqlite3_column_type(rows, 16) != SQLITE_NULL;
        finding->severity = (enum severity)WORD(severities, text(rows, 1), SEVERITY_ERROR);
        snprintf(finding->fingerprint, sizeof finding->fingerprint, "%s", text(rows, 2));
        finding_detail(finding, "%s", text(rows, 4));
        finding->site = site_in(trace, rows, 5);
        finding->witness = optional(rows, 7);
        finding->repair = optional(rows, 8);
        read_repair(&reader, finding, text(rows, 9));
        int confirmation = sqlite3_column_int(rows, 10);
        finding->confirmation = confirmation >= 0 && confirmation <= CONFIRM_REFUTED
                                    ? (enum confirmation)confirmation
                                    : CONFIRM_NONE;
        snprintf(finding->models, sizeof finding->models, "%s", text(rows, 11));
        finding->inherited = sqlite3_column_int(rows, 12) != 0;
        finding->allowed = sqlite3_column_int(rows, 13) != 0;
        snprintf(finding->because, sizeof finding->because, "%s", text(rows, 15));
        read_places(&reader, finding, sqlite3_column_int64(rows, 14));
        if (folded)
            fold_again(findings, text(rows, 16));
    }
    return reader.code;
}

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
    if (!begin(&reader, sql))
        return reader.code;
    bool more = true, seen = false;
    while (next(&reader)) {
        sqlite3_stmt *rows = reader.rows;
        struct store_run_row row = {.run = sqlite3_column_int64(rows, 0),
                                    .scenario = text(rows, 1),
                                    .variant = text(rows, 2),
                                    .outcome = text(rows, 3),
                                    .started = text(rows, 4),
                                    .argv = text(rows, 5),
                                    .schedule = text(rows, 6),
                                    .trace_hash = text(rows, 7),
                                    .params = text(rows, 8),
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
    if (!begin(&reader, "SELECT data FROM artifacts WHERE run_id=? AND name=?"))
        return reader.code;
    sqlite3_bind_text(reader.rows, 2, name, -1, SQLITE_STATIC);
    while (next(&reader)) {
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
