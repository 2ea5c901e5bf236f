/* What SELECTs say of a stored run, word by word: members, wildcards, events, the machine and the ranks. */
#include "tests/tap.h"
#include "tests/traces/store_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t message(struct trace *trace, int tag, bool any_source, bool any_tag)
{
    struct trace_plain_op send = trace_op_none(0, OP_SEND), receive = trace_op_none(1, OP_RECV);
    send.peer = 1;
    send.tag = tag;
    receive.peer = any_source ? TRACE_ANY : 0;
    receive.tag = any_tag ? TRACE_ANY : tag;
    receive.peer_matched = 0;
    receive.tag_matched = tag;
    send.comm = receive.comm = 0;
    send.begin = 10 + (uint64_t)tag;
    send.end = 20 + (uint64_t)tag;
    uint32_t op = trace_add_op(trace, &send);
    trace_add_op(trace, &receive);
    return op;
}

static struct trace *told_trace(void)
{
    static const struct {
        uint32_t size;
        int32_t members[4];
    } comms[] = {{4, {0, 1, 2, 3}}, {2, {2, 3}}, {3, {3, 1, 0}},
                 {3, {1, 2, 3}},    {1, {2}},    {3, {0, 1, 3}}};
    struct failure failure = {0};
    struct trace *trace = trace_new(4);
    snprintf(trace->program, sizeof trace->program, "told");
    for (uint32_t i = 0; i < sizeof comms / sizeof *comms; i++) {
        int32_t members[4];
        memcpy(members, comms[i].members, sizeof members);
        trace_add_comm(trace, &(struct trace_comm){.id = i + 1,
                                                   .size = comms[i].size,
                                                   .members = members,
                                                   .parent = i ? 0 : TRACE_NO,
                                                   .adjoint_of = TRACE_NO,
                                                   .name = "c"});
    }
    trace_add_comm(trace,
                   &(struct trace_comm){
                       .id = 9, .size = 3, .parent = TRACE_NO, .adjoint_of = 2, .name = "unknown"});
    for (int i = 0; i < 4; i++)
        trace_set_times(trace, message(trace, i, i & 1, i & 2), i > 1 ? 100 + (uint64_t)i : 0,
                        i & 1 ? 200 + (uint64_t)i : 0);
    if (!trace_finish(trace, &failure))
        tap_note("%s", failure.text);
    return trace;
}

