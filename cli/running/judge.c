/* Judging within a time: see judge.h. */
#include "cli/running/judge.h"

#include "cli/processes/interrupt.h"
#include "cli/processes/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Fewer operations, and nodes of backward passes, are judged before anybody could wait. */
enum { SHORT = 20000, LOOK_MS = 200, NO_MEMORY = 3 };

/* ---- the process that judges ---- */

static void put_text(FILE *out, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    fwrite(&size, sizeof size, 1, out);
    fwrite(text ? text : "", 1, size, out);
}

static void put_finding(FILE *out, const struct finding *finding)
{
    fwrite(finding, sizeof *finding, 1, out);
    put_text(out, finding->title);
    put_text(out, finding->detail);
    put_text(out, finding->witness);
    put_text(out, finding->repair);
    if (finding->op_count)
        fwrite(finding->ops, sizeof *finding->ops, finding->op_count, out);
    if (finding->repair_count)
        fwrite(finding->repair_edges, sizeof *finding->repair_edges, finding->repair_count, out);
}

struct teller {
    FILE *out;
    const struct trace *trace;
};

/* Everything so far: a later check may have changed what an earlier one found. */
static void tell(void *context, uint64_t done, const struct findings *findings)
{
    struct teller *teller = context;
    const struct coverage *coverage = trace_coverage(teller->trace);
    char *text = NULL;
    size_t size = 0;
    FILE *part = open_memstream(&text, &size);
    if (!part)
        _exit(NO_MEMORY);
    size_t counts[] = {findings->count, coverage->count, coverage->failed};
    fwrite(&done, sizeof done, 1, part);
    fwrite(counts, sizeof counts, 1, part);
    for (size_t i = 0; i < findings->count; i++)
        put_finding(part, &findings->items[i]);
    for (size_t i = 0; i < coverage->count; i++) {
        fwrite(coverage->gaps[i].check, sizeof coverage->gaps[i].check, 1, part);
        fwrite(&coverage->gaps[i].count, sizeof coverage->gaps[i].count, 1, part);
        put_text(part, coverage->gaps[i].text);
    }
    if (fclose(part))
        _exit(NO_MEMORY);
    fwrite(&size, sizeof size, 1, teller->out);
    fwrite(text, 1, size, teller->out);
    fflush(teller->out);
    free(text);
}

static _Noreturn void judge_main(const struct trace *trace, const struct check_options *options,
                                 int end)
{
    struct findings findings;
    struct teller teller = {.out = fdopen(end, "w"), .trace = trace};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    isolate_memory();
    if (!teller.out)
        _exit(NO_MEMORY);
    trace_gaps_clear(trace);
    findings_init(&findings);
    check_each(trace, options, &findings, tell, &teller);
    _exit(fclose(teller.out) ? 1 : 0);
}

/* ---- the one that waits ---- */

/* What came until now. */
struct told {
    char *bytes;
    size_t size, room;
};

static bool read_more(int end, struct told *told)
{
    if (told->size == told->room) {
        size_t room = told->room ? 2 * told->room : 1 << 16;
        char *bytes = realloc(told->bytes, room);
        if (!bytes)
            return false;
        told->bytes = bytes;
        told->room = room;
    }
    ssize_t got;
    do
        got = read(end, told->bytes + told->size, told->room - told->size);
    while (got < 0 && errno == EINTR);
    told->size += got > 0 ? (size_t)got : 0;
    return got > 0;
}

/* Until the other has said everything; false: not in time. */
static bool listen_to(int end, struct time_limit *limit, struct told *told)
{
    struct pollfd entry = {.fd = end, .events = POLLIN};
    while (!time_limit_passed(limit)) {
        double left = time_limit_left(limit) * 1000;
        int ready = poll(&entry, 1, (int)fmin(ceil(left), LOOK_MS));
        if (ready > 0 && !read_more(end, told))
            return true;
    }
    return false;
}

static const char *take(const char **at, size_t size)
{
    const char *from = *at;
    *at += size;
    return from;
}

static char *take_text(const char **at)
{
    size_t size;
    memcpy(&size, take(at, sizeof size), sizeof size);
    const char *text = take(at, size);
    return size ? strdup(text) : NULL;
}

