/* The store: what goes in comes out, whatever happens to the writer. */
#include "tests/dice.h"
#include "tests/formats/format_samples.h"
#include "tests/tap.h"
#include "tests/traces/store_files.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Two ranks, `pairs` messages, a backward pass with nodes and edges, a v-form, notes, gradients. */
static struct trace *sample(int pairs)
{
    struct trace *trace = trace_new(2);
    trace->outcome = OUTCOME_DEADLOCK;
    trace->seed = 0xfedcba9876543210u;
    snprintf(trace->program, sizeof trace->program, "ring");
    snprintf(trace->model, sizeof trace->model, "eager");
    trace->objective = NAN;
    trace_add_comm(trace, &(struct trace_comm){.id = 1,
                                               .size = 2,
                                               .members = (int32_t[]){0, 1},
                                               .parent = TRACE_NO,
                                               .adjoint_of = TRACE_NO,
                                               .name = "world"});
    trace_add_comm(trace, &(struct trace_comm){.id = 5,
                                               .size = 2,
                                               .members = (int32_t[]){1, 0},
                                               .parent = 0,
                                               .adjoint_of = 0,
                                               .name = "it's"});
    uint32_t site = trace_add_site(trace, "ring.c", 41, "main");
    uint32_t nodes[3];
    for (uint32_t i = 0; i < 3; i++)
        nodes[i] = trace_add_node(
            trace, &(struct trace_node){.id = i + 1,
                                        .pass = i == 2,
                                        .kind = OP_SEND,
                                        .state = STATE_COMPLETE,
                                        .forward = i == 2 ? 0 : TRACE_NO,
                                        .site = site,
                                        .name = trace_add_string(trace, i ? "b" : "a"),
                                        .end = 5});
    trace_add_edge(trace, nodes[0], nodes[1], EDGE_DATA);
    trace_add_edge(trace, nodes[0], nodes[1], EDGE_ORDER);
    trace_add_pass(trace,
                   &(struct trace_pass){.rank = 0, .pass = 1, .mode = PASS_DATA, .complete = true});
    for (uint32_t rank = 0; rank < 2; rank++)
        for (int i = 0; i < pairs; i++) {
            struct trace_plain_op op = trace_op_none(rank, rank ? OP_IRECV : OP_SEND);
            op.peer = rank ? TRACE_ANY : 1;
            op.tag = rank ? TRACE_ANY : i;
            op.peer_matched = 1 - (int)rank;
            op.tag_matched = i;
            op.comm = 0;
            op.site = site;
            op.count = (int64_t)1 << 40;
            op.type = 0x214;
            op.signature = 0xffffffffu;
            op.flags = OP_ADJOINT;
            op.begin = (uint64_t)i;
            op.node = rank ? TRACE_NO : nodes[2];
            op.pass = rank ? 0 : 1;
            op.place = trace_add_place(trace, 0x7fff00000000u, 0);
            trace_set_times(trace, trace_add_op(trace, &op), 17, 0);
        }
    uint32_t first = (uint32_t)pairs;
    struct trace_plain_op wait = trace_op_none(1, OP_WAITALL);
    uint32_t index = trace_add_op(trace, &wait);
    trace_add_wait(trace, index, first + 1, true);
    trace_add_wait(trace, index, first, true);
    struct trace_plain_op varying = trace_op_none(1, OP_ALLTOALLV);
    varying.comm = 1;
    varying.state = STATE_BLOCKED;
    index = trace_add_op(trace, &varying);
    trace_add_counts(trace, index, 2, (int64_t[]){3, -4}, NULL);
    char words[] = "that's wrong";
    trace_add_note(
        trace,
        &(struct trace_note){
            .code = "G005", .rank = 1, .op = 0, .node = TRACE_NO, .site = site, .text = words});
    trace_add_gradient(trace, &(struct trace_gradient){.rank = 1,
                                                       .variable = trace_add_string(trace, "x"),
                                                       .index = -1,
                                                       .method = "dot",
                                                       .step = 1e-5,
                                                       .analytic = NAN,
                                                       .numeric = INFINITY,
                                                       .error = 0.1,
                                                       .tolerance = 1e-300,
                                                       .relative = NAN});
    trace_add_metric(trace, "loss", -1, -0.5, "J");
    trace_add_metric_at(trace, "gradient_norm M=4", 1, 0, 0.25, "");
    trace_add_metric_at(trace, "gradient_norm M=4", 1, 1e10, NAN, "");
    trace_gap(trace, "race", 3, "it's beyond the bound");
    trace_gap(trace, "gradients", UINT32_MAX, "undecided");
    trace->rank_info[1].state = RANK_BLOCKED;
    trace->rank_info[0].finalized = true;
    struct failure failure;
    if (!trace_finish(trace, &failure) || !trace_check(trace, &failure))
        tap_note("%s", failure.text);
    return trace;
}

