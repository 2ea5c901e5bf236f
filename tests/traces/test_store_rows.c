/* Rows of a database that somebody changed: each number at its border is still read, the next one is refused, with file, run and what is
 * wrong. What only points to rows that are not there is read without it. */
#include "tests/tap.h"
#include "tests/traces/store_files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Rank 0: Isend, Wait; rank 1: Recv, Wait, of nothing. Two nodes of rank 0, one of rank 1. */
static struct trace *sample(void)
{
    struct failure failure;
    struct trace *trace = trace_new(2);
    trace_add_comm(trace, &(struct trace_comm){.id = 1,
                                               .size = 2,
                                               .members = (int32_t[]){0, 1},
                                               .parent = TRACE_NO,
                                               .adjoint_of = TRACE_NO,
                                               .name = "world"});
    trace_add_site(trace, "p.c", 1, "main");
    for (uint32_t i = 0; i < 3; i++)
        trace_add_node(trace, &(struct trace_node){.rank = i / 2,
                                                   .id = i % 2 + 1,
                                                   .kind = OP_COMPUTE,
                                                   .state = STATE_COMPLETE,
                                                   .forward = TRACE_NO,
                                                   .site = 0,
                                                   .name = TRACE_NO});
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct trace_plain_op op = trace_op_none(rank, rank ? OP_RECV : OP_ISEND);
        op.comm = op.site = 0;
        op.peer = (int32_t)(1 - rank);
        op.tag = 3;
        op.count = 1;
        op.type = 0x214;
        op.node = 2 * rank;
        uint32_t start = trace_add_op(trace, &op);
        struct trace_plain_op wait = trace_op_none(rank, OP_WAIT);
        wait.comm = TRACE_NO;
        wait.site = 0;
        wait.request = rank ? TRACE_NO : start;
        trace_add_op(trace, &wait);
    }
    trace_finish(trace, &failure);
    return trace;
}

#define OP(number)   "(SELECT first_op_id FROM runs WHERE run_id=?1)+" number " AND run_id=?1"
#define NODE(number) "(SELECT first_node_id FROM runs WHERE run_id=?1)+" number " AND run_id=?1"
#define RUN          "WHERE run_id=?1"

static const struct {
    const char *change, *refused; /* NULL: it is read */
} rows[] = {
    {"UPDATE runs SET seed=5 " RUN, NULL},
    {"UPDATE comms SET size=4,members='[0,1,0,1]' " RUN, NULL}, /* both groups have both ranks */
    {"UPDATE comms SET size=5,members='[0,1,0,1,0]' " RUN, "a communicator of size 5"},
    {"UPDATE comms SET size=0,members='[]' " RUN, NULL},
    {"UPDATE comms SET size=-1 " RUN, "a communicator of size -1"},
    {"UPDATE comms SET size=1099511627778 " RUN, "a communicator of size 1099511627778"},
    {"UPDATE runs SET ranks=0 " RUN, "an impossible number of ranks or rows 0"},
    {"UPDATE runs SET ranks=-1 " RUN, "an impossible number of ranks or rows -1"},
    {"UPDATE runs SET ranks=16777217 " RUN, "an impossible number of ranks or rows 16777217"},
    {"UPDATE runs SET ranks=3 " RUN, NULL},
    {"UPDATE runs SET ranks=1 " RUN, "a gap or a wrong rank at"},
    {"UPDATE runs SET op_count=-1 " RUN, "an impossible number of ranks or rows 2"},
    {"UPDATE runs SET op_count=4294967295 " RUN, "an impossible number of ranks or rows 2"},
    {"UPDATE runs SET op_count=4294967294 " RUN, "operations are missing from"},
    {"UPDATE runs SET op_count=op_count+1 " RUN, "operations are missing from"},
    {"UPDATE runs SET node_count=-1 " RUN, "an impossible number of ranks or rows 2"},
    {"UPDATE runs SET node_count=4294967295 " RUN, "an impossible number of ranks or rows 2"},
    {"DELETE FROM ops WHERE op_id=" OP("0"), "a gap or a wrong rank at operation"},
    {"DELETE FROM ops WHERE op_id=" OP("2"), "a gap or a wrong rank at operation"},
    {"DELETE FROM ops WHERE op_id=" OP("3"), "operations are missing from"},
    {"UPDATE ops SET rank=2 WHERE op_id=" OP("3"), "a gap or a wrong rank at operation"},
    {"DELETE FROM nodes WHERE node_id=" NODE("0"), "a gap or a wrong rank at node"},
    {"DELETE FROM nodes WHERE node_id=" NODE("1"), "a gap or a wrong rank at node"},
    {"DELETE FROM nodes WHERE node_id=" NODE("2"), "nodes are missing from"},
    {"UPDATE matches SET send_op=(SELECT first_op_id FROM runs WHERE run_id=?1)+3 " RUN, NULL},
    {"UPDATE matches SET send_op=(SELECT first_op_id FROM runs WHERE run_id=?1)+4 " RUN,
     "no such operation for the match of"},
    {"UPDATE matches SET recv_op=(SELECT first_op_id FROM runs WHERE run_id=?1)+4 " RUN,
     "no such operation for the match of"},
    {"UPDATE matches SET recv_op=(SELECT first_op_id FROM runs WHERE run_id=?1)-1 " RUN,
     "no such operation for the match of"},
    {"UPDATE nodes SET rank=2 WHERE node_id=" NODE("2"), "a gap or a wrong rank at node"},
    {"DELETE FROM sites WHERE site_id IN(SELECT site_id FROM ops " RUN ")", NULL},
    {"DELETE FROM runs " RUN, "no run"},
};