static void take_finding(const char **at, struct findings *findings)
{
    struct finding told;
    memcpy(&told, take(at, sizeof told), sizeof told);
    char *title = take_text(at);
    struct finding *finding = findings_add(findings, told.code, "%s", title ? title : "");
    char *own = finding->title, *detail = take_text(at);
    size_t ops = told.op_count, edges = told.repair_count;
    free(title);
    free(finding->detail);
    told.title = own, told.detail = detail ? detail : strdup("");
    told.witness = take_text(at), told.repair = take_text(at);
    told.ops = NULL, told.op_count = 0;
    told.repair_edges = edges ? malloc(edges * sizeof *told.repair_edges) : NULL;
    told.repair_count = told.repair_edges ? edges : 0;
    *finding = told;
    for (size_t i = 0; i < ops; i++) {
        struct finding_op place;
        memcpy(&place, take(at, sizeof place), sizeof place);
        if (place.node != TRACE_NO)
            finding_node_add(finding, place.node, place.role);
        else
            finding_op_add(finding, place.op, place.role);
    }
    const char *from = take(at, edges * sizeof *told.repair_edges);
    if (told.repair_edges)
        memcpy(told.repair_edges, from, edges * sizeof *told.repair_edges);
}

/* The last whole report; the checks that it is of. */
static uint64_t take_report(const struct trace *trace, const struct told *told,
                            struct findings *findings)
{
    const char *at = told->bytes, *end = told->bytes + told->size, *last = NULL;
    size_t size, counts[3];
    uint64_t done;
    while ((size_t)(end - at) > sizeof size) {
        memcpy(&size, at, sizeof size);
        if (size > (size_t)(end - at) - sizeof size)
            break;
        last = at + sizeof size;
        at = last + size;
    }
    if (!last)
        return 0;
    memcpy(&done, take(&last, sizeof done), sizeof done);
    memcpy(counts, take(&last, sizeof counts), sizeof counts);
    for (size_t i = 0; i < counts[0]; i++)
        take_finding(&last, findings);
    for (size_t i = 0; i < counts[1]; i++) {
        const char *check = take(&last, sizeof((struct coverage_gap *)0)->check);
        uint64_t count;
        memcpy(&count, take(&last, sizeof count), sizeof count);
        char *text = take_text(&last);
        trace_gap(trace, check, count, "%s", text ? text : "");
        free(text);
    }
    trace_gap(trace, "run", counts[2], "what else was left out: no memory to say it");
    return done;
}

static void name_unjudged(const struct trace *trace, uint64_t missing, bool late, int status)
{
    char names[400] = "", cause[80];
    size_t used = 0;
    for (size_t i = 0; check_property_at(i); i++)
        if (missing >> i & 1 && used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, " %s",
                                     check_property_at(i)->name);
    if (late)
        snprintf(cause, sizeof cause, "time ran out");
    else if (WIFSIGNALED(status))
        snprintf(cause, sizeof cause, "the process that judges was killed by signal %d",
                 WTERMSIG(status));
    else if (WEXITSTATUS(status) == NO_MEMORY)
        snprintf(cause, sizeof cause, "the process that judges ran out of memory");
    else
        snprintf(cause, sizeof cause, "the process that judges ended with exit code %d",
                 WEXITSTATUS(status));
    trace_gap(trace, "run", 1, "checks that did not come to an end, since %s:%s", cause, names);
}

/* -1: none could be made. */
static pid_t judge_start(const struct trace *trace, const struct check_options *options, int *end)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    fflush(NULL);
    pid_t judge = fork();
    if (judge == 0) {
        close(ends[0]);
        judge_main(trace, options, ends[1]);
    }
    close(ends[1]);
    if (judge < 0)
        close(ends[0]);
    *end = ends[0];
    return judge;
}

bool judge_trace(const struct trace *trace, const struct check_options *options,
                 struct time_limit *limit, struct findings *findings)
{
    struct told told = {0};
    int end, status = 0;
    size_t first = findings->count;
    pid_t judge =
        trace->op_count + trace->node_count < SHORT ? -1 : judge_start(trace, options, &end);
    if (judge < 0) {
        check_trace(trace, options, findings);
        return true;
    }
    bool late = !listen_to(end, limit, &told);
    close(end);
    if (late)
        kill(judge, SIGKILL);
    while (waitpid(judge, &status, 0) < 0 && errno == EINTR)
        ;
    uint64_t missing = check_kept(trace, options) & ~take_report(trace, &told, findings);
    free(told.bytes);
    check_finish(trace, first, findings);
    if (missing)
        name_unjudged(trace, missing, late, status);
    return !missing;
}
