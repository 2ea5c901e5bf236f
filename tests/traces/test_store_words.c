/* What SELECTs say of a stored run, word by word: members, wildcards, events, the machine and the ranks. */
#include "tests/tap.h"
#include "tests/traces/store_files.h"

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

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/simrun-words-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    test_words();
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0)
        tap_note("could not remove %s", folder);
    return tap_done();
}