static const struct store_run plain = {.scenario = "ring",
                                       .ranks = 2,
                                       .seed = 0xfedcba9876543210u,
                                       .schedule = "default",
                                       .argv = "-n 2 ring",
                                       .version = "test"};

/* A stored run of `pairs` messages; 0 when something failed. */
static int64_t put(struct store *store, int pairs, struct failure *failure)
{
    int64_t run = store_run_begin(store, &plain, failure);
    if (!run)
        return 0;
    struct trace *trace = sample(pairs);
    int code = store_run_finish(store, run,
                                &(struct store_result){.outcome = "pass", .trace = trace}, failure);
    trace_free(trace);
    return code ? 0 : run;
}

static void round_trip(void)
{
    struct failure failure = {0};
    struct store *store = store_open(file("a.db"), STORE_WRITE, &failure);
    tap_ok(store, "a new file is made: %s", failure.text);
    put(store, 3, &failure); /* so that ids of the next run do not start at 1 */
    struct trace *trace = sample(4);
    struct findings findings, back;
    findings_init(&findings);
    findings_init(&back);
    struct finding *finding = findings_add(&findings, "D001", "a 'cycle' of %d", 2);
    finding_detail(finding, "line one\nline two");
    finding_op_add(finding, 2, "core");
    finding_node_add(finding, 1, "culprit");
    finding->witness = strdup("w 1 2");
    finding->repair_edges = calloc(1, sizeof *finding->repair_edges);
    finding->repair_edges[0] = (struct trace_edge){.from = 1, .to = 2, .type = EDGE_ORDER};
    finding->repair_count = 1;
    finding->inherited = true;
    snprintf(finding->models, sizeof finding->models, "eager batch");
    finding_seal(finding, trace);
    int64_t run = store_run_begin(store, &plain, &failure);
    struct store_result result = {
        .outcome = "fail", .exit_code = 1, .trace = trace, .findings = &findings};
    tap_is_int(store_run_finish(store, run, &result, &failure), 0, "a run is written: %s",
               failure.text);
    store_close(store);
    store = store_open(file("a.db"), STORE_READ, &failure);
    struct trace *again = store_load_trace(store, run, &failure);
    tap_ok(again, "its trace is read: %s", failure.text);
    tap_ok(again && trace_hash(again) == trace_hash(trace), "the trace has the same hash");
    const char *different = again ? sample_difference(again, trace) : "all of it";
    tap_ok(!different, "nothing is different, table by table");
    if (different)
        tap_note("different: %s", different);
    tap_ok(again && again->seed == trace->seed, "a seed keeps all its bits");
    tap_ok(again && isnan(again->objective) && isnan(again->gradients[0].analytic) &&
               isinf(again->gradients[0].numeric),
           "what is not a number stays so");
    tap_ok(again && again->wait_count == 2 && again->waits[0].start == trace->waits[0].start,
           "waits keep their order");
    tap_ok(again && again->counts_count == 1 && again->counts[0].send[1] == -4 &&
               !again->counts[0].receive,
           "counts come back");
    tap_ok(again && again->comms[1].members[0] == 1 && strcmp(again->comms[1].name, "it's") == 0,
           "communicators come back");
    tap_ok(again && trace_op_times(again, &again->ops[0]).begin_ns == 17, "wall times come back");
    tap_is_str(again ? again->notes[0].text : "", "that's wrong", "notes come back");
    const struct coverage *coverage = trace_coverage(again);
    tap_ok(coverage->count == 2 && coverage->gaps[0].count == 3 &&
               strcmp(coverage->gaps[0].text, "it's beyond the bound") == 0 &&
               coverage->gaps[1].count == UINT32_MAX &&
               strcmp(coverage->gaps[1].check, "gradients") == 0,
           "coverage comes back");
    tap_is_int(store_load_findings(store, run, again, &back, &failure), 0, "findings are read: %s",
               failure.text);
    const struct finding *got = back.count ? &back.items[0] : NULL;
    tap_ok(got && strcmp(got->title, "a 'cycle' of 2") == 0 &&
               strcmp(got->detail, "line one\nline two") == 0 && got->inherited &&
               strcmp(got->fingerprint, finding->fingerprint) == 0 &&
               strcmp(got->models, "eager batch") == 0,
           "a finding comes back");
    tap_ok(got && got->op_count == 2 && got->ops[0].op == 2 && got->ops[1].node == 1 &&
               strcmp(got->ops[1].role, "culprit") == 0,
           "with its places");
    tap_ok(got && got->repair_count == 1 && got->repair_edges[0].to == 2 &&
               got->site == finding->site,
           "with its repair and site");
    tap_is_int(store_verify(store, &failure), 0, "the file is whole: %s", failure.text);
    store_close(store);
    findings_release(&findings);
    findings_release(&back);
    trace_free(trace);
    trace_free(again);
}

