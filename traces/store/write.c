/* Writing a finished run into the store, in one transaction. See store.h. */
#include "traces/store/internal.h"
#include "traces/store/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const rank_states[] = {"finished", "blocked", "aborted",
                                          "crashed",  "polling", "running"};
static const char *const outcomes[] = {"finished", "deadlock", "livelock",    "aborted",
                                       "crashed",  "timeout",  "interrupted", "imported"};
static const char *const severities[] = {"note", "warning", "error"};

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

static bool begin_table(struct writer *writer, const char *sql)
{
    if (writer->code)
        return false;
    writer->insert = store_prepare(writer->store, sql, writer->failure);
    if (!writer->insert)
        writer->code = writer->failure ? writer->failure->code : FAILURE_INTERNAL;
    return writer->insert != NULL;
}

static void end_table(struct writer *writer)
{
    sqlite3_finalize(writer->insert);
    writer->insert = NULL;
}

static bool row(struct writer *writer)
{
    if (!writer->code)
        writer->code = store_step(writer->store, writer->insert, writer->failure);
    return writer->code == 0;
}

static void bind_number(struct writer *writer, int at, int64_t value)
{
    sqlite3_bind_int64(writer->insert, at, value);
}

static void bind_text(struct writer *writer, int at, const char *text)
{
    sqlite3_bind_text(writer->insert, at, text ? text : "", -1, SQLITE_TRANSIENT);
}

/* NaN as the text 'nan': SQLite would store NULL. */
static void bind_double(struct writer *writer, int at, double value)
{
    if (isnan(value))
        sqlite3_bind_text(writer->insert, at, "nan", -1, SQLITE_STATIC);
    else
        sqlite3_bind_double(writer->insert, at, value);
}

static void bind_index(struct writer *writer, int at, uint32_t index, size_t count, int64_t first)
{
    if (index < count)
        bind_number(writer, at, first + index);
    else
        sqlite3_bind_null(writer->insert, at);
}

static void bind_site(struct writer *writer, int at, uint32_t site)
{
    if (site < writer->ids.site_count)
        bind_number(writer, at, writer->ids.sites[site]);
    else
        sqlite3_bind_null(writer->insert, at);
}

/* Inserts what is new and fetches the id of every text; both statements work on one table. */
static void write_sites(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    writer->ids.sites = calloc(trace->site_count + 1, sizeof *writer->ids.sites);
    if (!writer->ids.sites) {
        writer->code = failure_set(writer->failure, FAILURE_INTERNAL, "out of memory for sites");
        return;
    }
    writer->ids.site_count = trace->site_count;
    if (!begin_table(
            writer,
            "INSERT INTO sites(file,line,func) VALUES(?,?,?) ON CONFLICT(file,line,func) DO "
            "UPDATE SET line=line RETURNING site_id"))
        return;
    for (size_t i = 0; !writer->code && i < trace->site_count; i++) {
        bind_text(writer, 1, trace->sites[i].file);
        bind_number(writer, 2, trace->sites[i].line);
        bind_text(writer, 3, trace->sites[i].function);
        if (sqlite3_step(writer->insert) == SQLITE_ROW)
            writer->ids.sites[i] = sqlite3_column_int64(writer->insert, 0);
        row(writer);
    }
    end_table(writer);
}

static void write_strings(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    writer->ids.strings = calloc(trace->string_count + 1, sizeof *writer->ids.strings);
    if (!writer->ids.strings) {
        writer->code = failure_set(writer->failure, FAILURE_INTERNAL, "out of memory for strings");
        return;
    }
    writer->ids.string_count = trace->string_count;
    if (!begin_table(
            writer,
            "INSERT INTO strings(s) VALUES(?) ON CONFLICT(s) DO UPDATE SET s=s RETURNING id"))
        return;
    for (size_t i = 0; !writer->code && i < trace->string_count; i++) {
        bind_text(writer, 1, trace->strings[i]);
        if (sqlite3_step(writer->insert) == SQLITE_ROW)
            writer->ids.strings[i] = sqlite3_column_int64(writer->insert, 0);
        row(writer);
    }
    end_table(writer);
}