static void test_words(void)
{
    static const struct {
        const char *sql;
        int64_t is;
    } asked[] = {{"SELECT group_concat(members,';')='0..3;[2,3];[3,1,0];1..3;[2];[0,1,3];' FROM "
                  "(SELECT members FROM comms WHERE run_id=1 ORDER BY comm)",
                  1},
                 {"SELECT count(*) FROM comms WHERE parent=0", 5},
                 {"SELECT count(*) FROM comms WHERE parent IS NULL", 2},
                 {"SELECT comm FROM comms WHERE adjoint_of=2 AND id=9", 6},
                 {"SELECT group_concat(tag||':'||wildcard)='0:0,1:1,2:2,3:3' FROM (SELECT * FROM "
                  "v_matches WHERE run_id=1 ORDER BY tag)",
                  1},
                 {"SELECT count(*) FROM events WHERE run_id=1", 4},
                 {"SELECT group_concat(what||':'||t_ns||':'||lamport)='0:102:12,0:103:13' FROM "
                  "(SELECT * FROM events WHERE run_id=1 AND what=0 ORDER BY t_ns)",
                  1},
                 {"SELECT group_concat(what||':'||t_ns||':'||lamport)='1:201:21,1:203:23' FROM "
                  "(SELECT * FROM events WHERE run_id=1 AND what=1 ORDER BY t_ns)",
                  1},
                 {"SELECT count(DISTINCT uuid) FROM runs WHERE length(uuid)=36 AND "
                  "substr(uuid,15,1)='4' AND "
                  "instr('89ab',substr(uuid,20,1)) AND substr(uuid,9,1)||substr(uuid,14,1)||"
                  "substr(uuid,19,1)||substr(uuid,24,1)='----' AND length(replace(uuid,'-',''))=32",
                  3},
                 {"SELECT count(*) FROM env WHERE compiler='cc 1' AND cflags='-O7' AND "
                  "omp_num_threads=3 AND ncpu>0 AND length(hash)>8",
                  1},
                 {"SELECT count(*) FROM env WHERE length(host)>0 AND length(os)>0 AND "
                  "length(arch)>0 AND host<>os AND os<>arch",
                  1},
                 {"SELECT count(*) FROM env", 1},
                 {"SELECT count(*) FROM runs WHERE substr(process,37,1)=':' AND "
                  "CAST(substr(process,38) AS INTEGER)>0",
                  3},
                 {"SELECT group_concat(DISTINCT events)='4,0' FROM (SELECT events FROM ranks WHERE "
                  "run_id=1 ORDER BY rank)",
                  1},
                 {"SELECT count(*) FROM ranks WHERE final_state='finished' AND finalized=0 AND "
                  "exit_code=0 AND length(trace_hash)=16",
                  4}};
    struct failure failure = {0};
    setenv("OMP_NUM_THREADS", "3", 1);
    struct store *store = store_open(file("words.db"), STORE_WRITE, &failure);
    const struct store_run run = {.scenario = "ring",
                                  .ranks = 4,
                                  .schedule = "default",
                                  .argv = "-n 4 ring",
                                  .version = "test",
                                  .compiler = "cc 1",
                                  .cflags = "-O7"};
    struct trace *trace = told_trace();
    int64_t first = store_run_begin(store, &run, &failure);
    tap_is_int(store_run_finish(store, first,
                                &(struct store_result){.outcome = "pass", .trace = trace},
                                &failure),
               0, "a run is stored: %s", failure.text);
    for (int i = 0; i < 2; i++)
        store_run_finish(store, store_run_begin(store, &run, &failure),
                         &(struct store_result){.outcome = "pass"}, &failure);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        tap_is_int(number(store, asked[i].sql), asked[i].is, "%s", asked[i].sql);
    int64_t removed = 0;
    tap_is_int(store_verify(store, &failure), 0, "the file is sound");
    tap_ok(!store_gc(store, -1, &removed, &failure) && removed == 3 &&
               number(store, "SELECT count(*) FROM comms") == 0,
           "to keep less than none is to keep none");
    sqlite3_exec(store_handle(store),
                 "PRAGMA foreign_keys=OFF; INSERT INTO metrics VALUES(99,0,'m',-1,1,'',NULL)", NULL,
                 NULL, NULL);
    tap_is_int(store_verify(store, &failure), FAILURE_INPUT,
               "a row of no run is none of a sound file");
    tap_ok(strstr(failure.text, "words.db: foreign key of table metrics") != NULL, "and named: %s",
           failure.text);
    store_close(store);
    trace_free(trace);
    unsetenv("OMP_NUM_THREADS");
}

/* A SELECT's rows, one after the other with ';' between them and ',' between columns; NULL is '-'. */
static const char *said(struct store *store, const char *sql, int64_t run)
{
    static char text[2000];
    sqlite3_stmt *statement = NULL;
    size_t used = 0;
    text[0] = '\0';
    if (sqlite3_prepare_v2(store_handle(store), sql, -1, &statement, NULL) != SQLITE_OK)
        return sqlite3_errmsg(store_handle(store));
    sqlite3_bind_int64(statement, 1, run);
    while (sqlite3_step(statement) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(statement) && used < sizeof text; i++) {
            const char *word = (const char *)sqlite3_column_text(statement, i);
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     i      ? ","
                                     : used ? ";"
                                            : "",
                                     word ? word : "-");
        }
    sqlite3_finalize(statement);
    return text;
}

/* Nothing that was asked or written goes on: who leaves a statement open holds the file. */
static bool at_rest(struct store *store)
{
    return !sqlite3_next_stmt(store_handle(store), NULL) &&
           sqlite3_get_autocommit(store_handle(store));
}

/* One operation, node, site and string, so that the next run's ids are not those of its rows. */
static struct trace *short_trace(void)
{
    struct failure failure = {0};
    struct trace *trace = trace_new(1);
    struct trace_plain_op op = trace_op_none(0, OP_COMPUTE);
    op.site = trace_add_site(trace, "z.c", 99, "h");
    trace_add_node(trace, &(struct trace_node){.id = 1,
                                               .kind = OP_COMPUTE,
                                               .state = STATE_COMPLETE,
                                               .forward = TRACE_NO,
                                               .site = op.site,
                                               .name = trace_add_string(trace, "zero")});
    trace_add_op(trace, &op);
    trace_finish(trace, &failure);
    return trace;
}