/* Every field at the end of its range, at its "none", or in between. */
static struct trace_whole_op extreme(int which)
{
    struct trace_plain_op op = trace_op_none(0, OP_COMPUTE);
    if (which == 0)
        return (struct trace_whole_op){.op = op};
    bool least = which == 1;
    op.flags = least ? 0 : UINT16_MAX;
    op.pass = least ? 0 : UINT32_MAX;
    op.comm_seq = op.type = op.signature = op.reduce_op = op.batch = op.identity =
        least ? 1 : UINT32_MAX;
    op.peer = least ? TRACE_ANY : 1; /* readers refuse ranks that are none */
    op.peer_matched = !least;
    op.tag = op.tag_matched = op.error = least ? INT32_MIN : INT32_MAX;
    op.count = op.count_matched = least ? INT64_MIN : INT64_MAX;
    uint64_t number = least ? (uint64_t)1 << 63 : UINT64_MAX;
    op.begin = op.end = number;
    op.thread = least ? 1 : UINT32_MAX;
    return (struct trace_whole_op){.op = op, .at = {number, number}};
}

static bool stored_alike(struct store *store, struct trace *trace)
{
    struct failure failure = {0};
    int64_t run = store_run_begin(store, &plain, &failure);
    struct store_result result = {.outcome = "pass", .trace = trace};
    int code = store_run_finish(store, run, &result, &failure);
    struct trace *again = code ? NULL : store_load_trace(store, run, &failure);
    bool alike = again && !sample_difference(again, trace);
    if (!alike)
        tap_note("%s", again ? sample_difference(again, trace) : failure.text);
    trace_free(again);
    return alike;
}

/* A column is stored row by row, once for all rows, or not at all: all of these, for every field,
 * where the rows that differ are the first, a middle one or the last. And all of it in pages. */