/* What is said of the run after a change: "" if it is read. */
static const char *said_after(struct store *store, int64_t run, const char *change)
{
    static struct failure failure;
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store_handle(store), change, -1, &statement, NULL);
    sqlite3_bind_int64(statement, 1, run);
    code = code ? code : sqlite3_step(statement);
    sqlite3_finalize(statement);
    failure = (struct failure){0};
    if (code != SQLITE_DONE || sqlite3_changes(store_handle(store)) == 0)
        return sqlite3_errmsg(store_handle(store));
    struct trace *trace = store_load_trace(store, run, &failure);
    bool read = trace != NULL;
    trace_free(trace);
    return read ? "" : failure.text;
}

static int64_t stored(struct store *store, const struct trace *trace)
{
    struct failure failure = {0};
    const struct store_run about = {
        .scenario = "rows", .ranks = trace->ranks, .schedule = "", .argv = ""};
    const struct store_result result = {.outcome = "pass", .trace = trace};
    int64_t run = store_run_begin(store, &about, &failure);
    return run && store_run_finish(store, run, &result, &failure) == 0 ? run : 0;
}

/* In a database of its own, whose numbers no other change has moved. */
static void row_is_right(const struct trace *trace, const char *change, const char *refused)
{
    struct failure failure = {0};
    struct store *store = store_open(file("rows.db"), STORE_WRITE, &failure);
    if (!store) {
        tap_ok(false, "a database is made: %s", failure.text);
        return;
    }
    sqlite3_exec(
        store_handle(store),
        "PRAGMA synchronous=OFF;PRAGMA foreign_keys=OFF;PRAGMA ignore_check_constraints=ON", NULL,
        NULL, NULL);
    store_keep_rows(store, STORE_ROWS_MOST);
    const char *said = said_after(store, stored(store, trace), change);
    const char *wanted = refused ? refused : "";
    bool right = refused ? strstr(said, refused) && strstr(said, "rows.db: ") : !*said;
    tap_test_str(right ? wanted : said, wanted, TAP_HERE, "%s", change);
    store_close(store);
    unlink(file("rows.db"));
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/simrun-rows.XXXXXX");
    if (!tap_ok(mkdtemp(folder) != NULL, "a folder for databases is made"))
        return tap_done();
    struct trace *trace = sample();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        row_is_right(trace, rows[i].change, rows[i].refused);
    trace_free(trace);
    rmdir(folder);
    return tap_done();
}
