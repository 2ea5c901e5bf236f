/* Writing a finished run into the store, in one transaction. See store.h. */
#include "traces/store_private.h"

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

/* "INSERT INTO table(id,run_id,columns...) VALUES(?,...)". */
static void insert_sql(char *sql, size_t size, const char *start, const struct column *columns,
                       size_t count)
{
    size_t used = (size_t)snprintf(sql, size, "%s", start);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(sql + used, size - used, ",%s", columns[i].name);
    used += (size_t)snprintf(sql + used, size - used, ") VALUES(?,?");
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(sql + used, size - used, ",?");
    snprintf(sql + used, size - used, ")");
}

static void write_ops(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    char sql[1024];
    struct store_bound bound = {0};
    insert_sql(sql, sizeof sql, "INSERT INTO ops(op_id,run_id", store_op_columns,
               store_op_column_count);
    if (!begin_table(writer, sql))
        return;
    bind_number(writer, 2, writer->ids.run);
    for (size_t i = 0; i < trace->op_count; i++) {
        bind_number(writer, 1, writer->ids.first_op + (int64_t)i);
        store_bind(writer->insert, 3, store_op_columns, store_op_column_count, &trace->ops[i],
                   &writer->ids, &bound);
        if (!row(writer))
            break;
        if (i % PROGRESS_ROWS == 0)
            progress_tell(writer->store->progress, "storing", i, trace->op_count, "operations");
    }
    end_table(writer);
}

static void write_matches(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    if (!begin_table(writer,
                     "INSERT INTO matches(run_id,send_op,recv_op,wildcard) VALUES(?,?,?,?)"))
        return;
    bind_number(writer, 1, writer->ids.run);
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->match >= trace->op_count || op_kind_class(op->kind) != CLASS_SEND)
            continue;
        const struct trace_op *receive = &trace->ops[op->match];
        bind_number(writer, 2, writer->ids.first_op + (int64_t)i);
        bind_number(writer, 3, writer->ids.first_op + op->match);
        bind_number(writer, 4, (receive->peer == TRACE_ANY) + 2 * (receive->tag == TRACE_ANY));
        if (!row(writer))
            break;
    }
    end_table(writer);
}

static void write_waits(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    if (!begin_table(writer,
                     "INSERT INTO waits(run_id,wait_op,ord,start_op,completed) VALUES(?,?,?,?,?)"))
        return;
    bind_number(writer, 1, writer->ids.run);
    for (size_t i = 0, first = 0; i < trace->wait_count; i++) {
        const struct trace_wait *wait = &trace->waits[i];
        if (trace->waits[first].wait != wait->wait)
            first = i;
        bind_number(writer, 2, writer->ids.first_op + wait->wait);
        bind_number(writer, 3, (int64_t)(i - first));
        bind_number(writer, 4, writer->ids.first_op + wait->start);
        bind_number(writer, 5, wait->completed);
        if (!row(writer))
            break;
    }
    end_table(writer);
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

static void write_events(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    if (!begin_table(
            writer,
            "INSERT INTO events(run_id,rank,seq,what,op_id,t_ns,lamport) VALUES(?,?,?,?,?,?,?)"))
        return;
    bind_number(writer, 1, writer->ids.run);
    for (size_t i = 0; i < trace->op_count && !writer->code; i++) {
        const struct trace_op *op = &trace->ops[i];
        for (int what = 0; what < 2; what++) {
            uint64_t time = what ? op->end_ns : op->begin_ns;
            if (!time)
                continue;
            bind_number(writer, 2, op->rank);
            bind_number(writer, 3, op->seq);
            bind_number(writer, 4, what);
            bind_number(writer, 5, writer->ids.first_op + (int64_t)i);
            bind_number(writer, 6, (int64_t)time);
            bind_number(writer, 7, (int64_t)(what ? op->end : op->begin));
            if (!row(writer))
                break;
        }
    }
    end_table(writer);
}

static void write_nodes(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    char sql[512];
    struct store_bound bound = {0};
    insert_sql(sql, sizeof sql, "INSERT INTO nodes(node_id,run_id", store_node_columns,
               store_node_column_count);
    if (!begin_table(writer, sql))
        return;
    bind_number(writer, 2, writer->ids.run);
    for (size_t i = 0; i < trace->node_count; i++) {
        bind_number(writer, 1, writer->ids.first_node + (int64_t)i);
        store_bind(writer->insert, 3, store_node_columns, store_node_column_count, &trace->nodes[i],
                   &writer->ids, &bound);
        if (!row(writer))
            break;
    }
    end_table(writer);
    if (!begin_table(writer, "INSERT OR IGNORE INTO edges(run_id,src,dst,type) VALUES(?,?,?,?)"))
        return;
    bind_number(writer, 1, writer->ids.run);
    for (size_t i = 0; i < trace->edge_count; i++) {
        bind_number(writer, 2, writer->ids.first_node + trace->edges[i].from);
        bind_number(writer, 3, writer->ids.first_node + trace->edges[i].to);
        bind_number(writer, 4, trace->edges[i].type);
        if (!row(writer))
            break;
    }
    end_table(writer);
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
            "rel_err,atol,rtol,ok) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)"))
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