static void same_in_rows_or_pages(bool pages)
{
    struct failure failure = {0};
    struct store *store =
        store_open(file(pages ? "same-pages.db" : "same.db"), STORE_WRITE, &failure);
    store_keep_rows(store, pages ? 0 : STORE_ROWS_MOST);
    int wrong = 0, tried = 0;
    for (int count = 0; count <= 3; count++)
        for (int most = 0; most < 3; most++)
            for (int other = 0; other < 3; other++)
                for (int at = 0; at < (count ? count : 1); at++, tried++) {
                    struct trace *trace = trace_new(2);
                    trace->seed = plain.seed;
                    strcpy(trace->program, plain.scenario);
                    for (int i = 0; i < count; i++) {
                        struct trace_whole_op op = extreme(i == at ? other : most);
                        trace_add_whole_op(trace, &op);
                    }
                    trace_finish(trace, &failure);
                    wrong += !stored_alike(store, trace);
                    trace_free(trace);
                }
    tap_is_int(tried, 9 * (1 + 1 + 2 + 3), "traces whose rows are the same but for one");
    tap_is_int(wrong, 0, "come back as they were");
    tap_is_int(number(store, "SELECT count(*) FROM pages WHERE content='ops'"), pages * (tried - 9),
               "%s", pages ? "from pages" : "from rows");
    store_close(store);
}

static void views(void)
{
    struct failure failure = {0};
    struct store *store = store_open(file("a.db"), STORE_READ, &failure);
    tap_is_int(number(store, "SELECT count(*) FROM v_ops WHERE run_id=2"), 10,
               "operations are readable by name");
    tap_is_int(number(store, "SELECT count(*) FROM v_ops WHERE run_id=2 AND op='Send' AND "
                             "site='ring.c:41' AND phase='backward'"),
               4, "with kind, site and phase");
    tap_is_int(number(store, "SELECT count(*) FROM v_matches WHERE run_id=2 AND wildcard=3"), 4,
               "matches are readable");
    tap_is_int(number(store, "SELECT count(*) FROM v_runs WHERE outcome='fail' AND errors=1"), 1,
               "runs are readable");
    tap_is_int(number(store, "SELECT worst_rel='nan' FROM v_runs WHERE run_id=2"), 1,
               "the worst error is the one that is not a number");
    tap_is_int(number(store, "SELECT count(*) FROM v_new_findings"), 1, "new findings are known");
    store_close(store);
}

static void refused(const char *path, enum store_mode mode, int code, const char *what)
{
    struct failure failure = {0};
    struct store *store = store_open(path, mode, &failure);
    tap_ok(!store && failure.code == code && strstr(failure.text, path), "%s is refused: %s", what,
           failure.text);
    store_close(store);
}

static void execute(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_open(path, &db);
    sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_close(db);
}

static void refusals(void)
{
    execute(file("new.db"),
            "PRAGMA application_id=1397312850; PRAGMA user_version=99; CREATE TABLE t(a)");
    refused(file("new.db"), STORE_WRITE, FAILURE_INPUT, "a newer file");
    execute(file("other.db"), "CREATE TABLE t(a)");
    refused(file("other.db"), STORE_WRITE, FAILURE_INPUT, "a database of another program");
    FILE *text = fopen(file("text.db"), "w");
    for (int i = 0; i < 500; i++)
        fprintf(text, "not a database\n");
    fclose(text);
    refused(file("text.db"), STORE_WRITE, FAILURE_INPUT, "a text file");
    refused(file("absent.db"), STORE_READ, FAILURE_INPUT, "an absent file");
    refused(file("no/where.db"), STORE_WRITE, FAILURE_INTERNAL, "a folder that does not exist");
}