static void write_ranks(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    if (!begin_table(
            writer,
            "INSERT INTO ranks(run_id,rank,final_state,events,bytes_sent,msgs_sent,trace_hash,"
            "exit_code,finalized,site_id) VALUES(?,?,?,?,?,?,?,?,?,?)"))
        return;
    bind_number(writer, 1, writer->ids.run);
    for (uint32_t i = 0; i < trace->ranks; i++) {
        const struct trace_rank *rank = &trace->rank_info[i];
        char hash[32];
        snprintf(hash, sizeof hash, "%016llx", (unsigned long long)rank->hash);
        bind_number(writer, 2, i);
        sqlite3_bind_text(writer->insert, 3, rank_states[rank->state], -1, SQLITE_STATIC);
        bind_number(writer, 4, (int64_t)(trace->rank_begin[i + 1] - trace->rank_begin[i]));
        bind_number(writer, 5, (int64_t)rank->bytes_sent);
        bind_number(writer, 6, (int64_t)rank->messages_sent);
        bind_text(writer, 7, hash);
        bind_number(writer, 8, rank->exit_code);
        bind_number(writer, 9, rank->finalized);
        bind_site(writer, 10, rank->site);
        if (!row(writer))
            break;
    }
    end_table(writer);
}

/* "0..15" for all ranks of a run or another range, else "[3,1]"; "" when unknown. */
static char *members_text(const struct trace_comm *comm)
{
    if (!comm->members)
        return calloc(1, 1);
    bool range = comm->size > 2;
    for (uint32_t i = 1; i < comm->size; i++)
        range = range && comm->members[i] == comm->members[0] + (int32_t)i;
    size_t size = (range ? 2 : (size_t)comm->size) * 12 + 8, used = 0;
    char *text = malloc(size);
    if (!text)
        return NULL;
    if (range) {
        snprintf(text, size, "%d..%d", comm->members[0], comm->members[comm->size - 1]);
        return text;
    }
    used += (size_t)snprintf(text, size, "[");
    for (uint32_t i = 0; i < comm->size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%d", i ? "," : "", comm->members[i]);
    snprintf(text + used, size - used, "]");
    return text;
}

static void write_comms(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    if (!begin_table(writer,
                     "INSERT INTO comms(run_id,comm,name,size,members,id,parent,adjoint_of) "
                     "VALUES(?,?,?,?,?,?,?,?)"))
        return;
    bind_number(writer, 1, writer->ids.run);
    for (uint32_t i = 0; i < trace->comm_count; i++) {
        const struct trace_comm *comm = &trace->comms[i];
        char *members = members_text(comm);
        bind_number(writer, 2, i);
        bind_text(writer, 3, comm->name);
        bind_number(writer, 4, comm->size);
        bind_text(writer, 5, members);
        bind_number(writer, 6, comm->id);
        bind_index(writer, 7, comm->parent, trace->comm_count, 0);
        bind_index(writer, 8, comm->adjoint_of, trace->comm_count, 0);
        free(members);
        if (!row(writer))
            break;
    }
    end_table(writer);
}

static void write_ops(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    const struct store_structs ops = {.table = "ops",
                                      .id = "op_id",
                                      .first_id = writer->ids.first_op,
                                      .columns = store_op_columns,
                                      .column_count = store_op_column_count,
                                      .rows = trace->ops,
                                      .row_size = sizeof *trace->ops,
                                      .count = trace->op_count,
                                      .what = "operations"};
    if (!writer->code)
        writer->code = store_structs_insert(writer->store, &ops, &writer->ids, writer->failure);
}

static bool next_match(struct store_rows *rows)
{
    const struct writer *writer = rows->context;
    const struct trace *trace = writer->trace;
    for (; rows->at < trace->op_count; rows->at++) {
        const struct trace_op *op = &trace->ops[rows->at];
        if (op->match < trace->op_count && op_kind_class(op->kind) == CLASS_SEND)
            return rows->at++, true; /* `at` is behind the current one */
    }
    return false;
}

static void match_value(struct store_rows *rows, sqlite3_context *result, int column)
{
    const struct writer *writer = rows->context;
    size_t send = rows->at - 1;
    uint32_t match = writer->trace->ops[send].match;
    const struct trace_op *receive = &writer->trace->ops[match];
    if (column == 0)
        sqlite3_result_int64(result, writer->ids.first_op + (int64_t)send);
    else if (column == 1)
        sqlite3_result_int64(result, writer->ids.first_op + match);
    else
        sqlite3_result_int(result, (receive->peer == TRACE_ANY) + 2 * (receive->tag == TRACE_ANY));
}

static void write_rows(struct writer *writer, const char *sql, struct store_rows *rows)
{
    rows->context = writer;
    if (!writer->code)
        writer->code =
            store_rows_insert(writer->store, sql, rows, &writer->ids.run, 1, writer->failure);
}

static void write_matches(struct writer *writer)
{
    write_rows(writer,
               "INSERT OR FAIL INTO matches(run_id,send_op,recv_op,wildcard) SELECT ?1,c0,c1,c2 "
               "FROM trace_rows",
               &(struct store_rows){.next = next_match, .value = match_value, .columns = 3});
}

static bool next_wait(struct store_rows *rows)
{
    const struct trace *trace = ((const struct writer *)rows->context)->trace;
    if (rows->at >= trace->wait_count)
        return false;
    if (trace->waits[rows->at].wait != trace->waits[rows->first].wait)
        rows->first = rows->at;
    rows->at++;
    return true;
}

static void wait_value(struct store_rows *rows, sqlite3_context *result, int column)
{
    const struct writer *writer = rows->context;
    const struct trace_wait *wait = &writer->trace->waits[rows->at - 1];
    const int64_t values[] = {writer->ids.first_op + wait->wait,
                              (int64_t)(rows->at - 1 - rows->first),
                              writer->ids.first_op + wait->start, wait->completed};
    sqlite3_result_int64(result, values[column]);
}

static void write_waits(struct writer *writer)
{
    write_rows(writer,
               "INSERT OR FAIL INTO waits(run_id,wait_op,ord,start_op,completed) SELECT "
               "?1,c0,c1,c2,c3 FROM trace_rows",
               &(struct store_rows){.next = next_wait, .value = wait_value, .columns = 4});
}

static char *numbers_text(const int64_t *numbers, uint32_t n)
{
    size_t size = (size_t)n * 22 + 4, used;
    char *text = numbers ? malloc(size) : NULL;
    if (!text)
        return NULL;
    used = (size_t)snprintf(text, size, "[");
    for (uint32_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? "," : "",
                                 (long long)numbers[i]);
    snprintf(text + used, size - used, "]");
    return text;
}

static void write_counts(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    if (!begin_table(writer, "INSERT INTO counts(run_id,op_id,send,receive) VALUES(?,?,?,?)"))
        return;
    bind_number(writer, 1, writer->ids.run);
    for (size_t i = 0; i < trace->counts_count; i++) {
        const struct trace_counts *counts = &trace->counts[i];
        char *send = numbers_text(counts->send, counts->n),
             *receive = numbers_text(counts->receive, counts->n);
        bind_number(writer, 2, writer->ids.first_op + counts->op);
        sqlite3_bind_text(writer->insert, 3, send, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(writer->insert, 4, receive, -1, SQLITE_TRANSIENT);
        free(send);
        free(receive);
        if (!row(writer))
            break;
    }
    end_table(writer);
}

/* Begin and end of every operation that has a wall time: row 2 * op + (0 or 1). */
static uint64_t event_time(const struct trace *trace, size_t event)
{
    const struct trace_op *op = &trace->ops[event / 2];
    return event % 2 ? op->end_ns : op->begin_ns;
}

static bool next_event(struct store_rows *rows)
{
    const struct trace *trace = ((const struct writer *)rows->context)->trace;
    while (rows->at < 2 * trace->op_count)
        if (event_time(trace, rows->at++))
            return true;
    return false;
}

static void event_value(struct store_rows *rows, sqlite3_context *result, int column)
{
    const struct writer *writer = rows->context;
    size_t event = rows->at - 1;
    const struct trace_op *op = &writer->trace->ops[event / 2];
    const int64_t values[] = {op->rank,
                              op->seq,
                              (int64_t)(event % 2),
                              writer->ids.first_op + (int64_t)(event / 2),
                              (int64_t)event_time(writer->trace, event),
                              (int64_t)(event % 2 ? op->end : op->begin)};
    sqlite3_result_int64(result, values[column]);
}

static void write_events(struct writer *writer)
{
    write_rows(writer,
               "INSERT OR FAIL INTO events(run_id,rank,seq,what,op_id,t_ns,lamport) SELECT "
               "?1,c0,c1,c2,c3,c4,c5 FROM trace_rows",
               &(struct store_rows){.next = next_event, .value = event_value, .columns = 6});
}

static void write_nodes(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    const struct store_structs nodes = {.table = "nodes",
                                        .id = "node_id",
                                        .first_id = writer->ids.first_node,
                                        .columns = store_node_columns,
                                        .column_count = store_node_column_count,
                                        .rows = trace->nodes,
                                        .row_size = sizeof *trace->nodes,
                                        .count = trace->node_count};
    if (!writer->code)
        writer->code = store_structs_insert(writer->store, &nodes, &writer->ids, writer->failure);
}

static bool next_edge(struct store_rows *rows)
{
    return rows->at++ < ((const struct writer *)rows->context)->trace->edge_count;
}

static void edge_value(struct store_rows *rows, sqlite3_context *result, int column)
{
    const struct writer *writer = rows->context;
    const struct trace_edge *edge = &writer->trace->edges[rows->at - 1];
    const int64_t values[] = {writer->ids.first_node + edge->from,
                              writer->ids.first_node + edge->to, edge->type};
    sqlite3_result_int64(result, values[column]);
}

static void write_edges(struct writer *writer)
{
    write_rows(writer,
               "INSERT OR IGNORE INTO edges(run_id,src,dst,type) SELECT ?1,c0,c1,c2 FROM "
               "trace_rows",
               &(struct store_rows){.next = next_edge, .value = edge_value, .columns = 3});
}

static bool next_fold(struct store_rows *rows)
{
    return rows->at++ < ((const struct writer *)rows->context)->trace->fold_count;
}

static void fold_value(struct store_rows *rows, sqlite3_context *result, int column)
{
    const struct writer *writer = rows->context;
    const struct trace_fold *fold = &writer->trace->folds[rows->at - 1];
    const int64_t values[] = {writer->ids.first_op + fold->op, fold->body, (int64_t)fold->times,
                              (int64_t)fold->before};
    sqlite3_result_int64(result, values[column]);
}

static void write_folds(struct writer *writer)
{
    write_rows(writer,
               "INSERT OR FAIL INTO folds(run_id,op_id,body,times,before) SELECT ?1,c0,c1,c2,c3 "
               "FROM trace_rows",
               &(struct store_rows){.next = next_fold, .value = fold_value, .columns = 4});
}

static void write_passes(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    if (!begin_table(writer,
                     "INSERT INTO passes(run_id,rank,pass,mode,complete) VALUES(?,?,?,?,?)"))
        return;
    bind_number(writer, 1, writer->ids.run);
    for (size_t i = 0; i < trace->pass_count; i++) {
        bind_number(writer, 2, trace->passes[i].rank);
        bind_number(writer, 3, trace->passes[i].pass);
        bind_text(writer, 4, trace->passes[i].mode == PASS_DATA ? "data" : "program");
        bind_number(writer, 5, trace->passes[i].complete);
        if (!row(writer))
            break;
    }
    end_table(writer);
}

static void write_notes(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    if (!begin_table(writer, "INSERT INTO notes(run_id,ord,code,rank,op_id,node_id,site_id,text) "
                             "VALUES(?,?,?,?,?,?,?,?)"))
        return;
    bind_number(writer, 1, writer->ids.run);
    for (size_t i = 0; i < trace->note_count; i++) {
        const struct trace_note *note = &trace->notes[i];
        bind_number(writer, 2, (int64_t)i);
        bind_text(writer, 3, note->code);
        bind_number(writer, 4, note->rank);
        bind_index(writer, 5, note->op, trace->op_count, writer->ids.first_op);
        bind_index(writer, 6, note->node, trace->node_count, writer->ids.first_node);
        bind_site(writer, 7, note->site);
        bind_text(writer, 8, note->text);
        if (!row(writer))
            break;
    }
    end_table(writer);
}

static void write_gradients(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    if (!begin_table(
            writer,
            "INSERT INTO gradients(run_id,rank,var,idx,method,step,analytic,numeric,abs_err,"
            "rel_err,atol,rtol,ok,undecided,elements) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"))
        return;
    bind_number(writer, 1, writer->ids.run);
    bind_number(writer, 12, 0);
    for (size_t i = 0; i < trace->gradient_count; i++) {
        const struct trace_gradient *gradient = &trace->gradients[i];
        bind_number(writer, 2, gradient->rank);
        bind_text(writer, 3, trace_string(trace, gradient->variable));
        bind_number(writer, 4, gradient->index);
        bind_text(writer, 5, gradient->method);
        bind_double(writer, 6, gradient->step);
        bind_double(writer, 7, gradient->analytic);
        bind_double(writer, 8, gradient->numeric);
        bind_double(writer, 9, gradient->error);
        bind_double(writer, 10, gradient->relative);
        bind_double(writer, 11, gradient->tolerance);
        bind_number(writer, 13, gradient->ok);
        bind_text(writer, 14, gradient->undecided);
        bind_number(writer, 15, gradient->elements ? gradient->elements : 1);
        if (!row(writer))
            break;
    }
    end_table(writer);
}

static void write_metrics(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    if (!begin_table(
            writer,
            "INSERT INTO metrics(run_id,ord,name,rank,value,unit,step) VALUES(?,?,?,?,?,?,?)"))
        return;
    bind_number(writer, 1, writer->ids.run);
    for (size_t i = 0; i < trace->metric_count; i++) {
        const struct trace_metric *metric = &trace->metrics[i];
        bind_number(writer, 2, (int64_t)i);
        bind_text(writer, 3, trace_string(trace, metric->name));
        bind_number(writer, 4, metric->rank);
        bind_double(writer, 5, metric->value);
        bind_text(writer, 6, trace_string(trace, metric->unit));
        if (isnan(metric->step))
            sqlite3_bind_null(writer->insert, 7);
        else
            bind_double(writer, 7, metric->step);
        if (!row(writer))
            break;
    }
    end_table(writer);
}

static void write_coverage(struct writer *writer, const struct coverage *coverage)
{
    if (!begin_table(writer,
                     "INSERT INTO coverage(run_id,ord,check_name,count,text) VALUES(?,?,?,?,?)"))
        return;
    bind_number(writer, 1, writer->ids.run);
    for (size_t i = 0; i < coverage->count; i++) {
        bind_number(writer, 2, (int64_t)i);
        bind_text(writer, 3, coverage->gaps[i].check);
        bind_number(writer, 4,
                    coverage->gaps[i].count > INT64_MAX ? INT64_MAX
                                                        : (int64_t)coverage->gaps[i].count);
        bind_text(writer, 5, coverage->gaps[i].text);
        if (!row(writer))
            break;
    }
    end_table(writer);
}

static char *edges_text(const struct writer *writer, const struct finding *finding)
{
    size_t size = finding->repair_count * 44 + 4, used;
    char *text = finding->repair_count ? malloc(size) : NULL;
    if (!text)
        return NULL;
    used = (size_t)snprintf(text, size, "[");
    for (size_t i = 0; i < finding->repair_count; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s[%lld,%lld,%u]", i ? "," : "",
                             (long long)(writer->ids.first_node + finding->repair_edges[i].from),
                             (long long)(writer->ids.first_node + finding->repair_edges[i].to),
                             finding->repair_edges[i].type);
    snprintf(text + used, size - used, "]");
    return text;
}

static void write_finding_ops(struct writer *writer, const struct finding *finding, int64_t id)
{
    sqlite3_stmt *outer = writer->insert;
    if (begin_table(
            writer,
            "INSERT INTO finding_ops(finding_id,ord,op_id,role,node_id) VALUES(?,?,?,?,?)")) {
        bind_number(writer, 1, id);
        for (size_t i = 0; i < finding->op_count; i++) {
            const struct finding_op *place = &finding->ops[i];
            bind_number(writer, 2, (int64_t)i);
            bind_index(writer, 3, place->op, writer->op_count, writer->ids.first_op);
            bind_text(writer, 4, place->role);
            bind_index(writer, 5, place->node, writer->node_count, writer->ids.first_node);
            if (!row(writer))
                break;
        }
        end_table(writer);
    }
    writer->insert = outer;
}

static void bind_optional(struct writer *writer, int at, const char *text)
{
    if (text)
        bind_text(writer, at, text);
    else
        sqlite3_bind_null(writer->insert, at);
}

/* The id of the finding that this one follows from; roots are written before. */
static void bind_root(struct writer *writer, int at, const struct findings *findings, size_t index,
                      const int64_t *ids)
{
    sqlite3_bind_null(writer->insert, at);
    for (size_t i = 0; index >= findings->count && i < findings->count; i++)
        if (!strcmp(findings->items[i].fingerprint, findings->items[index].root))
            bind_number(writer, at, ids[i]);
}

static void write_findings(struct writer *writer, const struct findings *findings)
{
    if (!findings ||
        !begin_table(writer, "INSERT INTO findings(run_id,code,severity,fingerprint,title,detail,"
                             "site_id,witness,repair,repair_edges,confirmation,models,inherited,"
                             "allowed,root,because) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"))
        return;
    int64_t *ids = calloc(findings->count + 1, sizeof *ids);
    if (!ids)
        writer->code = failure_set(writer->failure, FAILURE_INTERNAL, "out of memory for findings");
    for (size_t i = 0; i < findings->count + findings->folded && !writer->code; i++) {
        const struct finding *finding = &findings->items[i];
        char *edges = edges_text(writer, finding);
        bind_number(writer, 1, writer->ids.run);
        bind_text(writer, 2, finding->code);
        bind_text(writer, 3, severities[finding->severity]);
        bind_text(writer, 4, finding->fingerprint);
        bind_text(writer, 5, finding->title);
        bind_text(writer, 6, finding->detail);
        bind_site(writer, 7, finding->site);
        bind_optional(writer, 8, finding->witness);
        bind_optional(writer, 9, finding->repair);
        bind_optional(writer, 10, edges);
        bind_number(writer, 11, finding->confirmation);
        bind_text(writer, 12, finding->models);
        bind_number(writer, 13, finding->inherited);
        bind_number(writer, 14, finding->allowed);
        bind_root(writer, 15, findings, i, ids);
        bind_optional(writer, 16, finding->because[0] ? finding->because : NULL);
        free(edges);
        if (!row(writer))
            break;
        int64_t id = sqlite3_last_insert_rowid(writer->store->db);
        if (i < findings->count)
            ids[i] = id;
        write_finding_ops(writer, finding, id);
    }
    free(ids);
    end_table(writer);
}

/* The first id after all runs': ids are handed out inside the write transaction. */
static void reserve(struct writer *writer)
{
    if (!begin_table(
            writer,
            "SELECT "
            "coalesce(max(first_op_id+op_count),1),coalesce(max(first_node_id+node_count),1) "
            "FROM runs"))
        return;
    if (sqlite3_step(writer->insert) == SQLITE_ROW) {
        writer->ids.first_op = sqlite3_column_int64(writer->insert, 0);
        writer->ids.first_node = sqlite3_column_int64(writer->insert, 1);
    }
    row(writer);
    end_table(writer);
}

static void write_trace(struct writer *writer, bool without_ops)
{
    write_sites(writer);
    write_strings(writer);
    write_ranks(writer);
    write_comms(writer);
    if (!without_ops) {
        write_ops(writer);
        write_matches(writer);
        write_waits(writer);
        write_counts(writer);
        write_folds(writer);
        write_events(writer);
        write_nodes(writer);
        write_edges(writer);
        write_passes(writer);
        write_notes(writer);
    }
    write_gradients(writer);
    write_metrics(writer);
}

static void write_run(struct writer *writer, const struct store_result *result, bool finished)
{
    const struct trace *trace = writer->trace;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!begin_table(writer,
                     "UPDATE runs SET outcome=?,exit_code=?,ended_ns=?,ended=coalesce(?,ended),"
                     "model=coalesce(?,model),trace_hash=coalesce(?,trace_hash),"
                     "objective=coalesce(?,objective),first_op_id=coalesce(?,first_op_id),"
                     "op_count=coalesce(?,op_count),first_node_id=coalesce(?,first_node_id),"
                     "node_count=coalesce(?,node_count),word=? WHERE run_id=?"))
        return;     /* the trace may have been stored before, and be given up now */
    if (finished) { /* without an outcome it still runs: see store_run_trace */
        bind_text(writer, 1, result->outcome);
        bind_number(writer, 2, result->exit_code);
        bind_number(writer, 3, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
    }
    if (trace && !writer->stored) { /* else its hash stands there */
        char hash[32];
        snprintf(hash, sizeof hash, "%016llx", (unsigned long long)trace_hash(trace));
        bind_text(writer, 6, hash);
    }
    if (trace) {
        bind_text(writer, 4, outcomes[trace->outcome]);
        bind_text(writer, 5, trace->model);
        bind_double(writer, 7, trace->objective);
        bind_number(writer, 8, writer->ids.first_op);
        bind_number(writer, 9, (int64_t)writer->op_count);
        bind_number(writer, 10, writer->ids.first_node);
        bind_number(writer, 11, (int64_t)writer->node_count);
    }
    bind_optional(writer, 12, result->word);
    bind_number(writer, 13, writer->ids.run);
    row(writer);
    end_table(writer);
    if (!writer->code && sqlite3_changes(writer->store->db) != 1)
        writer->code = failure_set(writer->failure, FAILURE_INTERNAL, "%s: run %lld is not there",
                                   writer->store->path, (long long)writer->ids.run);
}

/* Ids of a trace that store_run_trace has written: false where it has not. */
static bool is_stored(struct writer *writer)
{
    bool stored = false;
    if (!begin_table(writer, "SELECT first_op_id,op_count,first_node_id,node_count FROM runs WHERE "
                             "run_id=? AND first_op_id IS NOT NULL"))
        return false;
    bind_number(writer, 1, writer->ids.run);
    if (sqlite3_step(writer->insert) == SQLITE_ROW) {
        stored = true;
        writer->ids.first_op = sqlite3_column_int64(writer->insert, 0);
        writer->op_count = (size_t)sqlite3_column_int64(writer->insert, 1);
        writer->ids.first_node = sqlite3_column_int64(writer->insert, 2);
        writer->node_count = (size_t)sqlite3_column_int64(writer->insert, 3);
    }
    row(writer);
    end_table(writer);
    return stored;
}

static void write_all(struct writer *writer, const struct store_result *result, bool finished)
{
    writer->stored = writer->trace && is_stored(writer);
    if (!writer->stored)
        reserve(writer);
    if (writer->stored)
        write_sites(writer); /* their ids, for the findings */
    else if (writer->trace && !writer->code)
        write_trace(writer, result->without_ops);
    if (finished) {
        write_findings(writer, result->findings);
        write_coverage(writer, result->coverage ? result->coverage : trace_coverage(result->trace));
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
    return run_write(store, run, &result, false, failure);
}

int store_run_finish(struct store *store, int64_t run, const struct store_result *result,
                     struct failure *failure)
{
    return run_write(store, run, result, true, failure);
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
