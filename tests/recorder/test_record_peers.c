/* The recorder preloaded on a real MPI: Debian's Open MPI and MPICH, when they are there (make
 * peers). */
#include "tests/tap.h"

#include "checker/check.h"
#include "recorder/recording.h"

#include <stdlib.h>
#include <unistd.h>

static const struct {
    const char *how, *code, *where, *simulated;
} ends[] = {
    {"abort", "X002", "peer_ends.c:", "X002"},
    {"exit", "X002", "", "X002"},
    {"late", "X002", "", "X002"},
    {"crash", "X001", "peer_ends.c:", "X001"},
    {"argument", "M009", "peer_ends.c:", "M009"},
    {"cancel", "", "", "PASS"},
    {"fork", "", "", "PASS"},
    {"vanish", "N001", "peer_ends.c:", "X002"}, /* _exit leaves nothing on a real MPI */
};

enum { ENDS = sizeof ends / sizeof *ends, TESTS = 14 + ENDS };

static const struct peer {
    const char *name, *launch, *preload;
} peers[] = {
    {"openmpi", "mpirun.openmpi --allow-run-as-root --oversubscribe -n 4",
     "-x SIMRUN_TRACE_DIR -x LD_PRELOAD="},
    {"mpich", "mpirun.mpich -n 4", "-genv LD_PRELOAD "},
};

static bool run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool run(const char *format, ...)
{
    char command[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return system(command) == 0;
}

static const struct trace_op *nth(const struct trace *trace, uint32_t rank, enum op_kind kind,
                                  int n)
{
    static const struct trace_form form = {.comm = TRACE_NO, .site = TRACE_NO};
    static const struct trace_op none = {.form = &form, .match = TRACE_NO};
    for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1]; i++)
        if (trace->ops[i].kind == kind && n-- == 0)
            return &trace->ops[i];
    return &none;
}

static void judge(const struct peer *peer, const struct trace *trace)
{
    const struct trace_op *send = nth(trace, 1, OP_ISEND, 0), *receive = nth(trace, 2, OP_IRECV, 0);
    tap_ok(send->match < trace->op_count && &trace->ops[send->match] == receive,
           "%s: messages are matched across rank files", peer->name);
    tap_ok(send->form->type == 0x214 && send->count == 3 &&
               send->form->signature == receive->form->signature,
           "%s: a derived type is known by what it is made of", peer->name);
    tap_ok(receive->state == STATE_COMPLETE && trace_op_count_matched(receive) == 3 &&
               receive->request < trace->op_count,
           "%s: a wait completes what was started", peer->name);
    bool matched = true;
    for (int i = 0; i < 3; i++) {
        const struct trace_op *any = nth(trace, 0, OP_RECV, i);
        matched = matched && any->peer == TRACE_ANY && trace_op_peer_matched(any) >= 1 &&
                  trace_op_tag_matched(any) == 10 + trace_op_peer_matched(any) &&
                  trace_op_count_matched(any) == trace_op_peer_matched(any);
    }
    tap_ok(matched, "%s: wildcards keep what they matched", peer->name);
    const struct trace_op *sum = nth(trace, 3, OP_ALLREDUCE, 0);
    const struct trace_comm *comm =
        sum->form->comm < trace->comm_count ? &trace->comms[sum->form->comm] : &trace->comms[0];
    tap_ok(sum->form->reduce_op == 0x23 &&
               sum->form->comm == nth(trace, 1, OP_ALLREDUCE, 0)->form->comm && comm->size == 2 &&
               comm->members && comm->members[0] == 3,
           "%s: members agree on a communicator", peer->name);
    char site[512];
    trace_site_text(trace, send->form->site, site, sizeof site);
    tap_ok(strstr(site, "peer_record.c:"), "%s: call sites are file and line: %s", peer->name,
           site);
    tap_ok(trace->rank_info[3].finalized && trace->rank_info[3].state == RANK_FINISHED,
           "%s: ranks ended in order", peer->name);
}

static size_t verdict(const struct trace *trace)
{
    struct check_options options;
    struct findings findings;
    findings_init(&findings);
    check_options_init(&options);
    check_trace(trace, &options, &findings);
    size_t count = findings.count;
    findings_release(&findings);
    return count;
}

/* tests/programs/two_threads.c: both threads of every rank pass 200 numbers round at once. */
static void judge_threads(const struct peer *peer, const struct trace *trace)
{
    int issued[4][2] = {0}, right = 0;
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->kind != OP_ISEND && op->kind != OP_RECV && op->kind != OP_WAIT)
            continue;
        if (op->form->thread < 2 && op->state == STATE_COMPLETE)
            issued[op->rank][op->form->thread]++;
        right += op->kind == OP_RECV && op->match < trace->op_count &&
                 trace->ops[op->match].tag == op->tag;
    }
    bool all = true;
    for (int rank = 0; rank < 4; rank++)
        all = all && issued[rank][0] == 600 && issued[rank][1] == 600;
    tap_ok(all && right == 4 * 2 * 200, "%s: the calls of all threads are recorded", peer->name);
    tap_is_int(verdict(trace), 0, "%s: and threads side by side are no fault", peer->name);
}