enum { ALL_OPS = 7, ALL_NODES = 4 };

static void add_all_ops(struct trace *trace, const uint32_t *sites)
{
    static const struct {
        uint32_t rank;
        uint8_t kind;
        int32_t peer, tag;
        uint32_t adjoint_of;
    } rows[ALL_OPS] = {{0, OP_SEND, 1, 5, TRACE_NO},     {0, OP_ISEND, 1, 6, 0},
                       {0, OP_IRECV, 1, 7, TRACE_NO},    {0, OP_WAITALL, 0, 0, TRACE_NO},
                       {1, OP_RECV, 0, 5, TRACE_NO},     {1, OP_RECV, 0, 6, 4},
                       {1, OP_ALLTOALLV, 0, 0, TRACE_NO}};
    for (uint32_t i = 0; i < ALL_OPS; i++) {
        struct trace_plain_op op = trace_op_none(rows[i].rank, rows[i].kind);
        bool message = rows[i].tag > 0;
        op.peer = message ? rows[i].peer : TRACE_NONE;
        op.tag = message ? rows[i].tag : TRACE_NONE;
        op.comm = 0;
        op.adjoint_of = rows[i].adjoint_of;
        op.site = i < 3 ? sites[i] : TRACE_NO;
        op.pass = i == 1 ? 3 : 0;
        op.node = i == 1 ? 1 : TRACE_NO;
        trace_add_op(trace, &op);
    }
    trace_add_wait(trace, 3, 2, false);
    trace_add_wait(trace, 3, 1, true);
    trace_add_counts(trace, 6, 2, (int64_t[]){30, -4}, (int64_t[]){5, 60});
    trace_add_counts(trace, 5, 2, NULL, (int64_t[]){7, 8});
    trace_add_fold(trace, &(struct trace_fold){.op = 2, .body = 2, .times = 40, .before = 6});
}

static void add_all_nodes(struct trace *trace, const uint32_t *sites)
{
    static const char *const names[ALL_NODES] = {"zero", "one", "one", "two"};
    for (uint32_t i = 0; i < ALL_NODES; i++)
        trace_add_node(trace, &(struct trace_node){.rank = i / 3,
                                                   .id = 10 + i,
                                                   .pass = i == 1 ? 3 : 0,
                                                   .kind = i == 1 ? OP_ISEND : OP_COMPUTE,
                                                   .state = i ? STATE_COMPLETE : STATE_NEVER,
                                                   .forward = i == 1 ? 0 : TRACE_NO,
                                                   .site = i == 3 ? TRACE_NO : sites[i],
                                                   .name = trace_add_string(trace, names[i]),
                                                   .begin = 100 + i,
                                                   .end = 200 + i});
    trace_add_edge(trace, 1, 2, EDGE_ORDER);
    trace_add_edge(trace, 0, 2, EDGE_DATA);
    trace_add_edge(trace, 0, 1, EDGE_ORDER);
    trace_add_pass(trace, &(struct trace_pass){.rank = 1, .pass = 2, .mode = PASS_PROGRAM});
    trace_add_pass(trace,
                   &(struct trace_pass){.rank = 0, .pass = 3, .mode = PASS_DATA, .complete = true});
}