static void write_findings(struct writer *writer, const struct findings *findings)
{
    if (!findings ||
        !begin_table(writer, "INSERT INTO findings(run_id,code,severity,fingerprint,title,detail,"
                             "site_id,witness,repair,repair_edges,confirmation,models,inherited,"
                             "allowed) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)"))
        return;
    for (size_t i = 0; i < findings->count && !writer->code; i++) {
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
        free(edges);
        if (row(writer))
            write_finding_ops(writer, finding, sqlite3_last_insert_rowid(writer->store->db));
    }
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
        write_events(writer);
        write_nodes(writer);
        write_passes(writer);
        write_notes(writer);
    }
    write_gradients(writer);
    write_metrics(writer);
}

static void write_run(struct writer *writer, const struct store_result *result)
{
    const struct trace *trace = writer->trace;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!begin_table(
            writer,
            "UPDATE runs SET outcome=?,exit_code=?,ended_ns=?,ended=?,model=?,trace_hash=?,"
            "objective=?,first_op_id=?,op_count=?,first_node_id=?,node_count=? WHERE run_id=?"))
        return;
    bind_text(writer, 1, result->outcome);
    bind_number(writer, 2, result->exit_code);
    bind_number(writer, 3, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
    if (trace) {
        char hash[32];
        snprintf(hash, sizeof hash, "%016llx", (unsigned long long)trace_hash(trace));
        bind_text(writer, 4, outcomes[trace->outcome]);
        bind_text(writer, 5, trace->model);
        bind_text(writer, 6, hash);
        bind_double(writer, 7, trace->objective);
        bind_number(writer, 8, writer->ids.first_op);
        bind_number(writer, 9, (int64_t)writer->op_count);
        bind_number(writer, 10, writer->ids.first_node);
        bind_number(writer, 11, (int64_t)writer->node_count);
    }
    bind_number(writer, 12, writer->ids.run);
    row(writer);
    end_table(writer);
    if (!writer->code && sqlite3_changes(writer->store->db) != 1)
        writer->code = failure_set(writer->failure, FAILURE_INTERNAL, "%s: run %lld is not there",
                                   writer->store->path, (long long)writer->ids.run);
}

int store_run_finish(struct store *store, int64_t run, const struct store_result *result,
                     struct failure *failure)
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
    reserve(&writer);
    if (writer.trace && !writer.code)
        write_trace(&writer, result->without_ops);
    write_findings(&writer, result->findings);
    write_run(&writer, result);
    if (!writer.code)
        writer.code = store_exec(store, "COMMIT", failure);
    if (writer.code)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    free(writer.ids.sites);
    free(writer.ids.strings);
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
