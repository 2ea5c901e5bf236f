/* The tables of a trace: see writer.h. */
#include "traces/store/pages.h"
#include "traces/store/rows.h"
#include "traces/store/writer.h"
#include "traces/trace/names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Inserts what is new and fetches the id of every text; both statements work on one table. */
void store_write_sites(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    writer->ids.sites = calloc(trace->site_count + 1, sizeof *writer->ids.sites);
    if (!writer->ids.sites) {
        writer->code = failure_set(writer->failure, FAILURE_INTERNAL, "out of memory for sites");
        return;
    }
    writer->ids.site_count = trace->site_count;
    if (!writer_begin(
            writer,
            "INSERT INTO sites(file,line,func) VALUES(?,?,?) ON CONFLICT(file,line,func) DO "
            "UPDATE SET line=line RETURNING site_id"))
        return;
    for (size_t i = 0; !writer->code && i < trace->site_count; i++) {
        writer_text(writer, 1, trace->sites[i].file);
        writer_number(writer, 2, trace->sites[i].line);
        writer_text(writer, 3, trace->sites[i].function);
        if (sqlite3_step(writer->insert) == SQLITE_ROW)
            writer->ids.sites[i] = sqlite3_column_int64(writer->insert, 0);
        writer_row(writer);
    }
    writer_end(writer);
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
    if (!writer_begin(
            writer,
            "INSERT INTO strings(s) VALUES(?) ON CONFLICT(s) DO UPDATE SET s=s RETURNING id"))
        return;
    for (size_t i = 0; !writer->code && i < trace->string_count; i++) {
        writer_text(writer, 1, trace->strings[i]);
        if (sqlite3_step(writer->insert) == SQLITE_ROW)
            writer->ids.strings[i] = sqlite3_column_int64(writer->insert, 0);
        writer_row(writer);
    }
    writer_end(writer);
}

static void write_ranks(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    if (!writer_begin(
            writer,
            "INSERT INTO ranks(run_id,rank,final_state,events,bytes_sent,msgs_sent,trace_hash,"
            "exit_code,finalized,site_id) VALUES(?,?,?,?,?,?,?,?,?,?)"))
        return;
    writer_number(writer, 1, writer->ids.run);
    for (uint32_t i = 0; i < trace->ranks; i++) {
        const struct trace_rank *rank = &trace->rank_info[i];
        char hash[32];
        snprintf(hash, sizeof hash, "%016llx", (unsigned long long)rank->hash);
        writer_number(writer, 2, i);
        sqlite3_bind_text(writer->insert, 3, trace_rank_state_names[rank->state], -1,
                          SQLITE_STATIC);
        writer_number(writer, 4, (int64_t)(trace->rank_begin[i + 1] - trace->rank_begin[i]));
        writer_number(writer, 5, (int64_t)rank->bytes_sent);
        writer_number(writer, 6, (int64_t)rank->messages_sent);
        writer_text(writer, 7, hash);
        writer_number(writer, 8, rank->exit_code);
        writer_number(writer, 9, rank->finalized);
        writer_site(writer, 10, rank->site);
        if (!writer_row(writer))
            break;
    }
    writer_end(writer);
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
    if (!writer_begin(writer,
                      "INSERT INTO comms(run_id,comm,name,size,members,id,parent,adjoint_of) "
                      "VALUES(?,?,?,?,?,?,?,?)"))
        return;
    writer_number(writer, 1, writer->ids.run);
    for (uint32_t i = 0; i < trace->comm_count; i++) {
        const struct trace_comm *comm = &trace->comms[i];
        char *members = members_text(comm);
        writer_number(writer, 2, i);
        writer_text(writer, 3, comm->name);
        writer_number(writer, 4, comm->size);
        writer_text(writer, 5, members);
        writer_number(writer, 6, comm->id);
        writer_index(writer, 7, comm->parent, trace->comm_count, 0);
        writer_index(writer, 8, comm->adjoint_of, trace->comm_count, 0);
        free(members);
        if (!writer_row(writer))
            break;
    }
    writer_end(writer);
}

static void make_op(const void *trace, size_t index, void *row)
{
    trace_whole_op(trace, (uint32_t)index, row);
}