static void add_all_answers(struct trace *trace)
{
    char words[2][8] = {"early", "late"};
    trace_add_note(
        trace,
        &(struct trace_note){
            .code = "G005", .rank = 1, .op = 6, .node = TRACE_NO, .site = 2, .text = words[0]});
    trace_add_note(trace, &(struct trace_note){.code = "M009",
                                               .rank = 0,
                                               .op = TRACE_NO,
                                               .node = 3,
                                               .site = TRACE_NO,
                                               .text = words[1]});
    trace_add_gradient(trace, &(struct trace_gradient){.rank = 1,
                                                       .variable = trace_add_string(trace, "x"),
                                                       .index = -1,
                                                       .method = "dot",
                                                       .step = 0.5,
                                                       .analytic = 1.5,
                                                       .numeric = 2.5,
                                                       .error = 3.5,
                                                       .relative = 4.5,
                                                       .tolerance = 5.5,
                                                       .ok = true});
    trace_add_gradient(trace, &(struct trace_gradient){.rank = 0,
                                                       .variable = trace_add_string(trace, "y"),
                                                       .index = 8,
                                                       .method = "central",
                                                       .step = 0.25,
                                                       .analytic = NAN,
                                                       .numeric = 7.5,
                                                       .error = 8.5,
                                                       .relative = NAN,
                                                       .tolerance = 9.5,
                                                       .undecided = trace_doubt("kink"),
                                                       .elements = 64});
    trace_add_metric(trace, "loss", -1, -0.5, "J");
    trace_add_metric_at(trace, "norm", 1, 10, 0.25, "m");
    trace->rank_info[0] = (struct trace_rank){.state = RANK_CRASHED,
                                              .exit_code = 11,
                                              .site = 1,
                                              .bytes_sent = 77,
                                              .messages_sent = 2,
                                              .hash = 0xabc};
    trace->rank_info[1] = (struct trace_rank){
        .state = RANK_FINISHED, .exit_code = 4, .site = TRACE_NO, .finalized = true, .hash = 1};
    trace_gap(trace, "race", 3, "beyond the bound");
    trace_gap(trace, "gradients", 1, "undecided");
}

static struct trace *all_trace(void)
{
    struct failure failure = {0};
    struct trace *trace = trace_new(2);
    snprintf(trace->program, sizeof trace->program, "all");
    snprintf(trace->model, sizeof trace->model, "batch");
    trace->objective = 0.125;
    trace->outcome = OUTCOME_CRASHED;
    trace_add_comm(trace, &(struct trace_comm){.id = 1,
                                               .size = 2,
                                               .members = (int32_t[]){0, 1},
                                               .parent = TRACE_NO,
                                               .adjoint_of = TRACE_NO,
                                               .name = "world"});
    uint32_t sites[] = {trace_add_site(trace, "a.c", 11, "f"),
                        trace_add_site(trace, "z.c", 99, "h"),
                        trace_add_site(trace, "a.c", 12, "f")};
    add_all_nodes(trace, sites);
    add_all_ops(trace, sites);
    add_all_answers(trace);
    if (!trace_finish(trace, &failure))
        tap_note("%s", failure.text);
    return trace;
}

#define SITE(column)                                                                               \
    "coalesce((SELECT file||':'||line||':'||func FROM sites WHERE site_id=" column "),'-')"
#define FROM_RUN(table) " FROM " table " JOIN runs USING(run_id) WHERE run_id=?1 "