static void threads(const struct peer *peer, const char *launch, const char *folder)
{
    struct failure failure = {0};
    run("rm -f %s/*.simrec", folder);
    bool ran = run("mpicc.%s -w -g -O0 -pthread -o %s/threads tests/programs/two_threads.c",
                   peer->name, folder) &&
               run("%s %s/threads >%s/out 2>&1", launch, folder, folder);
    struct trace *trace = ran ? recording_read(folder, NULL, &failure) : NULL;
    tap_ok(trace, "%s: two threads of each rank call MPI at once: %s", peer->name, failure.text);
    if (trace)
        judge_threads(peer, trace);
    else
        tap_skip(2, "nothing was recorded");
    trace_free(trace);
}

/* One finding of this code at this place, "": none. */
static bool found(const struct trace *trace, const char *code, const char *where)
{
    char site[512];
    struct check_options options;
    struct findings findings;
    findings_init(&findings);
    check_options_init(&options);
    check_trace(trace, &options, &findings);
    bool right = findings.count == (*code != 0);
    if (right && *code)
        right = !strcmp(findings.items[0].code, code) &&
                strstr(trace_site_text(trace, findings.items[0].site, site, sizeof site), where);
    for (size_t i = 0; !right && i < findings.count; i++)
        printf("# %s %s\n", findings.items[i].code, findings.items[i].title);
    findings_release(&findings);
    return right;
}

/* tests/programs/peer_ends.c: what the simulator says of it is said of it here. */
static void judge_ends(const struct peer *peer, const char *launch, const char *folder)
{
    bool built =
        run("mpicc.%s -w -g -O0 -o %s/ends tests/programs/peer_ends.c", peer->name, folder);
    for (int i = 0; i < ENDS; i++) {
        struct failure failure = {0};
        run("rm -f %s/*.simrec; ulimit -c 0; %s %s/ends %s >%s/out 2>&1", folder, launch, folder,
            ends[i].how, folder);
        struct trace *trace = built ? recording_read(folder, NULL, &failure) : NULL;
        tap_ok(trace && found(trace, ends[i].code, ends[i].where), "%s: %s is %s: %s", peer->name,
               ends[i].how, *ends[i].code ? ends[i].code : "no fault", failure.text);
        trace_free(trace);
    }
}

static void with(const struct peer *peer)
{
    struct failure failure = {0};
    char folder[] = "/tmp/simrun-peer-XXXXXX", library[256], launch[1024];
    snprintf(library, sizeof library, "build/peers/%s/libsimrecord.so", peer->name);
    if (access(library, R_OK) != 0 ||
        !run("command -v mpirun.%s mpicc.%s >/dev/null 2>&1", peer->name, peer->name) ||
        !mkdtemp(folder)) {
        tap_skip(TESTS, "%s or %s is absent (make peers)", peer->name, library);
        return;
    }
    setenv("SIMRUN_TRACE_DIR", folder, 1);
    /* LD_PRELOAD ends names at blanks */
    snprintf(launch, sizeof launch, "timeout 300 %s %s%s/recorder.so", peer->launch, peer->preload,
             folder);
    tap_ok(run("cp %s %s/recorder.so", library, folder) &&
               run("mpicc.%s -w -g -O0 -o %s/program tests/programs/peer_record.c", peer->name,
                   folder) &&
               run("%s %s/program >%s/out 2>&1", launch, folder, folder),
           "%s: a program runs with the recorder preloaded", peer->name);
    struct trace *trace = recording_read(folder, NULL, &failure);
    tap_ok(trace && trace->ranks == 4, "%s: its rank files are merged: %s", peer->name,
           failure.text);
    if (trace)
        judge(peer, trace);
    else
        tap_skip(7, "nothing was merged");
    trace_free(trace);
    run("rm -f %s/*.simrec; %s %s/program crash >%s/out 2>&1", folder, launch, folder, folder);
    trace = recording_read(folder, NULL, &failure);
    tap_ok(trace && nth(trace, 1, OP_ALLREDUCE, 0)->state == STATE_COMPLETE &&
               !trace->rank_info[1].finalized,
           "%s: what a rank did before it died is there: %s", peer->name, failure.text);
    tap_ok(trace && nth(trace, 0, OP_SSEND, 0)->state == STATE_BLOCKED,
           "%s: and the call another stood in", peer->name);
    trace_free(trace);
    threads(peer, launch, folder);
    judge_ends(peer, launch, folder);
    run("rm -rf %s", folder);
}

static void simulate_ends(void)
{
    const char *simrun = getenv("SIMRUN");
    for (int i = 0; i < ENDS; i++)
        tap_ok(run("'%s' --db none -n 4 tests/programs/peer_ends.c %s 2>&1 | grep -q '^%s'",
                   simrun ? simrun : "build/simrun", ends[i].how, ends[i].simulated),
               "simulated: %s is %s", ends[i].how, ends[i].simulated);
}

int main(void)
{
    tap_plan(2 * TESTS + ENDS);
    simulate_ends();
    for (int i = 0; i < 2; i++)
        with(&peers[i]);
    return tap_done();
}