static void migration(void)
{
    struct failure failure = {0};
    char command[512];
    snprintf(command, sizeof command, "cp tests/data/store-version-1.sqlite %s", file("old.db"));
    if (system(command) != 0)
        tap_note("cp failed");
    refused(file("old.db"), STORE_READ, FAILURE_INPUT, "an older version for reading");
    tap_is_int(store_migrate(file("old.db"), &failure), 0, "an older version is migrated: %s",
               failure.text);
    tap_ok(access(file("old.db.v1.bak"), R_OK) == 0, "with a backup beside it");
    struct store *store = store_open(file("old.db"), STORE_WRITE, &failure);
    tap_is_int(number(store, "PRAGMA user_version"), STORE_VERSION, "it says its new version");
    tap_is_int(
        number(store, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'old\\_%' ESCAPE '\\'"),
        0, "nothing old is left");
    struct trace *trace = store_load_trace(store, 1, &failure);
    tap_ok(trace && trace->op_count == 3 && trace->ops[0].match == 2 && trace->ops[0].peer == 1,
           "an old trace is read: %s", failure.text);
    struct findings findings;
    findings_init(&findings);
    if (trace)
        store_load_findings(store, 1, trace, &findings, &failure);
    tap_ok(findings.count == 1 && findings.items[0].op_count == 1 &&
               findings.items[0].ops[0].op == 1,
           "an old finding keeps its places");
    tap_is_int(number(store, "SELECT count(*) FROM runs JOIN env USING(env_id)"), 2,
               "all runs are there");
    tap_is_int(store_verify(store, &failure), 0, "and the file is whole: %s", failure.text);
    tap_ok(put(store, 2, &failure) == 3, "new runs follow the old ones: %s", failure.text);
    findings_release(&findings);
    trace_free(trace);
    store_close(store);
}

/* Version 2 knew neither the step of a metric nor the thread of an operation. */
static void migration_of_version_2(void)
{
    struct failure failure = {0};
    char command[512];
    snprintf(command, sizeof command, "cp tests/data/store-version-2.sqlite %s", file("two.db"));
    if (system(command) != 0)
        tap_note("cp failed");
    refused(file("two.db"), STORE_READ, FAILURE_INPUT, "version 2 for reading");
    struct store *store = store_open(file("two.db"), STORE_WRITE, &failure);
    tap_ok(store && access(file("two.db.v2.bak"), R_OK) == 0,
           "version 2 is migrated when it is written to, with a backup: %s", failure.text);
    if (!store)
        return;
    tap_is_int(number(store, "PRAGMA user_version"), STORE_VERSION, "it says its new version");
    struct trace *trace = store_load_trace(store, 2, &failure);
    tap_ok(trace && trace->op_count == 28 && trace->ops[27].form->thread == 0,
           "its operations are those of the first thread: %s", failure.text);
    tap_ok(trace && trace->metric_count > 0 && isnan(trace->metrics[0].step),
           "its metrics have no step");
    tap_ok(put(store, 3, &failure) == 4, "new runs follow the old ones: %s", failure.text);
    tap_is_int(store_verify(store, &failure), 0, "and the file is whole: %s", failure.text);
    trace_free(trace);
    store_close(store);
}

/* Version 3 knew no coverage. */
static void migration_of_version_3(void)
{
    struct failure failure = {0};
    char command[512];
    snprintf(command, sizeof command, "cp tests/data/store-version-3.sqlite %s", file("three.db"));
    if (system(command) != 0)
        tap_note("cp failed");
    refused(file("three.db"), STORE_READ, FAILURE_INPUT, "version 3 for reading");
    struct store *store = store_open(file("three.db"), STORE_WRITE, &failure);
    tap_ok(store && access(file("three.db.v3.bak"), R_OK) == 0,
           "version 3 is migrated when it is written to, with a backup: %s", failure.text);
    if (!store)
        return;
    tap_is_int(number(store, "PRAGMA user_version"), STORE_VERSION, "it says its new version");
    struct trace *trace = store_load_trace(store, 1, &failure);
    tap_ok(trace && trace->op_count == 16 && trace_coverage(trace)->count == 0,
           "its run is there, without a gap: %s", failure.text);
    tap_ok(put(store, 3, &failure) == 2, "new runs follow the old ones: %s", failure.text);
    tap_is_int(number(store, "SELECT count(*) FROM v_coverage WHERE run_id=2"), 2,
               "and their gaps can be read");
    tap_is_int(store_verify(store, &failure), 0, "and the file is whole: %s", failure.text);
    trace_free(trace);
    store_close(store);
}

/* Version 4 knew no pages. */
static void migration_of_version_4(void)
{
    struct failure failure = {0};
    char command[512];
    snprintf(command, sizeof command, "cp tests/data/store-version-4.sqlite %s && chmod u+w %s",
             file("four.db"), file("four.db"));
    if (system(command) != 0)
        tap_note("cp failed");
    refused(file("four.db"), STORE_READ, FAILURE_INPUT, "version 4 for reading");
    struct store *store = store_open(file("four.db"), STORE_WRITE, &failure);
    tap_ok(store && access(file("four.db.v4.bak"), R_OK) == 0,
           "version 4 is migrated when it is written to, with a backup: %s", failure.text);
    if (!store)
        return;
    tap_is_int(number(store, "PRAGMA user_version"), STORE_VERSION, "it says its new version");
    struct trace *trace = store_load_trace(store, 1, &failure);
    tap_ok(trace && trace->op_count == 28 && trace->gradient_count > 0, "its run is there: %s",
           failure.text);
    store_keep_rows(store, 0);
    tap_ok(put(store, 3, &failure) == 2, "new runs follow the old ones: %s", failure.text);
    tap_is_int(number(store, "SELECT count(*) FROM pages WHERE run_id=2"), 2, "in pages");
    tap_is_int(store_verify(store, &failure), 0, "and the file is whole: %s", failure.text);
    trace_free(trace);
    store_close(store);
}

/* A trace that is stored before it is judged is there, whatever becomes of the judge. */
static void stored_before_judged(void)
{
    struct failure failure = {0};
    struct store *store = store_open(file("first.db"), STORE_WRITE, &failure);
    struct trace *trace = sample(4);
    int64_t lost = store_run_begin(store, &plain, &failure);
    tap_is_int(store_run_trace(store, lost, trace, false, &failure), 0, "a trace alone: %s",
               failure.text);
    struct trace *again = store_load_trace(store, lost, &failure);
    tap_ok(again && trace_hash(again) == trace_hash(trace), "is there before there is a verdict");
    trace_free(again);
    tap_is_int(number(store, "SELECT count(*) FROM runs WHERE outcome IS NULL"), 1,
               "the run still goes on");
    int64_t run = store_run_begin(store, &plain, &failure);
    store_run_trace(store, run, trace, false, &failure);
    struct findings findings, back;
    findings_init(&findings);
    findings_init(&back);
    struct finding *finding = findings_add(&findings, "D001", "a hang");
    finding_op_add(finding, 2, "core");
    finding_seal(finding, trace);
    struct store_result result = {.outcome = "fail", .trace = trace, .findings = &findings};
    tap_is_int(store_run_finish(store, run, &result, &failure), 0, "a verdict follows: %s",
               failure.text);
    again = store_load_trace(store, run, &failure);
    const char *different = again ? sample_difference(again, trace) : failure.text;
    tap_ok(!different, "the trace is stored once: %s", different ? different : "");
    tap_ok(again && !store_load_findings(store, run, again, &back, &failure) && back.count == 1 &&
               back.items[0].ops[0].op == 2,
           "its findings name the operations");
    const struct store_result given_up = {.outcome = "error"};
    tap_is_int(store_run_finish(store, lost, &given_up, &failure), 0, "the first is given up: %s",
               failure.text);
    struct trace *kept = store_load_trace(store, lost, &failure);
    tap_ok(kept && trace_hash(kept) == trace_hash(trace), "its trace stays");
    tap_ok(put(store, 5, &failure) == 3, "and the next run has ids of its own: %s", failure.text);
    tap_is_int(store_verify(store, &failure), 0, "and the file is whole: %s", failure.text);
    trace_free(kept);
    findings_release(&findings);
    findings_release(&back);
    trace_free(again);
    trace_free(trace);
    store_close(store);
}

/* A child that stores runs for ever, killed at an instant of the parent's choosing after it has opened
 * the file; `wait_us` < 0: within its first run. */
static void killed_once(const char *path, int wait_us)
{
    int ends[2];
    char byte = 0;
    if (pipe(ends))
        return;
    pid_t child = fork();
    if (child == 0) {
        struct failure failure;
        struct store *store = store_open(path, STORE_WRITE, &failure);
        bool begun = store && (wait_us >= 0 || store_run_begin(store, &plain, &failure));
        ssize_t told = write(ends[1], &byte, begun);
        while (told > 0 && wait_us < 0)
            pause();
        while (told > 0 && put(store, 400, &failure))
            ;
        _exit(1);
    }
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 1)
        wait_us = 0;
    close(ends[0]);
    wait_us = wait_us < 0 ? 0 : wait_us;
    struct timespec time = {wait_us / 1000000, wait_us % 1000000 * 1000L};
    nanosleep(&time, NULL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void kills(void)
{
    struct failure failure = {0};
    const char *path = file("killed.db");
    struct store *store = store_open(path, STORE_WRITE, &failure);
    struct timespec before,
        after; /* kills come within the time that three runs take here and now */
    clock_gettime(CLOCK_MONOTONIC, &before);
    put(store, 400, &failure);
    clock_gettime(CLOCK_MONOTONIC, &after);
    int range = 3 * (int)((after.tv_sec - before.tv_sec) * 1000000 +
                          (after.tv_nsec - before.tv_nsec) / 1000);
    store_close(store);
    unsigned state = 12345;
    int opened = 0, whole = 0, marked = 0;
    enum { KILLS = 50 };
    for (int i = 0; i < KILLS; i++) {
        state = state * 1103515245 + 12345;
        killed_once(path, i ? (int)(state >> 8) % range : -1);
        store = store_open(path, STORE_WRITE, &failure);
        opened += store != NULL;
        whole += store && store_verify(store, &failure) == 0;
        marked += store && number(store, "SELECT count(*) FROM runs WHERE outcome IS NULL") == 0;
        store_close(store);
    }
    tap_is_int(opened, KILLS, "the file opens after kill -9 at any instant");
    tap_is_int(whole, KILLS, "and is whole");
    tap_is_int(marked, KILLS, "and no run looks as if it were still running");
    store = store_open(path, STORE_READ, &failure);
    tap_ok(number(store, "SELECT count(*) FROM runs WHERE outcome='interrupted'") > 0,
           "an interrupted run says so");
    tap_is_int(number(store, "SELECT count(*) FROM runs r WHERE outcome='pass' AND (SELECT "
                             "count(*) FROM v_ops o WHERE o.run_id=r.run_id)<>802"),
               0, "runs that ended before are whole");
    tap_ok(number(store, "SELECT count(*) FROM runs WHERE outcome='pass'") > 0,
           "and there are some");
    store_close(store);
}

static void parallel(void)
{
    struct failure failure = {0};
    const char *path = file("parallel.db");
    enum { JOBS = 8, EACH = 5 };
    for (int job = 0; job < JOBS; job++)
        if (fork() == 0) {
            struct store *store = store_open(path, STORE_WRITE, &failure);
            int done = 0;
            for (int i = 0; store && i < EACH; i++)
                done += put(store, 50, &failure) > 0;
            store_close(store);
            _exit(done == EACH ? 0 : 1);
        }
    int good = 0, status;
    for (int job = 0; job < JOBS; job++)
        good += wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    tap_is_int(good, JOBS, "parallel jobs share a file");
    struct store *store = store_open(path, STORE_READ, &failure);
    tap_is_int(number(store, "SELECT count(*) FROM runs WHERE outcome='pass'"), JOBS * EACH,
               "every run is there");
    tap_is_int(number(store, "SELECT count(*) FROM ops"), JOBS * EACH * 102,
               "with all its operations");
    tap_is_int(store_verify(store, &failure), 0, "and the file is whole");
    store_close(store);
}

static void collection(void)
{
    struct failure failure = {0};
    struct store *store = store_open(file("gc.db"), STORE_WRITE, &failure);
    for (int i = 0; i < 5; i++)
        put(store, 10, &failure);
    int64_t open_run = store_run_begin(store, &plain, &failure), removed = 0;
    tap_is_int(store_gc(store, 2, &removed, &failure), 0, "old runs are removed: %s", failure.text);
    tap_is_int(removed, 3, "as many as asked");
    tap_is_int(number(store, "SELECT min(run_id) FROM runs"), 4, "the oldest first");
    tap_is_int(number(store, "SELECT count(*) FROM ops"), 2 * 22, "with their operations");
    tap_is_int(number(store, "SELECT count(*) FROM runs WHERE outcome IS NULL"), open_run > 0,
               "a run under way stays");
    struct trace *trace = store_load_trace(store, 5, &failure);
    tap_ok(trace, "what is kept is readable: %s", failure.text);
    tap_is_int(store_artifact_put(store, 5, "note", "text/plain", "hi", 2, &failure), 0,
               "an artifact is kept");
    void *data;
    size_t size;
    store_artifact_get(store, 5, "note", &data, &size, &failure);
    tap_ok(size == 2 && memcmp(data, "hi", 2) == 0, "and comes back");
    free(data);
    trace_free(trace);
    store_close(store);
}

/* Runs a body in a child whose files may not grow beyond a limit: what a full disk looks like. */
static void full_disk(void)
{
    struct failure failure = {0};
    const char *path = file("full.db");
    struct store *store = store_open(path, STORE_WRITE, &failure);
    put(store, 10, &failure);
    store_close(store);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        struct stat status;
        stat(path, &status);
        struct rlimit limit = {(rlim_t)status.st_size + 65536, (rlim_t)status.st_size + 65536};
        setrlimit(RLIMIT_FSIZE, &limit);
        store = store_open(path, STORE_WRITE, &failure);
        bool refused_it = store && put(store, 20000, &failure) == 0 &&
                          failure.code == FAILURE_INTERNAL && strstr(failure.text, path);
        store_close(store);
        _exit(refused_it ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
           "a full disk is an error that names the file");
    store = store_open(path, STORE_WRITE, &failure);
    struct trace *trace = store_load_trace(store, 1, &failure);
    tap_ok(trace && trace->op_count == 22, "earlier runs are whole: %s", failure.text);
    tap_is_int(store_verify(store, &failure), 0, "and the file too");
    trace_free(trace);
    store_close(store);
}

static void same_in_all_rows(void)
{
    same_in_rows_or_pages(false);
}

static void same_in_all_pages(void)
{
    same_in_rows_or_pages(true);
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/simrun-store-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    static const struct {
        void (*test)(void);
        unsigned group;
    } tests[] = {{round_trip, 0},
                 {same_in_all_rows, 1},
                 {same_in_all_pages, 2},
                 {views, 0},
                 {refusals, 0},
                 {migration, 3},
                 {migration_of_version_2, 3},
                 {migration_of_version_3, 4},
                 {migration_of_version_4, 4},
                 {stored_before_judged, 5},
                 {kills, DICE_DEAR},
                 {parallel, DICE_DEAR},
                 {collection, 5},
                 {full_disk, 5}};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (dice_takes_group(tests[i].group))
            tests[i].test();
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0)
        tap_note("could not remove %s", folder);
    return tap_done();
}