/* What each table says of `all_trace`, with ids counted from the run's first. */
static const struct {
    const char *table, *sql, *is;
    bool operations; /* not there where they are left out */
} told[] = {
    {"runs",
     "SELECT outcome,exit_code,ended,model,objective,word,length(trace_hash),ended_ns>=started_ns "
     "FROM runs WHERE run_id=?1",
     "fail,6,crashed,batch,0.125,DOUBTFUL,16,1", false},
    {"ops",
     "SELECT op_id-first_op_id,rank,seq,kind,peer,tag,fwd_op_id-first_op_id,node_id-first_node_id,"
     "phase," SITE("ops.site_id") FROM_RUN("ops") "ORDER BY op_id",
     "0,0,0,1,1,5,-,-,0,a.c:11:f;1,0,1,5,1,6,0,1,3,z.c:99:h;2,0,2,13,1,7,-,-,0,a.c:12:f;"
     "3,0,3,25,-,-,-,-,0,-;4,1,0,12,0,5,-,-,0,-;5,1,1,12,0,6,4,-,0,-;6,1,2,51,-,-,-,-,0,-",
     true},
    {"matches",
     "SELECT send_op-first_op_id,recv_op-first_op_id,wildcard" FROM_RUN(
         "matches") "ORDER BY send_op",
     "0,4,0;1,5,0", true},
    {"waits",
     "SELECT wait_op-first_op_id,ord,start_op-first_op_id,completed" FROM_RUN(
         "waits") "ORDER BY wait_op,ord",
     "3,0,2,0;3,1,1,1", true},
    {"counts", "SELECT op_id-first_op_id,send,receive" FROM_RUN("counts") "ORDER BY op_id",
     "5,-,[7,8];6,[30,-4],[5,60]", true},
    {"folds", "SELECT op_id-first_op_id,body,times,before" FROM_RUN("folds"), "2,2,40,6", true},
    {"nodes",
     "SELECT node_id-first_node_id,rank,id,pass,state,fwd_node_id-first_node_id,(SELECT s FROM "
     "strings WHERE "
     "strings.id=nodes.name)," SITE("nodes.site_id") ",step_begin,step_end" FROM_RUN(
         "nodes") "ORDER BY node_id",
     "0,0,10,0,0,-,zero,a.c:11:f,100,200;1,0,11,3,3,0,one,z.c:99:h,101,201;"
     "2,0,12,0,3,-,one,a.c:12:f,102,202;3,1,13,0,3,-,two,-,103,203",
     true},
    {"edges",
     "SELECT src-first_node_id,dst-first_node_id,type" FROM_RUN("edges") "ORDER BY src,dst",
     "0,1,1;0,2,0;1,2,1", true},
    {"passes", "SELECT rank,pass,mode,complete" FROM_RUN("passes") "ORDER BY rank",
     "0,3,data,1;1,2,program,0", true},
    {"notes",
     "SELECT ord,code,rank,op_id-first_op_id,node_id-first_node_id," SITE(
         "notes.site_id") ",text" FROM_RUN("notes") "ORDER BY ord",
     "0,G005,1,6,-,a.c:12:f,early;1,M009,0,-,3,-,late", true},
    {"gradients",
     "SELECT "
     "rank,var,idx,method,step,analytic,numeric,abs_err,rel_err,atol,rtol,ok,undecided,"
     "elements" FROM_RUN("gradients") "ORDER BY grad_id",
     "1,x,-1,dot,0.5,1.5,2.5,3.5,4.5,5.5,0,1,,1;"
     "0,y,8,central,0.25,nan,7.5,8.5,nan,9.5,0,0,kink,64",
     false},
    {"metrics", "SELECT ord,name,rank,value,unit,step" FROM_RUN("metrics") "ORDER BY ord",
     "0,loss,-1,-0.5,J,-;1,norm,1,0.25,m,10.0", false},
    {"ranks",
     "SELECT "
     "rank,final_state,events,bytes_sent,msgs_sent,ranks.trace_hash,ranks.exit_code,"
     "finalized," SITE("ranks.site_id") FROM_RUN("ranks") "ORDER BY rank",
     "0,crashed,4,77,2,0000000000000abc,11,0,z.c:99:h;1,finished,3,0,0,0000000000000001,4,1,-",
     false},
    {"comms", "SELECT comm,name,size,members,id,parent,adjoint_of" FROM_RUN("comms"),
     "0,world,2,[0,1],1,-,-", false},
    {"coverage", "SELECT ord,check_name,count,text" FROM_RUN("coverage") "ORDER BY ord",
     "0,race,3,beyond the bound;1,gradients,1,undecided", false},
    {"findings",
     "SELECT code,severity,title,detail," SITE(
         "findings.site_id") ",witness,repair,models,inherited,allowed,"
                             "root,because" FROM_RUN("findings"),
     "D001,error,a hang,why,a.c:12:f,w 1 2,-,eager batch,1,0,-,-", false},
    {"finding_ops",
     "SELECT ord,op_id-first_op_id,role,node_id-first_node_id FROM finding_ops JOIN findings "
     "USING(finding_id) JOIN runs USING(run_id) WHERE run_id=?1 ORDER BY ord",
     "0,6,core,-;1,-,culprit,2", true},
    {"artifacts", "SELECT name,media,data" FROM_RUN("artifacts") "ORDER BY name",
     "empty,text/x,;note,text/plain,hi", false}};

static void add_finding(struct findings *findings, const struct trace *trace)
{
    findings_init(findings);
    struct finding *finding = findings_add(findings, "D001", "a hang");
    finding_detail(finding, "why");
    finding_op_add(finding, 6, "core");
    finding_node_add(finding, 2, "culprit");
    finding->site = 2;
    finding->witness = strdup("w 1 2");
    finding->inherited = true;
    snprintf(finding->models, sizeof finding->models, "eager batch");
    finding_seal(finding, trace);
}