static void write_ops(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    const struct store_structs ops = {.table = "ops",
                                      .id = "op_id",
                                      .first_id = writer->ids.first_op,
                                      .columns = store_op_columns,
                                      .column_count = store_op_column_count,
                                      .rows = trace,
                                      .row_size = sizeof(struct trace_whole_op),
                                      .make = make_op,
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
    if (!writer_begin(writer, "INSERT INTO counts(run_id,op_id,send,receive) VALUES(?,?,?,?)"))
        return;
    writer_number(writer, 1, writer->ids.run);
    for (size_t i = 0; i < trace->counts_count; i++) {
        const struct trace_counts *counts = &trace->counts[i];
        char *send = numbers_text(counts->send, counts->n),
             *receive = numbers_text(counts->receive, counts->n);
        writer_number(writer, 2, writer->ids.first_op + counts->op);
        sqlite3_bind_text(writer->insert, 3, send, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(writer->insert, 4, receive, -1, SQLITE_TRANSIENT);
        free(send);
        free(receive);
        if (!writer_row(writer))
            break;
    }
    writer_end(writer);
}

/* Begin and end of every operation that has a wall time: row 2 * op + (0 or 1). */
static uint64_t event_time(const struct trace *trace, size_t event)
{
    struct trace_times times = trace_op_times(trace, &trace->ops[event / 2]);
    return event % 2 ? times.end_ns : times.begin_ns;
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
                              trace_op_seq(writer->trace, op),
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
    if (!writer_begin(writer,
                      "INSERT INTO passes(run_id,rank,pass,mode,complete) VALUES(?,?,?,?,?)"))
        return;
    writer_number(writer, 1, writer->ids.run);
    for (size_t i = 0; i < trace->pass_count; i++) {
        writer_number(writer, 2, trace->passes[i].rank);
        writer_number(writer, 3, trace->passes[i].pass);
        writer_text(writer, 4, trace->passes[i].mode == PASS_DATA ? "data" : "program");
        writer_number(writer, 5, trace->passes[i].complete);
        if (!writer_row(writer))
            break;
    }
    writer_end(writer);
}

static void write_notes(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    if (!writer_begin(writer, "INSERT INTO notes(run_id,ord,code,rank,op_id,node_id,site_id,text) "
                              "VALUES(?,?,?,?,?,?,?,?)"))
        return;
    writer_number(writer, 1, writer->ids.run);
    for (size_t i = 0; i < trace->note_count; i++) {
        const struct trace_note *note = &trace->notes[i];
        writer_number(writer, 2, (int64_t)i);
        writer_text(writer, 3, note->code);
        writer_number(writer, 4, note->rank);
        writer_index(writer, 5, note->op, trace->op_count, writer->ids.first_op);
        writer_index(writer, 6, note->node, trace->node_count, writer->ids.first_node);
        writer_site(writer, 7, note->site);
        writer_text(writer, 8, note->text);
        if (!writer_row(writer))
            break;
    }
    writer_end(writer);
}

static void write_gradients(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    if (!writer_begin(
            writer,
            "INSERT INTO gradients(run_id,rank,var,idx,method,step,analytic,numeric,abs_err,"
            "rel_err,atol,rtol,ok,undecided,elements) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"))
        return;
    writer_number(writer, 1, writer->ids.run);
    writer_number(writer, 12, 0);
    for (size_t i = 0; i < trace->gradient_count; i++) {
        const struct trace_gradient *gradient = &trace->gradients[i];
        writer_number(writer, 2, gradient->rank);
        writer_text(writer, 3, trace_string(trace, gradient->variable));
        writer_number(writer, 4, gradient->index);
        writer_text(writer, 5, gradient->method);
        writer_double(writer, 6, gradient->step);
        writer_double(writer, 7, gradient->analytic);
        writer_double(writer, 8, gradient->numeric);
        writer_double(writer, 9, gradient->error);
        writer_double(writer, 10, gradient->relative);
        writer_double(writer, 11, gradient->tolerance);
        writer_number(writer, 13, gradient->ok);
        writer_text(writer, 14, gradient->undecided);
        writer_number(writer, 15, gradient->elements ? gradient->elements : 1);
        if (!writer_row(writer))
            break;
    }
    writer_end(writer);
}

static void write_metrics(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    if (!writer_begin(
            writer,
            "INSERT INTO metrics(run_id,ord,name,rank,value,unit,step) VALUES(?,?,?,?,?,?,?)"))
        return;
    writer_number(writer, 1, writer->ids.run);
    for (size_t i = 0; i < trace->metric_count; i++) {
        const struct trace_metric *metric = &trace->metrics[i];
        writer_number(writer, 2, (int64_t)i);
        writer_text(writer, 3, trace_string(trace, metric->name));
        writer_number(writer, 4, metric->rank);
        writer_double(writer, 5, metric->value);
        writer_text(writer, 6, trace_string(trace, metric->unit));
        if (isnan(metric->step))
            sqlite3_bind_null(writer->insert, 7);
        else
            writer_double(writer, 7, metric->step);
        if (!writer_row(writer))
            break;
    }
    writer_end(writer);
}

void store_write_ops(struct writer *writer)
{
    write_ops(writer);
    write_matches(writer);
    write_waits(writer);
    write_events(writer);
}

void store_write_trace(struct writer *writer, bool without_ops)
{
    store_write_sites(writer);
    write_strings(writer);
    write_ranks(writer);
    write_comms(writer);
    if (!without_ops) {
        if (writer->op_count > writer->store->rows_most)
            store_write_pages(writer);
        else
            store_write_ops(writer);
        write_counts(writer);
        write_folds(writer);
        write_nodes(writer);
        write_edges(writer);
        write_passes(writer);
        write_notes(writer);
    }
    write_gradients(writer);
    write_metrics(writer);
}