/* How a run comes into the store, and where its rows are: at once, its trace before
 * its verdict, without operations, in pages. */
enum way { AT_ONCE, TRACE_FIRST, WITHOUT_OPS, IN_PAGES, WAYS };

static int64_t put_all(struct store *store, enum way way, const struct trace *trace,
                       const struct findings *findings)
{
    static const struct store_run begun = {
        .scenario = "all", .ranks = 2, .schedule = "", .argv = ""};
    struct failure failure = {0};
    const struct store_result result = {.outcome = "fail",
                                        .exit_code = 6,
                                        .trace = trace,
                                        .findings = findings,
                                        .word = "DOUBTFUL",
                                        .without_ops = way == WITHOUT_OPS};
    store_keep_rows(store, way == IN_PAGES ? 0 : STORE_ROWS_MOST);
    int64_t run = store_run_begin(store, &begun, &failure);
    if (way == TRACE_FIRST)
        store_run_trace(store, run, trace, false, &failure);
    int code = store_run_finish(store, run, &result, &failure);
    code = code ? code : store_artifact_put(store, run, "note", "text/plain", "hi", 2, &failure);
    code = code ? code : store_artifact_put(store, run, "empty", "text/x", NULL, 0, &failure);
    if (!code && way == IN_PAGES)
        code = store_unpack(store, run, &failure);
    tap_is_int(code, 0, "way %d: a run is stored: %s", (int)way, failure.text);
    tap_ok(at_rest(store), "and nothing of it goes on");
    return run;
}

static void test_tables(void)
{
    struct failure failure = {0};
    struct store *store = store_open(file("tables.db"), STORE_WRITE, &failure);
    struct trace *before = short_trace(), *trace = all_trace();
    struct findings findings;
    add_finding(&findings, trace);
    store_run_finish(
        store,
        store_run_begin(
            store, &(struct store_run){.scenario = "short", .ranks = 1, .schedule = "", .argv = ""},
            &failure),
        &(struct store_result){.outcome = "pass", .trace = before}, &failure);
    int64_t first_op = 2, first_node = 2; /* behind the one of the run before */
    for (enum way way = 0; way < WAYS; way++) {
        int64_t run = put_all(store, way, trace, &findings);
        bool ops = way != WITHOUT_OPS;
        for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
            bool none = told[i].operations && !ops;
            bool places = strcmp(told[i].table, "finding_ops") == 0;
            tap_is_str(said(store, told[i].sql, run),
                       !none    ? told[i].is
                       : places ? "0,-,core,-;1,-,culprit,-"
                                : "",
                       "way %d: %s", (int)way, told[i].table);
        }
        char ids[80];
        snprintf(ids, sizeof ids, "%lld,%d,%lld,%d", (long long)first_op, ops ? ALL_OPS : 0,
                 (long long)first_node, ops ? ALL_NODES : 0);
        tap_is_str(
            said(store,
                 "SELECT first_op_id,op_count,first_node_id,node_count FROM runs WHERE run_id=?1",
                 run),
            ids, "way %d: ids follow those of the run before", (int)way);
        first_op += ops ? ALL_OPS : 0;
        first_node += ops ? ALL_NODES : 0;
    }
    tap_is_str(
        said(store, "SELECT s FROM strings WHERE s IN('zero','one','two','x','y') ORDER BY s", 0),
        "one;two;x;y;zero", "a text is there once");
    tap_is_str(said(store, "SELECT file,line,func FROM sites ORDER BY file,line", 0),
               "a.c,11,f;a.c,12,f;z.c,99,h", "so is a site");
    tap_is_str(said(store, "SELECT count(DISTINCT id),count(*) FROM strings WHERE id>0", 0), "9,9",
               "a metric's name and unit are texts, too");
    tap_is_int(store_verify(store, &failure), 0, "the file is sound: %s", failure.text);
    findings_release(&findings);
    trace_free(before);
    trace_free(trace);
    store_close(store);
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/simrun-words-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    test_words();
    test_tables();
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0)
        tap_note("could not remove %s", folder);
    return tap_done();
}
